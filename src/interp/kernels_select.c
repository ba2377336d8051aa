/* Masks, selection vectors and moves of values under them. Compiled once per instruction-set level;
 * read kernels.h first. Masks are one bit a row; a bool vector is one byte a row, 0 or 1. */
#include "interp/kernels.h"

#if defined(__AVX2__)
#include <simde/x86/avx2.h>
#else
#include <simde/x86/sse2.h>
#endif
#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

SM_INLINE uint64_t tail(uint32_t n, uint32_t word)
{
    return n - word * 64 >= 64 ? UINT64_MAX : ((uint64_t)1 << (n & 63)) - 1;
}

SM_INLINE uint64_t bits_of_32(const uint8_t *b)
{
#if defined(__AVX2__)
    simde__m256i v = simde_mm256_loadu_si256((const simde__m256i *)b);
    return (uint32_t)simde_mm256_movemask_epi8(simde_mm256_slli_epi16(v, 7));
#else
    simde__m128i v = simde_mm_loadu_si128((const simde__m128i *)b);
    simde__m128i w = simde_mm_loadu_si128((const simde__m128i *)(b + 16));
    uint32_t low = (uint32_t)simde_mm_movemask_epi8(simde_mm_slli_epi16(v, 7));
    return low | (uint32_t)simde_mm_movemask_epi8(simde_mm_slli_epi16(w, 7)) << 16;
#endif
}

SM_INLINE uint32_t pick_rows(sm_pick how, const uint8_t *b, const uint64_t *valid,
                             const uint64_t *live, uint32_t n, uint64_t *out)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w * 64 < n; w++) {
        uint64_t bits = bits_of_32(b + w * 64);
        if (n - w * 64 > 32) bits |= bits_of_32(b + w * 64 + 32) << 32;
        if (valid) bits = how == SM_PICK_NOT_FALSE ? bits | ~valid[w] : bits & valid[w];
        if (how == SM_PICK_NOT_TRUE) bits = ~bits;
        if (live) bits &= live[w];
        bits &= tail(n, w);
        out[w] = bits;
        count += (uint32_t)__builtin_popcountll(bits);
    }
    return count;
}

static uint32_t pick(sm_pick how, const uint8_t *b, const uint64_t *valid, const uint64_t *live,
                     uint32_t n, uint64_t *out)
{
    switch (how) {
    case SM_PICK_TRUE: return pick_rows(SM_PICK_TRUE, b, valid, live, n, out);
    case SM_PICK_NOT_TRUE: return pick_rows(SM_PICK_NOT_TRUE, b, valid, live, n, out);
    default: return pick_rows(SM_PICK_NOT_FALSE, b, valid, live, n, out);
    }
}

static uint32_t sel_of_mask(const uint64_t *mask, uint32_t n, uint16_t *sel)
{
    uint32_t k = 0;
    for (uint32_t w = 0; w * 64 < n; w++) {
        uint64_t bits = mask[w];
#if defined(__AVX512BW__)
        if (__builtin_popcountll(bits) > 8) {
            const __m512i step =
                _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            for (uint32_t q = 0; q < 4; q++) {
                __mmask16 m = (__mmask16)(bits >> (q * 16));
                __m512i rows = _mm512_add_epi32(step, _mm512_set1_epi32((int)(w * 64 + q * 16)));
                __m256i packed = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(m, rows));
                _mm256_storeu_si256((__m256i *)(sel + k), packed);
                k += (uint32_t)__builtin_popcount(m);
            }
            continue;
        }
#endif
        for (; bits; bits &= bits - 1)
            sel[k++] = (uint16_t)(w * 64 + (uint32_t)__builtin_ctzll(bits));
    }
    return k;
}

static void bytes_of_mask(const uint64_t *mask, uint32_t n, uint8_t *out)
{
    for (uint32_t w = 0; w * 64 < n; w++) {
        uint64_t bits = mask[w];
#if defined(__AVX512BW__)
        _mm512_storeu_si512(out + w * 64, _mm512_maskz_set1_epi8(bits, 1));
#else
        for (uint32_t q = 0; q < 8; q++) {
            /* bit i of the byte to byte i: spread copies, keep one bit in each, make it 0 or 1 */
            uint64_t x = (bits >> (q * 8) & 0xFF) * 0x0101010101010101u & 0x8040201008040201u;
            x = (x + 0x7F7F7F7F7F7F7F7Fu) >> 7 & 0x0101010101010101u;
            memcpy(out + w * 64 + q * 8, &x, 8);
        }
#endif
    }
}

/* Whole words with few gaps as vectors; the others, and the last, bit by bit. */
#define BLEND(T, name)                                                                             \
    static void name(T *out, const T *v, const uint64_t *mask, uint32_t n)                         \
    {                                                                                              \
        for (uint32_t w = 0; w * 64 < n; w++) {                                                    \
            uint64_t bits = mask[w];                                                               \
            T *restrict to = out + w * 64;                                                         \
            const T *restrict from = v + w * 64;                                                   \
            if (bits == UINT64_MAX) {                                                              \
                memcpy(to, from, 64 * sizeof(T));                                                  \
            } else if (n - w * 64 >= 64 && __builtin_popcountll(bits) > 8) {                       \
                for (uint32_t i = 0; i < 64; i++) {                                                \
                    T take = (T)(0 - (T)(bits >> i & 1));                                          \
                    to[i] = (T)((from[i] & take) | (to[i] & (T)~take));                            \
                }                                                                                  \
            } else {                                                                               \
                for (; bits; bits &= bits - 1) {                                                   \
                    uint32_t i = (uint32_t)__builtin_ctzll(bits);                                  \
                    to[i] = from[i];                                                               \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#if defined(__AVX512BW__)
/* Masked loads and stores touch nothing beyond the mask. */
#define BLEND_MASKED(T, name, LOAD, STORE, MASK)                                                   \
    static void name(T *out, const T *v, const uint64_t *mask, uint32_t n)                         \
    {                                                                                              \
        const uint32_t step = 64 / (uint32_t)sizeof(T);                                            \
        for (uint32_t i = 0; i < n; i += step) {                                                   \
            MASK m = (MASK)(mask[i >> 6] >> (i & 63));                                             \
            STORE(out + i, m, LOAD(m, v + i));                                                     \
        }                                                                                          \
    }
BLEND_MASKED(uint8_t, blend_1, _mm512_maskz_loadu_epi8, _mm512_mask_storeu_epi8, __mmask64)
BLEND_MASKED(uint16_t, blend_2, _mm512_maskz_loadu_epi16, _mm512_mask_storeu_epi16, __mmask32)
BLEND_MASKED(uint32_t, blend_4, _mm512_maskz_loadu_epi32, _mm512_mask_storeu_epi32, __mmask16)
BLEND_MASKED(uint64_t, blend_8, _mm512_maskz_loadu_epi64, _mm512_mask_storeu_epi64, __mmask8)
#else
BLEND(uint8_t, blend_1)
BLEND(uint16_t, blend_2)
BLEND(uint32_t, blend_4)
BLEND(uint64_t, blend_8)
#endif
BLEND(sm_u128, blend_16)

static void blend(void *out, const void *v, const uint64_t *mask, uint32_t n, uint32_t bytes)
{
    switch (bytes) {
    case 1: blend_1(out, v, mask, n); break;
    case 2: blend_2(out, v, mask, n); break;
    case 4: blend_4(out, v, mask, n); break;
    case 8: blend_8(out, v, mask, n); break;
    default: blend_16(out, v, mask, n); break;
    }
}

#define LOOK_UP(T)                                                                                 \
    {                                                                                              \
        const T *from = table;                                                                     \
        T *restrict to = out;                                                                      \
        for (uint32_t i = 0; i < n; i++) to[i] = from[codes[i]];                                   \
    }

static void look_up(void *out, const void *table, const uint16_t *codes, uint32_t n, uint32_t bytes)
{
    switch (bytes) {
    case 1: LOOK_UP(uint8_t) break;
    case 2: LOOK_UP(uint16_t) break;
    case 4: LOOK_UP(uint32_t) break;
    case 8: LOOK_UP(uint64_t) break;
    default: LOOK_UP(sm_u128) break;
    }
}

static void and_bytes(uint8_t *out, const uint8_t *a, const uint8_t *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) out[i] = a[i] & b[i];
}

static void or_bytes(uint8_t *out, const uint8_t *a, const uint8_t *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) out[i] = a[i] | b[i];
}

static void widen(sm_i128 *out, const int64_t *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) out[i] = v[i];
}

static void narrow(int64_t *out, const sm_i128 *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) out[i] = (int64_t)v[i];
}

extern const sm_select_kernels SM_KERNEL_TABLE(sm_select_kernels);
const sm_select_kernels SM_KERNEL_TABLE(sm_select_kernels) = {
    pick, sel_of_mask, bytes_of_mask, blend, look_up, and_bytes, or_bytes, widen, narrow,
};
