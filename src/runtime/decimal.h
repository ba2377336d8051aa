/* Decimals are integers of a known scale; this is what they need beyond integer arithmetic: powers
 * of ten, and quotients that are rounded to double exactly once (so that avg and / have one answer
 * everywhere). Small operands divide as doubles, which IEEE 754 rounds correctly; large ones take
 * decimal.c. */
#ifndef SM_DECIMAL_H
#define SM_DECIMAL_H

#include "format.h"

enum { SM_POW10_64_MAX = 19 };
extern const uint64_t sm_pow10_table[SM_POW10_64_MAX + 1];
enum { SM_POW10_F64_MAX = 22 }; /* 10^22 is the last power of ten that is a double */
extern const double sm_pow10_f64[SM_POW10_F64_MAX + 1];

/** 10^n, n <= 18. */
SM_INLINE int64_t sm_pow10_64(unsigned n)
{
    return (int64_t)sm_pow10_table[n];
}

SM_INLINE sm_u128 sm_abs_i128(sm_i128 v)
{
    return v < 0 ? (sm_u128)0 - (sm_u128)v : (sm_u128)v;
}

/** a / b * 10^-scale_diff, rounded once to nearest even; b is not 0, |scale_diff| <= 38.
 *  For decimals of scales sa and sb, scale_diff is sa - sb. */
double sm_dec_quotient(sm_i128 a, sm_i128 b, int scale_diff);
/** v * 10^-scale, rounded once to nearest even; scale <= 38. */
double sm_dec_to_double(sm_i128 v, unsigned scale);
/** The 256-bit two's complement number high:low divided by n * 10^scale, rounded once; n > 0. */
double sm_dec_mean(sm_u128 low, sm_i128 high, int64_t n, unsigned scale);

/** v / 10^n, rounded half away from zero; n <= 38. */
sm_i128 sm_dec_scale_down(sm_i128 v, unsigned n);

#endif
