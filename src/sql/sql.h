/* Text to bound statements: SQL by libpg_query, and the pipe language (docs/plan-language.md). */
#ifndef SM_SQL_H
#define SM_SQL_H

#include "plan/node.h"

/* A text split into statements: byte ranges of the text. */
typedef struct sm_sql_part {
    const char *text;
    size_t bytes;
    int32_t first_char; /* characters of the whole text before it */
} sm_sql_part;

/** Splits at semicolons outside quotes, comments and dollar quotes; a pipe plan is one statement
 * too. Empty statements are left out. Never fails on bad syntax: the bad part fails when it is
 * bound. */
sm_status sm_sql_split(sm_arena *a, const char *text, size_t bytes, sm_sql_part **parts,
                       uint32_t *n, sm_error *err);
/** Parses and binds one statement (SQL or pipe: a statement whose first token is FROM, or that has
 * a `|>` outside quotes). The plan and referenced table versions live in a. errors  with positions
 * in characters of the statement's own text, from 1 */
sm_status sm_sql_bind(sm_arena *a, sm_catalog *catalog, const char *text, size_t bytes,
                      const sm_type *param_types, uint32_t n_params, sm_stmt *out, sm_error *err);

#endif
