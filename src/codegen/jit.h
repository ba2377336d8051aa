/* The jit tier's contract: how the engine and libsmelt_jit.so know each other. The module imports
 * nothing from smelt; smelt_jit_init gets a table of functions and gives one back. All layouts here
 * are read by generated code. */
#ifndef SM_JIT_H
#define SM_JIT_H

#include "plan/sink.h"

enum { SM_JIT_ABI = 1 };

/* A source column of the running morsel; index = column of the source (unused ones are not filled).
 */
typedef struct sm_jit_col {
    const void *data;
    const uint32_t
        *valid; /* one word a block; never NULL: a shared all-ones buffer when there are no nulls */
    int64_t base;
    const sm_text *dict; /* entries */
} sm_jit_col;

/* SM_SINK_ROWS: where the sink's input columns of at most SM_BATCH_ROWS rows go, in their types'
 * physical forms (I128 for decimals beyond 18 digits, also when computed in 64 bits). The call's
 * first block comes first. Text is views into the chunk, dictionaries and cx->scratch. What dead
 * and NULL rows hold is unspecified. */
typedef struct sm_jit_out {
    void *data;
    uint32_t *valid; /* always written */
} sm_jit_out;

/* One call runs blocks of one morsel, at most SM_CHUNK_ROWS rows. Every column can be read for
 * whole blocks: the caller copies the last, partial block of an unpadded column elsewhere and runs
 * it in a call of its own. cx->scratch grows until the caller rewinds it after the call. */
typedef struct sm_jit_args {
    const sm_jit_col *cols;
    const void *consts;    /* from bind */
    sm_agg_local *agg;     /* SM_SINK_AGG */
    char *lanes;           /* agg->lanes (NONE, TINY) or agg->direct (DIRECT) */
    const sm_jit_out *out; /* SM_SINK_ROWS */
    uint32_t *out_live; /* SM_SINK_ROWS: live rows, a word a block, written from out_live[0] for the
                           first block */
    uint64_t first_row; /* number of block 0's first row in its source */
    uint32_t block;     /* first block to run; on refusal: the refused one */
    uint32_t n_blocks;  /* one behind the last */
    uint32_t last_mask; /* rows of the last block that exist */
    int32_t status;     /* sm_status of a failed host call */
    sm_opctx *cx;       /* for CALL bodies: scratch, err NULL */
    uint64_t rows_out;  /* refusal: rows of the refused block that were committed before (after an
                           expanding probe) */
    uint64_t
        *step_rows; /* rows that leave each step, added up (n_steps of them); NULL: not counted */
} sm_jit_args;

enum { SM_JIT_DONE = 0, SM_JIT_REFUSED = 1, SM_JIT_FAILED = 2 };
typedef int (*sm_jit_fn)(sm_jit_args *args);

/* Encodings of the source's columns in a morsel, as far as they shape the loop. */
typedef struct sm_jit_sig_col {
    uint8_t enc, width; /* of sm_chunk_col */
} sm_jit_sig_col;

typedef struct sm_jit_options {
    uint32_t step; /* rows per emitted vector: 8, 16 or 32; 1 = scalar with one accumulator (not the
                      same bits); 0 = by host */
    bool keep_text; /* keep IR and assembly for EXPLAIN; such code is not cached */
    bool perf_map;  /* write /tmp/perf-PID.map */
} sm_jit_options;

typedef struct sm_jit_code sm_jit_code; /* reference-counted */

typedef struct sm_jit_code_info {
    sm_jit_fn run;
    bool cache_hit;
    double emit_ms, passes_ms, codegen_ms, link_ms;
    size_t object_bytes;
    const char *ir, *assembly; /* keep_text only; owned by the code */
} sm_jit_code_info;

/* What the module may call. */
typedef struct sm_jit_host {
    uint32_t abi;
    const sm_op_info *ops; /* lanes forms of CALL operations */
    void *(*alloc)(size_t bytes);
    void (*free)(void *p, size_t bytes);
    sm_status (*raise)(sm_error *err, sm_status status, ...); /* sm_raise */
    /* Scalar evaluation, for tables over dictionary entries. */
    sm_status (*eval)(const sm_eval *ev, const sm_expr *e, sm_value *out);
    /* State rows of a block's live rows, HASH; rows[lane] is set for the bits of mask. Keys are in
     * their types' physical forms, bit [lane] of valid. */
    int32_t (*find_rows)(sm_agg_local *l, const sm_vec *keys, uint32_t mask, uint64_t first_row,
                         void **rows);
    /* min/max of text, 128-bit and interval values, DISTINCT sets: adds value [lane] of v (none is
     * NULL) to the accumulator state states[lane], in its lane [lane & lane_mask], for the bits of
     * mask. */
    int32_t (*acc_add)(sm_agg_local *l, uint32_t accum, const sm_vec *v, uint32_t mask,
                       uint32_t lane_mask, void **states);
} sm_jit_host;

/* What the module gives. */
typedef struct sm_jit_module {
    uint32_t abi;
    const char *llvm_version, *cpu;
    /** Can it be compiled? false: why says which part cannot be, for EXPLAIN. */
    bool (*can)(const sm_pipeline *p, char *why, size_t why_bytes);
    /** Code for the prepared pipeline's shape and the morsel's signature, from the cache or
     * compiled; one reference. Any thread; a thread's own target machine is reused. */
    sm_status (*compile)(const sm_pipeline *p, const sm_jit_sig_col *sig, const sm_jit_options *o,
                         sm_jit_code **out, sm_error *err);
    /** Is code for it in the cache? */
    bool (*cached)(const sm_pipeline *p, const sm_jit_sig_col *sig, const sm_jit_options *o);
    /** The constant block of one execution: literals, minima, lookup tables over dictionaries. */
    sm_status (*bind)(const sm_jit_code *code, const sm_pipeline *p, sm_arena *a,
                      void *(*arena_vector)(sm_arena *, size_t), void **consts, sm_error *err);
    const sm_jit_code_info *(*info)(const sm_jit_code *code);
    void (*release)(sm_jit_code *code);
    /** Cached entries, bytes of code, compiles since the start. */
    void (*counters)(uint64_t *entries, uint64_t *code_bytes, uint64_t *compiles);
} sm_jit_module;

/** The module's only export.  returns  NULL when the ABI differs */
const sm_jit_module *smelt_jit_init(const sm_jit_host *host);

#endif
