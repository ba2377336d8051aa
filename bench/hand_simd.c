/* Hand-written loops with intrinsics, 8 accumulators: what an expert writes for exactly one query.
 * Built for x86-64-v2, v3 and v4 with LEVEL naming the table; the differences between the levels
 * are the macros at the top. */
#include "hand.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

enum { ACCUMULATORS = 8 };

#if defined(__AVX512F__)
#include <immintrin.h>
enum { WIDTH = 8 };
typedef __m512d vec;
typedef __m512i word;
typedef __mmask8 mask;
#define ZERO()               _mm512_setzero_pd()
#define SPLAT(v)             _mm512_set1_pd(v)
#define LOAD(p)              _mm512_loadu_pd(p)
#define ADD(a, b)            _mm512_add_pd(a, b)
#define MUL(a, b)            _mm512_mul_pd(a, b)
#define MORE(a, b)           _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ)
#define MASK_OF_BITS(bits)   ((mask)(bits))
#define BITS_OF_MASK(m)      ((unsigned)(m))
#define AND(m, n)            ((mask)((m) & (n)))
#define ADD_WHERE(sum, m, v) _mm512_mask_add_pd(sum, m, sum, v)
#define WORD_ZERO()          _mm512_setzero_si512()
#define WORD_LOAD(p)         _mm512_loadu_si512(p)
#define WORD_ADD(a, b)       _mm512_add_epi64(a, b)
#define STORE(p, v)          _mm512_storeu_pd(p, v)
#define WORD_STORE(p, v)     _mm512_storeu_si512(p, v)
#elif defined(__AVX2__)
#include <immintrin.h>
enum { WIDTH = 4 };
typedef __m256d vec;
typedef __m256i word;
typedef __m256d mask;
#define ZERO()               _mm256_setzero_pd()
#define SPLAT(v)             _mm256_set1_pd(v)
#define LOAD(p)              _mm256_loadu_pd(p)
#define ADD(a, b)            _mm256_add_pd(a, b)
#define MUL(a, b)            _mm256_mul_pd(a, b)
#define MORE(a, b)           _mm256_cmp_pd(a, b, _CMP_GT_OQ)
#define BITS_OF_MASK(m)      ((unsigned)_mm256_movemask_pd(m))
#define AND(m, n)            _mm256_and_pd(m, n)
#define ADD_WHERE(sum, m, v) _mm256_add_pd(sum, _mm256_and_pd(m, v))
#define WORD_ZERO()          _mm256_setzero_si256()
#define WORD_LOAD(p)         _mm256_loadu_si256((const __m256i *)(p))
#define WORD_ADD(a, b)       _mm256_add_epi64(a, b)
#define STORE(p, v)          _mm256_storeu_pd(p, v)
#define WORD_STORE(p, v)     _mm256_storeu_si256((__m256i *)(p), v)
static inline mask MASK_OF_BITS(unsigned bits)
{
    const __m256i each = _mm256_set_epi64x(8, 4, 2, 1);
    __m256i all = _mm256_set1_epi64x((long long)bits);
    return _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_and_si256(all, each), each));
}
#elif defined(__SSE4_1__)
#include <immintrin.h>
enum { WIDTH = 2 };
typedef __m128d vec;
typedef __m128i word;
typedef __m128d mask;
#define ZERO()               _mm_setzero_pd()
#define SPLAT(v)             _mm_set1_pd(v)
#define LOAD(p)              _mm_loadu_pd(p)
#define ADD(a, b)            _mm_add_pd(a, b)
#define MUL(a, b)            _mm_mul_pd(a, b)
#define MORE(a, b)           _mm_cmpgt_pd(a, b)
#define BITS_OF_MASK(m)      ((unsigned)_mm_movemask_pd(m))
#define AND(m, n)            _mm_and_pd(m, n)
#define ADD_WHERE(sum, m, v) _mm_add_pd(sum, _mm_and_pd(m, v))
#define WORD_ZERO()          _mm_setzero_si128()
#define WORD_LOAD(p)         _mm_loadu_si128((const __m128i *)(p))
#define WORD_ADD(a, b)       _mm_add_epi64(a, b)
#define STORE(p, v)          _mm_storeu_pd(p, v)
#define WORD_STORE(p, v)     _mm_storeu_si128((__m128i *)(p), v)
static inline mask MASK_OF_BITS(unsigned bits)
{
    const __m128i each = _mm_set_epi64x(2, 1);
    __m128i all = _mm_set1_epi64x((long long)bits);
    return _mm_castsi128_pd(_mm_cmpeq_epi64(_mm_and_si128(all, each), each));
}
#else
/* No intrinsics for this machine: the compiler's own vectors stand in. */
enum { WIDTH = 2 };
typedef double vec __attribute__((vector_size(16), aligned(8)));
typedef int64_t word __attribute__((vector_size(16), aligned(8)));
typedef word mask;
#define ZERO()               ((vec){0, 0})
#define SPLAT(v)             ((vec){v, v})
#define LOAD(p)              (*(const vec *)(p))
#define ADD(a, b)            ((a) + (b))
#define MUL(a, b)            ((a) * (b))
#define MORE(a, b)           ((a) > (b))
#define MASK_OF_BITS(bits)   ((word){-(int64_t)((bits)&1), -(int64_t)((bits) >> 1 & 1)})
#define BITS_OF_MASK(m)      ((unsigned)((m)[0] & 1) | (unsigned)((m)[1] & 2))
#define AND(m, n)            ((m) & (n))
#define ADD_WHERE(sum, m, v) ((sum) + (vec)((m) & (word)(v)))
#define WORD_ZERO()          ((word){0, 0})
#define WORD_LOAD(p)         (*(const word *)(p))
#define WORD_ADD(a, b)       ((a) + (b))
#define STORE(p, v)          (*(vec *)(p) = (v))
#define WORD_STORE(p, v)     (*(word *)(p) = (v))
#endif

static double total(const vec sums[ACCUMULATORS])
{
    double all = 0, lanes[WIDTH];
    for (int k = 0; k < ACCUMULATORS; k++) {
        STORE(lanes, sums[k]);
        for (int i = 0; i < WIDTH; i++) all += lanes[i];
    }
    return all;
}

static hand_result simd_sum(const hand_data *d)
{
    vec s[ACCUMULATORS];
    double rest = 0;
    for (int k = 0; k < ACCUMULATORS; k++) s[k] = ZERO();
    for (uint64_t round = 0; round < d->times; round++) {
        const double *x = d->x;
        uint64_t i = 0, step = ACCUMULATORS * WIDTH;
        for (; i + step <= d->rows; i += step) {
#pragma GCC unroll 8
            for (int k = 0; k < ACCUMULATORS; k++)
                s[k] = ADD(s[k], LOAD(x + i + (uint64_t)k * WIDTH));
        }
        for (; i < d->rows; i++) rest += x[i];
    }
    return (hand_result){.sum = total(s) + rest};
}

static inline unsigned valid_bits(const uint8_t *valid, uint64_t row)
{
    return (unsigned)(valid[row >> 3] >> (row & 7)) & ((1u << WIDTH) - 1);
}

static hand_result simd_filter(const hand_data *d)
{
    vec s[ACCUMULATORS], least = SPLAT(d->k);
    hand_result r = {0};
    for (int k = 0; k < ACCUMULATORS; k++) s[k] = ZERO();
    for (uint64_t round = 0; round < d->times; round++) {
        uint64_t i = 0, step = ACCUMULATORS * WIDTH;
        for (; i + step <= d->rows; i += step) {
            uint64_t passed = 0;
#pragma GCC unroll 8
            for (int k = 0; k < ACCUMULATORS; k++) {
                uint64_t at = i + (uint64_t)k * WIDTH;
                mask keep = MORE(LOAD(d->c + at), least);
                passed |= (uint64_t)BITS_OF_MASK(keep) << (k * WIDTH);
                mask both = AND(keep, MASK_OF_BITS(valid_bits(d->valid, at)));
                s[k] = ADD_WHERE(s[k], both, MUL(LOAD(d->a + at), LOAD(d->b + at)));
            }
            r.count += __builtin_popcountll(passed);
        }
        for (; i < d->rows; i++) {
            if (!(d->c[i] > d->k)) continue;
            r.count++;
            if (valid_bits(d->valid, i) & 1) r.sum += d->a[i] * d->b[i];
        }
    }
    r.sum += total(s);
    return r;
}

/* Loads and adds as integers, 8 at a time: as fast as the memory, or the cache, gives the bytes. */
static int64_t read_bytes(const void *bytes, uint64_t n, uint64_t times)
{
    word s[ACCUMULATORS];
    int64_t words[WIDTH], all = 0;
    for (int k = 0; k < ACCUMULATORS; k++) s[k] = WORD_ZERO();
    for (uint64_t round = 0; round < times; round++) {
        const char *p = bytes;
        uint64_t step = ACCUMULATORS * sizeof(word);
        for (uint64_t i = 0; i + step <= n; i += step) {
#pragma GCC unroll 8
            for (int k = 0; k < ACCUMULATORS; k++)
                s[k] = WORD_ADD(s[k], WORD_LOAD(p + i + (uint64_t)k * sizeof(word)));
        }
        __asm__ volatile("" ::: "memory");
    }
    for (int k = 0; k < ACCUMULATORS; k++) {
        WORD_STORE(words, s[k]);
        for (int i = 0; i < WIDTH; i++) all = (int64_t)((uint64_t)all + (uint64_t)words[i]);
    }
    return all;
}

static hand_result read_sum(const hand_data *d)
{
    return (hand_result){.count = read_bytes(d->x, d->rows * 8, d->times)};
}

/* The columns by pieces that stay in their turn, as the query reads them side by side. */
static hand_result read_filter(const hand_data *d)
{
    enum { PIECE = 65536 };
    hand_result r = {0};
    for (uint64_t round = 0; round < d->times; round++) {
        for (uint64_t at = 0; at < d->rows; at += PIECE) {
            uint64_t n = d->rows - at < PIECE ? d->rows - at : PIECE;
            uint64_t all = (uint64_t)read_bytes(d->a + at, n * 8, 1) +
                           (uint64_t)read_bytes(d->b + at, n * 8, 1) +
                           (uint64_t)read_bytes(d->c + at, n * 8, 1) +
                           (uint64_t)read_bytes(d->valid + at / 8, n / 8, 1);
            r.count = (int64_t)((uint64_t)r.count + all);
        }
    }
    return r;
}

const hand_kernels PASTE(hand_simd_, LEVEL) = {simd_sum, simd_filter, read_sum, read_filter};
