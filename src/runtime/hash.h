/* Hashing of values, and the canonical form of keys that hash tables store and compare.
 *
 * A key is two 64-bit words: integers of any width (bool, dates, timestamps, decimals)
 * sign-extended to 128 bits; floats widened to double, -0.0 as 0.0 and every NaN alike; intervals
 * and text views as they are. But for intervals and long texts, keys are equal when their words
 * are. The width of a column is thus no part of a hash, so tiers may narrow columns.
 *
 * Compiled code emits the same functions: sm_hash_mix is three xor-shifts and two multiplications.
 */
#ifndef SM_HASH_H
#define SM_HASH_H

#include "agg.h"

/** A bijection of 64-bit integers that spreads every input bit over all output bits.
 *  source  Maiga's xmx mixers, constants found by measuring avalanche */
SM_INLINE uint64_t sm_hash_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xE9846AF9B1A615Du;
    x ^= x >> 32;
    x *= 0xE9846AF9B1A615Du;
    x ^= x >> 28;
    return x;
}

/** Hash of a row of keys: start with the first key's hash, combine with the next ones in order. */
SM_INLINE uint64_t sm_hash_combine(uint64_t row, uint64_t key)
{
    return row * 0x9E3779B97F4A7C15u + key;
}

#define SM_HASH_NULL 0x7D3B5A1C9F2E8467u

/** Integers: narrow ones hash as sm_hash_mix of their 64 bits. */
SM_INLINE uint64_t sm_hash_i128(sm_i128 v)
{
    uint64_t low = sm_hash_mix((uint64_t)v);
    if (v == (int64_t)v) return low;
    return sm_hash_combine(low, sm_hash_mix((uint64_t)((sm_u128)v >> 64)));
}

typedef struct sm_key {
    uint64_t w[2];
} sm_key;

SM_INLINE sm_key sm_key_of_i128(sm_i128 v)
{
    return (sm_key){{(uint64_t)v, (uint64_t)((sm_u128)v >> 64)}};
}
SM_INLINE sm_key sm_key_of_i64(int64_t v)
{
    return (sm_key){{(uint64_t)v, (uint64_t)(v >> 63)}};
}
SM_INLINE sm_key sm_key_of_f64(double v)
{
    sm_key k = {{0x7FF8000000000000u, 0}};
    v += 0.0; /* -0.0 becomes 0.0 */
    if (v == v) memcpy(&k.w[0], &v, 8);
    return k;
}
SM_INLINE sm_i128 sm_key_i128(sm_key k)
{
    return (sm_i128)((sm_u128)k.w[1] << 64 | k.w[0]);
}

/** Key of the physical value at p. */
SM_INLINE sm_key sm_key_load(sm_phys phys, const void *p)
{
    sm_key k;
    switch (phys) {
    case SM_PHYS_BOOL: return sm_key_of_i64(*(const uint8_t *)p);
    case SM_PHYS_I16: return sm_key_of_i64(*(const int16_t *)p);
    case SM_PHYS_I32: return sm_key_of_i64(*(const int32_t *)p);
    case SM_PHYS_I64: return sm_key_of_i64(*(const int64_t *)p);
    case SM_PHYS_F32: return sm_key_of_f64((double)*(const float *)p);
    case SM_PHYS_F64: return sm_key_of_f64(*(const double *)p);
    default: memcpy(&k, p, 16); return k;
    }
}

/** Writes the key back as a value of the physical form. */
void sm_key_store(sm_phys phys, sm_key k, sm_value *out);
/** Hash of a key; not forced to 0 by the debug switch. */
uint64_t sm_key_hash(sm_phys phys, sm_key k);
/** Equality of keys whose words differ: intervals by their total, texts beyond 12 bytes by their
 * bytes. */
bool sm_key_same(sm_phys phys, sm_key a, sm_key b);
SM_INLINE bool sm_key_eq(sm_phys phys, sm_key a, sm_key b)
{
    if (a.w[0] == b.w[0] && a.w[1] == b.w[1]) return true;
    return (phys == SM_PHYS_TEXT || phys == SM_PHYS_IV) && sm_key_same(phys, a, b);
}
/** Copies a long text's bytes into the arena, so that the key owns them; false when memory is out.
 */
bool sm_key_own(sm_phys phys, sm_key *k, sm_arena *arena);

uint64_t sm_hash_bytes(const void *p, size_t bytes);
/** Hash of one value of a physical form (float: canonical), not NULL. */
uint64_t sm_hash_value(sm_phys p, const sm_value *v);

/** Debug switch: every hash is 0. Set before any query runs. */
void sm_hash_zero_set(bool on);
bool sm_hash_zero(void);

#endif
