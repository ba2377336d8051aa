/* Sums, minima and maxima of one batch, by lanes. Written with the compilers' generic vectors,
 * which they split into whatever registers the level has; masks become vectors by testing one bit
 * in each lane. Compiled once per instruction-set level; read kernels.h first. */
#include "interp/kernels.h"

#include "runtime/agg.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

/* Wide vectors are returned by inlined functions only. */
#pragma GCC diagnostic ignored "-Wpsabi"

#define VECTOR(T, bytes, name)                                                                     \
    typedef T name __attribute__((vector_size(bytes), aligned(sizeof(T))))
VECTOR(double, 64, v8d);
VECTOR(int64_t, 64, v8l);
VECTOR(int32_t, 32, v8i);
VECTOR(int16_t, 16, v8s);

/* All ones in the lanes whose bit is set. (Vectors are never parameters: their ABI differs between
 * levels.) */
SM_INLINE v8l lane_mask(uint32_t bits)
{
    const v8l lane = {1, 2, 4, 8, 16, 32, 64, 128};
    v8l b = {bits, bits, bits, bits, bits, bits, bits, bits};
    return (b & lane) == lane;
}

SM_INLINE v8d load_8d(const double *p)
{
    v8d v;
    memcpy(&v, p, sizeof v);
    return v;
}
SM_INLINE v8d load_8f(const float *p)
{
    return (v8d){p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]};
}
/* acc += v in the lanes whose bit is set; the others stay. (Adding -0.0 changes no float, nor 0 an
 * integer.) */
#if defined(__AVX512F__)
#define ADD_F(acc, v, bits)                                                                        \
    ((v8d)_mm512_mask_add_pd((__m512d)(acc), (__mmask8)(bits), (__m512d)(acc), (__m512d)(v)))
#define ADD_I(acc, v, bits)                                                                        \
    ((v8l)_mm512_mask_add_epi64((__m512i)(acc), (__mmask8)(bits), (__m512i)(acc), (__m512i)(v)))
#else
#define ADD_F(acc, v, bits)                                                                        \
    ((acc) + (v8d)(((v8l)(v)&lane_mask(bits)) | (~lane_mask(bits) & INT64_MIN)))
#define ADD_I(acc, v, bits) ((acc) + ((v)&lane_mask(bits)))
#endif

SM_INLINE v8l load_8l(const int64_t *p)
{
    v8l v;
    memcpy(&v, p, sizeof v);
    return v;
}
SM_INLINE v8l load_8i(const int32_t *p)
{
    v8i v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, v8l);
}
SM_INLINE v8l load_8s(const int16_t *p)
{
    v8s v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, v8l);
}

/* At least n <= 32 mask bits from row i on, any i; never a word in which none of them lies. */
SM_INLINE uint32_t bits_at(const uint64_t *live, uint32_t i, uint32_t n)
{
    uint32_t shift = i & 63;
    uint64_t bits = live[i >> 6] >> shift;
    if (shift > 64 - n) bits |= live[(i >> 6) + 1] << (64 - shift);
    return (uint32_t)bits;
}

/* Mask bits of rows i to i + 7, i a multiple of 8: a byte of its own on little-endian machines. */
SM_INLINE uint32_t bits_of_8(const uint64_t *live, uint32_t i)
{
    return ((const uint8_t *)live)[i >> 3];
}

/* ---- float sums ------------------------------------------------------------------------------ */

#define SUM_ROWS(until)                                                                            \
    for (; i < (until); i++)                                                                       \
        if (!live || sm_bit_get(live, i)) lane[(lane0 + i) & 31] += (double)v[i];

#define SUM_FLOAT(name, T, LOAD)                                                                   \
    SM_INLINE void name##_loop(const T *v, const uint64_t *live, uint32_t n, uint32_t lane0,       \
                               double *lane)                                                       \
    {                                                                                              \
        uint32_t i = 0, head = (32 - (lane0 & 31)) & 31;                                           \
        SUM_ROWS(head < n ? head : n)                                                              \
        if (n - i >= 32) {                                                                         \
            v8d a = load_8d(lane), b = load_8d(lane + 8), c = load_8d(lane + 16),                  \
                d = load_8d(lane + 24);                                                            \
            for (; n - i >= 32; i += 32) {                                                         \
                if (live) {                                                                        \
                    uint32_t bits = bits_at(live, i, 32);                                          \
                    a = ADD_F(a, LOAD(v + i), bits);                                               \
                    b = ADD_F(b, LOAD(v + i + 8), bits >> 8);                                      \
                    c = ADD_F(c, LOAD(v + i + 16), bits >> 16);                                    \
                    d = ADD_F(d, LOAD(v + i + 24), bits >> 24);                                    \
                } else {                                                                           \
                    a += LOAD(v + i);                                                              \
                    b += LOAD(v + i + 8);                                                          \
                    c += LOAD(v + i + 16);                                                         \
                    d += LOAD(v + i + 24);                                                         \
                }                                                                                  \
            }                                                                                      \
            memcpy(lane, &a, sizeof a);                                                            \
            memcpy(lane + 8, &b, sizeof b);                                                        \
            memcpy(lane + 16, &c, sizeof c);                                                       \
            memcpy(lane + 24, &d, sizeof d);                                                       \
        }                                                                                          \
        SUM_ROWS(n)                                                                                \
    }                                                                                              \
    static void name(const void *v, const uint64_t *live, uint32_t n, uint32_t lane0,              \
                     double *lane)                                                                 \
    {                                                                                              \
        if (live)                                                                                  \
            name##_loop(v, live, n, lane0, lane);                                                  \
        else                                                                                       \
            name##_loop(v, NULL, n, lane0, lane);                                                  \
    }
SUM_FLOAT(sum_f64, double, load_8d)
SUM_FLOAT(sum_f32, float, load_8f)

/* All groups in one pass: the groups' additions are independent, so they hide each other's latency.
 */
SM_INLINE void sum_groups(const double *v, uint64_t (*masks)[SM_MASK_WORDS], uint32_t n_groups,
                          uint32_t n, uint32_t lane0, double *const *lanes)
{
    v8d acc[SM_MASK_GROUPS];
    uint32_t i = 0, head = (8 - (lane0 & 7)) & 7;
    for (uint32_t g = 0; g < n_groups; g++)
        for (i = 0; i < head && i < n; i++)
            if (sm_bit_get(masks[g], i)) lanes[g][(lane0 + i) & 7] += v[i];
    for (uint32_t g = 0; g < n_groups; g++) acc[g] = load_8d(lanes[g]);
    for (; n - i >= 8; i += 8) {
        v8d x = load_8d(v + i);
        for (uint32_t g = 0; g < n_groups; g++) acc[g] = ADD_F(acc[g], x, bits_at(masks[g], i, 8));
    }
    for (uint32_t g = 0; g < n_groups; g++) {
        memcpy(lanes[g], &acc[g], sizeof acc[g]);
        for (uint32_t k = i; k < n; k++)
            if (sm_bit_get(masks[g], k)) lanes[g][(lane0 + k) & 7] += v[k];
    }
}

/* A constant number of groups keeps the accumulators in registers. Where vectors are short, masks
 * lose to single rows already at three groups (measured). */
#if defined(__AVX512F__)
enum { MOST_GROUPS = SM_MASK_GROUPS };
#define EACH_GROUP_COUNT(CALL)                                                                     \
    switch (n_groups) {                                                                            \
    case 1: CALL(1); break;                                                                        \
    case 2: CALL(2); break;                                                                        \
    case 3: CALL(3); break;                                                                        \
    case 4: CALL(4); break;                                                                        \
    case 5: CALL(5); break;                                                                        \
    case 6: CALL(6); break;                                                                        \
    case 7: CALL(7); break;                                                                        \
    default: CALL(8); break;                                                                       \
    }
#else
enum { MOST_GROUPS = 2 };
#define EACH_GROUP_COUNT(CALL)                                                                     \
    if (n_groups == 1)                                                                             \
        CALL(1);                                                                                   \
    else                                                                                           \
        CALL(2);
#endif

static void sum_f64_groups(const void *v, uint64_t (*masks)[SM_MASK_WORDS], uint32_t n_groups,
                           uint32_t n, uint32_t lane0, double *const *lanes){
#define CALL(G) sum_groups(v, masks, G, n, lane0, lanes)
    EACH_GROUP_COUNT(CALL)
#undef CALL
}

/* ---- exact sums ------------------------------------------------------------------------------ */

/* Values of up to 32 bits, or proved to be short: 1,024 of them cannot leave 64 bits. */
#define SUM_SHORT(name, T, LOAD)                                                                   \
    static void name(const void *values, const uint64_t *live, uint32_t n, sm_i128 *sum)           \
    {                                                                                              \
        const T *v = values;                                                                       \
        v8l acc = {0};                                                                             \
        int64_t rest = 0;                                                                          \
        uint32_t i = 0;                                                                            \
        for (; n - i >= 8; i += 8) {                                                               \
            v8l x = LOAD(v + i);                                                                   \
            acc = live ? ADD_I(acc, x, bits_of_8(live, i)) : acc + x;                              \
        }                                                                                          \
        for (; i < n; i++)                                                                         \
            if (!live || sm_bit_get(live, i)) rest += v[i];                                        \
        for (i = 0; i < 8; i++) rest += acc[i];                                                    \
        *sum += rest;                                                                              \
    }
SUM_SHORT(sum_i16, int16_t, load_8s) SUM_SHORT(sum_i32, int32_t, load_8i)
    SUM_SHORT(sum_i64_short, int64_t, load_8l)

    /* Any values: halves are summed apart, which 1,024 rows cannot overflow either. */
    static void sum_i64(const void *values, const uint64_t *live, uint32_t n, sm_i128 *sum)
{
    const int64_t *v = values;
    v8l low = {0}, high = {0};
    sm_i128 rest = 0;
    uint32_t i = 0;
    for (; n - i >= 8; i += 8) {
        v8l x = load_8l(v + i);
        uint32_t bits = live ? bits_of_8(live, i) : 0xFF;
        low = ADD_I(low, x & 0xFFFFFFFF, bits);
        high = ADD_I(high, x >> 32, bits);
    }
    for (; i < n; i++)
        if (!live || sm_bit_get(live, i)) rest += v[i];
    for (i = 0; i < 8; i++) rest += (sm_i128)high[i] * ((int64_t)1 << 32) + low[i];
    *sum += rest;
}

SM_INLINE void sum_groups_int(const int64_t *v, uint64_t (*masks)[SM_MASK_WORDS], uint32_t n_groups,
                              uint32_t n, sm_i128 *sums, bool is_short)
{
    v8l low[SM_MASK_GROUPS], high[SM_MASK_GROUPS];
    uint32_t i = 0;
    for (uint32_t g = 0; g < n_groups; g++) low[g] = high[g] = (v8l){0};
    for (; n - i >= 8; i += 8) {
        v8l x = load_8l(v + i);
        v8l x_low = x & 0xFFFFFFFF, x_high = x >> 32;
        for (uint32_t g = 0; g < n_groups; g++) {
            uint32_t bits = bits_of_8(masks[g], i);
            low[g] = ADD_I(low[g], is_short ? x : x_low, bits);
            if (!is_short) high[g] = ADD_I(high[g], x_high, bits);
        }
    }
    for (uint32_t g = 0; g < n_groups; g++) {
        sm_i128 sum = 0;
        for (uint32_t k = 0; k < 8; k++)
            sum += is_short ? low[g][k] : (sm_i128)high[g][k] * ((int64_t)1 << 32) + low[g][k];
        for (uint32_t k = i; k < n; k++)
            if (sm_bit_get(masks[g], k)) sum += v[k];
        sums[g] += sum;
    }
}

static void sum_i64_groups(const void *v, uint64_t (*masks)[SM_MASK_WORDS], uint32_t n_groups,
                           uint32_t n, sm_i128 *sums)
{
#define CALL(G) sum_groups_int(v, masks, G, n, sums, false)
    EACH_GROUP_COUNT(CALL)
#undef CALL
}

static void sum_i64_short_groups(const void *v, uint64_t (*masks)[SM_MASK_WORDS], uint32_t n_groups,
                                 uint32_t n, sm_i128 *sums){
#define CALL(G) sum_groups_int(v, masks, G, n, sums, true)
    EACH_GROUP_COUNT(CALL)
#undef CALL
}

/* ---- minimum, maximum ------------------------------------------------------------------------ */

/* sm_float_key of eight values. */
#define KEYS(name, T, LOAD)                                                                        \
    SM_INLINE v8l name(const T *p)                                                                 \
    {                                                                                              \
        v8d v = LOAD(p);                                                                           \
        v8l nan = v != v;                                                                          \
        v8l bits = (v8l)(v + (v8d){0}); /* -0.0 + 0.0 is 0.0 */                                    \
        bits ^= (bits >> 63) & INT64_MAX;                                                          \
        return (bits & ~nan) | (nan & INT64_MAX);                                                  \
    }
KEYS(load_key_8d, double, load_8d) KEYS(load_key_8f, float, load_8f)
#define ONE_INT(x)    ((int64_t)(x))
#define ONE_KEY(x)    sm_float_key((double)(x))
#define IS_LESS(a, b) ((a) < (b))
#define IS_MORE(a, b) ((a) > (b))

#define BEST(name, T, LOAD, ONE, BETTER)                                                           \
    static void name(const void *values, const uint64_t *live, uint32_t n, int64_t *best)          \
    {                                                                                              \
        const T *v = values;                                                                       \
        int64_t top = *best;                                                                       \
        v8l acc = {top, top, top, top, top, top, top, top};                                        \
        uint32_t i = 0;                                                                            \
        for (; n - i >= 8; i += 8) {                                                               \
            v8l x = LOAD(v + i);                                                                   \
            v8l take = BETTER(x, acc);                                                             \
            if (live) take &= lane_mask(bits_of_8(live, i));                                       \
            acc = (x & take) | (acc & ~take);                                                      \
        }                                                                                          \
        for (; i < n; i++)                                                                         \
            if ((!live || sm_bit_get(live, i)) && BETTER(ONE(v[i]), top)) top = ONE(v[i]);         \
        for (i = 0; i < 8; i++)                                                                    \
            if (BETTER(acc[i], top)) top = acc[i];                                                 \
        *best = top;                                                                               \
    }
#define BESTS(which, BETTER)                                                                       \
    BEST(which##_i16, int16_t, load_8s, ONE_INT, BETTER)                                           \
    BEST(which##_i32, int32_t, load_8i, ONE_INT, BETTER)                                           \
    BEST(which##_i64, int64_t, load_8l, ONE_INT, BETTER)                                           \
    BEST(which##_f32, float, load_key_8f, ONE_KEY, BETTER)                                         \
    BEST(which##_f64, double, load_key_8d, ONE_KEY, BETTER)
    BESTS(min, IS_LESS) BESTS(max, IS_MORE)

    /* ---- groups, counting
       ------------------------------------------------------------------------ */

    /* Rows of a whole word whose code is g. */
    SM_INLINE uint64_t codes_equal(const uint16_t *codes, uint16_t g)
{
#if defined(__AVX512BW__)
    __m512i want = _mm512_set1_epi16((short)g);
    uint64_t low = _mm512_cmpeq_epi16_mask(_mm512_loadu_si512(codes), want);
    return low | (uint64_t)_mm512_cmpeq_epi16_mask(_mm512_loadu_si512(codes + 32), want) << 32;
#else
    typedef int16_t v8m __attribute__((vector_size(16), aligned(2)));
    const v8m bit = {1, 2, 4, 8, 16, 32, 64, 128};
    uint64_t bits = 0;
    for (uint32_t i = 0; i < 64; i += 8) {
        v8m c;
        uint64_t half[2];
        memcpy(&c, codes + i, sizeof c);
        c = (c == (int16_t)g) & bit;
        memcpy(half, &c, 16);
        uint64_t sum = half[0] | half[1];
        sum |= sum >> 32;
        sum |= sum >> 16;
        bits |= (sum & 0xFF) << i;
    }
    return bits;
#endif
}

static void group_masks(const uint16_t *codes, const uint16_t *groups, uint32_t n_groups,
                        const uint64_t *live, uint32_t n, uint64_t (*masks)[SM_MASK_WORDS])
{
    for (uint32_t w = 0; w * 64 < n; w++) {
        uint64_t rows = n - w * 64 < 64 ? ((uint64_t)1 << (n & 63)) - 1 : UINT64_MAX;
        if (live) rows &= live[w];
        for (uint32_t g = 0; g < n_groups; g++)
            masks[g][w] = codes_equal(codes + w * 64, groups[g]) & rows;
    }
}

static uint32_t codes_seen(const uint16_t *codes, uint32_t n)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < n; i++) seen |= (uint32_t)1 << (codes[i] & 15);
    return seen;
}

static uint32_t count(const uint64_t *live, uint32_t n)
{
    uint32_t sum = 0, w = 0;
    for (; w < n / 64; w++) sum += (uint32_t)__builtin_popcountll(live[w]);
    if (n & 63) sum += (uint32_t)__builtin_popcountll(live[w] & (((uint64_t)1 << (n & 63)) - 1));
    return sum;
}

#define BEST_ROWS(which)                                                                           \
    {                                                                                              \
        [SM_PHYS_I16] = which##_i16, [SM_PHYS_I32] = which##_i32, [SM_PHYS_I64] = which##_i64,     \
        [SM_PHYS_F32] = which##_f32, [SM_PHYS_F64] = which##_f64,                                  \
    }

extern const sm_agg_kernels SM_KERNEL_TABLE(sm_agg_kernels);
const sm_agg_kernels SM_KERNEL_TABLE(sm_agg_kernels) = {
    .sum_f64 = sum_f64,
    .sum_f32 = sum_f32,
    .sum_f64_groups = sum_f64_groups,
    .sum_i16 = sum_i16,
    .sum_i32 = sum_i32,
    .sum_i64 = sum_i64,
    .sum_i64_short = sum_i64_short,
    .sum_i64_groups = sum_i64_groups,
    .sum_i64_short_groups = sum_i64_short_groups,
    .min = BEST_ROWS(min),
    .max = BEST_ROWS(max),
    .group_masks = group_masks,
    .codes_seen = codes_seen,
    .count = count,
    .most_groups = MOST_GROUPS,
};
