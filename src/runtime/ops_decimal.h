/* Bodies of the operations on decimals: D64 (below 10^18, int64_t) and D128 (below 10^38, int128).
 * The scale is not in the value: the binder aligns scales and passes powers of ten in cx->imm.
 * Everything is computed in unsigned arithmetic first, so garbage rows of a dense kernel are
 * harmless. Read ops_number.h first. */
#ifndef SM_OPS_DECIMAL_H
#define SM_OPS_DECIMAL_H

#include <stdio.h>

#include "decimal.h"
#include "ops_number.h"

/* ---- up to 18 digits ---- */

OP_TOTAL(add_d64, int64_t, (int64_t a, int64_t b), (uint64_t)a + (uint64_t)b)
OP_TOTAL(sub_d64, int64_t, (int64_t a, int64_t b), (uint64_t)a - (uint64_t)b)
OP_TOTAL(mul_d64, int64_t, (int64_t a, int64_t b), (uint64_t)a *(uint64_t)b)
OP_TOTAL(neg_d64, int64_t, (int64_t a), 0 - (uint64_t)a)
OP_TOTAL(abs_d64, int64_t, (int64_t a), a < 0 ? 0 - (uint64_t)a : (uint64_t)a)

static inline sm_status op_mod_d64(sm_opctx *cx, int64_t a, int64_t b, int64_t *out)
{
    return op_mod_i64(cx, a, b, out);
}

static inline sm_status op_up_d64(sm_opctx *cx, int64_t a, int64_t *out)
{
    *out = (int64_t)((uint64_t)a * sm_pow10_table[cx->imm[0]]);
    return SM_OK;
}

static inline sm_status op_down_d64(sm_opctx *cx, int64_t a, int64_t *out)
{
    if (cx->imm[0] > SM_DEC64_DIGITS) { /* less than half of the divisor */
        *out = 0;
        return SM_OK;
    }
    int64_t p = sm_pow10_64((unsigned)cx->imm[0]), q = a / p, r = a % p;
    *out = q + (2 * r >= p) - (2 * r <= -p);
    return SM_OK;
}

static inline sm_status op_fit_d64(sm_opctx *cx, int64_t a, int64_t *out)
{
    int64_t limit = cx->imm[0] > SM_DEC64_DIGITS ? INT64_MAX : sm_pow10_64((unsigned)cx->imm[0]);
    *out = a;
    return op_check(cx, (a >= limit) | (a <= -limit), SM_ERR_DECIMAL_RANGE);
}

/* ---- up to 38 digits ---- */

/* 10^n for n <= 38, from the table of 64-bit powers. */
SM_INLINE sm_u128 op_pow10(unsigned n)
{
    unsigned low = n < SM_POW10_64_MAX ? n : SM_POW10_64_MAX;
    return (sm_u128)sm_pow10_table[low] * sm_pow10_table[n - low];
}

/* Whether a sum of two D128 has reached 10^38. Such a sum may wrap around 2^127, but not around
 * 2^128, so it is found by one unsigned comparison of its distance from the lower bound. */
SM_INLINE bool op_beyond_d128(sm_i128 sum)
{
    sm_u128 most = op_pow10(SM_DEC_MAX_DIGITS) - 1;
    return (sm_u128)sum + most > 2 * most;
}

static inline sm_status op_add_d128(sm_opctx *cx, sm_i128 a, sm_i128 b, sm_i128 *out)
{
    sm_i128 r = (sm_i128)((sm_u128)a + (sm_u128)b);
    *out = r;
    return op_check(cx, op_beyond_d128(r), SM_ERR_DECIMAL_RANGE);
}

static inline sm_status op_sub_d128(sm_opctx *cx, sm_i128 a, sm_i128 b, sm_i128 *out)
{
    sm_i128 r = (sm_i128)((sm_u128)a - (sm_u128)b);
    *out = r;
    return op_check(cx, op_beyond_d128(r), SM_ERR_DECIMAL_RANGE);
}

/* Whether |a| * b (b > 0) reaches 10^38; the low 128 bits of a * b go to *r. */
SM_INLINE bool op_mul_beyond_d128(sm_i128 a, sm_u128 b, sm_i128 *r)
{
    sm_u128 product;
    bool wraps = __builtin_mul_overflow(sm_abs_i128(a), b, &product);
    *r = (sm_i128)(a < 0 ? 0 - product : product);
    return wraps | (product >= op_pow10(SM_DEC_MAX_DIGITS));
}

static inline sm_status op_mul_d128(sm_opctx *cx, sm_i128 a, sm_i128 b, sm_i128 *out)
{
    if (SM_LIKELY(a == (int64_t)a && b == (int64_t)b)) { /* at most 2^126, which is below 10^38 */
        *out = (sm_i128)(int64_t)a * (int64_t)b;
        return SM_OK;
    }
    sm_i128 r;
    bool beyond = op_mul_beyond_d128(a, sm_abs_i128(b), &r);
    *out = (sm_i128)(b < 0 ? 0 - (sm_u128)r : (sm_u128)r);
    return op_check(cx, beyond, SM_ERR_DECIMAL_RANGE);
}

OP_TOTAL(neg_d128, sm_i128, (sm_i128 a), 0 - (sm_u128)a)
OP_TOTAL(abs_d128, sm_i128, (sm_i128 a), sm_abs_i128(a))
OP_TOTAL(sign_d128, sm_i128, (sm_i128 a), (a > 0) - (a < 0))

static inline sm_status op_mod_d128(sm_opctx *cx, sm_i128 a, sm_i128 b, sm_i128 *out)
{
    bool zero = b == 0;
    *out = a % ((zero | (b == -1)) ? 1 : b);
    return op_check(cx, zero, SM_ERR_DIVISION_BY_ZERO);
}

static inline sm_status op_div_d128(sm_opctx *cx, sm_i128 a, sm_i128 b, double *out)
{
    *out = b == 0 ? 0 : sm_dec_quotient(a, b, cx->imm[0]);
    return op_check(cx, b == 0, SM_ERR_DIVISION_BY_ZERO);
}

static inline sm_status op_up_d128(sm_opctx *cx, sm_i128 a, sm_i128 *out)
{
    sm_i128 r;
    bool beyond = op_mul_beyond_d128(a, op_pow10((unsigned)cx->imm[0]), &r);
    *out = r;
    return op_check(cx, beyond, SM_ERR_DECIMAL_RANGE);
}

static inline sm_status op_down_d128(sm_opctx *cx, sm_i128 a, sm_i128 *out)
{
    *out = sm_dec_scale_down(a, (unsigned)cx->imm[0]);
    return SM_OK;
}

static inline sm_status op_fit_d128(sm_opctx *cx, sm_i128 a, sm_i128 *out)
{
    *out = a;
    return op_check(cx, sm_abs_i128(a) >= op_pow10((unsigned)cx->imm[0]), SM_ERR_DECIMAL_RANGE);
}

/* v has scale `from`; keeps n digits behind the point (n < 0: zeroes before it), rounded or cut,
 * and gives the result scale `to`. */
static inline sm_status op_digits_d128(sm_opctx *cx, sm_i128 v, int64_t n, bool round, sm_i128 *out)
{
    int64_t from = cx->imm[0], to = cx->imm[1], keep = n < to ? n : to;
    if (keep > from) keep = from;
    int64_t drop = from - keep, up = to - keep;
    if (drop > SM_DEC_MAX_DIGITS) {
        v = 0;
    } else if (drop > 0) {
        v = round ? sm_dec_scale_down(v, (unsigned)drop) : v / (sm_i128)op_pow10((unsigned)drop);
    }
    *out = 0;
    if (v == 0) return SM_OK;
    bool beyond = up > SM_DEC_MAX_DIGITS || op_mul_beyond_d128(v, op_pow10((unsigned)up), out);
    return op_check(cx, beyond, SM_ERR_DECIMAL_RANGE);
}

static inline sm_status op_round_d128(sm_opctx *cx, sm_i128 a, int32_t n, sm_i128 *out)
{
    return op_digits_d128(cx, a, n, true, out);
}

static inline sm_status op_trunc_d128(sm_opctx *cx, sm_i128 a, int32_t n, sm_i128 *out)
{
    return op_digits_d128(cx, a, n, false, out);
}

static inline sm_status op_floor_d128(sm_opctx *cx, sm_i128 a, sm_i128 *out)
{
    sm_i128 p = (sm_i128)op_pow10((unsigned)cx->imm[0]);
    *out = a / p - (a % p < 0);
    return SM_OK;
}

static inline sm_status op_ceil_d128(sm_opctx *cx, sm_i128 a, sm_i128 *out)
{
    sm_i128 p = (sm_i128)op_pow10((unsigned)cx->imm[0]);
    *out = a / p + (a % p > 0);
    return SM_OK;
}

/* ---- from and to floats ---- */

static inline sm_status op_d64_to_f64(sm_opctx *cx, int64_t a, double *out)
{
    *out = sm_dec_to_double(a, (unsigned)cx->imm[0]);
    return SM_OK;
}

static inline sm_status op_d128_to_f64(sm_opctx *cx, sm_i128 a, double *out)
{
    *out = sm_dec_to_double(a, (unsigned)cx->imm[0]);
    return SM_OK;
}

/* Through `digits` significant decimal digits, as PostgreSQL (%.15g, %.6g): 1.15 is 1.15,
 * not 1.149999. The point that printf writes is the locale's, so only digits and exponent are read
 * back. */
static inline sm_status op_float_to_d128(sm_opctx *cx, double a, int digits, sm_i128 *out)
{
    unsigned scale = (unsigned)cx->imm[0], precision = (unsigned)cx->imm[1];
    *out = 0;
    if (!(fabs(a) < 1e39)) return op_check(cx, true, SM_ERR_DECIMAL_RANGE); /* NaN too */
    char text[48];
    snprintf(text, sizeof text, "%.*e", digits - 1, fabs(a));
    int64_t whole = 0;
    const char *s = text;
    for (; *s != 'e'; s++) {
        if (*s >= '0' && *s <= '9') whole = whole * 10 + (*s - '0');
    }
    int exponent = 0;
    bool small = s[1] == '-';
    for (s += 2; *s; s++) exponent = exponent * 10 + (*s - '0');
    int shift = (small ? -exponent : exponent) - (digits - 1) + (int)scale;
    sm_i128 v = whole;
    bool beyond = false;
    if (shift < -SM_DEC_MAX_DIGITS) {
        v = 0;
    } else if (shift < 0) {
        v = sm_dec_scale_down(v, (unsigned)-shift);
    } else if (v != 0) {
        beyond = shift > SM_DEC_MAX_DIGITS || op_mul_beyond_d128(v, op_pow10((unsigned)shift), &v);
    }
    *out = a < 0 ? -v : v;
    return op_check(cx, beyond || sm_abs_i128(v) >= op_pow10(precision), SM_ERR_DECIMAL_RANGE);
}

static inline sm_status op_f64_to_d128(sm_opctx *cx, double a, sm_i128 *out)
{
    return op_float_to_d128(cx, a, 15, out);
}

static inline sm_status op_f32_to_d128(sm_opctx *cx, float a, sm_i128 *out)
{
    return op_float_to_d128(cx, (double)a, 6, out);
}

#endif
