/* Bodies of the operations on dates, timestamps and intervals, as PostgreSQL defines them. The
 * short ones are here; calendar arithmetic is in ops_datetime.c. A date counts days and a timestamp
 * microseconds since 1970-01-01, so a timestamp ends where int64 does (294247-01-10), thirty years
 * before PostgreSQL's. Read ops_number.h first. */
#ifndef SM_OPS_DATETIME_H
#define SM_OPS_DATETIME_H

#include "format.h"
#include "ops_number.h"

/* The last day whose midnight is a timestamp. */
#define SM_TIMESTAMP_MAX_DAY 106751991

/** ts plus months, then days, then microseconds; a day past the month's end becomes its last.
 *  errors  22008 */
sm_status sm_ts_shift(sm_opctx *cx, int64_t ts, int64_t months, int64_t days, sm_i128 micros,
                      int64_t *out);
/** a - b in years, months, days and time, as age() gives it. */
sm_status sm_ts_age(sm_opctx *cx, int64_t a, int64_t b, sm_interval *out);
/** ts cut to a sm_date_field.  errors  22008, 22023 for a field that cannot be cut to */
sm_status sm_ts_trunc(sm_opctx *cx, int64_t ts, int32_t field, int64_t *out);
/** One sm_date_field, as an integer of the field's scale.
 *  errors  22003 beyond 18 digits (epoch only), 0A000 for a field that the type does not have */
sm_status sm_ts_extract(sm_opctx *cx, int64_t ts, int32_t field, int64_t *out);
sm_status sm_date_extract(sm_opctx *cx, int32_t date, int32_t field, int64_t *out);
sm_status sm_interval_extract(sm_opctx *cx, sm_interval v, int32_t field, int64_t *out);
/** v * factor, or v / factor; fractions of months become days, of days time.  errors  22008 */
sm_status sm_interval_scale(sm_opctx *cx, sm_interval v, double factor, bool divide,
                            sm_interval *out);
/** Year (negative: BC), month, day.  errors  22008 */
sm_status sm_date_make(sm_opctx *cx, int32_t year, int32_t month, int32_t day, int32_t *out);

/* ---- dates ---- */

static inline sm_status op_date_to_ts(sm_opctx *cx, int32_t a, int64_t *out)
{
    *out = a * (uint64_t)SM_DAY_US;
    return op_check(cx, (a < SM_DATE_MIN_DAYS) | (a > SM_TIMESTAMP_MAX_DAY),
                    SM_ERR_TIMESTAMP_RANGE);
}

OP_TOTAL(ts_to_date, int32_t, (int64_t a), a / SM_DAY_US - (a % SM_DAY_US < 0))

SM_INLINE sm_status op_shift_date(const sm_opctx *cx, int64_t days, int32_t *out)
{
    *out = (int32_t)days;
    return op_check(cx, (days < SM_DATE_MIN_DAYS) | (days > SM_DATE_MAX_DAYS), SM_ERR_DATE_RANGE);
}

static inline sm_status op_add_date_i32(sm_opctx *cx, int32_t a, int32_t b, int32_t *out)
{
    return op_shift_date(cx, (int64_t)a + b, out);
}

static inline sm_status op_add_i32_date(sm_opctx *cx, int32_t a, int32_t b, int32_t *out)
{
    return op_shift_date(cx, (int64_t)a + b, out);
}

static inline sm_status op_sub_date_i32(sm_opctx *cx, int32_t a, int32_t b, int32_t *out)
{
    return op_shift_date(cx, (int64_t)a - b, out);
}

/* Two valid dates are less than 2^31 days apart. */
OP_TOTAL(sub_date_date, int32_t, (int32_t a, int32_t b), (uint32_t)a - (uint32_t)b)

static inline sm_status op_make_date(sm_opctx *cx, int32_t year, int32_t month, int32_t day,
                                     int32_t *out)
{
    return sm_date_make(cx, year, month, day, out);
}

/* ---- timestamps ---- */

static inline sm_status op_add_ts_iv(sm_opctx *cx, int64_t a, sm_interval b, int64_t *out)
{
    return sm_ts_shift(cx, a, b.months, b.days, b.micros, out);
}

static inline sm_status op_add_iv_ts(sm_opctx *cx, sm_interval a, int64_t b, int64_t *out)
{
    return sm_ts_shift(cx, b, a.months, a.days, a.micros, out);
}

static inline sm_status op_sub_ts_iv(sm_opctx *cx, int64_t a, sm_interval b, int64_t *out)
{
    return sm_ts_shift(cx, a, -(int64_t)b.months, -(int64_t)b.days, -(sm_i128)b.micros, out);
}

static inline sm_status op_sub_ts_ts(sm_opctx *cx, int64_t a, int64_t b, sm_interval *out)
{
    int64_t micros;
    bool wraps = __builtin_sub_overflow(a, b, &micros);
    *out = (sm_interval){0, (int32_t)(micros / SM_DAY_US), micros % SM_DAY_US};
    return op_check(cx, wraps, SM_ERR_INTERVAL_RANGE);
}

static inline sm_status op_age_ts_ts(sm_opctx *cx, int64_t a, int64_t b, sm_interval *out)
{
    return sm_ts_age(cx, a, b, out);
}

static inline sm_status op_trunc_ts(sm_opctx *cx, int64_t a, int64_t *out)
{
    return sm_ts_trunc(cx, a, cx->imm[0], out);
}

static inline sm_status op_extract_ts(sm_opctx *cx, int64_t a, int64_t *out)
{
    return sm_ts_extract(cx, a, cx->imm[0], out);
}

static inline sm_status op_extract_date(sm_opctx *cx, int32_t a, int64_t *out)
{
    return sm_date_extract(cx, a, cx->imm[0], out);
}

static inline sm_status op_extract_iv(sm_opctx *cx, sm_interval a, int64_t *out)
{
    return sm_interval_extract(cx, a, cx->imm[0], out);
}

/* ---- intervals ---- */

static inline sm_status op_add_iv_iv(sm_opctx *cx, sm_interval a, sm_interval b, sm_interval *out)
{
    bool wraps = __builtin_add_overflow(a.months, b.months, &out->months);
    wraps |= __builtin_add_overflow(a.days, b.days, &out->days);
    wraps |= __builtin_add_overflow(a.micros, b.micros, &out->micros);
    return op_check(cx, wraps, SM_ERR_INTERVAL_RANGE);
}

static inline sm_status op_sub_iv_iv(sm_opctx *cx, sm_interval a, sm_interval b, sm_interval *out)
{
    bool wraps = __builtin_sub_overflow(a.months, b.months, &out->months);
    wraps |= __builtin_sub_overflow(a.days, b.days, &out->days);
    wraps |= __builtin_sub_overflow(a.micros, b.micros, &out->micros);
    return op_check(cx, wraps, SM_ERR_INTERVAL_RANGE);
}

static inline sm_status op_neg_iv(sm_opctx *cx, sm_interval a, sm_interval *out)
{
    return op_sub_iv_iv(cx, (sm_interval){0, 0, 0}, a, out);
}

static inline sm_status op_mul_iv_f64(sm_opctx *cx, sm_interval a, double b, sm_interval *out)
{
    return sm_interval_scale(cx, a, b, false, out);
}

static inline sm_status op_mul_f64_iv(sm_opctx *cx, double a, sm_interval b, sm_interval *out)
{
    return sm_interval_scale(cx, b, a, false, out);
}

static inline sm_status op_div_iv_f64(sm_opctx *cx, sm_interval a, double b, sm_interval *out)
{
    *out = a;
    if (b == 0) return op_check(cx, true, SM_ERR_DIVISION_BY_ZERO);
    return sm_interval_scale(cx, a, b, true, out);
}

/* An interval's length, for comparison only: months of 30 days, days of 24 hours. */
SM_INLINE sm_i128 op_interval_span(sm_interval v)
{
    return ((sm_i128)v.months * 30 + v.days) * SM_DAY_US + v.micros;
}

#define OP_COMPARE_SPAN(name, relation)                                                            \
    OP_TOTAL(name##_iv, uint8_t, (sm_interval a, sm_interval b),                                   \
             op_interval_span(a) relation op_interval_span(b))
OP_COMPARE_SPAN(eq, ==)
OP_COMPARE_SPAN(ne, !=)
OP_COMPARE_SPAN(lt, <)
OP_COMPARE_SPAN(le, <=)
OP_COMPARE_SPAN(gt, >)
OP_COMPARE_SPAN(ge, >=)
#undef OP_COMPARE_SPAN

#endif
