/* Making bound expressions: constants, operations folded where they are constant, and one type for
 * several expressions. Read bind.h first, then bind_cast.c. */
#include <string.h>

#include "sql/bind.h"

static sm_expr *constant(sm_binder *b, sm_type_id id, sm_value v, int32_t position)
{
    sm_expr *e = sm_expr_const(b->a, sm_type_of(id), &v);
    if (e) e->position = position;
    return e;
}

sm_expr *sm_make_bool(sm_binder *b, bool v, int32_t position)
{
    return constant(b, SM_BOOL, (sm_value){.b = v}, position);
}

sm_expr *sm_make_int(sm_binder *b, int32_t v, int32_t position)
{
    return constant(b, SM_INT32, (sm_value){.i32 = v}, position);
}

sm_expr *sm_make_text(sm_binder *b, const char *s, int32_t position)
{
    const char *copy = sm_keep(b, s);
    return copy ? constant(b, SM_TEXT,
                           (sm_value){.text = sm_text_view(copy, (uint32_t)strlen(copy))}, position)
                : NULL;
}

sm_status sm_make_op(sm_binder *b, sm_op op, sm_type type, sm_expr *const *args, uint32_t n,
                     int32_t imm0, int32_t imm1, sm_expr **out)
{
    bool constants = n > 0;
    sm_expr *e = sm_expr_op(b->a, op, type, args, n);
    if (!e) return sm_out_of_memory(b);
    e->imm[0] = imm0;
    e->imm[1] = imm1;
    e->position = args[0]->position;
    for (uint32_t i = 0; i < n; i++) constants &= args[i]->kind == SM_EXPR_CONST;
    if (constants) SM_TRY(sm_expr_fold(b->a, &e, b->err));
    *out = e;
    return SM_OK;
}

sm_status sm_make_node(sm_binder *b, sm_expr_kind kind, sm_type type, sm_expr *const *args,
                       uint32_t n, int32_t position, sm_expr **out)
{
    *out = sm_expr_node(b->a, kind, type, args, n);
    if (!*out) return sm_out_of_memory(b);
    (*out)->position = position;
    return SM_OK;
}

/* ---- one type for several expressions ---- */

static int category(sm_type t)
{
    switch (t.id) {
    case SM_BOOL: return 'B';
    case SM_DATE:
    case SM_TIMESTAMP: return 'D';
    case SM_INTERVAL: return 'T';
    case SM_TEXT: return 'S';
    case SM_UNKNOWN: return 'U';
    default: return 'N';
    }
}

static sm_status cannot_match(sm_binder *b, const char *what, sm_type have, const sm_expr *e)
{
    const char *text = sm_arena_printf(b->scratch, "%s types %s and %s cannot be matched", what,
                                       sm_type_word(have), sm_type_word(e->type));
    if (!text) return sm_out_of_memory(b);
    return sm_raise_at(b->err, e->position, SM_ERR_TYPE_MISMATCH, text);
}

/* PostgreSQL's select_common_type: the first type known, replaced by later ones that it can become.
 */
static sm_status common_id(sm_binder *b, const char *what, sm_expr *const *exprs, uint32_t n,
                           sm_type *out)
{
    *out = sm_type_of(SM_UNKNOWN);
    for (uint32_t i = 0; i < n; i++) {
        sm_type t = exprs[i]->type;
        if (t.id == SM_UNKNOWN || t.id == out->id) continue;
        if (out->id == SM_UNKNOWN) {
            *out = t;
        } else if (category(t) != category(*out)) {
            return cannot_match(b, what, *out, exprs[i]);
        } else if (sm_can_coerce(*out, t) && !sm_can_coerce(t, *out)) {
            *out = t;
        }
    }
    if (out->id == SM_UNKNOWN) *out = sm_type_of(SM_TEXT);
    return SM_OK;
}

sm_status sm_common_type(sm_binder *b, const char *what, sm_expr **exprs, uint32_t n, sm_type *out)
{
    SM_TRY(common_id(b, what, exprs, n, out));
    if (out->id != SM_DECIMAL) return SM_OK;
    const sm_target bare = {.type = {SM_DECIMAL, SM_DEC_MAX_DIGITS, 10, SM_TYPE_BARE_DECIMAL}};
    unsigned whole = 0, scale = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool literal = exprs[i]->type.id == SM_UNKNOWN && exprs[i]->kind == SM_EXPR_CONST;
        if (literal && exprs[i]->value.is_null) continue;
        if (literal) SM_TRY(sm_cast(b, exprs[i], &bare, SM_CAST_IMPLICIT, -1, &exprs[i]));
        if (exprs[i]->type.id == SM_UNKNOWN) continue;
        sm_type d = sm_decimal_of(exprs[i]);
        if (d.precision - d.scale > (int)whole) whole = (unsigned)(d.precision - d.scale);
        if (d.scale > scale) scale = d.scale;
    }
    if (whole + scale > SM_DEC_MAX_DIGITS) whole = SM_DEC_MAX_DIGITS - scale;
    *out = sm_decimal(whole + scale ? whole + scale : 1, scale);
    return SM_OK;
}

sm_status sm_unify(sm_binder *b, const char *what, sm_expr **exprs, uint32_t n, sm_type *out)
{
    SM_TRY(sm_common_type(b, what, exprs, n, out));
    for (uint32_t i = 0; i < n; i++) SM_TRY(sm_coerce(b, exprs[i], *out, &exprs[i]));
    return SM_OK;
}
