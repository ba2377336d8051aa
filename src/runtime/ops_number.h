/* Bodies of the operations on booleans, integers and floats (see ops.def). The one idea: a body
 * always writes *out, whatever the arguments, without a branch where that is possible, and only
 * then says whether it failed. So the loops around it in kernels_ops.c vectorise, and may run over
 * rows whose bytes are garbage. Signed overflow is computed in unsigned arithmetic and detected
 * afterwards. Read ops.h first. */
#ifndef SM_OPS_NUMBER_H
#define SM_OPS_NUMBER_H

#include <math.h>

#include "ops.h"

/* The status of a body whose message takes no arguments. With cx->err known to be NULL it is a
 * plain select. */
SM_INLINE sm_status op_check(const sm_opctx *cx, bool bad, sm_status status)
{
    if (SM_UNLIKELY(bad && cx->err)) return sm_raise(cx->err, status);
    return bad ? status : SM_OK;
}

/* ---- integers ---- */

SM_INLINE bool op_mul_wraps_i16(int16_t a, int16_t b, int16_t *r)
{
    int32_t p = (int32_t)a * b;
    *r = (int16_t)p;
    return p != *r;
}

SM_INLINE bool op_mul_wraps_i32(int32_t a, int32_t b, int32_t *r)
{
    int64_t p = (int64_t)a * b;
    *r = (int32_t)p;
    return p != *r;
}

SM_INLINE bool op_mul_wraps_i64(int64_t a, int64_t b, int64_t *r)
{
    return __builtin_mul_overflow(a, b, r);
}

#define OP_INT(n, T, U, MIN, RANGE)                                                                \
    static inline sm_status op_add_##n(sm_opctx *cx, T a, T b, T *out)                             \
    {                                                                                              \
        T r = (T)((U)a + (U)b);                                                                    \
        *out = r;                                                                                  \
        return op_check(cx, ((a ^ r) & (b ^ r)) < 0, RANGE);                                       \
    }                                                                                              \
    static inline sm_status op_sub_##n(sm_opctx *cx, T a, T b, T *out)                             \
    {                                                                                              \
        T r = (T)((U)a - (U)b);                                                                    \
        *out = r;                                                                                  \
        return op_check(cx, ((a ^ b) & (a ^ r)) < 0, RANGE);                                       \
    }                                                                                              \
    static inline sm_status op_mul_##n(sm_opctx *cx, T a, T b, T *out)                             \
    {                                                                                              \
        T r;                                                                                       \
        bool wraps = op_mul_wraps_##n(a, b, &r);                                                   \
        *out = r;                                                                                  \
        return op_check(cx, wraps, RANGE);                                                         \
    }                                                                                              \
    static inline sm_status op_div_##n(sm_opctx *cx, T a, T b, T *out)                             \
    {                                                                                              \
        bool zero = b == 0, wraps = (a == MIN) & (b == -1), bad = zero | wraps;                    \
        *out = (T)(a / (bad ? (T)1 : b));                                                          \
        return op_check(cx, bad, zero ? SM_ERR_DIVISION_BY_ZERO : RANGE);                          \
    }                                                                                              \
    static inline sm_status op_mod_##n(sm_opctx *cx, T a, T b, T *out)                             \
    {                                                                                              \
        bool zero = b == 0;                                                                        \
        *out = (T)(a % ((zero | (b == -1)) ? (T)1 : b)); /* x % -1 is x % 1, and cannot trap */    \
        return op_check(cx, zero, SM_ERR_DIVISION_BY_ZERO);                                        \
    }                                                                                              \
    static inline sm_status op_neg_##n(sm_opctx *cx, T a, T *out)                                  \
    {                                                                                              \
        *out = (T)(0 - (U)a);                                                                      \
        return op_check(cx, a == MIN, RANGE);                                                      \
    }                                                                                              \
    static inline sm_status op_abs_##n(sm_opctx *cx, T a, T *out)                                  \
    {                                                                                              \
        *out = (T)(a < 0 ? 0 - (U)a : (U)a);                                                       \
        return op_check(cx, a == MIN, RANGE);                                                      \
    }
OP_INT(i16, int16_t, uint16_t, INT16_MIN, SM_ERR_SMALLINT_RANGE)
OP_INT(i32, int32_t, uint32_t, INT32_MIN, SM_ERR_INT_RANGE)
OP_INT(i64, int64_t, uint64_t, INT64_MIN, SM_ERR_BIGINT_RANGE)
#undef OP_INT

/* ---- floats ---- */

/* A body that cannot fail. */
#define OP_TOTAL(id, R, params, value)                                                             \
    static inline sm_status op_##id(sm_opctx *cx, OP_UNPACK params, R *out)                        \
    {                                                                                              \
        (void)cx;                                                                                  \
        *out = (R)(value);                                                                         \
        return SM_OK;                                                                              \
    }
#define OP_UNPACK(...) __VA_ARGS__

#define OP_FLOAT(n, T, FABS)                                                                       \
    OP_TOTAL(add_##n, T, (T a, T b), a + b)                                                        \
    OP_TOTAL(sub_##n, T, (T a, T b), a - b)                                                        \
    OP_TOTAL(mul_##n, T, (T a, T b), a *b)                                                         \
    static inline sm_status op_div_##n(sm_opctx *cx, T a, T b, T *out)                             \
    {                                                                                              \
        *out = a / b;                                                                              \
        return op_check(cx, (b == 0) & (a == a), SM_ERR_DIVISION_BY_ZERO); /* NaN / 0 is NaN */    \
    }                                                                                              \
    OP_TOTAL(neg_##n, T, (T a), -a)                                                                \
    OP_TOTAL(abs_##n, T, (T a), FABS(a))
OP_FLOAT(f32, float, fabsf)
OP_FLOAT(f64, double, fabs)
#undef OP_FLOAT

static inline sm_status op_mod_f64(sm_opctx *cx, double a, double b, double *out)
{
    *out = fmod(a, b);
    return op_check(cx, (b == 0) & (a == a), SM_ERR_DIVISION_BY_ZERO);
}

/* ---- comparison ---- */

#define OP_COMPARE(n, T)                                                                           \
    OP_TOTAL(eq_##n, uint8_t, (T a, T b), a == b)                                                  \
    OP_TOTAL(ne_##n, uint8_t, (T a, T b), a != b)                                                  \
    OP_TOTAL(lt_##n, uint8_t, (T a, T b), a < b)                                                   \
    OP_TOTAL(le_##n, uint8_t, (T a, T b), a <= b)                                                  \
    OP_TOTAL(gt_##n, uint8_t, (T a, T b), a > b)                                                   \
    OP_TOTAL(ge_##n, uint8_t, (T a, T b), a >= b)
OP_COMPARE(b, uint8_t)
OP_COMPARE(i16, int16_t)
OP_COMPARE(i32, int32_t)
OP_COMPARE(i64, int64_t)
OP_COMPARE(d128, sm_i128)
#undef OP_COMPARE

/* NaN equals NaN and is above all numbers. Each form is the plain comparison with the NaN cases
 * or-ed in: a comparison with a NaN is false, so !(a < b) already covers some of them. */
#define OP_COMPARE_FLOAT(n, T)                                                                     \
    OP_TOTAL(eq_##n, uint8_t, (T a, T b), (a == b) | ((a != a) & (b != b)))                        \
    OP_TOTAL(ne_##n, uint8_t, (T a, T b), !((a == b) | ((a != a) & (b != b))))                     \
    OP_TOTAL(lt_##n, uint8_t, (T a, T b), !((a >= b) | (a != a)))                                  \
    OP_TOTAL(le_##n, uint8_t, (T a, T b), (a <= b) | (b != b))                                     \
    OP_TOTAL(gt_##n, uint8_t, (T a, T b), !((a <= b) | (b != b)))                                  \
    OP_TOTAL(ge_##n, uint8_t, (T a, T b), (a >= b) | (a != a))
OP_COMPARE_FLOAT(f32, float)
OP_COMPARE_FLOAT(f64, double)
#undef OP_COMPARE_FLOAT

OP_TOTAL(not_b, uint8_t, (uint8_t a), a ^ 1)

/* ---- casts ---- */

OP_TOTAL(i16_to_i32, int32_t, (int16_t a), a)
OP_TOTAL(i16_to_i64, int64_t, (int16_t a), a)
OP_TOTAL(i32_to_i64, int64_t, (int32_t a), a)
OP_TOTAL(i64_to_d128, sm_i128, (int64_t a), a)
OP_TOTAL(i16_to_f32, float, (int16_t a), a)
OP_TOTAL(i32_to_f32, float, (int32_t a), a)
OP_TOTAL(i64_to_f32, float, (int64_t a), a)
OP_TOTAL(i16_to_f64, double, (int16_t a), a)
OP_TOTAL(i32_to_f64, double, (int32_t a), a)
OP_TOTAL(i64_to_f64, double, (int64_t a), a)
OP_TOTAL(f32_to_f64, double, (float a), a)
OP_TOTAL(b_to_i32, int32_t, (uint8_t a), a)
OP_TOTAL(i32_to_b, uint8_t, (int32_t a), a != 0)

#define OP_NARROW(id, T, R, RANGE)                                                                 \
    static inline sm_status op_##id(sm_opctx *cx, T a, R *out)                                     \
    {                                                                                              \
        R r = (R)a;                                                                                \
        *out = r;                                                                                  \
        return op_check(cx, r != a, RANGE);                                                        \
    }
OP_NARROW(i32_to_i16, int32_t, int16_t, SM_ERR_SMALLINT_RANGE)
OP_NARROW(i64_to_i16, int64_t, int16_t, SM_ERR_SMALLINT_RANGE)
OP_NARROW(i64_to_i32, int64_t, int32_t, SM_ERR_INT_RANGE)
OP_NARROW(d128_to_i64, sm_i128, int64_t, SM_ERR_BIGINT_RANGE)
#undef OP_NARROW

/* Valid if -HALF <= rint(a) < HALF, where HALF = 2^(bits - 1) is exact in either float; NaN is not.
 */
#define OP_ROUND(id, T, RINT, R, HALF, RANGE)                                                      \
    static inline sm_status op_##id(sm_opctx *cx, T a, R *out)                                     \
    {                                                                                              \
        T r = RINT(a);                                                                             \
        bool fits = (r >= -HALF) & (r < HALF);                                                     \
        *out = (R)(fits ? r : 0);                                                                  \
        return op_check(cx, !fits, RANGE);                                                         \
    }
OP_ROUND(f32_to_i16, float, rintf, int16_t, 32768.0f, SM_ERR_SMALLINT_RANGE)
OP_ROUND(f32_to_i32, float, rintf, int32_t, 2147483648.0f, SM_ERR_INT_RANGE)
OP_ROUND(f32_to_i64, float, rintf, int64_t, 9223372036854775808.0f, SM_ERR_BIGINT_RANGE)
OP_ROUND(f64_to_i16, double, rint, int16_t, 32768.0, SM_ERR_SMALLINT_RANGE)
OP_ROUND(f64_to_i32, double, rint, int32_t, 2147483648.0, SM_ERR_INT_RANGE)
OP_ROUND(f64_to_i64, double, rint, int64_t, 9223372036854775808.0, SM_ERR_BIGINT_RANGE)
#undef OP_ROUND

static inline sm_status op_f64_to_f32(sm_opctx *cx, double a, float *out)
{
    float r = (float)a;
    *out = r;
    return op_check(cx, (fabsf(r) == (float)INFINITY) & (fabs(a) != (double)INFINITY),
                    SM_ERR_FLOAT_OVERFLOW);
}

/* ---- numeric functions ---- */

OP_TOTAL(floor_f64, double, (double a), floor(a))
OP_TOTAL(ceil_f64, double, (double a), ceil(a))
OP_TOTAL(trunc_f64, double, (double a), trunc(a))
OP_TOTAL(round_f64, double, (double a), rint(a))
OP_TOTAL(sign_f64, double, (double a), (a > 0) - (a < 0))
OP_TOTAL(cbrt_f64, double, (double a), cbrt(a))
OP_TOTAL(exp_f64, double, (double a), exp(a))
OP_TOTAL(sin_f64, double, (double a), sin(a))
OP_TOTAL(cos_f64, double, (double a), cos(a))
OP_TOTAL(tan_f64, double, (double a), tan(a))
OP_TOTAL(atan_f64, double, (double a), atan(a))
OP_TOTAL(atan2_f64, double, (double a, double b), atan2(a, b))

static inline sm_status op_sqrt_f64(sm_opctx *cx, double a, double *out)
{
    *out = sqrt(a);
    return op_check(cx, a < 0, SM_ERR_SQRT_OF_NEGATIVE);
}

SM_INLINE sm_status op_check_log(const sm_opctx *cx, double a)
{
    return op_check(cx, a <= 0, a == 0 ? SM_ERR_LOG_OF_ZERO : SM_ERR_LOG_OF_NEGATIVE);
}

static inline sm_status op_ln_f64(sm_opctx *cx, double a, double *out)
{
    *out = log(a);
    return op_check_log(cx, a);
}

static inline sm_status op_log10_f64(sm_opctx *cx, double a, double *out)
{
    *out = log10(a);
    return op_check_log(cx, a);
}

static inline sm_status op_power_f64(sm_opctx *cx, double a, double b, double *out)
{
    bool zero = (a == 0) & (b < 0), fraction = (a < 0) & (floor(b) != b) & (b == b);
    *out = pow(a, b);
    return op_check(cx, zero | fraction, zero ? SM_ERR_POWER_ZERO_NEG : SM_ERR_POWER_NEG_FRAC);
}

#endif
