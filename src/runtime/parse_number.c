/* Numbers from text: strict, locale-free, whole text or error. Floats of few digits are one exact
 * operation on doubles (Clinger's fast path); others go to strtod as digits and exponent without a
 * point, which is how its locale is kept out. */
#include "decimal.h"
#include "format_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEPT_DIGITS = 800, /* more than any double's exact halfway point has (767) */
    U64_DIGITS = 19,
    EXPONENT_CAP = 100000 /* beyond any type's range, and far from overflow */
};

static const char *short_name(sm_type t)
{
    return t.id == SM_INT16 ? "smallint" : t.id == SM_INT32 ? "integer" : "bigint";
}

sm_status sm_parse_int(sm_type t, const char *s, size_t len, int64_t *out, sm_error *err)
{
    static const uint64_t most[] = {
        [SM_INT16] = INT16_MAX, [SM_INT32] = INT32_MAX, [SM_INT64] = INT64_MAX};
    sm_cursor c = sm_trim(s, len);
    bool negative = c.at < c.end && *c.at == '-', over = false;
    uint64_t v = 0;
    if (c.at < c.end && (*c.at == '-' || *c.at == '+')) c.at++;
    if (c.at == c.end) return sm_raise_text(err, SM_ERR_BAD_TEXT, short_name(t), s, len);
    for (; c.at < c.end; c.at++) {
        unsigned digit = (unsigned)(*c.at - '0');
        if (digit > 9) return sm_raise_text(err, SM_ERR_BAD_TEXT, short_name(t), s, len);
        over |= v > (UINT64_MAX - digit) / 10;
        v = v * 10 + digit;
    }
    if (over || v > most[t.id] + negative)
        return sm_raise_text(err, SM_ERR_TYPE_RANGE, short_name(t), s, len);
    *out = (int64_t)(negative ? 0 - v : v);
    return SM_OK;
}

/* A number cut into its parts: value = 0.d1d2d3... digits, read as an integer of n digits, *
 * 10^exponent. */
typedef struct number {
    bool negative;
    const char *digits, *end; /* from the first digit that is not 0; may hold one point */
    size_t n;                 /* digits in it */
    int64_t exponent;         /* of the last digit */
} number;

static bool read_exponent(sm_cursor *c, int64_t *exponent)
{
    bool negative;
    int64_t v = 0;
    c->at++;
    negative = c->at < c->end && *c->at == '-';
    if (c->at < c->end && (*c->at == '-' || *c->at == '+')) c->at++;
    if (c->at == c->end || !sm_is_digit(*c->at)) return false;
    for (; c->at < c->end && sm_is_digit(*c->at); c->at++)
        if (v < EXPONENT_CAP) v = v * 10 + (*c->at - '0');
    *exponent += negative ? -v : v;
    return true;
}

/* [+-] digits [. digits] [e [+-] digits], at least one digit before the e. */
static bool scan(sm_cursor c, number *out)
{
    bool any = false, point = false;
    *out = (number){.negative = c.at < c.end && *c.at == '-'};
    if (c.at < c.end && (*c.at == '-' || *c.at == '+')) c.at++;
    for (; c.at < c.end; c.at++) {
        if (*c.at == '.' && !point) {
            point = true;
        } else if (sm_is_digit(*c.at)) {
            any = true;
            out->exponent -= point;
            if (!out->digits && *c.at != '0') out->digits = c.at;
            out->n += out->digits != NULL;
        } else {
            break;
        }
    }
    out->end = c.at;
    if (!out->digits) out->digits = c.at;
    if (!any) return false;
    if (c.at < c.end && (*c.at == 'e' || *c.at == 'E') && !read_exponent(&c, &out->exponent))
        return false;
    return c.at == c.end;
}

/* Digits and exponent as text for strtod. Digits past the kept ones only say whether the rest is
 * zero. */
static void write_plain(const number *x, char out[KEPT_DIGITS + 40])
{
    size_t n = 0;
    int64_t exponent = x->exponent + (int64_t)x->n;
    bool rest = false;
    for (const char *at = x->digits; at < x->end; at++) {
        if (*at == '.') continue;
        if (n < KEPT_DIGITS)
            out[n++] = *at;
        else
            rest |= *at != '0';
    }
    exponent -= (int64_t)n;
    if (rest) {
        out[n++] = '1';
        exponent--;
    }
    sprintf(out + n, "e%lld", (long long)exponent);
}

static uint64_t small_digits(const number *x)
{
    uint64_t m = 0;
    for (const char *at = x->digits; at < x->end; at++)
        if (*at != '.') m = m * 10 + (uint64_t)(*at - '0');
    return m;
}

/* Few digits and a power of ten that is exact: one rounding. */
static bool is_short(const number *x)
{
    return x->n <= 15 && x->exponent >= -SM_POW10_F64_MAX && x->exponent <= SM_POW10_F64_MAX;
}

static double short_value(const number *x)
{
    double m = (double)small_digits(x);
    return x->exponent < 0 ? m / sm_pow10_f64[-x->exponent] : m * sm_pow10_f64[x->exponent];
}

/* A double that was rounded once may be rounded again to float, unless it lies halfway between two
 * of them: only there does it hide on which side the text's value was. */
static bool narrows(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, 8);
    return v >= (double)FLT_MIN && v <= (double)FLT_MAX && (bits & 0x1FFFFFFF) != 0x10000000;
}

/* infinity, inf and nan, with sign; as PostgreSQL. */
static bool parse_special(sm_cursor c, double *out)
{
    bool negative = c.at < c.end && *c.at == '-';
    if (c.at < c.end && (*c.at == '-' || *c.at == '+')) c.at++;
    if (sm_cursor_is(c, "infinity") || sm_cursor_is(c, "inf")) {
        *out = negative ? -INFINITY : INFINITY;
        return true;
    }
    *out = NAN;
    return sm_cursor_is(c, "nan");
}

sm_status sm_parse_f64(const char *s, size_t len, double *out, sm_error *err)
{
    sm_cursor c = sm_trim(s, len);
    number x;
    char plain[KEPT_DIGITS + 40];
    double v;
    if (!scan(c, &x)) {
        if (parse_special(c, out)) return SM_OK;
        return sm_raise_text(err, SM_ERR_BAD_TEXT, "double precision", s, len);
    }
    if (is_short(&x)) {
        v = short_value(&x);
    } else if (x.n == 0) {
        v = 0;
    } else {
        write_plain(&x, plain);
        v = strtod(plain, NULL);
        if (v == 0 || isinf(v))
            return sm_raise_text(err, SM_ERR_TYPE_RANGE, "double precision", s, len);
    }
    *out = x.negative ? -v : v;
    return SM_OK;
}

sm_status sm_parse_f32(const char *s, size_t len, float *out, sm_error *err)
{
    sm_cursor c = sm_trim(s, len);
    number x;
    char plain[KEPT_DIGITS + 40];
    double special;
    float v = 0;
    if (!scan(c, &x)) {
        if (!parse_special(c, &special)) return sm_raise_text(err, SM_ERR_BAD_TEXT, "real", s, len);
        *out = (float)special;
        return SM_OK;
    }
    if (is_short(&x) && narrows(short_value(&x))) {
        v = (float)short_value(&x);
    } else if (x.n) {
        write_plain(&x, plain);
        v = strtof(plain, NULL);
        if (v == 0 || isinf(v)) return sm_raise_text(err, SM_ERR_TYPE_RANGE, "real", s, len);
    }
    *out = x.negative ? -v : v;
    return SM_OK;
}

sm_status sm_parse_decimal(const char *s, size_t len, unsigned precision, unsigned scale,
                           sm_i128 *out, sm_error *err)
{
    number x;
    int64_t keep; /* digits that lie at or above 10^-scale */
    sm_i128 v = 0, limit = sm_pow10(precision);
    bool round_up = false;
    if (!scan(sm_trim(s, len), &x)) return sm_raise_text(err, SM_ERR_BAD_TEXT, "numeric", s, len);
    keep = (int64_t)x.n + x.exponent + (int64_t)scale;
    if (x.n > 0 && keep > (int64_t)precision) return sm_raise(err, SM_ERR_DECIMAL_RANGE);
    for (const char *at = x.digits; at < x.end && keep >= 0 && x.n > 0; at++) {
        if (*at == '.') continue;
        if (keep-- == 0) {
            round_up = *at >= '5';
            break;
        }
        v = v * 10 + (*at - '0');
    }
    if (keep > 0 && x.n > 0) v *= sm_pow10((unsigned)keep);
    v += round_up;
    if (v >= limit) return sm_raise(err, SM_ERR_DECIMAL_RANGE);
    *out = x.negative ? -v : v;
    return SM_OK;
}

bool sm_decimal_literal_type(const char *s, size_t len, unsigned *precision, unsigned *scale)
{
    number x;
    int64_t whole, fraction;
    if (!scan(sm_trim(s, len), &x)) return false;
    fraction = x.exponent < 0 ? -x.exponent : 0;
    whole = x.n > 0 ? (int64_t)x.n + x.exponent : 0;
    if (whole < 0) whole = 0;
    if (whole + fraction > SM_DEC_MAX_DIGITS) return false;
    *scale = (unsigned)fraction;
    *precision = (unsigned)(whole + fraction ? whole + fraction : 1);
    return true;
}
