/* Numbers as text. Floats print the shortest digits that read back as the same value, laid out as
 * PostgreSQL does. The idea: a value of usual size times a power of ten, and the gap to its
 * neighbours, are exact in 128 bits, so the first count of digits whose rounding stays inside the
 * gap is found by integers; for the rest the C library gives digits and reads them back. Nothing
 * here depends on the locale. */
#include "decimal.h"
#include "format_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { U128_DIGITS = 39 };

size_t sm_print_u64(uint64_t v, char *out)
{
    char digits[20];
    size_t n = 0;
    do {
        digits[sizeof digits - ++n] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    memcpy(out, digits + sizeof digits - n, n);
    return n;
}

static size_t print_u128(sm_u128 v, char *out)
{
    const uint64_t unit = sm_pow10_table[SM_POW10_64_MAX];
    size_t n;
    char rest[20];
    if (v <= UINT64_MAX) return sm_print_u64((uint64_t)v, out);
    n = print_u128(v / unit, out);
    memset(out + n, '0', SM_POW10_64_MAX);
    n += SM_POW10_64_MAX;
    {
        size_t tail = sm_print_u64((uint64_t)(v % unit), rest);
        memcpy(out + n - tail, rest, tail);
    }
    return n;
}

size_t sm_print_decimal(sm_i128 v, unsigned scale, char *out)
{
    char digits[U128_DIGITS + 1];
    size_t n = print_u128(sm_abs_i128(v), digits), at = 0, whole = n > scale ? n - scale : 0;
    if (v < 0) out[at++] = '-';
    if (whole == 0) out[at++] = '0';
    memcpy(out + at, digits, whole);
    at += whole;
    if (scale == 0) return at;
    out[at++] = '.';
    if (n < scale) {
        memset(out + at, '0', scale - n);
        at += scale - n;
    }
    memcpy(out + at, digits + whole, n - whole);
    return at + n - whole;
}

/* d.ddd * 10^exponent. */
typedef struct shortest {
    char digits[24];
    int n, exponent;
} shortest;

static void strip_zeros(shortest *s)
{
    while (s->n > 1 && s->digits[s->n - 1] == '0') s->n--;
}

static void set_integer(shortest *s, uint64_t m, int scale)
{
    s->n = (int)sm_print_u64(m, s->digits);
    s->exponent = s->n - 1 - scale;
    strip_zeros(s);
}

/* The value as odd * 2^exponent, odd being an integer of so many bits. */
typedef struct binary {
    uint64_t mantissa;
    int exponent, bits;
} binary;

static binary binary_of(double v, bool single)
{
    binary b = {0, 0, single ? 24 : 53};
    double m = frexp(v, &b.exponent);
    b.mantissa = (uint64_t)ldexp(m, b.bits);
    b.exponent -= b.bits;
    return b;
}

/* n * 2^exponent == odd * 2^other */
static bool same_product(sm_u128 n, int exponent, uint64_t odd, int other)
{
    while (n && !(n & 1)) {
        n >>= 1;
        exponent++;
    }
    return n == odd && exponent == other;
}

/* PostgreSQL wants digits strictly between the two halfway points around the value; one that lies
 * on such a point reads back only by the rule of ties. Digits c * 10^x can lie there only for x in
 * -1..23: for others the powers of five do not fit c or the halfway point's 54 bits. */
static bool is_halfway(const shortest *s, double v, bool single)
{
    int x = s->exponent - (s->n - 1), tenfold = x == -1;
    binary b = binary_of(v, single);
    uint64_t m = b.mantissa, lowest = (uint64_t)1 << (b.bits - 1), scale = tenfold ? 5 : 1;
    sm_u128 c = 0;
    if (x < -1 || x > 23) return false;
    for (int i = 0; i < s->n; i++) c = c * 10 + (sm_u128)(s->digits[i] - '0');
    for (int i = 0; i < x; i++) c *= 5;
    if (tenfold) x = 0;
    return same_product(c, x, (2 * m + 1) * scale, b.exponent - 1 + tenfold) ||
           same_product(c, x, (2 * m - 1) * scale, b.exponent - 1 + tenfold) ||
           (m == lowest && same_product(c, x, (4 * m - 1) * scale, b.exponent - 2 + tenfold));
}

/* ---- exact integers: from 1e-16 to where neighbours are more than 2 apart ---- */

enum { U64_FIVES = 27 };

static sm_u128 pow5(unsigned n)
{
    uint64_t p = 1;
    if (n > U64_FIVES) return pow5(U64_FIVES) * pow5(n - U64_FIVES);
    for (uint64_t base = 5; n; n >>= 1, base *= base)
        if (n & 1) p *= base;
    return p;
}

/* The value times 10^scale (at most 32, as 53 bits times 5^32 fill 128 bits) as n / 2^shift, and
 * half of the gap to its neighbours as half_gap / 2^shift / 2. */
typedef struct scaled {
    sm_u128 n, gap;
    int shift;
} scaled;

static scaled scale_by(binary b, int scale)
{
    scaled x = {pow5((unsigned)scale), 0, -(b.exponent + scale)};
    x.gap = x.n;
    x.n *= b.mantissa;
    if (x.shift < 0) {
        x.n <<= -x.shift;
        x.gap <<= -x.shift;
        x.shift = 0;
    }
    return x;
}

/* Is the integer m strictly nearer to the scaled value than half the gap on its side? */
static bool is_inside(const scaled *x, sm_u128 m, bool power_of_two)
{
    sm_u128 at = m << x->shift;
    if (at < x->n) return (x->n - at) * (power_of_two ? 4 : 2) < x->gap;
    return (at - x->n) * 2 < x->gap;
}

static sm_u128 round_even(const scaled *x)
{
    sm_u128 whole = x->n >> x->shift, rest = x->n - (whole << x->shift), half;
    if (x->shift == 0) return whole;
    half = (sm_u128)1 << (x->shift - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

/* Digits before the point less one. The estimate is the true one or one less. */
static int decimal_exponent(binary b)
{
    int estimate = (int)floor((b.exponent + b.bits - 1) * 0.30102999566398120);
    scaled x = scale_by(b, estimate < 0 ? -estimate : 0);
    sm_u128 whole = x.n >> x.shift; /* below zero: v * 10^-estimate, which is 1 to 9 or 10 to 99 */
    return estimate + (whole >= (estimate < 0 ? 10 : (sm_u128)sm_pow10_table[estimate + 1]));
}

/* From as many digits as are always unique (and reach the point; whole numbers lose their zeros
 * later) up to as many as always suffice, the first that read back. Below a power of two the gap is
 * half as wide: there the nearest decimal may miss while the one above it hits. */
static bool exact(double v, bool single, shortest *s)
{
    binary b = binary_of(v, single);
    bool power_of_two = b.mantissa == (uint64_t)1 << (b.bits - 1);
    int least = single ? 6 : 15, most = single ? 9 : 17, exponent;
    if (!(v >= 1e-16 && v < (single ? 1e7 : 1e16))) return false;
    exponent = decimal_exponent(b);
    for (int n = exponent >= least ? exponent + 1 : least; n <= most; n++) {
        int scale = n - 1 - exponent;
        scaled x = scale_by(b, scale);
        sm_u128 m = round_even(&x);
        if (!is_inside(&x, m, power_of_two)) m++;
        if (!is_inside(&x, m, power_of_two)) continue;
        set_integer(s, (uint64_t)m, scale);
        return true;
    }
    return false;
}

/* ---- the rest: by the C library ---- */

/* The nearest decimal of n digits, from the C library, whatever its decimal point looks like. */
static void nearest(double v, int n, shortest *s)
{
    char text[64];
    const char *at = text;
    int length = snprintf(text, sizeof text, "%.*e", n - 1, v);
    s->n = 0;
    for (; at < text + length && *at != 'e'; at++)
        if (sm_is_digit(*at) && s->n < n) s->digits[s->n++] = *at;
    s->exponent = (int)strtol(at + 1, NULL, 10);
}

static bool reads_back(const shortest *s, double v, bool single)
{
    char text[64];
    snprintf(text, sizeof text, "%.*se%d", s->n, s->digits, s->exponent - (s->n - 1));
    return single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v;
}

/* The next decimal above, of as many digits. */
static void step_up(shortest *s)
{
    int i = s->n;
    while (i > 0 && s->digits[i - 1] == '9') s->digits[--i] = '0';
    if (i > 0) {
        s->digits[i - 1]++;
    } else {
        s->digits[0] = '1';
        s->exponent++;
    }
}

static bool fits(const shortest *s, double v, bool single)
{
    return reads_back(s, v, single) && !is_halfway(s, v, single);
}

/* Normal values have at most one decimal of 15 (real: 6) digits, so shorter ones need not be tried.
 * Below a power of two the gap to the next value is half the gap above it: there the nearest
 * decimal may miss while the one above it hits. */
static void search(double v, bool single, shortest *s)
{
    int most = single ? 9 : 17;
    bool normal = v >= (single ? (double)FLT_MIN : DBL_MIN);
    for (int n = !normal ? 1 : single ? 6 : 15; n < most; n++) {
        nearest(v, n, s);
        if (fits(s, v, single)) break;
        step_up(s);
        if (fits(s, v, single)) break;
        if (n + 1 == most) nearest(v, most, s);
    }
    strip_zeros(s);
}

/* PostgreSQL's layout: plain from 0.0001 up to `wide` digits before the point, else d.ddde+XX. */
static size_t lay_out(const shortest *s, int wide, char *out)
{
    char *at = out;
    int exponent = s->exponent;
    if (exponent < -4 || exponent >= wide) {
        *at++ = s->digits[0];
        if (s->n > 1) {
            *at++ = '.';
            memcpy(at, s->digits + 1, (size_t)(s->n - 1));
            at += s->n - 1;
        }
        at += sprintf(at, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return (size_t)(at - out);
    }
    if (exponent < 0) {
        *at++ = '0';
        *at++ = '.';
        for (int i = -1; i > exponent; i--) *at++ = '0';
    }
    for (int i = 0; i < s->n || i <= exponent; i++) {
        if (i == exponent + 1 && exponent >= 0) *at++ = '.';
        *at++ = i < s->n ? s->digits[i] : '0';
    }
    return (size_t)(at - out);
}

static size_t print_special(double v, char *out)
{
    const char *text = v != v   ? "NaN"
                       : v == 0 ? (signbit(v) ? "-0" : "0")
                       : v < 0  ? "-Infinity"
                                : "Infinity";
    size_t n = strlen(text);
    memcpy(out, text, n);
    return n;
}

size_t sm_print_f64(double v, char *out)
{
    shortest s;
    size_t minus = v < 0;
    if (v != v || v == 0 || isinf(v)) return print_special(v, out);
    *out = '-';
    if (!exact(fabs(v), false, &s)) search(fabs(v), false, &s);
    return lay_out(&s, 15, out + minus) + minus;
}

size_t sm_print_f32(float v, char *out)
{
    shortest s;
    size_t minus = v < 0;
    if (v != v || v == 0 || isinf(v)) return print_special(v, out);
    *out = '-';
    if (!exact(fabsf(v), true, &s)) search(fabsf(v), true, &s);
    return lay_out(&s, 6, out + minus) + minus;
}
