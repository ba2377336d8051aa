/* Statements: bound once, run any number of times; queries, EXPLAIN, and what changes tables. */
#ifndef SM_STATEMENT_H
#define SM_STATEMENT_H

#include "exec/run.h"
#include "sql/sql.h"

typedef struct sm_statement {
    sm_engine *engine;
    sm_lease *lease; /* owns everything bound */
    char *text;
    size_t text_bytes;
    sm_stmt bound;
} sm_statement;

/* What a statement gave. */
typedef struct sm_outcome {
    const char *tag;     /* constant */
    sm_version *rows;    /* NULL for statements without rows; one reference */
    uint64_t n_rows;     /* of the result, or inserted, or copied */
    sm_exec_metrics metrics;
    int64_t prepare_ns;
} sm_outcome;

sm_status sm_statement_new(sm_engine *e, const char *text, size_t bytes, sm_statement **out, sm_error *err);
void sm_statement_free(sm_statement *s);
/** Runs it over the tables as they are now. params have the bound types. Tables change only when all went well.
 *  options.jit.keep_text and timing are set by EXPLAIN itself */
sm_status sm_statement_run(sm_statement *s, const sm_value *params, const sm_exec_options *options,
                           sm_control *control, sm_outcome *out, sm_error *err);

/** EXPLAIN's text of a bound query, in arena a; with ANALYZE, IR or ASM it is run. */
sm_status sm_explain(sm_exec *x, const sm_node *plan, unsigned flags, sm_arena *a, char **out, sm_error *err);

#endif
