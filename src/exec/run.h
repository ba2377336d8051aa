/* Running a plan: pipelines in order, each cut into units of work that threads take from a cursor.
 *
 * A unit is a morsel, or a segment of morsels where an aggregate with a hash table depends on the order of rows.
 * Everything that a unit produces is kept apart by its number and merged in that order, so threads never show in a
 * result. Read run.c, then worker.c. */
#ifndef SM_RUN_H
#define SM_RUN_H

#include "exec/engine.h"
#include "interp/interp.h"

typedef struct sm_exec_options {
    sm_tier tier;
    uint32_t threads;
    uint32_t batch_rows;
    sm_jit_options jit;
    bool jit_on, jit_wait;
    uint64_t jit_min_rows;
    bool timing; /* ns per step, for EXPLAIN ANALYZE */
} sm_exec_options;

typedef struct sm_exec_metrics {
    uint64_t rows_scanned, bytes_scanned;
    uint64_t morsels[4]; /* by sm_tier: AUTO unused */
    uint64_t replayed;
    uint32_t compiles, cache_hits;
    int64_t compile_ns;
} sm_exec_metrics;

/* What EXPLAIN ANALYZE tells of one pipeline. */
typedef struct sm_pipeline_report {
    const sm_pipeline *p;
    sm_exec_metrics metrics;
    sm_step_stats *stats; /* n_steps + 2: source, steps, sink */
    int64_t ns;
    unsigned workers;
    char why[256]; /* why it was not compiled; "" if it was, or nobody wanted to */
    const char *ir, *assembly; /* with jit.keep_text */
} sm_pipeline_report;

/* One execution of a plan. */
typedef struct sm_exec {
    sm_engine *engine;
    sm_lease *statement; /* owns the plan */
    sm_lease *lease;     /* owns this execution's pipelines */
    sm_exec_options options;
    sm_control *control;
    const sm_value *params;
    const sm_type *param_types;
    uint32_t n_params;
    sm_exec_metrics metrics;
    uint32_t n_reports;
    sm_pipeline_report *reports; /* in lease's arena */
} sm_exec;

/** Options from the engine's settings. */
void sm_exec_options_init(sm_exec_options *o, const sm_engine *e);
/** Runs a plan to its last row.  out  the result, one reference; its columns are the plan's
 *  errors  the statement's; SM_ERR_CANCELED, SM_ERR_TIMEOUT, SM_ERR_OUT_OF_MEMORY */
sm_status sm_exec_plan(sm_exec *x, const sm_node *plan, sm_version **out, sm_error *err);
/** SM_OK, or that the statement was cancelled or is out of time. */
sm_status sm_control_check(const sm_control *c, sm_error *err);

#endif
