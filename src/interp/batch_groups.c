/* Adds rows to accumulators one by one, each to its group's state: the way of many groups, of few
 * live rows, and of the accumulators that have no kernel. One loop per kind of state and form of
 * value; rows come in row order, which is what float sums depend on. Read runtime/agg.h first. */
#include "interp/batch_state.h"

#include "runtime/agg_body.h"

SM_INLINE void *state_of(const sm_states *t, uint32_t offset, uint32_t i)
{
    return (t->single ? t->single : (char *)t->rows[i]) + offset;
}

#define EACH_ROW(STATE, body)                                                                      \
    for (uint32_t k = 0; k < n; k++) {                                                             \
        uint32_t i = sel ? sel[k] : k;                                                             \
        STATE *st = state_of(t, offset, i);                                                        \
        body                                                                                       \
    }
#define ROWS_PARAMS                                                                                \
    const sm_states *t, uint32_t offset, const void *values, const uint16_t *sel, uint32_t n

static void add_count(const sm_states *t, uint32_t offset, const uint16_t *sel, uint32_t n)
{
    EACH_ROW(sm_acc_count, st->n++;)
}

#define ADD_SUM_I(name, T)                                                                         \
    static void name(ROWS_PARAMS)                                                                  \
    {                                                                                              \
        const T *v = values;                                                                       \
        EACH_ROW(sm_acc_sum_i, { sm_sum_i_add(st, v[i]); })                                        \
    }
ADD_SUM_I(add_sum_i16, int16_t)
ADD_SUM_I(add_sum_i32, int32_t)
ADD_SUM_I(add_sum_i64, int64_t)

#define ADD_SUM_D(name, T)                                                                         \
    static void name(ROWS_PARAMS)                                                                  \
    {                                                                                              \
        const T *v = values;                                                                       \
        EACH_ROW(sm_acc_sum_d, sm_sum_d_add(st, v[i]);)                                            \
    }
ADD_SUM_D(add_sum_d_i16, int16_t)
ADD_SUM_D(add_sum_d_i32, int32_t)
ADD_SUM_D(add_sum_d_i64, int64_t)
ADD_SUM_D(add_sum_d_i128, sm_i128)

#define ADD_SUM_F(name, T)                                                                         \
    static void name(ROWS_PARAMS, const sm_batch_state *s, uint32_t lane_mask)                     \
    {                                                                                              \
        const T *v = values;                                                                       \
        EACH_ROW(sm_acc_sum_f, { sm_sum_f_add(st, sm_batch_row(s, i) & lane_mask, (double)v[i]); })  \
    }
ADD_SUM_F(add_sum_f32, float)
ADD_SUM_F(add_sum_f64, double)

#define ADD_BEST(name, T, ONE, ADD)                                                                \
    static void name(ROWS_PARAMS)                                                                  \
    {                                                                                              \
        const T *v = values;                                                                       \
        EACH_ROW(sm_acc_minmax, ADD(st, ONE(v[i]));)                                               \
    }
#define ONE_INT(x) ((int64_t)(x))
#define ONE_KEY(x) sm_float_key((double)(x))
#define ADD_BESTS(which, ADD)                                                                      \
    ADD_BEST(which##_i16, int16_t, ONE_INT, ADD)                                                   \
    ADD_BEST(which##_i32, int32_t, ONE_INT, ADD)                                                   \
    ADD_BEST(which##_i64, int64_t, ONE_INT, ADD)                                                   \
    ADD_BEST(which##_f32, float, ONE_KEY, ADD)                                                     \
    ADD_BEST(which##_f64, double, ONE_KEY, ADD)
ADD_BESTS(add_min, sm_min_i64)
ADD_BESTS(add_max, sm_max_i64)

static void add_bool(ROWS_PARAMS)
{
    const uint8_t *v = values;
    EACH_ROW(sm_acc_bool, sm_bool_add(st, v[i]);)
}

/* ---- whatever has no loop of its own --------------------------------------------------------- */

static void load(const sm_vec *v, uint32_t i, sm_value *out)
{
    out->is_null = false;
    switch (v->phys) {
    case SM_PHYS_BOOL: out->b = ((const uint8_t *)v->data)[i]; break;
    case SM_PHYS_I16: out->i16 = ((const int16_t *)v->data)[i]; break;
    case SM_PHYS_I32: out->i32 = ((const int32_t *)v->data)[i]; break;
    case SM_PHYS_I64: out->i64 = ((const int64_t *)v->data)[i]; break;
    case SM_PHYS_I128: memcpy(&out->i128, (const char *)v->data + i * 16, 16); break;
    case SM_PHYS_F32: out->f32 = ((const float *)v->data)[i]; break;
    case SM_PHYS_F64: out->f64 = ((const double *)v->data)[i]; break;
    case SM_PHYS_IV: out->iv = ((const sm_interval *)v->data)[i]; break;
    default: out->text = ((const sm_text *)v->data)[i]; break;
    }
}

static sm_status add_values(sm_batch_state *s, const sm_batch_accum *a, const sm_states *t,
                            uint32_t offset, const uint16_t *sel, uint32_t n)
{
    uint32_t lane_mask = t->lanes ? s->w->p->agg.layout.lanes - 1 : 0;
    bool widen =
        a->arg && a->arg->v.phys == SM_PHYS_I64 && sm_type_phys(a->acc->type) == SM_PHYS_I128;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = sel ? sel[k] : k;
        sm_value v = {0};
        if (a->arg) load(&a->arg->v, i, &v);
        if (widen) v.i128 = v.i64;
        SM_TRY(sm_acc_add(a->acc, state_of(t, offset, i), sm_batch_row(s, i) & lane_mask, &v, t->arena,
                          &s->w->err));
    }
    return SM_OK;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static void add_var(ROWS_PARAMS, const sm_batch_state *s, uint32_t lane_mask)
{
    const double *v = values;
    EACH_ROW(sm_acc_var, sm_var_add(&st->lane[sm_batch_row(s, i) & lane_mask], v[i]);)
}

typedef void (*add_loop)(ROWS_PARAMS);

static add_loop loop_of(const sm_batch_accum *a)
{
    static const add_loop sums[SM_N_PHYS] = {
        [SM_PHYS_I16] = add_sum_i16, [SM_PHYS_I32] = add_sum_i32, [SM_PHYS_I64] = add_sum_i64};
    static const add_loop mins[SM_N_PHYS] = {[SM_PHYS_I16] = add_min_i16,
                                             [SM_PHYS_I32] = add_min_i32,
                                             [SM_PHYS_I64] = add_min_i64,
                                             [SM_PHYS_F32] = add_min_f32,
                                             [SM_PHYS_F64] = add_min_f64};
    static const add_loop maxs[SM_N_PHYS] = {[SM_PHYS_I16] = add_max_i16,
                                             [SM_PHYS_I32] = add_max_i32,
                                             [SM_PHYS_I64] = add_max_i64,
                                             [SM_PHYS_F32] = add_max_f32,
                                             [SM_PHYS_F64] = add_max_f64};
    static const add_loop long_sums[SM_N_PHYS] = {[SM_PHYS_I16] = add_sum_d_i16,
                                                  [SM_PHYS_I32] = add_sum_d_i32,
                                                  [SM_PHYS_I64] = add_sum_d_i64,
                                                  [SM_PHYS_I128] = add_sum_d_i128};
    switch (a->acc->kind) {
    case SM_ACC_SUM_I: return sums[a->arg->v.phys];
    case SM_ACC_SUM_D: return long_sums[a->arg->v.phys];
    case SM_ACC_MIN: return mins[a->arg->v.phys];
    case SM_ACC_MAX: return maxs[a->arg->v.phys];
    case SM_ACC_BOOL: return add_bool;
    default: return NULL;
    }
}

sm_status sm_batch_add_rows(sm_batch_state *s, const sm_batch_accum *a, const sm_states *t,
                            const uint16_t *sel, uint32_t n)
{
    const sm_accum *acc = a->acc;
    uint32_t offset = t->lanes ? acc->lanes_offset : acc->offset;
    uint32_t lane_mask = t->lanes ? s->w->p->agg.layout.lanes - 1 : 0;
    if (acc->distinct) return add_values(s, a, t, offset, sel, n);
    if (acc->kind == SM_ACC_COUNT) {
        add_count(t, offset, sel, n);
        return SM_OK;
    }
    if (acc->kind == SM_ACC_SUM_F) {
        if (a->arg->v.phys == SM_PHYS_F64)
            add_sum_f64(t, offset, a->arg->v.data, sel, n, s, lane_mask);
        else
            add_sum_f32(t, offset, a->arg->v.data, sel, n, s, lane_mask);
        return SM_OK;
    }
    if (acc->kind == SM_ACC_VAR && a->arg->v.phys == SM_PHYS_F64) {
        add_var(t, offset, a->arg->v.data, sel, n, s, lane_mask);
        return SM_OK;
    }
    add_loop loop = loop_of(a);
    if (!loop) return add_values(s, a, t, offset, sel, n);
    loop(t, offset, a->arg->v.data, sel, n);
    return SM_OK;
}
