/* Bodies of the operations on dates, timestamps and intervals.
 * Read ops_number.h first. */
#ifndef SM_OPS_DATETIME_H
#define SM_OPS_DATETIME_H

#include "ops_decimal.h"

/* An interval's length, for comparison only: months of 30 days, days of 24 hours. */
SM_INLINE sm_i128 op_interval_span(sm_interval v)
{
    return ((sm_i128)v.months * 30 + v.days) * INT64_C(86400000000) + v.micros;
}

#define OP_COMPARE_SPAN(name, relation)                                                                        \
    OP_TOTAL(name##_iv, uint8_t, (sm_interval a, sm_interval b),                                               \
             op_interval_span(a) relation op_interval_span(b))
OP_COMPARE_SPAN(eq, ==)
OP_COMPARE_SPAN(ne, !=)
OP_COMPARE_SPAN(lt, <)
OP_COMPARE_SPAN(le, <=)
OP_COMPARE_SPAN(gt, >)
OP_COMPARE_SPAN(ge, >=)
#undef OP_COMPARE_SPAN

#endif
