/* The formula of every accumulator, once: agg.c calls them row by row, the batch tier's loops are
 * loops around them, and compiled code emits the same operations in the same order (that is what
 * makes the bits the same). */
#ifndef SM_AGG_BODY_H
#define SM_AGG_BODY_H

#include "agg.h"
#include "decimal.h"

SM_INLINE void sm_count_add(sm_acc_count *s)
{
    s->n++;
}

SM_INLINE void sm_sum_i_add(sm_acc_sum_i *s, int64_t v)
{
    s->sum += v;
    s->n++;
}

/** 256-bit: adds a sign-extended 128-bit value. */
SM_INLINE void sm_sum_d_add_to(sm_acc_sum_d *s, sm_i128 v)
{
    sm_u128 low = s->low + (sm_u128)v;
    s->high += (sm_i128)(low < s->low) - (v < 0);
    s->low = low;
}

SM_INLINE void sm_sum_d_add(sm_acc_sum_d *s, sm_i128 v)
{
    sm_sum_d_add_to(s, v);
    s->n++;
}

SM_INLINE void sm_sum_f_add(sm_acc_sum_f *s, unsigned lane, double v)
{
    s->lane[lane] += v;
    s->n++;
}

/** Youngs-Cramer. source  Youngs, Cramer, Technometrics 13 (1971); as PostgreSQL's float8_accum */
SM_INLINE void sm_var_add(sm_var_lane *l, double v)
{
    l->n += 1.0;
    l->sum += v;
    if (l->n > 1.0) {
        double t = v * l->n - l->sum;
        l->sq += t * t / (l->n * (l->n - 1.0));
    }
}

/** a = a then b. source  Chan, Golub, LeVeque, Stanford STAN-CS-79-773 (1979) */
SM_INLINE void sm_var_merge(sm_var_lane *a, const sm_var_lane *b)
{
    double n = a->n + b->n, t;
    if (b->n == 0.0) return;
    if (a->n == 0.0) {
        *a = *b;
        return;
    }
    t = a->sum / a->n - b->sum / b->n;
    a->sq = a->sq + b->sq + a->n * b->n * t * t / n;
    a->sum += b->sum;
    a->n = n;
}

SM_INLINE void sm_min_i64(sm_acc_minmax *s, int64_t v)
{
    if (!s->has || v < s->i64) s->i64 = v;
    s->has = 1;
}
SM_INLINE void sm_max_i64(sm_acc_minmax *s, int64_t v)
{
    if (!s->has || v > s->i64) s->i64 = v;
    s->has = 1;
}
SM_INLINE void sm_min_i128(sm_acc_minmax *s, sm_i128 v)
{
    if (!s->has || v < s->i128) s->i128 = v;
    s->has = 1;
}
SM_INLINE void sm_max_i128(sm_acc_minmax *s, sm_i128 v)
{
    if (!s->has || v > s->i128) s->i128 = v;
    s->has = 1;
}

SM_INLINE void sm_bool_add(sm_acc_bool *s, uint8_t v)
{
    s->and_ = s->has ? (uint8_t)(s->and_ & v) : v;
    s->or_ |= v;
    s->has = 1;
}

/** A value as the float aggregates see it; decimals are rounded once. */
SM_INLINE double sm_value_double(sm_type t, const sm_value *v)
{
    switch (sm_type_phys(t)) {
    case SM_PHYS_F64: return v->f64;
    case SM_PHYS_F32: return v->f32;
    case SM_PHYS_I16: return v->i16;
    case SM_PHYS_I32: return v->i32;
    case SM_PHYS_I64: return t.scale ? sm_dec_to_double(v->i64, t.scale) : (double)v->i64;
    case SM_PHYS_I128: return sm_dec_to_double(v->i128, t.scale);
    default: return v->b;
    }
}

/** What min and max of anything but text, intervals and long decimals compare. */
SM_INLINE int64_t sm_value_key(sm_phys p, const sm_value *v)
{
    switch (p) {
    case SM_PHYS_F64: return sm_float_key(v->f64);
    case SM_PHYS_F32: return sm_float_key(v->f32);
    case SM_PHYS_I16: return v->i16;
    case SM_PHYS_I32: return v->i32;
    case SM_PHYS_I64: return v->i64;
    default: return v->b;
    }
}

/** sm_acc_add for the kinds that need no memory and cannot fail; false: call sm_acc_add. */
SM_INLINE bool sm_acc_add_quick(const sm_accum *acc, void *state, unsigned lane, const sm_value *v)
{
    if (acc->distinct) return false;
    switch (acc->kind) {
    case SM_ACC_COUNT: sm_count_add(state); return true;
    case SM_ACC_SUM_F:
        sm_sum_f_add(state, lane, acc->type.id == SM_FLOAT64 ? v->f64 : (double)v->f32);
        return true;
    case SM_ACC_SUM_I: {
        sm_phys p = sm_type_phys(acc->type);
        sm_sum_i_add(state, p == SM_PHYS_I64   ? v->i64
                            : p == SM_PHYS_I32 ? (int64_t)v->i32
                                               : (int64_t)v->i16);
        return true;
    }
    case SM_ACC_VAR:
        sm_var_add(&((sm_acc_var *)state)->lane[lane], sm_value_double(acc->type, v));
        return true;
    default: return false;
    }
}

#endif
