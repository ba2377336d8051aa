/* Aggregate accumulators: one layout for all tiers (docs/architecture.md, "Same bits").
 *
 * An accumulator's state has `lanes` float accumulators: 32 in a morsel without GROUP BY, 8 in a
 * morsel with at most 16 possible groups, else 1. Folding adds the lanes as a fixed binary tree and
 * gives the one-lane ("final") form, which is what combine and finish know. Exact kinds (COUNT,
 * SUM_I, SUM_D, MIN, MAX, BOOL) have no lanes: their morsel form is their final form. The row tier
 * calls sm_acc_add; the batch tier's loops and compiled code write the same fields. */
#ifndef SM_AGG_H
#define SM_AGG_H

#include "batch.h"
#include "error.h"
#include "memory.h"

typedef enum sm_agg_fn {
#define SM_AGG(id, sql, other, acc, result, doc) SM_AGG_##id,
#include "aggs.def"
#undef SM_AGG
    SM_N_AGGS
} sm_agg_fn;

typedef enum sm_acc_kind {
    SM_ACC_COUNT, /* sm_acc_count */
    SM_ACC_SUM_I, /* sm_acc_sum_i: integers, decimals up to 18 digits */
    SM_ACC_SUM_D, /* sm_acc_sum_d: decimals up to 38 digits */
    SM_ACC_SUM_F, /* sm_acc_sum_f + lanes doubles: real, double precision */
    SM_ACC_VAR,   /* sm_acc_var + lanes triples: everything as double */
    SM_ACC_MIN,   /* sm_acc_minmax */
    SM_ACC_MAX,
    SM_ACC_BOOL /* sm_acc_bool */
} sm_acc_kind;

/* States, 16-byte aligned. All-zero bytes are the empty state, but for the float sums (-0.0). */
typedef struct sm_acc_count {
    int64_t n;
    int64_t pad;
} sm_acc_count;
typedef struct sm_acc_sum_i {
    sm_i128 sum;
    int64_t n; /* values added */
    int64_t pad;
} sm_acc_sum_i;
typedef struct sm_acc_sum_d {
    sm_u128 low; /* 256-bit two's complement: no 2^63 values of 38 digits overflow it */
    sm_i128 high;
    int64_t n;
    int64_t pad;
} sm_acc_sum_d;
typedef struct sm_acc_sum_f {
    int64_t n;
    int64_t pad;
    double lane[]; /* lanes of them (an even number, or 2 with the second unused) */
} sm_acc_sum_f;
typedef struct sm_var_lane {
    double n, sum, sq; /* Youngs-Cramer: count, sum, sum of squares of differences from the mean */
} sm_var_lane;
typedef struct sm_acc_var {
    sm_var_lane lane[1]; /* lanes of them; the state is rounded up to 16 bytes */
} sm_acc_var;
typedef struct sm_acc_minmax {
    union {
        int64_t i64; /* bool, integers, dates, timestamps, short decimals, sign-extended */
        sm_i128 i128;
        int64_t key;  /* floats: sm_float_key of the value (real is widened to double first) */
        sm_text text; /* owned by the state's arena */
        sm_interval iv;
    };
    int64_t has;  /* 0 or 1 */
    int64_t room; /* text: bytes at text.ptr, which the next extreme may overwrite */
} sm_acc_minmax;
typedef struct sm_acc_bool {
    uint8_t and_, or_, has; /* and_ is valid only when has */
    uint8_t pad[13];
} sm_acc_bool;

/* One accumulator of an aggregate node; several aggregates may share one (sum and avg of the same
 * column). */
typedef struct sm_accum {
    sm_acc_kind kind;
    sm_type type;       /* of the argument */
    int32_t arg_col;    /* column of the sink's input; -1 for count(*) */
    int32_t filter_col; /* bool column of FILTER; -1 = none */
    bool distinct; /* the state is one pointer to sm_value_set, whose values are added at finish */
    uint32_t offset;       /* in the group's state row, final form */
    uint32_t lanes_offset; /* in the group's state row, morsel form */
} sm_accum;

/** Bytes of a state with so many lanes, a multiple of 16. */
size_t sm_acc_bytes(const sm_accum *acc, unsigned lanes);
void sm_acc_init(const sm_accum *acc, unsigned lanes, void *state);
/** Adds one value (not NULL) of the sink's row with this lane (already taken mod lanes). arena
 * keeps copied text. */
sm_status sm_acc_add(const sm_accum *acc, void *state, unsigned lane, const sm_value *v,
                     sm_arena *arena, sm_error *err);
/** Adds a partial sum of n values that the caller proved not to have overflowed; SUM_I and SUM_D.
 */
void sm_acc_add_partial(const sm_accum *acc, void *state, sm_i128 sum, int64_t n);
/** Morsel form -> adds to a final form (initialised); text is copied into arena. */
sm_status sm_acc_fold(const sm_accum *acc, unsigned lanes, const void *lane_state, void *final,
                      sm_arena *arena, sm_error *err);
/** Adds final form src to final form dst, dst first in order. Text is copied into arena. */
sm_status sm_acc_combine(const sm_accum *acc, void *dst, const void *src, sm_arena *arena,
                         sm_error *err);
/** The aggregate's value from the final form; text borrows from the state.
 *  errors  SM_ERR_BIGINT_RANGE, SM_ERR_DECIMAL_RANGE: the sum does not fit result */
sm_status sm_acc_result(const sm_accum *acc, sm_agg_fn fn, sm_type result, const void *state,
                        sm_value *out, sm_arena *arena, sm_error *err);

/** Accumulator for a function over an argument type. */
sm_acc_kind sm_agg_acc_kind(sm_agg_fn fn, sm_type arg);
/** Result type, or false if the function does not take the type. COUNT_ALL ignores it. */
bool sm_agg_result_type(sm_agg_fn fn, sm_type arg, sm_type *out);
/** Looks an aggregate up by SQL name; star tells count(*) from count(x). */
bool sm_agg_find(const char *name, bool star, sm_agg_fn *out);
const char *sm_agg_name(sm_agg_fn fn);

/** Fixed binary tree over lane values: t[i] += t[i + half]; lanes is 1, 8 or 32. */
double sm_lanes_sum(const double *lane, unsigned lanes);

/** Order-preserving integer key of a double: -0.0 as 0.0, every NaN alike and above all. */
SM_INLINE int64_t sm_float_key(double v)
{
    int64_t bits;
    if (v != v) return INT64_MAX;
    v += 0.0;
    memcpy(&bits, &v, 8);
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}
SM_INLINE double sm_float_from_key(int64_t key)
{
    uint64_t bits = 0x7FF8000000000000u;
    double v;
    if (key != INT64_MAX) bits = (uint64_t)(key ^ (int64_t)((uint64_t)(key >> 63) >> 1));
    memcpy(&v, &bits, 8);
    return v;
}

/* Values of one DISTINCT aggregate in one group; all of it lives in the arena of its calls. */
typedef struct sm_value_set sm_value_set;

/** Adds a value that is not NULL; *set is NULL at first. Text is copied. */
sm_status sm_value_set_add(sm_value_set **set, sm_type t, const sm_value *v, sm_arena *arena,
                           sm_error *err);
/** Adds all of src. */
sm_status sm_value_set_merge(sm_value_set **set, sm_type t, const sm_value_set *src,
                             sm_arena *arena, sm_error *err);
int64_t sm_value_set_count(const sm_value_set *set);
/** The values, ascending, in an array from the arena. Text borrows from the set. */
sm_status sm_value_set_sorted(const sm_value_set *set, sm_value **out, sm_arena *arena,
                              sm_error *err);
bool sm_value_set_validate(const sm_value_set *set);

#endif
