/* The hand-written loops that the engine is measured against, each for the two queries of the
 * ladder:
 *
 *     SELECT sum(x) FROM t
 *     SELECT sum(a*b), count(*) FROM t WHERE c > k      a nullable
 *
 * hand.c has those in plain C, hand_simd.c the one with intrinsics, built once per instruction-set
 * level. */
#ifndef BENCH_HAND_H
#define BENCH_HAND_H

#include <stdint.h>

/* Columns; the loops go through them `times` times, as the engine does with a repeated chunk list.
 */
typedef struct hand_data {
    const double *x, *a, *b, *c;
    const uint8_t *valid; /* of a: one bit a row */
    double k;
    uint64_t rows, times;
} hand_data;

typedef struct hand_result {
    double sum;
    int64_t count;
} hand_result;

typedef hand_result (*hand_loop)(const hand_data *d);

/* One way of writing it. read_* touch the query's columns and do nothing else: the memory
 * bandwidth. */
typedef struct hand_kernels {
    hand_loop sum, filter, read_sum, read_filter;
} hand_kernels;

extern const hand_kernels hand_volcano; /* next() through a pointer, a row a call */
extern const hand_kernels hand_batch;   /* next_batch() of 1,024 rows, which copies */
extern const hand_kernels hand_scalar;  /* the plain loop, in strict order */
extern const hand_kernels hand_simd_v2, hand_simd_v3, hand_simd_v4, hand_simd_base;

/** Intrinsics for this CPU. */
const hand_kernels *hand_simd(void);

#endif
