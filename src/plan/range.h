/* Intervals of integers: what is known of values, and how operations carry it along. All arithmetic
 * is in int128; an interval whose bounds leave int128 becomes unknown. Ranges speak of values that
 * are present in live rows, and of nothing else: NULL slots and dead rows hold any bits. */
#ifndef SM_RANGE_H
#define SM_RANGE_H

#include "plan/expr.h"

SM_INLINE sm_range sm_range_of(sm_i128 lo, sm_i128 hi)
{
    return (sm_range){true, lo, hi};
}
#define SM_RANGE_UNKNOWN ((sm_range){false, 0, 0})

/** All values of the type: integers, dates and timestamps of their width, decimals of their digits;
 * else unknown. */
sm_range sm_range_of_type(sm_type t);
/** The one value of a constant; NULL and types without range: unknown. */
sm_range sm_range_of_value(sm_type t, sm_phys p, const sm_value *v);
/** Is a known, and inside [lo, hi]? */
bool sm_range_within(sm_range a, sm_i128 lo, sm_i128 hi);
bool sm_range_fits_i64(sm_range a);
sm_range sm_range_union(sm_range a, sm_range b);
/** What both say; an empty intersection gives b. */
sm_range sm_range_cut(sm_range a, sm_range b);
sm_range sm_range_add(sm_range a, sm_range b);
sm_range sm_range_sub(sm_range a, sm_range b);
sm_range sm_range_mul(sm_range a, sm_range b);
sm_range sm_range_neg(sm_range a);
sm_range sm_range_abs(sm_range a);
/** Quotient truncated toward zero. */
sm_range sm_range_div(sm_range a, sm_range b);
/** Remainder with the dividend's sign. */
sm_range sm_range_mod(sm_range a, sm_range b);
/** Divided by 10^digits, half away from zero. */
sm_range sm_range_down(sm_range a, unsigned digits);
/** Is zero excluded? */
bool sm_range_nonzero(sm_range a);

#endif
