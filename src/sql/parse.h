/* libpg_query's parse tree of one text. The names of the generated protobuf structures get short
 * aliases here. */
#ifndef SM_SQL_PARSE_H
#define SM_SQL_PARSE_H

#include <pg_query/pg_query.pb-c.h>

#include "runtime/error.h"
#include "runtime/memory.h"

typedef PgQuery__Node pg_node;

#define PG_IS(n, id) ((n) && (n)->node_case == PG_QUERY__NODE__NODE_##id)
/** The bytes of a String node, else NULL. */
const char *sm_pg_string(const pg_node *n);

/** The first location in a subtree, for messages about what has none of its own; -1 if there is
 * none. */
int32_t sm_pg_location(const pg_node *n);

/* Where a parse error is, before it is known where the text stands in the statement. */
typedef struct sm_parse_error {
    int32_t position; /* character of the parsed text, from 1; 0 = unknown */
} sm_parse_error;

/** Parses NUL-terminated UTF-8 text into scratch memory. Must run on a big stack (sm_on_big_stack).
 *  errors  SM_ERR_SYNTAX, SM_ERR_TOO_COMPLEX; *where says the position, which is not set in err */
sm_status sm_parse(sm_arena *scratch, const char *text, size_t bytes, PgQuery__ParseResult **out,
                   sm_parse_error *where, sm_error *err);
/** Runs fn(arg), which parses a text of so many bytes, on a thread of its own with a stack of
 *  64 MiB (16 for a short text) and waits for it. */
sm_status sm_on_big_stack(sm_status (*fn)(void *arg), void *arg, size_t text_bytes, sm_error *err);

#endif
