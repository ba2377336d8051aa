/* The scalar evaluator: what an expression means. The row tier calls it for every row, so the
 * common shapes (columns and constants as arguments of an operation) go by pointer and copy
 * nothing.
 *
 * Strict operations evaluate all arguments, left to right, before they look at NULLs: an error in
 * the second argument is raised though the first is NULL, because vector tiers compute whole
 * columns. Only the lazy kinds skip an argument. Read expr.h first. */
#include "plan/expr.h"

static SM_NOINLINE sm_status failed(const sm_eval *ev, const sm_expr *e, sm_status status)
{
    sm_error *err = ev->err;
    if (err && err->status == status && !err->position) err->position = e->position;
    return status;
}

/* *out points at the value: in the row, in the constant, or in room. */
SM_INLINE sm_status operand(const sm_eval *ev, const sm_expr *e, sm_value *room,
                            const sm_value **out)
{
    if (e->kind == SM_EXPR_COLUMN && SM_LIKELY(ev->row != NULL)) {
        *out = &ev->row[e->column];
        return SM_OK;
    }
    if (e->kind == SM_EXPR_CONST) {
        *out = &e->value;
        return SM_OK;
    }
    *out = room;
    return sm_expr_eval(ev, e, room);
}

static sm_status eval_op(const sm_eval *ev, const sm_expr *e, sm_value *out)
{
    sm_value room[3];
    const sm_value *args[3];
    bool null = false;
    for (uint32_t i = 0; i < e->n_args; i++) {
        SM_TRY(operand(ev, e->args[i], &room[i], &args[i]));
        null |= args[i]->is_null;
    }
    if (null) {
        *out = (sm_value){.is_null = true};
        return SM_OK;
    }
    sm_opctx cx = {{e->imm[0], e->imm[1]}, ev->scratch, ev->err};
    out->is_null = false;
    sm_status status = sm_ops[e->op].row(&cx, args, out);
    return SM_LIKELY(status == SM_OK) ? SM_OK : failed(ev, e, status);
}

/* AND with stop = false, OR with stop = true: the first argument that is `stop` decides. */
static sm_status eval_logic(const sm_eval *ev, const sm_expr *e, uint8_t stop, sm_value *out)
{
    bool null = false;
    for (uint32_t i = 0; i < e->n_args; i++) {
        sm_value room;
        const sm_value *v;
        SM_TRY(operand(ev, e->args[i], &room, &v));
        if (v->is_null) {
            null = true;
        } else if (v->b == stop) {
            *out = (sm_value){.b = stop};
            return SM_OK;
        }
    }
    *out = (sm_value){.b = null ? 0 : !stop, .is_null = null};
    return SM_OK;
}

static sm_status eval_case(const sm_eval *ev, const sm_expr *e, sm_value *out)
{
    uint32_t i = 0;
    for (; i + 1 < e->n_args; i += 2) {
        sm_value room;
        const sm_value *v;
        SM_TRY(operand(ev, e->args[i], &room, &v));
        if (!v->is_null && v->b) {
            i++;
            break;
        }
    }
    return sm_expr_eval(ev, e->args[i], out);
}

static sm_status eval_coalesce(const sm_eval *ev, const sm_expr *e, sm_value *out)
{
    for (uint32_t i = 0; i < e->n_args; i++) {
        SM_TRY(sm_expr_eval(ev, e->args[i], out));
        if (!out->is_null) break;
    }
    return SM_OK;
}

sm_status sm_expr_eval(const sm_eval *ev, const sm_expr *e, sm_value *out)
{
    switch (e->kind) {
    case SM_EXPR_CONST: *out = e->value; return SM_OK;
    case SM_EXPR_COLUMN:
        if (ev->row) {
            *out = ev->row[e->column];
        } else {
            ev->fetch(ev->fetch_arg, e->column, out);
        }
        return SM_OK;
    case SM_EXPR_OP: return eval_op(ev, e, out);
    case SM_EXPR_AND: return eval_logic(ev, e, 0, out);
    case SM_EXPR_OR: return eval_logic(ev, e, 1, out);
    case SM_EXPR_CASE: return eval_case(ev, e, out);
    case SM_EXPR_COALESCE: return eval_coalesce(ev, e, out);
    case SM_EXPR_IS_NULL: {
        sm_value room;
        const sm_value *v;
        SM_TRY(operand(ev, e->args[0], &room, &v));
        *out = (sm_value){.b = v->is_null};
        return SM_OK;
    }
    case SM_EXPR_OUTER:
    case SM_EXPR_SUBQUERY:
    case SM_EXPR_PARAM: break;
    }
    return sm_raise_at(ev->err, e->position, SM_ERR_UNDEFINED_PARAM, (int)e->column);
}
