/* Interval arithmetic over int128. Each function answers with the smallest interval that it can
 * vouch for; whenever a bound would overflow the answer is "unknown", which is always right. Read
 * range.h first. */
#include "plan/range.h"

#include "runtime/format.h"

static const sm_i128 i128_max = (sm_i128)(~(sm_u128)0 >> 1);
static const sm_i128 i128_min = -(sm_i128)(~(sm_u128)0 >> 1) - 1;

sm_range sm_range_of_type(sm_type t)
{
    switch (t.id) {
    case SM_BOOL: return sm_range_of(0, 1);
    case SM_INT16: return sm_range_of(INT16_MIN, INT16_MAX);
    case SM_INT32:
    case SM_DATE: return sm_range_of(INT32_MIN, INT32_MAX);
    case SM_INT64:
    case SM_TIMESTAMP: return sm_range_of(INT64_MIN, INT64_MAX);
    case SM_DECIMAL: {
        unsigned digits =
            t.precision && t.precision <= SM_DEC_MAX_DIGITS ? t.precision : SM_DEC_MAX_DIGITS;
        sm_i128 most = sm_pow10(digits) - 1;
        return sm_range_of(-most, most);
    }
    default: return SM_RANGE_UNKNOWN;
    }
}

sm_range sm_range_of_value(sm_type t, sm_phys p, const sm_value *v)
{
    if (v->is_null || !sm_range_of_type(t).known) return SM_RANGE_UNKNOWN;
    sm_i128 x = sm_value_int(v, p);
    return sm_range_of(x, x);
}

bool sm_range_within(sm_range a, sm_i128 lo, sm_i128 hi)
{
    return a.known && a.lo >= lo && a.hi <= hi;
}

bool sm_range_fits_i64(sm_range a)
{
    return sm_range_within(a, INT64_MIN, INT64_MAX);
}

sm_range sm_range_union(sm_range a, sm_range b)
{
    if (!a.known || !b.known) return SM_RANGE_UNKNOWN;
    return sm_range_of(a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
}

sm_range sm_range_cut(sm_range a, sm_range b)
{
    if (!a.known) return b;
    if (!b.known) return a;
    sm_range r = sm_range_of(a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi);
    return r.lo <= r.hi ? r : b;
}

sm_range sm_range_add(sm_range a, sm_range b)
{
    sm_range r = {a.known && b.known, 0, 0};
    if (!r.known) return r;
    if (__builtin_add_overflow(a.lo, b.lo, &r.lo) || __builtin_add_overflow(a.hi, b.hi, &r.hi))
        return SM_RANGE_UNKNOWN;
    return r;
}

sm_range sm_range_sub(sm_range a, sm_range b)
{
    sm_range r = {a.known && b.known, 0, 0};
    if (!r.known) return r;
    if (__builtin_sub_overflow(a.lo, b.hi, &r.lo) || __builtin_sub_overflow(a.hi, b.lo, &r.hi))
        return SM_RANGE_UNKNOWN;
    return r;
}

sm_range sm_range_mul(sm_range a, sm_range b)
{
    if (!a.known || !b.known) return SM_RANGE_UNKNOWN;
    sm_range r = {true, i128_max, i128_min};
    const sm_i128 x[2] = {a.lo, a.hi}, y[2] = {b.lo, b.hi};
    for (int i = 0; i < 4; i++) {
        sm_i128 p;
        if (__builtin_mul_overflow(x[i >> 1], y[i & 1], &p)) return SM_RANGE_UNKNOWN;
        if (p < r.lo) r.lo = p;
        if (p > r.hi) r.hi = p;
    }
    return r;
}

sm_range sm_range_neg(sm_range a)
{
    return sm_range_sub(sm_range_of(0, 0), a);
}

sm_range sm_range_abs(sm_range a)
{
    if (!a.known || a.lo >= 0) return a;
    sm_range n = sm_range_neg(a);
    if (a.hi <= 0 || !n.known) return n;
    return sm_range_of(0, a.hi > n.hi ? a.hi : n.hi);
}

bool sm_range_nonzero(sm_range a)
{
    return a.known && (a.lo > 0 || a.hi < 0);
}

sm_range sm_range_div(sm_range a, sm_range b)
{
    /* The quotient is never larger in magnitude than the dividend, nor, with a divisor of one sign,
     * than |dividend| / least |divisor|. */
    sm_range m = sm_range_abs(a), d = sm_range_abs(b);
    if (!m.known) return SM_RANGE_UNKNOWN;
    sm_i128 most = m.hi;
    if (sm_range_nonzero(b)) most /= d.lo;
    bool positive_only = a.lo >= 0 && b.known && b.lo >= 0;
    return sm_range_of(positive_only ? 0 : -most, most);
}

sm_range sm_range_mod(sm_range a, sm_range b)
{
    sm_range d = sm_range_abs(b);
    if (!a.known) return d.known && d.hi > 0 ? sm_range_of(1 - d.hi, d.hi - 1) : SM_RANGE_UNKNOWN;
    sm_range r = sm_range_of(a.lo < 0 ? a.lo : 0, a.hi > 0 ? a.hi : 0);
    if (d.known && d.hi > 0) r = sm_range_cut(r, sm_range_of(1 - d.hi, d.hi - 1));
    return r;
}

static sm_i128 down(sm_i128 v, sm_i128 by)
{
    sm_i128 q = v / by, rest = v % by;
    if (rest < 0) rest = -rest;
    if (rest >= by - rest) q += v < 0 ? -1 : 1;
    return q;
}

sm_range sm_range_down(sm_range a, unsigned digits)
{
    if (!a.known || digits > SM_DEC_MAX_DIGITS) return SM_RANGE_UNKNOWN;
    sm_i128 by = sm_pow10(digits);
    if (by == 1) return a;
    return sm_range_of(down(a.lo, by), down(a.hi, by));
}
