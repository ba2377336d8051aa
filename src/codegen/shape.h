/* What of a prepared pipeline shapes its code, and what is only data.
 *
 * One walk over the pipeline, always in the same order, numbers its constants and tables and writes
 * the key: a byte string in which everything stands that the emitters branch on. Two pipelines with
 * equal keys have the same code, and the walk over either gives the same slots; so `bind` can fill
 * the constant block for code that was compiled from another pipeline. Emitters may read nothing of
 * the pipeline that the key does not hold. */
#ifndef SM_JIT_SHAPE_H
#define SM_JIT_SHAPE_H

#include "jit.h"

/* Memory with the lifetime of one call; from the host's alloc. A failed allocation is remembered.
 */
typedef struct sm_jit_pool {
    const sm_jit_host *host;
    struct sm_jit_pool_block *blocks;
    char *at, *end;
    bool failed;
} sm_jit_pool;

/** Zeroed, 16-byte aligned; NULL when memory is out. */
void *sm_jit_pool_get(sm_jit_pool *m, size_t bytes);
void sm_jit_pool_reset(sm_jit_pool *m);

typedef enum sm_form_kind {
    SM_FORM_INT,  /* signed integer of `bits` */
    SM_FORM_BOOL, /* i1 */
    SM_FORM_F32,
    SM_FORM_F64,
    SM_FORM_PAIR /* text, interval: two 64-bit words */
} sm_form_kind;

/* How a value travels in lanes. */
typedef struct sm_form {
    uint8_t kind, bits; /* INT: 32, 64 or 128 */
} sm_form;

/* A column of the source, as its signature and statistics make it. */
typedef struct sm_src_col {
    bool used, nullable, no_nan;
    uint8_t enc, width; /* of the morsel */
    sm_phys phys;
    sm_form form;
    sm_range range;
    const sm_dict *dict;
} sm_src_col;

typedef struct sm_const_slot {
    const sm_expr *e;
    sm_form form;
} sm_const_slot;

/* How a table over a dictionary's entries is read. */
typedef enum sm_table_form {
    SM_TABLE_BITS32, /* bool, at most 32 entries: the slot holds the bits */
    SM_TABLE_BITS64,
    SM_TABLE_BITMAP, /* bool: the slot points to 32-bit words */
    SM_TABLE_VALUES  /* the slot points to values of the form */
} sm_table_form;

typedef struct sm_dict_table {
    const sm_expr *e;
    uint32_t src;
    uint8_t how;     /* sm_table_form */
    bool nullable;   /* a second table, of validity bits, follows in the next slot */
    bool null_entry; /* entry 0 stands for NULL, code c is entry c + 1 */
    bool small;      /* at most 64 entries: the validity bits themselves are in their slot */
    sm_form form;
} sm_dict_table;

/* How one accumulator is updated. */
typedef enum sm_acc_how {
    SM_ACC_HOW_LANES, /* vectors, by masks */
    SM_ACC_HOW_SPLIT, /* 64-bit integers whose sum might not fit: low and high halves in lanes */
    SM_ACC_HOW_ROWS,  /* per live row, in the state itself */
    SM_ACC_HOW_HOST   /* host->acc_add */
} sm_acc_how;

typedef struct sm_acc_plan {
    uint8_t how;
    uint8_t bits;      /* LANES: width of integer lanes */
    uint8_t lanes;     /* integer sums: how many; a block's vectors are added to them in pieces */
    bool exact_double; /* VAR: the argument as a double is one division away */
    uint32_t counter;  /* LANES, SPLIT: which count of rows */
} sm_acc_plan;

/* An input column of a step or the sink: a source column as it is, or an expression of the step
 * before. */
typedef struct sm_env_col {
    int32_t src; /* -1: computed */
    const sm_expr *e;
    sm_type type;
    sm_range range;
    bool nullable;
    sm_form form;
} sm_env_col;

typedef struct sm_shape {
    const sm_pipeline *p;
    sm_jit_pool *pool;
    uint32_t step;   /* rows of a vector */
    bool mask_regs;  /* the CPU has AVX-512's mask registers */
    bool tiny_masks; /* TINY groups by masks */
    uint32_t n_cols;
    sm_src_col *cols;
    uint32_t n_consts, cap_consts;
    sm_const_slot *consts;
    uint32_t n_tables, cap_tables;
    sm_dict_table *tables;
    sm_env_col **env; /* env[i]: input of step i; env[n_steps]: input of the sink */
    uint32_t *env_n;
    sm_acc_plan *accs;
    uint32_t n_counters;
    /* counter i counts live rows where column valid_col (-1: any) is not NULL and filter_col (-1:
     * none) is true */
    struct sm_counter {
        int32_t valid_col, filter_col;
    } * counters;
    bool can_fail;
    /* slots of the constant block, 16 bytes each */
    uint32_t slot_tables, slot_codes, n_slots;
    uint8_t *key;
    uint32_t key_bytes, key_cap;
    char *why; /* where to say why not, or NULL */
    size_t why_bytes;
} sm_shape;

enum { SM_SLOT_BYTES = 16, SM_CODE_SLOTS = 3 /* min, n_values, stride */ };

/** Walks the pipeline. sig may be NULL: then source columns count as plain (`can` asks whether any
 * signature works). step  as in sm_jit_options; cpu is part of the key returns  false: it cannot be
 * compiled (why is written), or memory is out (pool->failed) */
bool sm_shape_make(sm_shape *s, const sm_pipeline *p, const sm_jit_sig_col *sig, uint32_t step,
                   const char *cpu, bool mask_regs, sm_jit_pool *pool, char *why, size_t why_bytes);

/** Number of e among the constants; of the table that replaces e, or -1. */
uint32_t sm_shape_const(const sm_shape *s, const sm_expr *e);
int32_t sm_shape_table(const sm_shape *s, const sm_expr *e);

sm_form sm_form_of_expr(const sm_expr *e);
sm_form sm_form_of_phys(sm_phys p);
sm_phys sm_jit_type_phys(sm_type t);
size_t sm_jit_phys_bytes(sm_phys p);
sm_phys sm_jit_code_phys(unsigned code);
/** Bits of the narrowest lane that holds all of the range: 32, 64 or 128. */
uint8_t sm_range_bits(const sm_range *r);
bool sm_jit_has_emitter(sm_op op);
/** Can this CALL operation be done in lanes after all, for what is known of its argument? */
bool sm_jit_in_place(const sm_expr *e);
/** Is every decimal of this range and scale as a double one exact division away? */
bool sm_jit_exact_double(const sm_range *r, unsigned scale);
/** Structural equality. */
bool sm_jit_expr_equal(const sm_expr *a, const sm_expr *b);
/** Is anything in e done by calling a body? */
bool sm_jit_expr_calls(const sm_shape *s, const sm_expr *e);

/** Fills the constant block. */
sm_status sm_shape_bind(const sm_shape *s, sm_arena *a, void *(*arena_vector)(sm_arena *, size_t),
                        void **consts, sm_error *err);

#endif
