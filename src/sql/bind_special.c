/* Functions whose binding depends on more than the types of ops.def: scales of decimals, fields of
 * dates, default arguments. functions.def lists them. Each gets its bound arguments and either
 * makes the expression or leaves *out NULL, and then the call is looked up in ops.def. Read
 * bind_func.h first. */
#include <string.h>

#include "runtime/format.h"
#include "sql/bind_func.h"
#include "sql/bind_rewrite.h"

typedef struct call {
    sm_ctx *cx;
    sm_binder *b;
    const char *name;
    sm_expr **args;
    uint32_t n;
    int32_t location;
} call;

static bool is_short(sm_type t)
{
    return t.precision <= SM_DEC64_DIGITS;
}
static unsigned at_most_38(unsigned n)
{
    return n > SM_DEC_MAX_DIGITS ? SM_DEC_MAX_DIGITS : n;
}

/* A 128-bit operation on decimals; its result in 64 bits if so many digits fit. */
static sm_status on_d128(call *c, sm_op op, unsigned digits, unsigned scale, int32_t imm0,
                         int32_t imm1, sm_expr **out)
{
    sm_binder *b = c->b;
    sm_expr *args[2] = {c->args[0], c->n > 1 ? c->args[1] : NULL};
    sm_type d = args[0]->type, to = sm_decimal(at_most_38(digits ? digits : 1), scale);
    if (is_short(d)) SM_TRY(sm_rescale(b, args[0], SM_DEC64_DIGITS + 1, d.scale, &args[0]));
    sm_type wide = is_short(to) ? sm_decimal(SM_DEC64_DIGITS + 1, scale) : to;
    SM_TRY(sm_make_op(b, op, wide, args, sm_ops[op].n_args, imm0, imm1, out));
    return is_short(to) ? sm_make_op(b, SM_OP_d128_to_i64, to, out, 1, 0, 0, out) : SM_OK;
}

static sm_status absolute(call *c, sm_expr **out)
{
    sm_type t = c->args[0]->type;
    if (t.id != SM_DECIMAL) return SM_OK;
    return sm_make_op(c->b, is_short(t) ? SM_OP_abs_d64 : SM_OP_abs_d128, t, c->args, 1, 0, 0, out);
}

static unsigned whole_digits(sm_type t)
{
    return t.precision - t.scale + 0u;
}

static sm_status ceil_floor(call *c, sm_expr **out)
{
    sm_type t = c->args[0]->type;
    sm_op op = c->name[0] == 'c' ? SM_OP_ceil_d128 : SM_OP_floor_d128;
    return t.id == SM_DECIMAL ? on_d128(c, op, whole_digits(t) + 1, 0, t.scale, 0, out) : SM_OK;
}

static sm_status sign_of(call *c, sm_expr **out)
{
    return c->args[0]->type.id == SM_DECIMAL ? on_d128(c, SM_OP_sign_d128, 1, 0, 0, 0, out) : SM_OK;
}

/* round(x, n): the result's scale is n if that is known, else x's. */
static sm_status round_trunc(call *c, sm_expr **out)
{
    sm_binder *b = c->b;
    bool rounds = c->name[0] == 'r';
    if (c->n == 2) {
        if (sm_type_is_float(c->args[0]->type) ||
            !sm_can_coerce(c->args[0]->type, sm_decimal(1, 0)))
            return SM_OK;
        const sm_target bare = {.type = {SM_DECIMAL, SM_DEC_MAX_DIGITS, 10, SM_TYPE_BARE_DECIMAL}};
        SM_TRY(sm_cast(b, c->args[0], &bare, SM_CAST_IMPLICIT, -1, &c->args[0]));
        SM_TRY(sm_coerce(b, c->args[1], sm_type_of(SM_INT32), &c->args[1]));
    } else {
        if (c->args[0]->type.id != SM_DECIMAL) return SM_OK;
        c->args[1] = sm_make_int(b, 0, 0);
        if (!c->args[1]) return sm_out_of_memory(b);
        c->n = 2;
    }
    sm_type t = c->args[0]->type;
    const sm_expr *digits = c->args[1];
    sm_op op = rounds ? SM_OP_round_d128 : SM_OP_trunc_d128;
    if (digits->kind != SM_EXPR_CONST || digits->value.is_null)
        return on_d128(c, op, t.precision + 1u, t.scale, t.scale, t.scale, out);
    int32_t n = digits->value.i32;
    if (n >= t.scale) {
        unsigned more = (unsigned)n - t.scale, room = SM_DEC_MAX_DIGITS - t.precision + 0u;
        if (more > room) more = room;
        return sm_rescale(b, c->args[0], t.precision + more, t.scale + more, out);
    }
    if (n >= 0 && rounds) {
        unsigned by = t.scale - (unsigned)n, keep = t.precision > by ? t.precision - by + 1 : 1;
        return sm_rescale(b, c->args[0], keep < (unsigned)n ? (unsigned)n : keep, (unsigned)n, out);
    }
    unsigned scale = n > 0 ? (unsigned)n : 0;
    return on_d128(c, op, whole_digits(t) + scale + 1, scale, t.scale, (int32_t)scale, out);
}

static sm_status modulo(call *c, sm_expr **out)
{
    return sm_bind_operator(c->cx, "%", c->args[0], c->args[1], c->location, out);
}

/* ---- dates ---- */

static sm_status date_field(call *c, sm_date_field *field)
{
    sm_binder *b = c->b;
    const sm_expr *e = c->args[0];
    bool literal = e->kind == SM_EXPR_CONST && !e->value.is_null &&
                   (e->type.id == SM_UNKNOWN || e->type.id == SM_TEXT);
    if (!literal)
        return SM_FAIL(b, c->location, SM_ERR_NOT_SUPPORTED, "a date field that is not a literal");
    const char *name =
        sm_arena_strndup(b->scratch, sm_text_bytes(&e->value.text), e->value.text.len);
    if (!name) return sm_out_of_memory(b);
    if (sm_date_field_find(name, field)) return SM_OK;
    return sm_raise_at(b->err, e->position, SM_ERR_BAD_UNIT, name, sm_type_word(c->args[1]->type));
}

static bool is_time_of_day(sm_date_field f)
{
    return f >= SM_FIELD_MICROSECOND && f <= SM_FIELD_HOUR;
}
static bool is_calendar_only(sm_date_field f)
{
    return f == SM_FIELD_DOW || f == SM_FIELD_ISODOW || f == SM_FIELD_DOY || f == SM_FIELD_WEEK ||
           f == SM_FIELD_ISOYEAR || f == SM_FIELD_JULIAN;
}

static sm_status no_unit(call *c)
{
    sm_binder *b = c->b;
    const sm_value *v = &c->args[0]->value;
    const char *name = sm_arena_strndup(b->scratch, sm_text_bytes(&v->text), v->text.len);
    if (!name) return sm_out_of_memory(b);
    return sm_raise_at(b->err, c->args[0]->position, SM_ERR_BAD_UNIT, name,
                       sm_type_word(c->args[1]->type));
}

static sm_status extract(call *c, sm_expr **out)
{
    sm_binder *b = c->b;
    sm_date_field field;
    sm_op op = SM_OP_extract_ts;
    if (c->args[1]->type.id == SM_UNKNOWN)
        SM_TRY(sm_coerce(b, c->args[1], sm_type_of(SM_TIMESTAMP), &c->args[1]));
    sm_type_id id = c->args[1]->type.id;
    if (id != SM_TIMESTAMP && id != SM_DATE && id != SM_INTERVAL) {
        SM_TRY(sm_decide(b, &c->args[0]));
        return SM_OK;
    }
    SM_TRY(date_field(c, &field));
    if (id == SM_DATE) op = SM_OP_extract_date;
    if (id == SM_INTERVAL) op = SM_OP_extract_iv;
    if ((id == SM_DATE && is_time_of_day(field)) || (id == SM_INTERVAL && is_calendar_only(field))) return no_unit(c);
    bool whole = id == SM_DATE && field == SM_FIELD_EPOCH; /* days have no fraction of a second */
    unsigned scale = whole ? 0 : sm_date_field_scale(field);
    sm_type t = sm_decimal(SM_DEC64_DIGITS, scale);
    SM_TRY(sm_make_op(b, op, t, &c->args[1], 1, (int32_t)field, 0, out));
    if (strcmp(c->name, "extract") == 0) return SM_OK;
    return sm_coerce(b, *out, sm_type_of(SM_FLOAT64), out);
}

static sm_status truncate_date(call *c, sm_expr **out)
{
    sm_binder *b = c->b;
    sm_date_field field;
    if (!sm_can_coerce(c->args[1]->type, sm_type_of(SM_TIMESTAMP))) {
        SM_TRY(sm_decide(b, &c->args[0]));
        return SM_OK;
    }
    SM_TRY(sm_coerce(b, c->args[1], sm_type_of(SM_TIMESTAMP), &c->args[1]));
    SM_TRY(date_field(c, &field));
    if ((is_calendar_only(field) && field != SM_FIELD_WEEK) || field == SM_FIELD_EPOCH)
        return no_unit(c);
    return sm_make_op(b, SM_OP_trunc_ts, sm_type_of(SM_TIMESTAMP), &c->args[1], 1, (int32_t)field,
                      0, out);
}

static sm_status now(call *c, sm_expr **out)
{
    return sm_make_now(c->b, SM_TIMESTAMP, sm_position(c->b, c->location), out);
}

/* ---- text ---- */

/* One argument of concat: '' for NULL; booleans are t and f here. */
static sm_status concat_part(sm_binder *b, sm_expr *e, sm_expr **out)
{
    const sm_target text = {.type = {.id = SM_TEXT}};
    sm_expr *args[3];
    if (e->type.id == SM_BOOL) {
        args[0] = e;
        args[1] = sm_make_text(b, "t", e->position);
        args[2] = sm_make_text(b, "f", e->position);
        sm_expr *letter, *null = e;
        SM_TRY(sm_make_node(b, SM_EXPR_CASE, text.type, args, 3, e->position, &letter));
        SM_TRY(
            sm_make_node(b, SM_EXPR_IS_NULL, sm_type_of(SM_BOOL), &null, 1, e->position, &args[0]));
        args[1] = sm_make_text(b, "", e->position);
        args[2] = letter;
        return sm_make_node(b, SM_EXPR_CASE, text.type, args, 3, e->position, out);
    }
    SM_TRY(sm_cast(b, e, &text, SM_CAST_EXPLICIT, -1, &args[0]));
    *out = args[0];
    if (!args[0]->nullable) return SM_OK;
    args[1] = sm_make_text(b, "", e->position);
    return sm_make_node(b, SM_EXPR_COALESCE, text.type, args, 2, e->position, out);
}

static sm_status concat(call *c, sm_expr **out)
{
    sm_expr *args[2];
    SM_TRY(concat_part(c->b, c->args[0], out));
    for (uint32_t i = 1; i < c->n; i++) {
        args[0] = *out;
        SM_TRY(concat_part(c->b, c->args[i], &args[1]));
        SM_TRY(sm_make_op(c->b, SM_OP_concat_txt, sm_type_of(SM_TEXT), args, 2, 0, 0, out));
    }
    return SM_OK;
}

static sm_status add_blank(call *c, sm_expr **out)
{
    (void)out;
    c->args[c->n] = sm_make_text(c->b, " ", sm_position(c->b, c->location));
    if (!c->args[c->n]) return sm_out_of_memory(c->b);
    c->n++;
    return SM_OK;
}

static sm_status substring(call *c, sm_expr **out)
{
    (void)out;
    if (c->args[1]->type.id != SM_TEXT &&
        !(c->args[1]->type.id == SM_UNKNOWN && c->args[1]->kind == SM_EXPR_CONST))
        return SM_OK;
    return SM_FAIL(c->b, c->location, SM_ERR_NOT_SUPPORTED, "substring by a regular expression");
}

/* ---- others ---- */

static sm_status pi(call *c, sm_expr **out)
{
    sm_value v = {.f64 = 3.14159265358979323846};
    *out = sm_expr_const(c->b->a, sm_type_of(SM_FLOAT64), &v);
    return *out ? SM_OK : sm_out_of_memory(c->b);
}

static sm_status type_of(call *c, sm_expr **out)
{
    *out = sm_make_text(c->b, sm_type_word(c->args[0]->type), sm_position(c->b, c->location));
    return *out ? SM_OK : sm_out_of_memory(c->b);
}

typedef struct special {
    const char *name;
    uint32_t least, most;
    sm_status (*fn)(call *c, sm_expr **out);
} special;

static const special specials[] = {
#define SM_ALIAS(name, row)
#define SM_ABSENT(name)
#define SM_SPECIAL(name, min, max, fn) {name, min, max, fn},
#include "sql/functions.def"
#undef SM_ALIAS
#undef SM_SPECIAL
#undef SM_ABSENT
};

sm_status sm_bind_special(sm_ctx *cx, const char *name, sm_expr **args, uint32_t *n,
                          int32_t location, bool *done, sm_expr **out)
{
    *done = false;
    for (size_t i = 0; i < SM_COUNT(specials); i++) {
        const special *s = &specials[i];
        if (strcmp(s->name, name) != 0 || *n < s->least || *n > s->most) continue;
        call c = {cx, cx->b, name, args, *n, location};
        *out = NULL;
        SM_TRY(s->fn(&c, out));
        *n = c.n;
        *done = *out != NULL;
        return SM_OK;
    }
    return SM_OK;
}
