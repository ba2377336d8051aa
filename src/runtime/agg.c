/* Accumulators: add a value, fold lanes, combine partial states, give the result. The formulas
 * themselves are in agg_body.h; the functions and their types are rows of aggs.def. */
#include "agg_body.h"

#include <math.h>
#include <string.h>

/* ---- the table of functions ---- */

typedef enum shape { SHAPE_COUNT, SHAPE_SUM, SHAPE_MIN, SHAPE_MAX, SHAPE_VAR, SHAPE_BOOL } shape;

typedef struct row {
    const char *name, *other; /* "" = none */
    shape shape;
} row;

static const row rows[SM_N_AGGS] = {
#define SM_AGG(id, sql, other, acc, result, doc) [SM_AGG_##id] = {sql, other, SHAPE_##acc},
#include "aggs.def"
#undef SM_AGG
};

sm_acc_kind sm_agg_acc_kind(sm_agg_fn fn, sm_type arg)
{
    switch (rows[fn].shape) {
    case SHAPE_COUNT: return SM_ACC_COUNT;
    case SHAPE_MIN: return SM_ACC_MIN;
    case SHAPE_MAX: return SM_ACC_MAX;
    case SHAPE_VAR: return SM_ACC_VAR;
    case SHAPE_BOOL: return SM_ACC_BOOL;
    default: break;
    }
    if (sm_type_is_float(arg)) return SM_ACC_SUM_F;
    return sm_type_phys(arg) == SM_PHYS_I128 ? SM_ACC_SUM_D : SM_ACC_SUM_I;
}

static bool is_number(sm_type t)
{
    return sm_type_is_int(t) || sm_type_is_float(t) || t.id == SM_DECIMAL;
}

static sm_type sum_type(sm_type arg)
{
    if (arg.id == SM_INT16 || arg.id == SM_INT32) return sm_type_of(SM_INT64);
    if (arg.id == SM_INT64) return sm_decimal(SM_DEC_MAX_DIGITS, 0);
    if (arg.id == SM_DECIMAL) return sm_decimal(SM_DEC_MAX_DIGITS, arg.scale);
    return arg;
}

bool sm_agg_result_type(sm_agg_fn fn, sm_type arg, sm_type *out)
{
    switch (rows[fn].shape) {
    case SHAPE_COUNT: *out = sm_type_of(SM_INT64); return true;
    case SHAPE_SUM:
        *out = fn == SM_AGG_AVG ? sm_type_of(SM_FLOAT64) : sum_type(arg);
        return is_number(arg);
    case SHAPE_VAR: *out = sm_type_of(SM_FLOAT64); return is_number(arg);
    case SHAPE_BOOL: *out = sm_type_of(SM_BOOL); return arg.id == SM_BOOL;
    default: *out = arg; return arg.id != SM_BOOL && arg.id != SM_UNKNOWN;
    }
}

bool sm_agg_find(const char *name, bool star, sm_agg_fn *out)
{
    for (unsigned fn = 0; fn < SM_N_AGGS && *name; fn++) {
        if (star != (fn == SM_AGG_COUNT_ALL)) continue;
        if (strcmp(name, rows[fn].name) != 0 && strcmp(name, rows[fn].other) != 0) continue;
        *out = (sm_agg_fn)fn;
        return true;
    }
    return false;
}

const char *sm_agg_name(sm_agg_fn fn)
{
    return rows[fn].name;
}

/* ---- states ---- */

size_t sm_acc_bytes(const sm_accum *acc, unsigned lanes)
{
    size_t bytes = sizeof(sm_acc_count);
    if (acc->distinct) return sizeof(sm_acc_count); /* a pointer */
    switch (acc->kind) {
    case SM_ACC_COUNT: bytes = sizeof(sm_acc_count); break;
    case SM_ACC_SUM_I: bytes = sizeof(sm_acc_sum_i); break;
    case SM_ACC_SUM_D: bytes = sizeof(sm_acc_sum_d); break;
    case SM_ACC_SUM_F: bytes = sizeof(sm_acc_sum_f) + lanes * sizeof(double); break;
    case SM_ACC_VAR: bytes = lanes * sizeof(sm_var_lane); break;
    case SM_ACC_MIN:
    case SM_ACC_MAX: bytes = sizeof(sm_acc_minmax); break;
    case SM_ACC_BOOL: bytes = sizeof(sm_acc_bool); break;
    }
    return (bytes + 15) & ~(size_t)15;
}

void sm_acc_init(const sm_accum *acc, unsigned lanes, void *state)
{
    memset(state, 0, sm_acc_bytes(acc, lanes));
    if (acc->distinct || acc->kind != SM_ACC_SUM_F) return;
    for (unsigned i = 0; i < lanes; i++) ((sm_acc_sum_f *)state)->lane[i] = -0.0;
}

/* The extreme's bytes are written over those of the one before where they fit; room doubles, so a
 * column that ascends costs its longest text twice and not the sum of all. */
static sm_status keep_text(sm_acc_minmax *s, sm_text v, sm_arena *arena, sm_error *err)
{
    char *bytes = (char *)(uintptr_t)(s->room ? s->text.ptr : NULL);
    if (v.len <= SM_TEXT_INLINE) {
        s->room = 0;
        s->text = v;
        return SM_OK;
    }
    if (s->room < (int64_t)v.len) {
        int64_t room = s->room * 2 > (int64_t)v.len ? s->room * 2 : (int64_t)v.len;
        bytes = sm_arena_alloc(arena, (size_t)room);
        if (!bytes) return sm_arena_failed(arena, err);
        s->room = room;
    }
    memmove(bytes, v.ptr, v.len);
    s->text = sm_text_view(bytes, v.len);
    return SM_OK;
}

static sm_status minmax_add(sm_acc_minmax *s, bool max, sm_phys p, const sm_value *v,
                            sm_arena *arena, sm_error *err)
{
    int order = 1;
    switch (p) {
    case SM_PHYS_TEXT:
        if (s->has) order = max ? sm_text_cmp(v->text, s->text) : sm_text_cmp(s->text, v->text);
        if (order > 0) SM_TRY(keep_text(s, v->text, arena, err));
        s->has = 1;
        return SM_OK;
    case SM_PHYS_IV:
        if (s->has) order = max ? sm_interval_cmp(v->iv, s->iv) : sm_interval_cmp(s->iv, v->iv);
        if (order > 0) s->iv = v->iv;
        s->has = 1;
        return SM_OK;
    case SM_PHYS_I128:
        if (max)
            sm_max_i128(s, v->i128);
        else
            sm_min_i128(s, v->i128);
        return SM_OK;
    default:
        if (max)
            sm_max_i64(s, sm_value_key(p, v));
        else
            sm_min_i64(s, sm_value_key(p, v));
        return SM_OK;
    }
}

sm_status sm_acc_add(const sm_accum *acc, void *state, unsigned lane, const sm_value *v,
                     sm_arena *arena, sm_error *err)
{
    if (sm_acc_add_quick(acc, state, lane, v)) return SM_OK;
    if (acc->distinct) return sm_value_set_add((sm_value_set **)state, acc->type, v, arena, err);
    switch (acc->kind) {
    case SM_ACC_SUM_D: sm_sum_d_add(state, v->i128); return SM_OK;
    case SM_ACC_BOOL: sm_bool_add(state, v->b); return SM_OK;
    default: break;
    }
    return minmax_add(state, acc->kind == SM_ACC_MAX, sm_type_phys(acc->type), v, arena, err);
}

void sm_acc_add_partial(const sm_accum *acc, void *state, sm_i128 sum, int64_t n)
{
    if (acc->kind == SM_ACC_SUM_I) {
        ((sm_acc_sum_i *)state)->sum += sum;
        ((sm_acc_sum_i *)state)->n += n;
    } else {
        sm_sum_d_add_to(state, sum);
        ((sm_acc_sum_d *)state)->n += n;
    }
}

/* ---- folding and combining ---- */

double sm_lanes_sum(const double *lane, unsigned lanes)
{
    double t[32];
    memcpy(t, lane, lanes * sizeof *lane);
    for (unsigned half = lanes / 2; half; half /= 2)
        for (unsigned i = 0; i < half; i++) t[i] += t[i + half];
    return t[0];
}

static void var_fold(sm_acc_var *dst, const sm_acc_var *src, unsigned lanes)
{
    sm_var_lane t[32];
    memcpy(t, src->lane, lanes * sizeof *t);
    for (unsigned half = lanes / 2; half; half /= 2)
        for (unsigned i = 0; i < half; i++) sm_var_merge(&t[i], &t[i + half]);
    sm_var_merge(dst->lane, t);
}

static void sum_f_fold(sm_acc_sum_f *dst, const sm_acc_sum_f *src, unsigned lanes)
{
    dst->n += src->n;
    dst->lane[0] += sm_lanes_sum(src->lane, lanes);
}

static void sum_d_combine(sm_acc_sum_d *dst, const sm_acc_sum_d *src)
{
    sm_u128 low = dst->low + src->low;
    dst->high += src->high + (low < dst->low);
    dst->low = low;
    dst->n += src->n;
}

static sm_status minmax_combine(const sm_accum *acc, sm_acc_minmax *dst, const sm_acc_minmax *src,
                                sm_arena *arena, sm_error *err)
{
    bool max = acc->kind == SM_ACC_MAX;
    sm_phys p = sm_type_phys(acc->type);
    sm_value v;
    if (!src->has) return SM_OK;
    if (p != SM_PHYS_TEXT && p != SM_PHYS_IV && p != SM_PHYS_I128) {
        if (max)
            sm_max_i64(dst, src->i64);
        else
            sm_min_i64(dst, src->i64);
        return SM_OK;
    }
    memcpy(&v, src, 16);
    return minmax_add(dst, max, p, &v, arena, err);
}

static void bool_combine(sm_acc_bool *dst, const sm_acc_bool *src)
{
    if (!src->has) return;
    dst->and_ = dst->has ? dst->and_ & src->and_ : src->and_;
    dst->or_ |= src->or_;
    dst->has = 1;
}

sm_status sm_acc_fold(const sm_accum *acc, unsigned lanes, const void *lane_state, void *final,
                      sm_arena *arena, sm_error *err)
{
    if (acc->distinct)
        return sm_value_set_merge((sm_value_set **) final, acc->type,
                                  *(sm_value_set *const *)lane_state, arena, err);
    switch (acc->kind) {
    case SM_ACC_COUNT: ((sm_acc_count *) final)->n += ((const sm_acc_count *)lane_state)->n; break;
    case SM_ACC_SUM_I: {
        const sm_acc_sum_i *src = lane_state;
        sm_acc_add_partial(acc, final, src->sum, src->n);
        break;
    }
    case SM_ACC_SUM_D: sum_d_combine(final, lane_state); break;
    case SM_ACC_SUM_F: sum_f_fold(final, lane_state, lanes); break;
    case SM_ACC_VAR: var_fold(final, lane_state, lanes); break;
    case SM_ACC_MIN:
    case SM_ACC_MAX: return minmax_combine(acc, final, lane_state, arena, err);
    case SM_ACC_BOOL: bool_combine(final, lane_state); break;
    }
    return SM_OK;
}

sm_status sm_acc_combine(const sm_accum *acc, void *dst, const void *src, sm_arena *arena,
                         sm_error *err)
{
    return sm_acc_fold(acc, 1, src, dst, arena, err);
}

/* ---- results ---- */

static double canonical(double v)
{
    return v != v ? sm_float_from_key(INT64_MAX) : v;
}

static sm_status put_int(sm_type result, sm_i128 v, sm_value *out, sm_error *err)
{
    if (result.id == SM_DECIMAL) {
        sm_i128 limit = sm_pow10(result.precision);
        if (v >= limit || v <= -limit) return sm_raise(err, SM_ERR_DECIMAL_RANGE);
    } else if (v != (int64_t)v) {
        return sm_raise(err, SM_ERR_BIGINT_RANGE);
    }
    if (sm_type_phys(result) == SM_PHYS_I128)
        out->i128 = v;
    else
        out->i64 = (int64_t)v;
    return SM_OK;
}

static sm_status sum_i_result(const sm_accum *acc, sm_agg_fn fn, sm_type result,
                              const sm_acc_sum_i *s, sm_value *out, sm_error *err)
{
    out->is_null = s->n == 0;
    if (out->is_null) return SM_OK;
    if (fn != SM_AGG_AVG) return put_int(result, s->sum, out, err);
    out->f64 = sm_dec_quotient(s->sum, s->n, acc->type.scale);
    return SM_OK;
}

static sm_status sum_d_result(const sm_accum *acc, sm_agg_fn fn, sm_type result,
                              const sm_acc_sum_d *s, sm_value *out, sm_error *err)
{
    out->is_null = s->n == 0;
    if (out->is_null) return SM_OK;
    if (fn == SM_AGG_AVG) {
        out->f64 = sm_dec_mean(s->low, s->high, s->n, acc->type.scale);
        return SM_OK;
    }
    if (s->high != ((sm_i128)s->low < 0 ? -1 : 0)) return sm_raise(err, SM_ERR_DECIMAL_RANGE);
    return put_int(result, (sm_i128)s->low, out, err);
}

static void sum_f_result(sm_agg_fn fn, sm_type result, const sm_acc_sum_f *s, sm_value *out)
{
    double v = fn == SM_AGG_AVG ? s->lane[0] / (double)s->n : s->lane[0];
    out->is_null = s->n == 0;
    if (out->is_null) return;
    if (result.id == SM_FLOAT32)
        out->f32 = (float)canonical(v);
    else
        out->f64 = canonical(v);
}

/* An infinite sum has no variance, also when it is the only value. */
static void var_result(sm_agg_fn fn, const sm_var_lane *s, sm_value *out)
{
    bool sample = fn == SM_AGG_VAR_SAMP || fn == SM_AGG_STDDEV_SAMP;
    bool root = fn == SM_AGG_STDDEV_SAMP || fn == SM_AGG_STDDEV_POP;
    double n = sample ? s->n - 1.0 : s->n, v;
    out->is_null = n <= 0.0;
    if (out->is_null) return;
    v = isfinite(s->sum) ? s->sq / n : NAN;
    out->f64 = canonical(root ? sqrt(v) : v);
}

static void minmax_result(sm_type t, const sm_acc_minmax *s, sm_value *out)
{
    out->is_null = !s->has;
    if (out->is_null) return;
    switch (sm_type_phys(t)) {
    case SM_PHYS_BOOL: out->b = (uint8_t)s->i64; break;
    case SM_PHYS_I16: out->i16 = (int16_t)s->i64; break;
    case SM_PHYS_I32: out->i32 = (int32_t)s->i64; break;
    case SM_PHYS_F32: out->f32 = (float)sm_float_from_key(s->key); break;
    case SM_PHYS_F64: out->f64 = sm_float_from_key(s->key); break;
    case SM_PHYS_I128: out->i128 = s->i128; break;
    case SM_PHYS_IV: out->iv = s->iv; break;
    case SM_PHYS_TEXT: out->text = s->text; break;
    default: out->i64 = s->i64; break;
    }
}

/* Ascending order fixes the bits of float sums, whatever order the values came in. */
static sm_status distinct_result(const sm_accum *acc, sm_agg_fn fn, sm_type result,
                                 const sm_value_set *set, sm_value *out, sm_arena *arena,
                                 sm_error *err)
{
    sm_accum plain = *acc;
    sm_value *values = NULL;
    void *state;
    if (acc->kind == SM_ACC_COUNT) {
        out->i64 = sm_value_set_count(set);
        return SM_OK;
    }
    plain.distinct = false;
    state = sm_arena_alloc(arena, sm_acc_bytes(&plain, 1));
    if (!state) return sm_arena_failed(arena, err);
    sm_acc_init(&plain, 1, state);
    SM_TRY(sm_value_set_sorted(set, &values, arena, err));
    for (int64_t i = 0; i < sm_value_set_count(set); i++)
        SM_TRY(sm_acc_add(&plain, state, 0, &values[i], arena, err));
    return sm_acc_result(&plain, fn, result, state, out, arena, err);
}

sm_status sm_acc_result(const sm_accum *acc, sm_agg_fn fn, sm_type result, const void *state,
                        sm_value *out, sm_arena *arena, sm_error *err)
{
    *out = (sm_value){.is_null = false};
    if (acc->distinct)
        return distinct_result(acc, fn, result, *(sm_value_set *const *)state, out, arena, err);
    switch (acc->kind) {
    case SM_ACC_COUNT: out->i64 = ((const sm_acc_count *)state)->n; break;
    case SM_ACC_SUM_I: return sum_i_result(acc, fn, result, state, out, err);
    case SM_ACC_SUM_D: return sum_d_result(acc, fn, result, state, out, err);
    case SM_ACC_SUM_F: sum_f_result(fn, result, state, out); break;
    case SM_ACC_VAR: var_result(fn, ((const sm_acc_var *)state)->lane, out); break;
    case SM_ACC_MIN:
    case SM_ACC_MAX: minmax_result(acc->type, state, out); break;
    case SM_ACC_BOOL: {
        const sm_acc_bool *s = state;
        out->is_null = !s->has;
        out->b = fn == SM_AGG_BOOL_AND ? s->and_ : s->or_;
        break;
    }
    }
    return SM_OK;
}
