/* Hashing that is too long to inline: texts and intervals, and the switch that makes every hash
 * collide. */
#include "hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static _Atomic bool zero;

void sm_hash_zero_set(bool on)
{
    atomic_store_explicit(&zero, on, memory_order_relaxed);
}

bool sm_hash_zero(void)
{
    return atomic_load_explicit(&zero, memory_order_relaxed);
}

uint64_t sm_hash_bytes(const void *p, size_t bytes)
{
    return XXH3_64bits(p, bytes);
}

void sm_key_store(sm_phys phys, sm_key k, sm_value *out)
{
    double d;
    out->is_null = false;
    switch (phys) {
    case SM_PHYS_BOOL: out->b = (uint8_t)k.w[0]; break;
    case SM_PHYS_I16: out->i16 = (int16_t)k.w[0]; break;
    case SM_PHYS_I32: out->i32 = (int32_t)k.w[0]; break;
    case SM_PHYS_I64: out->i64 = (int64_t)k.w[0]; break;
    case SM_PHYS_F32:
        memcpy(&d, &k.w[0], 8);
        out->f32 = (float)d;
        break;
    case SM_PHYS_F64: memcpy(&out->f64, &k.w[0], 8); break;
    default: memcpy(out, &k, 16); break;
    }
}

static sm_text text_of(sm_key k)
{
    sm_text t;
    memcpy(&t, &k, 16);
    return t;
}

static sm_interval interval_of(sm_key k)
{
    sm_interval v;
    memcpy(&v, &k, 16);
    return v;
}

uint64_t sm_key_hash(sm_phys phys, sm_key k)
{
    sm_text t;
    switch (phys) {
    case SM_PHYS_F32:
    case SM_PHYS_F64: return sm_hash_mix(k.w[0]);
    case SM_PHYS_IV: return sm_hash_i128(sm_interval_total(interval_of(k)));
    case SM_PHYS_TEXT: t = text_of(k); return sm_hash_bytes(sm_text_bytes(&t), t.len);
    default: return sm_hash_i128(sm_key_i128(k));
    }
}

bool sm_key_same(sm_phys phys, sm_key a, sm_key b)
{
    if (phys == SM_PHYS_TEXT) return sm_text_eq(text_of(a), text_of(b));
    return sm_interval_total(interval_of(a)) == sm_interval_total(interval_of(b));
}

bool sm_key_own(sm_phys phys, sm_key *k, sm_arena *arena)
{
    sm_text t = text_of(*k);
    char *copy;
    if (phys != SM_PHYS_TEXT || t.len <= SM_TEXT_INLINE) return true;
    copy = sm_arena_alloc(arena, t.len);
    if (!copy) return false;
    memcpy(copy, t.ptr, t.len);
    t.ptr = copy;
    memcpy(k, &t, 16);
    return true;
}

uint64_t sm_hash_value(sm_phys p, const sm_value *v)
{
    return sm_hash_zero() ? 0 : sm_key_hash(p, sm_key_load(p, v));
}
