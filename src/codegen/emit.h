/* The emitter: turns a prepared pipeline into one LLVM function. The one idea
 * (docs/architecture.md, "Lanes"): a block is 32 rows; it is worked on as n_sub vectors of `step`
 * rows; every emitter takes vectors and a mask of the rows that count, and has no control flow.
 * With step 1 vectors are scalars and the loop goes row by row.
 *
 * Read in this order: emit_pipeline.c (the loop), emit_base.c (vectors and masks), emit_load.c,
 * emit_expr.c, then the sinks. */
#ifndef SM_JIT_EMIT_H
#define SM_JIT_EMIT_H

#include "compat.h"
#include "shape.h"

enum { SM_MAX_SUBS = 4 };

typedef LLVMValueRef sm_ir; /* a value of the function being emitted */

/* Rows of a vector that count. A narrower mask points to the one it was made from: what was
 * computed under a wider mask is good under a narrower one. */
typedef struct sm_mask sm_mask;
struct sm_mask {
    sm_ir bits; /* <S x i1>; NULL = all */
    const sm_mask *wider;
};

/* One value per row of a vector. Rows outside the mask, and NULLs, hold something harmless. */
typedef struct sm_lanes {
    sm_ir v;     /* PAIR: twice as many words, as they lie in memory */
    sm_ir valid; /* NULL = no NULLs */
    sm_form form;
    bool no_nan;
} sm_lanes;

typedef struct sm_known sm_known; /* an expression already emitted */
typedef struct sm_sink_emit sm_sink_emit;

typedef struct sm_emit {
    const sm_shape *s;
    const sm_pipeline *p;
    const sm_jit_host *host;
    sm_jit_pool *pool;
    LLVMContextRef ctx;
    LLVMModuleRef mod;
    LLVMBuilderRef b;
    LLVMBuilderRef hoist; /* at the end of the entry block: what is read once */
    LLVMTypeRef i1, i8, i16, i32, i64, i128, f32, f64, ptr, nothing;
    sm_ir fn, args;
    uint32_t step, n_sub;
    /* hoisted */
    sm_ir cols, consts, cx, first_row, start_block;
    sm_ir *data, *valid_words, *base; /* by source column */
    sm_lanes *const_lanes;            /* by constant */
    sm_ir *const_room;                /* a constant as an array of 32, for CALL; made on demand */
    sm_ir room[5];                    /* stack arrays for CALL: arguments, result, spare */
    /* of the block being emitted */
    sm_ir block;            /* i64 */
    sm_ir row[SM_MAX_SUBS]; /* i64: row number in the morsel of the vector's first row */
    const sm_mask *live[SM_MAX_SUBS];
    sm_ir error[SM_MAX_SUBS]; /* <S x i1>, NULL = none so far */
    sm_ir *valid_word;        /* by source column: i32 of the block */
    sm_lanes *loaded;         /* by source column and vector; dictionary columns as codes */
    sm_lanes *decoded;        /* dictionary columns as text */
    sm_lanes **env;           /* by step: computed columns, [column * n_sub + vector] */
    uint32_t at_step;         /* expressions refer to env[at_step] */
    sm_known *known;
    sm_ir live_word, live_count;             /* i32: bits of live, and how many */
    LLVMBasicBlockRef next, refused, failed; /* where a block ends */
    const sm_sink_emit *sink;
    void *sink_state;
} sm_emit;

/* ---- emit_base.c: vectors, masks, memory ---- */

LLVMTypeRef sm_emit_vec(const sm_emit *e, LLVMTypeRef t);
LLVMTypeRef sm_emit_vec_n(LLVMTypeRef t, uint32_t n);
LLVMTypeRef sm_emit_int(const sm_emit *e, unsigned bits);
LLVMTypeRef sm_emit_form_type(const sm_emit *e, sm_form f);
/** Of all rows of a vector. */
LLVMTypeRef sm_emit_form_vec(const sm_emit *e, sm_form f);
sm_ir sm_emit_k32(const sm_emit *e, uint32_t v);
sm_ir sm_emit_k64(const sm_emit *e, uint64_t v);
/** Constant in every row. */
sm_ir sm_emit_kvec(const sm_emit *e, LLVMTypeRef t, int64_t v);
sm_ir sm_emit_kvec128(const sm_emit *e, sm_i128 v, unsigned bits);
sm_ir sm_emit_true(const sm_emit *e);
sm_ir sm_emit_kreal(const sm_emit *e, LLVMTypeRef t, double v);
sm_ir sm_emit_ksplat(const sm_emit *e, sm_ir k);
/** Value x in every row; with builder b. */
sm_ir sm_emit_splat(const sm_emit *e, LLVMBuilderRef b, sm_ir x);
/** Rows [from, from + n) of a vector of `have`. */
sm_ir sm_emit_piece(const sm_emit *e, sm_ir v, uint32_t have, uint32_t from, uint32_t n);
sm_ir sm_emit_call(sm_emit *e, const char *intrinsic, LLVMTypeRef overload, sm_ir *args,
                   unsigned n);
sm_ir sm_emit_mask_from_bits(sm_emit *e, sm_ir word, uint32_t sub);
/** The mask's bits at their place in the block's word (i32). */
sm_ir sm_emit_bits(sm_emit *e, sm_ir mask, uint32_t sub);
sm_ir sm_emit_and(const sm_emit *e, sm_ir a, sm_ir b);    /* NULL = all */
sm_ir sm_emit_or(const sm_emit *e, sm_ir a, sm_ir b);     /* NULL = none */
sm_ir sm_emit_andnot(const sm_emit *e, sm_ir a, sm_ir b); /* a and not b; a NULL = all */
const sm_mask *sm_emit_narrow(sm_emit *e, const sm_mask *m, sm_ir by);
sm_ir sm_emit_at(const sm_emit *e, LLVMBuilderRef b, sm_ir p, uint64_t bytes);
sm_ir sm_emit_load(const sm_emit *e, LLVMBuilderRef b, LLVMTypeRef t, sm_ir p, unsigned align);
void sm_emit_store(const sm_emit *e, sm_ir v, sm_ir p, unsigned align);
/** Stack room in the entry block. */
sm_ir sm_emit_room(const sm_emit *e, size_t bytes, unsigned align);
sm_ir sm_emit_var(const sm_emit *e, LLVMTypeRef t);
LLVMBasicBlockRef sm_emit_block(const sm_emit *e, const char *name);
/** Integers of another width: sign-extended, or cut where the value is known to fit or arithmetic
 * wraps. */
sm_ir sm_emit_to_bits(const sm_emit *e, sm_ir v, unsigned from, unsigned to);

/** Field of sm_jit_args, read once. */
sm_ir sm_emit_arg(sm_emit *e, LLVMTypeRef t, size_t offset);
/** Leaves the function with SM_JIT_FAILED if status is not 0; goes on in a new basic block. */
void sm_emit_check_status(sm_emit *e, sm_ir status);

/* ---- emit_load.c ---- */

/** Column of the input of step at_step. */
sm_lanes sm_emit_column(sm_emit *e, uint32_t column, uint32_t sub);
/** Dictionary codes of a source column (i32), NULLs' codes being anything. */
sm_lanes sm_emit_codes(sm_emit *e, uint32_t src, uint32_t sub);
sm_ir sm_emit_word(sm_emit *e, uint32_t src);
sm_lanes sm_emit_const(sm_emit *e, const sm_expr *x);
/** Each row's element two times, as PAIR's words lie. */
sm_ir sm_emit_twice(const sm_emit *e, sm_ir v);
/** 64-bit integers as 16-byte ones lie in memory, two words each; and the low words of such, from
 * memory. */
sm_ir sm_emit_wide_words(const sm_emit *e, sm_ir v);
sm_ir sm_emit_low_words(sm_emit *e, sm_ir p);
sm_lanes sm_emit_table(sm_emit *e, uint32_t table, uint32_t sub, const sm_mask *m);

/* ---- emit_expr.c ---- */

/** Value of x for the rows of m; failures of these rows are added to e->error[sub]. */
sm_lanes sm_emit_expr(sm_emit *e, const sm_expr *x, uint32_t sub, const sm_mask *m);
/** Decimals in range for it (sm_jit_exact_double), or integers, as doubles. */
sm_lanes sm_emit_exact_double(sm_emit *e, sm_lanes v, unsigned scale);
void sm_emit_fail(sm_emit *e, sm_ir bad, uint32_t sub, const sm_mask *m);
sm_lanes sm_emit_as(sm_emit *e, sm_lanes l, sm_form f);
/** Floats with every NaN alike, as they leave for sinks. */
sm_lanes sm_emit_canonical(sm_emit *e, sm_lanes l);
sm_lanes sm_emit_select(sm_emit *e, sm_ir take, sm_lanes a, sm_lanes b, sm_form f);

/* ---- emit_ops_*.c: one function per EMIT operation ---- */

typedef struct sm_op_site {
    const sm_expr *x;
    uint32_t sub;
    const sm_mask *m; /* rows that count and whose arguments are not NULL */
    sm_lanes *a;
    bool check; /* failures must be found */
} sm_op_site;
typedef void (*sm_op_emit)(sm_emit *e, const sm_op_site *at, sm_lanes *out);
sm_op_emit sm_emit_int_op(sm_op op);
sm_op_emit sm_emit_float_op(sm_op op);

/** Year, quarter, month or day of dates from year 1 on. */
void sm_emit_date_field(sm_emit *e, const sm_lanes *date, int32_t field, sm_lanes *out);

/* ---- emit_call.c ---- */

void sm_emit_call_op(sm_emit *e, const sm_op_site *at, sm_lanes *out);
/** A total operation of one argument, outside an expression; out's form is given. */
void sm_emit_call_body(sm_emit *e, sm_op op, int32_t imm, const sm_lanes *a, uint32_t sub,
                       sm_ir mask, sm_lanes *out);
/** Writes S values in a physical form at rows of vector sub of a 32-row array. */
void sm_emit_spill(sm_emit *e, const sm_lanes *l, sm_phys phys, sm_ir array, uint32_t sub);
sm_lanes sm_emit_reload(sm_emit *e, sm_phys phys, sm_form f, sm_ir array, uint32_t sub);

/* ---- sinks ---- */

struct sm_sink_emit {
    bool (*begin)(sm_emit *e); /* before the loop; false: memory is out */
    void (*block)(sm_emit *e); /* one block, whose errors were looked at */
    void (*skip)(sm_emit *e);  /* a block without live rows; may be NULL */
    void (*end)(sm_emit *e);   /* accumulators to memory: when done, and when refused */
};

extern const sm_sink_emit sm_emit_sink_lanes; /* NONE; TINY with masks */
extern const sm_sink_emit
    sm_emit_sink_groups; /* a state row per live row: DIRECT, HASH, TINY without masks */
extern const sm_sink_emit sm_emit_sink_rows;

/** The whole function. */
bool sm_emit_pipeline(sm_emit *e, const char *name);

#endif
