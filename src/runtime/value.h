/* One value outside a vector, as the row tier, literals, statistics and results hold it.
 *
 * Text is a 16-byte view: length, then up to 12 bytes inline, or a 4-byte prefix and a pointer.
 * Length decides; NUL is an ordinary byte; the bytes belong to whoever made the view. Unused inline
 * bytes are zero, so that views of equal short texts are equal as two 64-bit words. */
#ifndef SM_VALUE_H
#define SM_VALUE_H

#include <string.h>

#include "types.h"

enum { SM_TEXT_INLINE = 12 };

typedef struct sm_text {
    uint32_t len;
    char prefix[4]; /* the first bytes; an inline text goes on into ptr's bytes */
    const char *ptr;
} sm_text;
static_assert(sizeof(sm_text) == 16 && offsetof(sm_text, ptr) == 8, "generated code relies on it");

typedef struct sm_interval {
    int32_t months;
    int32_t days;
    int64_t micros;
} sm_interval;
static_assert(sizeof(sm_interval) == 16, "Arrow's month_day_nano layout, with microseconds");

typedef struct sm_value {
    union {
        uint8_t b;
        int16_t i16;
        int32_t i32; /* date: days since 1970-01-01 */
        int64_t i64; /* timestamp: microseconds since 1970-01-01; decimals up to 18 digits */
        sm_i128 i128;
        float f32;
        double f64;
        sm_interval iv;
        sm_text text;
    };
    bool is_null;
} sm_value;
static_assert(sizeof(sm_value) == 32, "rows of values are indexed by generated code");

SM_INLINE const char *sm_text_bytes(const sm_text *t)
{
    return t->len <= SM_TEXT_INLINE ? t->prefix : t->ptr;
}

/** A view of len bytes at s; copies them if they fit inline, else borrows s. */
SM_INLINE sm_text sm_text_view(const char *s, uint32_t len)
{
    sm_text t = {len, {0}, NULL};
    if (len <= SM_TEXT_INLINE) {
        memcpy((char *)&t + 4, s, len);
    } else {
        memcpy(t.prefix, s, 4);
        t.ptr = s;
    }
    return t;
}

SM_INLINE bool sm_text_eq(sm_text a, sm_text b)
{
    uint64_t wa[2], wb[2];
    memcpy(wa, &a, 16);
    memcpy(wb, &b, 16);
    if (wa[0] != wb[0]) return false; /* length and prefix */
    if (a.len <= SM_TEXT_INLINE) return wa[1] == wb[1];
    return memcmp(a.ptr, b.ptr, a.len) == 0;
}

/** Order by bytes (C collation): <0, 0, >0. */
SM_INLINE int sm_text_cmp(sm_text a, sm_text b)
{
    uint32_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(sm_text_bytes(&a), sm_text_bytes(&b), n) : 0;
    if (c) return c;
    return a.len < b.len ? -1 : a.len > b.len;
}

/** What intervals are compared by: microseconds, with months of 30 days and days of 24 hours. */
SM_INLINE sm_i128 sm_interval_total(sm_interval v)
{
    return ((sm_i128)v.months * 30 + v.days) * 86400000000 + v.micros;
}

/** A total order of intervals that agrees with it: of equal ones, more months and then more days
 * are above. */
SM_INLINE int sm_interval_cmp(sm_interval a, sm_interval b)
{
    sm_i128 x = sm_interval_total(a), y = sm_interval_total(b);
    if (x != y) return x < y ? -1 : 1;
    if (a.months != b.months) return a.months < b.months ? -1 : 1;
    return a.days < b.days ? -1 : a.days > b.days;
}

/** Integers of any width, dates, timestamps and decimals as int128; value must not be NULL. */
SM_INLINE sm_i128 sm_value_int(const sm_value *v, sm_phys p)
{
    switch (p) {
    case SM_PHYS_BOOL: return v->b;
    case SM_PHYS_I16: return v->i16;
    case SM_PHYS_I32: return v->i32;
    case SM_PHYS_I64: return v->i64;
    default: return v->i128;
    }
}

#endif
