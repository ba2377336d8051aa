/* One worker of a running pipeline: takes units, runs their morsels in a tier, replays what a tier refuses. */
#ifndef SM_WORKER_H
#define SM_WORKER_H

#include "exec/run.h"

/* What the workers of one pipeline share. */
typedef struct sm_run {
    sm_job job; /* first: the pool hands it back */
    sm_exec *x;
    sm_pipeline *p;
    sm_pipeline_report *report;
    unsigned n_workers;
    struct sm_run_worker *workers; /* n_workers */

    uint64_t n_units, unit_morsels;
    _Atomic uint64_t cursor;
    _Atomic uint64_t stop_at; /* units from here on are not wanted: an error, or enough rows, before them */

    pthread_mutex_t lock; /* of the rest */
    uint64_t error_unit;
    sm_status status;
    sm_error err;
    sm_version **parts;      /* ROWS: by unit */
    uint64_t limit;          /* ROWS without order: rows wanted; UINT64_MAX = all */
    uint64_t prefix_units, prefix_rows; /* units done without a gap, and their rows */
    /* AGG, NONE and TINY, order-sensitive: state rows in final form by unit */
    char *partials;
    size_t partial_bytes; /* of one unit */
    bool *partial_set;
    sm_agg_local *segments;  /* AGG, DIRECT and HASH, order-sensitive: by unit */

    pthread_mutex_t compile_lock; /* one worker compiles at a time */

    /* tiering */
    sm_tier tier;            /* of all morsels; AUTO: measured */
    const sm_jit_module *module;
    _Atomic int64_t batch_ns, batch_rows; /* measured so far */
    _Atomic int64_t jit_ns, jit_rows;
    _Atomic bool decided;    /* compiling was asked for, or given up */
    _Atomic(sm_compile_result *) compiled;
    sm_jit_sig_col *compiled_sig;
} sm_run;

typedef struct sm_run_worker {
    sm_worker w; /* interpreters' side */
    sm_run *run;
    sm_pin pin;
    sm_version *part; /* rows of the unit just run, not yet shown to the other workers */
    sm_agg_local agg; /* not order-sensitive, or NONE and TINY */
    bool agg_ready;
    sm_exec_metrics metrics;
    /* the jit tier's side */
    const sm_jit_module *module;
    sm_jit_code *code; /* one reference; NULL = none for sig */
    const sm_jit_code_info *info;
    sm_jit_sig_col *sig;
    bool sig_set;
    void *consts;
    sm_jit_col *cols;
    sm_jit_out *outs;
    sm_vec *out_vecs;
    uint32_t *out_live;
    uint64_t *step_rows;
    char *tail; /* scratch for last partial blocks of foreign columns */
    bool spans; /* compiled code is called for 1,024 rows at a time, so that scratch text stays small */
} sm_run_worker;

/** Runs units until none is left: the job's function. */
void sm_worker_run(sm_job *job, unsigned worker);
sm_status sm_run_worker_open(sm_run_worker *rw, sm_run *run, sm_error *err);
void sm_run_worker_close(sm_run_worker *rw);

/** Makes rw->code fit the pinned morsel; false: run it in the batch tier. */
bool sm_jit_ready(sm_run_worker *rw, const sm_chunk *chunk);
/** Runs the morsel in compiled code. */
sm_status sm_jit_run(sm_run_worker *rw, uint32_t from, uint32_t to, uint32_t *stop, uint32_t *end);
/** Called after each morsel that ran in the batch tier under AUTO. */
void sm_tiering_note(sm_run_worker *rw, const sm_chunk *chunk, int64_t ns, uint64_t rows_left);
/** Chooses the tier at the start. */
void sm_tiering_start(sm_run *run);

#endif
