/* The loops of storage/kernels.h, written so that the compiler vectorises them; this file is
 * compiled once for each instruction-set level and defines one table, named by SM_ISA. */
#include "storage/kernels.h"

#include <math.h>
#include <string.h>

#include <simde/x86/sse2.h>

#define TABLE_NAME2(isa) sm_column_kernels_##isa
#define TABLE_NAME(isa)  TABLE_NAME2(isa)

/* The sum is taken in unsigned arithmetic: stored values may reach over the whole range of int64. */
#define WIDEN(name, from_type, to_type)                                                            \
    static void name(const void *stored, int64_t base, uint32_t n, void *out)                      \
    {                                                                                              \
        const from_type *restrict from = stored;                                                   \
        to_type *restrict to = out;                                                                \
        uint64_t add = (uint64_t)base;                                                             \
        for (uint32_t i = 0; i < n; i++) to[i] = (to_type)(int64_t)(add + from[i]);                \
    }
#define WIDEN_ALL(from_type)                                                                       \
    WIDEN(widen_##from_type##_16, from_type, int16_t)                                              \
    WIDEN(widen_##from_type##_32, from_type, int32_t)                                              \
    WIDEN(widen_##from_type##_64, from_type, int64_t)                                              \
    WIDEN(widen_##from_type##_128, from_type, sm_i128)
WIDEN_ALL(uint8_t)
WIDEN_ALL(uint16_t)
WIDEN_ALL(uint32_t)
WIDEN_ALL(uint64_t)
#define WIDEN_ROW(t)                                                                               \
    {                                                                                              \
        widen_##t##_16, widen_##t##_32, widen_##t##_64, widen_##t##_128                            \
    }

static void widen_codes(const void *stored, uint32_t n, uint16_t *out)
{
    const uint8_t *restrict from = stored;
    uint16_t *restrict to = out;
    for (uint32_t i = 0; i < n; i++) to[i] = from[i];
}

#define NARROW(name, to_type)                                                                      \
    static void name(const int64_t *value, int64_t base, uint32_t n, void *out)                    \
    {                                                                                              \
        const int64_t *restrict from = value;                                                      \
        to_type *restrict to = out;                                                                \
        for (uint32_t i = 0; i < n; i++) to[i] = (to_type)((uint64_t)from[i] - (uint64_t)base);    \
    }
NARROW(narrow_1, uint8_t)
NARROW(narrow_2, uint16_t)
NARROW(narrow_4, uint32_t)
NARROW(narrow_8, uint64_t)

#define MINMAX_INT(name, type)                                                                     \
    static void name(const void *values, uint32_t n, int64_t *min, int64_t *max)                   \
    {                                                                                              \
        const type *v = values;                                                                    \
        type lo = v[0], hi = v[0];                                                                 \
        for (uint32_t i = 1; i < n; i++) {                                                         \
            lo = v[i] < lo ? v[i] : lo;                                                            \
            hi = v[i] > hi ? v[i] : hi;                                                            \
        }                                                                                          \
        *min = lo;                                                                                 \
        *max = hi;                                                                                 \
    }
MINMAX_INT(minmax_i16, int16_t)
MINMAX_INT(minmax_i32, int32_t)
MINMAX_INT(minmax_i64, int64_t)

/* Independent accumulators, since the compiler may not reorder comparisons of floats by itself. */
enum { FLOAT_LANES = 16 };
#define MINMAX_FLOAT(name, type)                                                                   \
    static bool name(const type *v, uint32_t n, type *min, type *max)                              \
    {                                                                                              \
        type lo[FLOAT_LANES], hi[FLOAT_LANES];                                                     \
        uint32_t whole = n & ~(uint32_t)(FLOAT_LANES - 1);                                         \
        bool nan = false;                                                                          \
        for (int k = 0; k < FLOAT_LANES; k++) lo[k] = hi[k] = v[0];                                \
        for (uint32_t i = 0; i < whole; i += FLOAT_LANES) {                                        \
            int odd = 0;                                                                           \
            for (int k = 0; k < FLOAT_LANES; k++) {                                                \
                lo[k] = v[i + k] < lo[k] ? v[i + k] : lo[k];                                       \
                hi[k] = v[i + k] > hi[k] ? v[i + k] : hi[k];                                       \
                odd |= v[i + k] != v[i + k];                                                       \
            }                                                                                      \
            nan |= odd;                                                                            \
        }                                                                                          \
        for (uint32_t i = whole; i < n; i++) {                                                     \
            lo[0] = v[i] < lo[0] ? v[i] : lo[0];                                                   \
            hi[0] = v[i] > hi[0] ? v[i] : hi[0];                                                   \
            nan |= v[i] != v[i];                                                                   \
        }                                                                                          \
        for (int k = 1; k < FLOAT_LANES; k++) {                                                    \
            lo[0] = lo[k] < lo[0] ? lo[k] : lo[0];                                                 \
            hi[0] = hi[k] > hi[0] ? hi[k] : hi[0];                                                 \
        }                                                                                          \
        *min = lo[0];                                                                              \
        *max = hi[0];                                                                              \
        return !nan;                                                                               \
    }
MINMAX_FLOAT(minmax_f32, float)
MINMAX_FLOAT(minmax_f64, double)

static simde__m128i load16(const char *s)
{
    return simde_mm_loadu_si128((const simde__m128i *)(const void *)s);
}

static uint64_t mask16(simde__m128i hits, int k)
{
    return (uint64_t)(uint16_t)simde_mm_movemask_epi8(hits) << (16 * k);
}

static void pack_bits(const uint8_t *bytes, uint32_t n, uint64_t *bits)
{
    const simde__m128i zero = simde_mm_setzero_si128();
    uint32_t whole = n / 64;
    for (uint32_t w = 0; w < whole; w++) {
        const char *s = (const char *)bytes + (size_t)w * 64;
        uint64_t clear = 0;
        for (int k = 0; k < 4; k++)
            clear |= mask16(simde_mm_cmpeq_epi8(load16(s + 16 * k), zero), k);
        bits[w] = ~clear;
    }
    if (n % 64) {
        uint64_t word = 0;
        for (uint32_t i = whole * 64; i < n; i++) word |= (uint64_t)(bytes[i] != 0) << (i & 63);
        bits[whole] = word;
    }
}

static void unpack_bits(const uint64_t *bits, uint32_t from, uint32_t n, uint8_t *bytes)
{
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint32_t at = from + i;
        /* eight bits, which may straddle two words */
        uint64_t word = bits[at >> 6] >> (at & 63);
        uint64_t spread;
        if ((at & 63) > 56) word |= bits[(at >> 6) + 1] << (64 - (at & 63));
        /* bit k to byte k: each byte of the product keeps its own bit of the eight copies */
        spread = ((word & 255) * 0x0101010101010101u) & 0x8040201008040201u;
        spread = ((spread + 0x7F7F7F7F7F7F7F7Fu) >> 7) & 0x0101010101010101u;
        memcpy(bytes + i, &spread, 8);
    }
    for (; i < n; i++) bytes[i] = (uint8_t)(bits[(from + i) >> 6] >> ((from + i) & 63) & 1);
}

/* 16 bytes a step on every level: what is done with the hits costs more. */
static uint32_t find_bytes(const char *s, uint32_t n, const char what[5], uint32_t *at)
{
    simde__m128i any[5];
    uint32_t found = 0;
    for (int j = 0; j < 5; j++) any[j] = simde_mm_set1_epi8(what[j]);
    for (uint32_t i = 0; i < n; i += 64) {
        uint64_t hits = 0;
        for (int k = 0; k < 4; k++) {
            simde__m128i v = load16(s + i + 16 * k), equal = simde_mm_cmpeq_epi8(v, any[0]);
            for (int j = 1; j < 5; j++)
                equal = simde_mm_or_si128(equal, simde_mm_cmpeq_epi8(v, any[j]));
            hits |= mask16(equal, k);
        }
        for (; hits; hits &= hits - 1) at[found++] = i + (uint32_t)__builtin_ctzll(hits);
    }
    return found;
}

static bool is_ascii(const char *s, size_t n)
{
    size_t i = 0;
    uint8_t any = 0;
    for (; i + 32 <= n; i += 32)
        if (simde_mm_movemask_epi8(simde_mm_or_si128(load16(s + i), load16(s + i + 16))))
            return false;
    for (; i < n; i++) any |= (uint8_t)s[i];
    return any < 128;
}

extern const sm_column_kernels TABLE_NAME(SM_ISA);
const sm_column_kernels TABLE_NAME(SM_ISA) = {
    .widen = {WIDEN_ROW(uint8_t), WIDEN_ROW(uint16_t), WIDEN_ROW(uint32_t), WIDEN_ROW(uint64_t)},
    .widen_codes = widen_codes,
    .narrow = {narrow_1, narrow_2, narrow_4, narrow_8},
    .minmax_i16 = minmax_i16,
    .minmax_i32 = minmax_i32,
    .minmax_i64 = minmax_i64,
    .minmax_f32 = minmax_f32,
    .minmax_f64 = minmax_f64,
    .pack_bits = pack_bits,
    .unpack_bits = unpack_bits,
    .find_bytes = find_bytes,
    .is_ascii = is_ascii,
};
