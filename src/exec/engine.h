/* A database as the execution floor sees it: memory, tables, settings, threads, compiler. Read run.h next. */
#ifndef SM_ENGINE_H
#define SM_ENGINE_H

#include "codegen/jit.h"
#include "exec/pool.h"
#include "exec/settings.h"
#include "storage/table.h"

/* Memory with two possible last users: a statement (or one execution), and the compile thread that may still read a
 * pipeline when the query has ended. */
typedef struct sm_lease {
    _Atomic uint32_t refs;
    sm_mem *mem;
    sm_arena arena;
} sm_lease;
sm_status sm_lease_new(sm_mem *mem, const char *what, sm_lease **out, sm_error *err);
SM_INLINE sm_lease *sm_lease_ref(sm_lease *l)
{
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    return l;
}
void sm_lease_unref(sm_lease *l);

/* One running statement, as other threads may touch it. */
typedef struct sm_control {
    _Atomic bool cancel;
    _Atomic uint64_t rows_done, rows_total; /* of the running pipeline */
    int64_t deadline_ns;                    /* CLOCK_MONOTONIC; 0 = none */
    struct sm_control *next;                /* in the engine's list */
} sm_control;

/* A pipeline waiting for the compile thread. */
typedef struct sm_compile_request sm_compile_request;

typedef struct sm_compiler {
    pthread_mutex_t lock; /* of everything here */
    pthread_cond_t work;
    pthread_t thread;
    bool started, stop;
    sm_compile_request *first;
    const sm_jit_module *module; /* NULL until loaded */
    bool tried;
    char why[256]; /* why it could not be loaded */
    char path[1024]; /* asked for; "" = look beside the library and the program */
    _Atomic(const sm_jit_module *) loaded; /* module, readable without the lock */
    _Atomic int64_t estimate_ns;           /* of one compile, corrected by what was measured */
    _Atomic int64_t speedup_percent;       /* batch time / compiled time * 100, corrected likewise */
} sm_compiler;

typedef struct sm_engine {
    sm_mem mem;
    sm_catalog catalog;
    sm_settings settings;
    sm_pool pool;
    sm_compiler compiler;
    pthread_mutex_t running_lock;
    sm_control *running;
} sm_engine;

/** jit_path may be NULL. On failure there is nothing to reset. */
sm_status sm_engine_init(sm_engine *e, const char *jit_path, sm_error *err);
void sm_engine_reset(sm_engine *e);
/** Applies SET; also what a setting changes outside the table. */
sm_status sm_engine_set(sm_engine *e, const char *name, const char *value, sm_error *err);
void sm_engine_enter(sm_engine *e, sm_control *c);
void sm_engine_leave(sm_engine *e, sm_control *c);
void sm_engine_cancel_all(sm_engine *e);

/** The compiler module, loaded at the first call; NULL and why when there is none. */
const sm_jit_module *sm_compiler_module(sm_compiler *c, char *why, size_t why_bytes);

/* Result of a compile, shared by the workers of a pipeline and the compile thread. Reference-counted. */
typedef struct sm_compile_result {
    _Atomic uint32_t refs;
    _Atomic bool done;    /* the fields below are final */
    sm_jit_code *code;    /* NULL: failed or cannot */
    const sm_jit_module *module;
    sm_mem *mem;
    char why[256];
} sm_compile_result;
void sm_compile_result_unref(sm_compile_result *r);

/** Queues a compile for the compile thread; leases keep the pipeline's memory alive until it is done.
 *  returns  NULL when memory or threads are out: then nothing will be compiled */
sm_compile_result *sm_compiler_post(sm_engine *e, const sm_pipeline *p, const sm_jit_sig_col *sig,
                                    const sm_jit_options *o, sm_lease *const leases[2]);

int64_t sm_now_ns(void);

#endif
