/* Casts: what may become what, by which operations, and what a literal of no type yet becomes. Read
 * bind.h first.
 *
 * Decimals are integers of known scale, in 64 bits up to 18 digits and 128 above; a cast between
 * two of them scales, then checks the digits if they may not fit, then changes the width. A cast
 * that changes nothing but the type's name in the plan is up_d64 by 10^0. */
#include <stdio.h>
#include <string.h>

#include "runtime/format.h"
#include "sql/bind.h"

/* ---- which casts there are ---- */

/* Numbers in the order of implicit casts; -1 for other types. */
static int number_rank(sm_type t)
{
    static const int8_t ranks[SM_N_TYPES] = {[SM_INT16] = 1,   [SM_INT32] = 2,   [SM_INT64] = 3,
                                             [SM_DECIMAL] = 4, [SM_FLOAT32] = 5, [SM_FLOAT64] = 6};
    return ranks[t.id] - 1;
}

/* The weakest kind of cast that allows it; SM_CAST_EXPLICIT + 1 if none does. */
static int cast_needs(sm_type from, sm_type to)
{
    int rf = number_rank(from), rt = number_rank(to);
    if (from.id == to.id || from.id == SM_UNKNOWN) return SM_CAST_IMPLICIT;
    if (rf >= 0 && rt >= 0) return rf < rt ? SM_CAST_IMPLICIT : SM_CAST_ASSIGN;
    if (to.id == SM_TEXT) return SM_CAST_ASSIGN;
    if (from.id == SM_TEXT) return SM_CAST_EXPLICIT;
    if (from.id == SM_DATE && to.id == SM_TIMESTAMP) return SM_CAST_IMPLICIT;
    if (from.id == SM_TIMESTAMP && to.id == SM_DATE) return SM_CAST_ASSIGN;
    if ((from.id == SM_BOOL && to.id == SM_INT32) || (from.id == SM_INT32 && to.id == SM_BOOL))
        return SM_CAST_EXPLICIT;
    return SM_CAST_EXPLICIT + 1;
}

bool sm_can_coerce(sm_type from, sm_type to)
{
    return cast_needs(from, to) == SM_CAST_IMPLICIT;
}

bool sm_can_assign(sm_type from, sm_type to)
{
    return cast_needs(from, to) <= SM_CAST_ASSIGN;
}

/* ---- by which operations ---- */

static sm_status unary(sm_binder *b, sm_op op, sm_type type, sm_expr *e, int32_t imm0, int32_t imm1,
                       sm_expr **out)
{
    return sm_make_op(b, op, type, &e, 1, imm0, imm1, out);
}

/* Same 64 bits, another type. */
static sm_status relabel(sm_binder *b, sm_type type, sm_expr *e, sm_expr **out)
{
    return unary(b, SM_OP_up_d64, type, e, 0, 0, out);
}

static bool is_short(sm_type t)
{
    return t.precision <= SM_DEC64_DIGITS;
}

static sm_type decimal_of(unsigned precision, unsigned scale)
{
    return sm_decimal(precision > SM_DEC_MAX_DIGITS ? SM_DEC_MAX_DIGITS : precision, scale);
}

/* 64-bit decimal in 128 bits: a precision above 18 says so. */
static sm_status widen(sm_binder *b, sm_expr *e, sm_expr **out)
{
    if (!is_short(e->type)) return *out = e, SM_OK;
    return unary(b, SM_OP_i64_to_d128, sm_decimal(SM_DEC64_DIGITS + 1, e->type.scale), e, 0, 0,
                 out);
}

static sm_status scale_up(sm_binder *b, sm_expr *e, unsigned by, sm_expr **out)
{
    sm_type t = decimal_of(e->type.precision + by, e->type.scale + by);
    if (is_short(t)) return unary(b, SM_OP_up_d64, t, e, (int32_t)by, 0, out);
    SM_TRY(widen(b, e, &e));
    return unary(b, SM_OP_up_d128, t, e, (int32_t)by, 0, out);
}

static sm_status scale_down(sm_binder *b, sm_expr *e, unsigned by, sm_expr **out)
{
    bool narrow = is_short(e->type);
    unsigned digits = e->type.precision > by ? e->type.precision - by + 1u : 1u,
             scale = e->type.scale - by;
    if (digits < scale) digits = scale;
    if (!narrow && digits <= SM_DEC64_DIGITS) digits = SM_DEC64_DIGITS + 1;
    return unary(b, narrow ? SM_OP_down_d64 : SM_OP_down_d128, sm_decimal(digits, scale), e,
                 (int32_t)by, 0, out);
}

sm_status sm_rescale(sm_binder *b, sm_expr *e, unsigned precision, unsigned scale, sm_expr **out)
{
    sm_type to = sm_decimal(precision, scale);
    unsigned digits = e->type.precision;
    if (scale > e->type.scale) {
        digits += scale - e->type.scale;
        SM_TRY(scale_up(b, e, scale - e->type.scale, &e));
    } else if (scale < e->type.scale) {
        unsigned by = e->type.scale - scale;
        digits = digits > by ? digits - by + 1 : 1;
        SM_TRY(scale_down(b, e, by, &e));
    }
    if (digits > precision && precision < SM_DEC_MAX_DIGITS) {
        sm_type fits = is_short(e->type) == is_short(to) ? to : e->type;
        SM_TRY(unary(b, is_short(e->type) ? SM_OP_fit_d64 : SM_OP_fit_d128, fits, e,
                     (int32_t)precision, 0, &e));
    }
    if (is_short(e->type) && !is_short(to)) {
        SM_TRY(unary(b, SM_OP_i64_to_d128, to, e, 0, 0, &e));
    } else if (!is_short(e->type) && is_short(to)) {
        SM_TRY(unary(b, SM_OP_d128_to_i64, to, e, 0, 0, &e));
    }
    *out = e;
    return SM_OK;
}

/* A cast to the type by name shows it even where nothing has to be done. */
static sm_status rescale_to(sm_binder *b, sm_expr *e, sm_type to, sm_expr **out)
{
    SM_TRY(sm_rescale(b, e, to.precision, to.scale, &e));
    *out = e;
    if (sm_type_eq(e->type, to)) return SM_OK;
    if (e->kind == SM_EXPR_CONST) {
        *out = sm_expr_const(b->a, to, &e->value);
        if (!*out) return sm_out_of_memory(b);
        (*out)->position = e->position;
        return SM_OK;
    }
    return is_short(to) ? relabel(b, to, e, out) : unary(b, SM_OP_up_d128, to, e, 0, 0, out);
}

sm_status sm_to_decimal(sm_binder *b, sm_expr *e, sm_expr **out)
{
    sm_type to = sm_decimal_of(e);
    if (e->type.id == SM_DECIMAL) return *out = e, SM_OK;
    if (e->kind == SM_EXPR_CONST) {
        sm_value v = e->value;
        if (!v.is_null && is_short(to)) v.i64 = (int64_t)sm_value_int(&e->value, e->phys);
        if (!v.is_null && !is_short(to)) v.i128 = sm_value_int(&e->value, e->phys);
        *out = sm_expr_const(b->a, to, &v);
        if (!*out) return sm_out_of_memory(b);
        (*out)->position = e->position;
        return SM_OK;
    }
    switch (e->type.id) {
    case SM_INT16: return unary(b, SM_OP_i16_to_i64, to, e, 0, 0, out);
    case SM_INT32: return unary(b, SM_OP_i32_to_i64, to, e, 0, 0, out);
    default: return unary(b, SM_OP_i64_to_d128, to, e, 0, 0, out);
    }
}

static sm_status number_to_number(sm_binder *b, sm_expr *e, sm_type to, sm_expr **out)
{
    enum { I16, I32, I64, F32, F64, N, NONE = SM_N_OPS };
    static const sm_op ops[N][N] = {
        {SM_N_OPS, SM_OP_i16_to_i32, SM_OP_i16_to_i64, SM_OP_i16_to_f32, SM_OP_i16_to_f64},
        {SM_OP_i32_to_i16, SM_N_OPS, SM_OP_i32_to_i64, SM_OP_i32_to_f32, SM_OP_i32_to_f64},
        {SM_OP_i64_to_i16, SM_OP_i64_to_i32, SM_N_OPS, SM_OP_i64_to_f32, SM_OP_i64_to_f64},
        {SM_OP_f32_to_i16, SM_OP_f32_to_i32, SM_OP_f32_to_i64, SM_N_OPS, SM_OP_f32_to_f64},
        {SM_OP_f64_to_i16, SM_OP_f64_to_i32, SM_OP_f64_to_i64, SM_OP_f64_to_f32, SM_N_OPS}};
    static const uint8_t index[SM_N_TYPES] = {[SM_INT16] = I16,
                                              [SM_INT32] = I32,
                                              [SM_INT64] = I64,
                                              [SM_FLOAT32] = F32,
                                              [SM_FLOAT64] = F64};
    sm_op op = ops[index[e->type.id]][index[to.id]];
    return op == SM_N_OPS ? (*out = e, SM_OK) : unary(b, op, to, e, 0, 0, out);
}

static sm_status decimal_to_number(sm_binder *b, sm_expr *e, sm_type to, sm_expr **out)
{
    if (sm_type_is_float(to)) {
        sm_op op = is_short(e->type) ? SM_OP_d64_to_f64 : SM_OP_d128_to_f64;
        SM_TRY(unary(b, op, sm_type_of(SM_FLOAT64), e, e->type.scale, 0, &e));
    } else {
        unsigned digits =
            e->type.scale ? e->type.precision - e->type.scale + 1u : e->type.precision;
        SM_TRY(sm_rescale(b, e, digits, 0, &e));
        if (is_short(e->type))
            SM_TRY(relabel(b, sm_type_of(SM_INT64), e, &e));
        else
            SM_TRY(unary(b, SM_OP_d128_to_i64, sm_type_of(SM_INT64), e, 0, 0, &e));
    }
    return number_to_number(b, e, to, out);
}

static sm_status to_decimal_type(sm_binder *b, sm_expr *e, sm_type to, sm_cast_kind kind,
                                 sm_expr **out)
{
    bool bare = to.flags & SM_TYPE_BARE_DECIMAL;
    if (sm_type_is_float(e->type)) {
        sm_op op = e->type.id == SM_FLOAT32 ? SM_OP_f32_to_d128 : SM_OP_f64_to_d128;
        sm_type wide = is_short(to) ? sm_decimal(SM_DEC64_DIGITS + 1, to.scale)
                                    : sm_decimal(to.precision, to.scale);
        SM_TRY(unary(b, op, wide, e, to.scale, to.precision, &e));
        if (is_short(to))
            SM_TRY(unary(b, SM_OP_d128_to_i64, sm_decimal(to.precision, to.scale), e, 0, 0, &e));
        return *out = e, SM_OK;
    }
    SM_TRY(sm_to_decimal(b, e, &e));
    if (bare) return *out = e, SM_OK;
    if (kind == SM_CAST_EXPLICIT) return rescale_to(b, e, to, out);
    return sm_rescale(b, e, to.precision, to.scale, out);
}

static sm_status to_text(sm_binder *b, sm_expr *e, sm_expr **out)
{
    sm_op op = SM_N_OPS;
    int32_t imm = 0;
    switch (e->type.id) {
    case SM_BOOL: op = SM_OP_b_to_txt; break;
    case SM_INT16:
    case SM_INT32:
        SM_TRY(number_to_number(b, e, sm_type_of(SM_INT64), &e));
        op = SM_OP_i64_to_txt;
        break;
    case SM_INT64: op = SM_OP_i64_to_txt; break;
    case SM_FLOAT32: op = SM_OP_f32_to_txt; break;
    case SM_FLOAT64: op = SM_OP_f64_to_txt; break;
    case SM_DECIMAL:
        imm = e->type.scale;
        SM_TRY(widen(b, e, &e));
        op = SM_OP_d128_to_txt;
        break;
    case SM_DATE: op = SM_OP_date_to_txt; break;
    case SM_TIMESTAMP: op = SM_OP_ts_to_txt; break;
    case SM_INTERVAL: op = SM_OP_iv_to_txt; break;
    default: return *out = e, SM_OK;
    }
    return unary(b, op, sm_type_of(SM_TEXT), e, imm, 0, out);
}

static sm_status from_text(sm_binder *b, sm_expr *e, sm_type to, sm_expr **out)
{
    static const sm_op ops[SM_N_TYPES] = {
        [SM_BOOL] = SM_OP_txt_to_b,      [SM_INT16] = SM_OP_txt_to_i16,
        [SM_INT32] = SM_OP_txt_to_i32,   [SM_INT64] = SM_OP_txt_to_i64,
        [SM_FLOAT32] = SM_OP_txt_to_f32, [SM_FLOAT64] = SM_OP_txt_to_f64,
        [SM_DATE] = SM_OP_txt_to_date,   [SM_TIMESTAMP] = SM_OP_txt_to_ts,
        [SM_INTERVAL] = SM_OP_txt_to_iv};
    if (to.id != SM_DECIMAL) return unary(b, ops[to.id], to, e, 0, 0, out);
    sm_type wide = sm_decimal(is_short(to) ? SM_DEC64_DIGITS + 1u : to.precision, to.scale);
    SM_TRY(unary(b, SM_OP_txt_to_d128, wide, e, to.scale, to.precision, out));
    if (!is_short(to)) return SM_OK;
    return unary(b, SM_OP_d128_to_i64, sm_decimal(to.precision, to.scale), *out, 0, 0, out);
}

static sm_status convert(sm_binder *b, sm_expr *e, sm_type to, sm_cast_kind kind, sm_expr **out)
{
    sm_type from = e->type;
    if (to.id == SM_TEXT) return to_text(b, e, out);
    if (from.id == SM_TEXT) return from_text(b, e, to, out);
    if (to.id == SM_DECIMAL) return to_decimal_type(b, e, to, kind, out);
    if (from.id == SM_DECIMAL) return decimal_to_number(b, e, to, out);
    if (from.id == to.id) return *out = e, SM_OK;
    if (number_rank(from) >= 0 && number_rank(to) >= 0) return number_to_number(b, e, to, out);
    if (from.id == SM_DATE) return unary(b, SM_OP_date_to_ts, to, e, 0, 0, out);
    if (from.id == SM_TIMESTAMP) return unary(b, SM_OP_ts_to_date, to, e, 0, 0, out);
    return unary(b, from.id == SM_BOOL ? SM_OP_b_to_i32 : SM_OP_i32_to_b, to, e, 0, 0, out);
}

/* ---- literals and parameters of no type yet ---- */

/* PostgreSQL's bits of interval fields, smallest field first. */
static const struct {
    int bit;
    const char *unit;
    int64_t micros; /* a value is cut to whole ones */
} fields[] = {{12, "second", 1},     {11, "minute", 60000000}, {10, "hour", 3600000000},
              {3, "day", INT64_MAX}, {1, "month", INT64_MAX},  {2, "year", INT64_MAX}};
enum { ALL_FIELDS = 0x7FFF, MINUTE_TO_SECOND = 1 << 11 | 1 << 12, DAY = 3, MONTH = 4, YEAR = 5 };

static unsigned smallest_field(int32_t mask)
{
    unsigned i = 0;
    while (i < YEAR && !(mask & (1 << fields[i].bit))) i++;
    return i;
}

static bool has_fields(const sm_target *to)
{
    return to->type.id == SM_INTERVAL && to->interval_fields && to->interval_fields != ALL_FIELDS;
}

/* interval '1' month: a bare number counts the smallest field named. */
static sm_status interval_text(sm_binder *b, const sm_target *to, int32_t position, const char **s,
                               size_t *len)
{
    const char *colon = strchr(*s, ':');
    if (to->interval_fields == MINUTE_TO_SECOND && colon && !strchr(colon + 1, ':'))
        return sm_raise_at(b->err, position, SM_ERR_NOT_SUPPORTED, "minutes and seconds as mm:ss");
    if (strspn(*s, " +-.0123456789") < *len) return SM_OK;
    if (*len > 1 && strchr(*s + 1, '-')) return SM_OK; /* '1-2' is years and months */
    const char *unit = fields[smallest_field(to->interval_fields)].unit;
    char *with = sm_arena_printf(b->scratch, "%s %s", *s, unit);
    if (!with) return sm_out_of_memory(b);
    *s = with;
    *len = strlen(with);
    return SM_OK;
}

static void cut_interval(int32_t mask, sm_interval *iv)
{
    unsigned field = smallest_field(mask);
    if (field == YEAR) iv->months -= iv->months % 12;
    if (field >= MONTH) iv->days = 0;
    iv->micros -= field >= DAY ? iv->micros : iv->micros % fields[field].micros;
}

static sm_status literal(sm_binder *b, const sm_expr *e, const sm_target *to, sm_expr **out)
{
    sm_value v = e->value;
    sm_type type = to->type;
    unsigned p, s;
    type.flags = 0;
    if (!v.is_null) {
        size_t len = v.text.len;
        const char *text = sm_arena_strndup(b->scratch, sm_text_bytes(&v.text), len);
        if (!text) return sm_out_of_memory(b);
        if (has_fields(to)) SM_TRY(interval_text(b, to, e->position, &text, &len));
        if ((to->type.flags & SM_TYPE_BARE_DECIMAL) && sm_decimal_literal_type(text, len, &p, &s))
            type = sm_decimal(p, s);
        if (type.id != SM_TEXT) {
            sm_status st = sm_parse_value(type, text, len, &v, b->err);
            if (st != SM_OK) {
                if (b->err && b->err->position == 0) b->err->position = e->position;
                return st;
            }
            if (has_fields(to)) cut_interval(to->interval_fields, &v.iv);
        }
    } else if (to->type.flags & SM_TYPE_BARE_DECIMAL) {
        type = sm_decimal(1, 0);
    }
    *out = sm_expr_const(b->a, type, &v);
    if (!*out) return sm_out_of_memory(b);
    (*out)->position = e->position;
    return SM_OK;
}

/* The first context that wants a type gives a parameter its type. */
static sm_status parameter(sm_binder *b, sm_expr *e, const sm_target *to, sm_expr **out)
{
    sm_type *t = &b->params[e->column - 1];
    if (t->id == SM_UNKNOWN) {
        *t = to->type;
        t->flags = 0;
    }
    *out = SM_NEW(b->a, sm_expr);
    if (!*out) return sm_out_of_memory(b);
    **out = *e;
    (*out)->type = *t;
    (*out)->phys = sm_type_phys(*t);
    return SM_OK;
}

sm_status sm_decide(sm_binder *b, sm_expr **e)
{
    const sm_target text = {.type = {.id = SM_TEXT}};
    if ((*e)->type.id != SM_UNKNOWN) return SM_OK;
    return sm_cast(b, *e, &text, SM_CAST_IMPLICIT, -1, e);
}

/* ---- the cast ---- */

static sm_status limit_length(sm_binder *b, const sm_target *to, sm_cast_kind kind, sm_expr *e,
                              sm_expr **out)
{
    *out = e;
    if (!to->max_chars) return SM_OK;
    if (kind == SM_CAST_EXPLICIT)
        return unary(b, to->is_char ? SM_OP_char_txt : SM_OP_varchar_txt, e->type, e, to->max_chars,
                     0, out);
    SM_TRY(unary(b, SM_OP_fit_txt, e->type, e, to->max_chars, 0, out));
    return to->is_char ? unary(b, SM_OP_char_txt, e->type, *out, to->max_chars, 0, out) : SM_OK;
}

sm_status sm_cast(sm_binder *b, sm_expr *e, const sm_target *to, sm_cast_kind kind,
                  int32_t location, sm_expr **out)
{
    int32_t position = location >= 0 ? sm_position(b, location) : e->position;
    if (e->type.id == SM_UNKNOWN && e->kind == SM_EXPR_PARAM) SM_TRY(parameter(b, e, to, &e));
    if (e->type.id == SM_UNKNOWN) {
        SM_TRY(literal(b, e, to, &e));
    } else {
        if (cast_needs(e->type, to->type) > (int)kind)
            return sm_raise_at(b->err, position, SM_ERR_CANNOT_COERCE, sm_type_word(e->type),
                               sm_type_word(to->type));
        if (has_fields(to))
            return sm_raise_at(b->err, position, SM_ERR_NOT_SUPPORTED,
                               "cutting an interval that is not a literal to fields");
        SM_TRY(convert(b, e, to->type, kind, &e));
    }
    if (to->type.id == SM_TEXT) SM_TRY(limit_length(b, to, kind, e, &e));
    *out = e;
    return SM_OK;
}

sm_status sm_coerce(sm_binder *b, sm_expr *e, sm_type to, sm_expr **out)
{
    const sm_target target = {.type = to};
    return sm_cast(b, e, &target, SM_CAST_IMPLICIT, -1, out);
}
