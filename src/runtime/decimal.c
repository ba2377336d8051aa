/* Exact quotients of wide integers, rounded once to double. The general case shifts the operands so
 * that the integer quotient has 56 or 57 bits, puts "there was a remainder" into its lowest bit,
 * and lets the conversion to double do the one rounding: below the 53 kept bits lie a round bit and
 * the sticky bit. */
#include "decimal.h"

#include <math.h>

const uint64_t sm_pow10_table[SM_POW10_64_MAX + 1] = {
    1u,
    10u,
    100u,
    1000u,
    10000u,
    100000u,
    1000000u,
    10000000u,
    100000000u,
    1000000000u,
    10000000000u,
    100000000000u,
    1000000000000u,
    10000000000000u,
    100000000000000u,
    1000000000000000u,
    10000000000000000u,
    100000000000000000u,
    1000000000000000000u,
    10000000000000000000u,
};

const double sm_pow10_f64[SM_POW10_F64_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

sm_i128 sm_pow10(unsigned n)
{
    if (n <= SM_POW10_64_MAX) return (sm_i128)sm_pow10_table[n];
    return (sm_i128)((sm_u128)sm_pow10_table[SM_POW10_64_MAX] *
                     sm_pow10_table[n - SM_POW10_64_MAX]);
}

sm_i128 sm_dec_scale_down(sm_i128 v, unsigned n)
{
    sm_i128 unit = sm_pow10(n), rest = v % unit;
    sm_i128 quotient = v / unit;
    if (sm_abs_i128(rest) * 2 >= (sm_u128)unit && n > 0) quotient += v < 0 ? -1 : 1;
    return quotient;
}

/* ---- unsigned numbers of 320 bits: 256 and the shift that makes room for the quotient ---- */

enum { LIMBS = 5, QUOTIENT_BITS = 56 };
typedef struct wide {
    uint64_t limb[LIMBS]; /* lowest first */
} wide;

static wide wide_of(sm_u128 v)
{
    return (wide){{(uint64_t)v, (uint64_t)(v >> 64)}};
}

static int bits_of(const wide *w)
{
    for (int i = LIMBS; i-- > 0;)
        if (w->limb[i]) return 64 * (i + 1) - __builtin_clzll(w->limb[i]);
    return 0;
}

static void multiply(wide *w, uint64_t factor)
{
    uint64_t carry = 0;
    for (int i = 0; i < LIMBS; i++) {
        sm_u128 product = (sm_u128)w->limb[i] * factor + carry;
        w->limb[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
}

static void multiply_pow10(wide *w, unsigned n)
{
    for (; n > SM_POW10_64_MAX; n -= SM_POW10_64_MAX) multiply(w, sm_pow10_table[SM_POW10_64_MAX]);
    multiply(w, sm_pow10_table[n]);
}

static void shift_left(wide *w, int by)
{
    int limbs = by / 64, bits = by % 64;
    for (int i = LIMBS; i-- > 0;) {
        uint64_t high = i >= limbs ? w->limb[i - limbs] : 0;
        uint64_t low = i > limbs ? w->limb[i - limbs - 1] : 0;
        w->limb[i] = bits ? high << bits | low >> (64 - bits) : high;
    }
}

static void shift_right_one(wide *w)
{
    for (int i = 0; i < LIMBS; i++)
        w->limb[i] = w->limb[i] >> 1 | (i + 1 < LIMBS ? w->limb[i + 1] << 63 : 0);
}

/* a -= b if a >= b; says whether. */
static bool subtract_if_fits(wide *a, const wide *b)
{
    wide difference;
    uint64_t borrow = 0;
    for (int i = 0; i < LIMBS; i++) {
        sm_u128 d = (sm_u128)a->limb[i] - b->limb[i] - borrow;
        difference.limb[i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) & 1;
    }
    if (borrow) return false;
    *a = difference;
    return true;
}

static double round_quotient(uint64_t quotient, bool rest, int exponent)
{
    return ldexp((double)(quotient | rest), exponent);
}

/* n / d for n and d below 2^256, d not 0. Binary long division: 57 steps on five limbs. */
static double divide_wide(wide n, wide d)
{
    int shift = bits_of(&d) - bits_of(&n) + QUOTIENT_BITS;
    uint64_t quotient = 0;
    if (bits_of(&n) == 0) return 0.0;
    if (shift > 0) shift_left(&n, shift);
    if (shift < 0) shift_left(&d, -shift);
    shift_left(&d, QUOTIENT_BITS);
    for (int i = 0; i <= QUOTIENT_BITS; i++) {
        quotient = quotient << 1 | subtract_if_fits(&n, &d);
        shift_right_one(&d);
    }
    return round_quotient(quotient, bits_of(&n) != 0, -shift);
}

/* n / d for n below 2^128 and d below 2^64: n is shifted to the top, so the quotient has 64 bits or
 * more. */
static double divide_u128(sm_u128 n, uint64_t d)
{
    int shift;
    sm_u128 quotient, rest;
    uint64_t top = (uint64_t)(n >> 64);
    if (n == 0) return 0.0;
    shift = top ? __builtin_clzll(top) : 64 + __builtin_clzll((uint64_t)n);
    n <<= shift;
    quotient = n / d;
    rest = n % d;
    for (; quotient >> 64; shift--) {
        rest |= quotient & 1;
        quotient >>= 1;
    }
    return round_quotient((uint64_t)quotient, rest != 0, -shift);
}

#define EXACT_DOUBLE ((sm_u128)1 << 53) /* up to here every integer is a double */

static double quotient_abs(sm_u128 a, sm_u128 b, int scale_diff)
{
    unsigned up = scale_diff < 0 ? (unsigned)-scale_diff : 0;
    unsigned down = scale_diff > 0 ? (unsigned)scale_diff : 0;
    wide n, d;
    if (up == 0 && a <= UINT64_MAX && b <= UINT64_MAX && down <= SM_POW10_64_MAX) {
        sm_u128 divisor = b * sm_pow10_table[down];
        if (a <= EXACT_DOUBLE && divisor <= EXACT_DOUBLE)
            return (double)(uint64_t)a / (double)(uint64_t)divisor;
        if (divisor <= UINT64_MAX) return divide_u128(a, (uint64_t)divisor);
    }
    if (b <= UINT64_MAX && a <= UINT64_MAX && up > 0 && up <= SM_POW10_64_MAX)
        return divide_u128(a * sm_pow10_table[up], (uint64_t)b);
    n = wide_of(a);
    d = wide_of(b);
    multiply_pow10(&n, up);
    multiply_pow10(&d, down);
    return divide_wide(n, d);
}

double sm_dec_quotient(sm_i128 a, sm_i128 b, int scale_diff)
{
    double q = quotient_abs(sm_abs_i128(a), sm_abs_i128(b), scale_diff);
    return (a < 0) != (b < 0) && a != 0 ? -q : q;
}

double sm_dec_to_double(sm_i128 v, unsigned scale)
{
    sm_u128 a = sm_abs_i128(v);
    double q;
    if (scale == 0) return (double)v;
    if (a <= EXACT_DOUBLE && scale <= SM_POW10_F64_MAX) {
        q = (double)(uint64_t)a / sm_pow10_f64[scale];
    } else {
        q = quotient_abs(a, 1, (int)scale);
    }
    return v < 0 ? -q : q;
}

double sm_dec_mean(sm_u128 low, sm_i128 high, int64_t n, unsigned scale)
{
    bool negative = high < 0;
    sm_u128 top = (sm_u128)high;
    wide sum, divisor = wide_of((sm_u128)n);
    double q;
    if (negative) {
        low = (sm_u128)0 - low;
        top = ~top + (low == 0);
    }
    sum = (wide){{(uint64_t)low, (uint64_t)(low >> 64), (uint64_t)top, (uint64_t)(top >> 64)}};
    multiply_pow10(&divisor, scale);
    q = divide_wide(sum, divisor);
    return negative ? -q : q;
}
