/* Loops of the batch tier that must be SIMD on every machine. Each kernels_*.c is compiled once per
 * instruction-set level and defines one table, named by SM_ISA; kernels.c chooses by sm_cpu_isa().
 * No kernel's result depends on the level: float sums fix which lane a row adds to
 * (docs/architecture.md, "Same bits").
 *
 * `live` is one bit a row, NULL = all n rows; bits beyond n are never set in a mask that a kernel
 * made. */
#ifndef SM_INTERP_KERNELS_H
#define SM_INTERP_KERNELS_H

#include "runtime/ops.h"

enum { SM_MASK_WORDS = SM_BATCH_ROWS / 64, SM_MASK_GROUPS = 8 };

/* Aggregation over one batch. v is a vector of the named physical form. */
typedef struct sm_agg_kernels {
    /** lane[(lane0 + i) % 32] += v[i] for live rows in row order; dead rows add -0.0, which changes
     * nothing. */
    void (*sum_f64)(const void *v, const uint64_t *live, uint32_t n, uint32_t lane0, double *lane);
    void (*sum_f32)(const void *v, const uint64_t *live, uint32_t n, uint32_t lane0, double *lane);
    /** The same with 8 lanes for each of n_groups <= most_groups groups: masks[g] are the rows
     * of group g. */
    void (*sum_f64_groups)(const void *v, uint64_t (*masks)[SM_MASK_WORDS], uint32_t n_groups,
                           uint32_t n, uint32_t lane0, double *const *lanes);
    /** Exact sums of live rows. `short` is for values proved to lie within +-2^52. */
    void (*sum_i16)(const void *v, const uint64_t *live, uint32_t n, sm_i128 *sum);
    void (*sum_i32)(const void *v, const uint64_t *live, uint32_t n, sm_i128 *sum);
    void (*sum_i64)(const void *v, const uint64_t *live, uint32_t n, sm_i128 *sum);
    void (*sum_i64_short)(const void *v, const uint64_t *live, uint32_t n, sm_i128 *sum);
    /** Exact sums of each group, added to sums[g]; groups as in sum_f64_groups. */
    void (*sum_i64_groups)(const void *v, uint64_t (*masks)[SM_MASK_WORDS], uint32_t n_groups,
                           uint32_t n, sm_i128 *sums);
    void (*sum_i64_short_groups)(const void *v, uint64_t (*masks)[SM_MASK_WORDS], uint32_t n_groups,
                                 uint32_t n, sm_i128 *sums);
    /** *best becomes the smaller (larger) of itself and the live values; floats as sm_float_key. */
    void (*min[SM_N_PHYS])(const void *v, const uint64_t *live, uint32_t n, int64_t *best);
    void (*max[SM_N_PHYS])(const void *v, const uint64_t *live, uint32_t n, int64_t *best);
    /** masks[g] = rows whose code is groups[g], within live. codes is readable up to SM_BATCH_ROWS.
     */
    void (*group_masks)(const uint16_t *codes, const uint16_t *groups, uint32_t n_groups,
                        const uint64_t *live, uint32_t n, uint64_t (*masks)[SM_MASK_WORDS]);
    /** Bit c of the result is set if some row, dead or not, has code c, or c modulo 16. */
    uint32_t (*codes_seen)(const uint16_t *codes, uint32_t n);
    /** Set bits among the first n. */
    uint32_t (*count)(const uint64_t *live, uint32_t n);
    /** Most groups that the group kernels take, at most SM_MASK_GROUPS; beyond, single rows win. */
    uint32_t most_groups;
} sm_agg_kernels;

/* Which rows of a bool vector to keep. */
typedef enum sm_pick {
    SM_PICK_TRUE,
    SM_PICK_NOT_TRUE,  /* FALSE or NULL */
    SM_PICK_NOT_FALSE, /* TRUE or NULL */
    SM_N_PICKS
} sm_pick;

typedef struct sm_select_kernels {
    /** out = live rows that `pick` keeps; returns their number. valid NULL = no nulls. b is
     * readable up to the next multiple of 32 rows. out may be live. */
    uint32_t (*pick)(sm_pick pick, const uint8_t *b, const uint64_t *valid, const uint64_t *live,
                     uint32_t n, uint64_t *out);
    /** Row numbers of set bits, ascending; returns their number. sel has room for SM_BATCH_ROWS
     * + 32. */
    uint32_t (*sel_of_mask)(const uint64_t *mask, uint32_t n, uint16_t *sel);
    /** out[i] = bit i, for whole words. */
    void (*bytes_of_mask)(const uint64_t *mask, uint32_t n, uint8_t *out);
    /** out[i] = v[i] where the bit is set; values of `bytes` bytes. */
    void (*blend)(void *out, const void *v, const uint64_t *mask, uint32_t n, uint32_t bytes);
    /** out[i] = table[codes[i]]; values of `bytes` bytes. */
    void (*look_up)(void *out, const void *table, const uint16_t *codes, uint32_t n,
                    uint32_t bytes);
    void (*and_bytes)(uint8_t *out, const uint8_t *a, const uint8_t *b, uint32_t n);
    void (*or_bytes)(uint8_t *out, const uint8_t *a, const uint8_t *b, uint32_t n);
    void (*widen)(sm_i128 *out, const int64_t *v, uint32_t n);
    void (*narrow)(int64_t *out, const sm_i128 *v, uint32_t n);
} sm_select_kernels;

/* Operations whose check was proved away, all n rows, wrapping around; NULL where the checked
 * kernel serves. */
typedef struct sm_nocheck_kernels {
    void (*op[SM_N_OPS])(const void *const *args, void *out, uint32_t n);
} sm_nocheck_kernels;

/* How a chunk stores values that are compared as they lie there. */
typedef enum sm_stored {
    SM_STORED_U8, /* narrow: by log2 of the width */
    SM_STORED_U16,
    SM_STORED_U32,
    SM_STORED_U64,
    SM_STORED_I16,
    SM_STORED_I32,
    SM_STORED_I64,
    SM_STORED_F32,
    SM_STORED_F64,
    SM_N_STORED
} sm_stored;

/** out[i] = (stored[i] relation *with) ^ flip; with points to a value of the stored type. */
typedef void (*sm_compare)(const void *stored, const void *with, uint32_t n, uint8_t flip,
                           uint8_t *out);
typedef struct sm_compare_kernels {
    sm_compare eq[SM_N_STORED], lt[SM_N_STORED], le[SM_N_STORED];
} sm_compare_kernels;

/** The tables for this CPU, or for the level that SMELT_ISA names. */
const sm_agg_kernels *sm_agg_kernels_get(void);
const sm_select_kernels *sm_select_kernels_get(void);
const sm_nocheck_kernels *sm_nocheck_kernels_get(void);
const sm_compare_kernels *sm_compare_kernels_get(void);

#define SM_KERNEL_TABLE_2(name, isa) name##_##isa
#define SM_KERNEL_TABLE_1(name, isa) SM_KERNEL_TABLE_2(name, isa)
#define SM_KERNEL_TABLE(name)        SM_KERNEL_TABLE_1(name, SM_ISA)

#endif
