/* Constant folding: subtrees without columns and parameters are evaluated once, by the scalar
 * evaluator, so a folded tree means what the tree meant. What fails stays as it is and fails when a
 * row reaches it. AND, OR, CASE and COALESCE also lose the arguments that a constant decides; an
 * argument that can still fail is never dropped unless evaluation would not have reached it. */
#include "plan/expr.h"

static bool is_const(const sm_expr *e)
{
    return e->kind == SM_EXPR_CONST;
}

static bool all_const(const sm_expr *e)
{
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!is_const(e->args[i])) return false;
    return true;
}

static sm_status fold_const(sm_arena *a, sm_expr **e)
{
    sm_eval ev = {.scratch = a};
    sm_value v;
    if (sm_expr_eval(&ev, *e, &v) != SM_OK) return SM_OK;
    sm_expr *c = sm_expr_const(a, (*e)->type, &v);
    if (!c) return SM_ERR_OUT_OF_MEMORY;
    c->position = (*e)->position;
    *e = c;
    return SM_OK;
}

/* NULL for a strict operation with a NULL constant, if no other argument can fail. */
static sm_status fold_strict(sm_arena *a, sm_expr **e)
{
    bool null = false;
    for (uint32_t i = 0; i < (*e)->n_args; i++) {
        const sm_expr *arg = (*e)->args[i];
        if (arg->can_fail) return SM_OK;
        null |= is_const(arg) && arg->value.is_null;
    }
    if (!null) return SM_OK;
    sm_expr *c = sm_expr_null(a, (*e)->type);
    if (!c) return SM_ERR_OUT_OF_MEMORY;
    c->position = (*e)->position;
    *e = c;
    return SM_OK;
}

/* A copy of e with so many of the new arguments, or the single argument itself. */
static sm_status rebuild(sm_arena *a, sm_expr **e, sm_expr **args, uint32_t n)
{
    if (n == 1) {
        *e = args[0];
        return SM_OK;
    }
    sm_expr *c = sm_expr_node(a, (*e)->kind, (*e)->type, args, n);
    if (!c) return SM_ERR_OUT_OF_MEMORY;
    c->position = (*e)->position;
    *e = c;
    return SM_OK;
}

/* AND in AND and OR in OR evaluate the same in one chain. */
static sm_status flatten(sm_arena *a, sm_expr **e)
{
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < (*e)->n_args; i++) {
        const sm_expr *arg = (*e)->args[i];
        n += arg->kind == (*e)->kind ? arg->n_args : 1;
    }
    if (n == (*e)->n_args) return SM_OK;
    sm_expr **args = SM_NEW_N(a, sm_expr *, n);
    if (!args) return SM_ERR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < (*e)->n_args; i++) {
        sm_expr *arg = (*e)->args[i];
        if (arg->kind != (*e)->kind) args[k++] = arg;
        for (uint32_t m = 0; arg->kind == (*e)->kind && m < arg->n_args; m++)
            args[k++] = arg->args[m];
    }
    return rebuild(a, e, args, n);
}

static sm_status fold_logic(sm_arena *a, sm_expr **e)
{
    SM_TRY(flatten(a, e));
    uint8_t stop = (*e)->kind == SM_EXPR_OR;
    uint32_t n = 0;
    sm_expr **args = SM_NEW_N(a, sm_expr *, (*e)->n_args);
    if (!args) return SM_ERR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < (*e)->n_args; i++) {
        sm_expr *arg = (*e)->args[i];
        bool decides = is_const(arg) && !arg->value.is_null && arg->value.b == stop;
        bool neutral = is_const(arg) && !arg->value.is_null && arg->value.b != stop;
        if (neutral && (n || i + 1 < (*e)->n_args)) continue;
        args[n++] = arg;
        if (decides) break;
    }
    if (n == 0) args[n++] = (*e)->args[(*e)->n_args - 1];
    /* Nothing before the deciding constant can raise: the constant is the answer. */
    if (n > 1 && is_const(args[n - 1]) && !args[n - 1]->value.is_null &&
        args[n - 1]->value.b == stop) {
        bool can_fail = false;
        for (uint32_t i = 0; i + 1 < n; i++) can_fail |= args[i]->can_fail;
        if (!can_fail) {
            args[0] = args[n - 1];
            n = 1;
        }
    }
    return n == (*e)->n_args ? SM_OK : rebuild(a, e, args, n);
}

static sm_status fold_case(sm_arena *a, sm_expr **e)
{
    uint32_t n = 0, last = (*e)->n_args - 1;
    sm_expr **args = SM_NEW_N(a, sm_expr *, (*e)->n_args);
    if (!args) return SM_ERR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < last; i += 2) {
        const sm_expr *cond = (*e)->args[i];
        if (is_const(cond) && (cond->value.is_null || !cond->value.b)) continue;
        if (is_const(cond)) {
            args[n++] = (*e)->args[i + 1];
            return n == 1 ? (*e = args[0], SM_OK) : rebuild(a, e, args, n);
        }
        args[n++] = (*e)->args[i];
        args[n++] = (*e)->args[i + 1];
    }
    args[n++] = (*e)->args[last];
    return n == (*e)->n_args ? SM_OK : rebuild(a, e, args, n);
}

static sm_status fold_coalesce(sm_arena *a, sm_expr **e)
{
    uint32_t n = 0;
    sm_expr **args = SM_NEW_N(a, sm_expr *, (*e)->n_args);
    if (!args) return SM_ERR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < (*e)->n_args; i++) {
        sm_expr *arg = (*e)->args[i];
        if (is_const(arg) && arg->value.is_null && (n || i + 1 < (*e)->n_args)) continue;
        args[n++] = arg;
        if (!arg->nullable) break;
    }
    return n == (*e)->n_args ? SM_OK : rebuild(a, e, args, n);
}

static sm_status fold(sm_arena *a, sm_expr **e)
{
    if ((*e)->n_args == 0) return SM_OK;
    sm_expr **args = SM_NEW_N(a, sm_expr *, (*e)->n_args);
    if (!args) return SM_ERR_OUT_OF_MEMORY;
    bool changed = false;
    for (uint32_t i = 0; i < (*e)->n_args; i++) {
        args[i] = (*e)->args[i];
        SM_TRY(fold(a, &args[i]));
        changed |= args[i] != (*e)->args[i];
    }
    if (changed) {
        const sm_expr *old = *e;
        sm_expr *c = old->kind == SM_EXPR_OP
                         ? sm_expr_op(a, old->op, old->type, args, old->n_args)
                         : sm_expr_node(a, old->kind, old->type, args, old->n_args);
        if (!c) return SM_ERR_OUT_OF_MEMORY;
        c->imm[0] = old->imm[0];
        c->imm[1] = old->imm[1];
        c->position = old->position;
        *e = c;
    }
    if (all_const(*e)) return fold_const(a, e);
    switch ((*e)->kind) {
    case SM_EXPR_OP: return fold_strict(a, e);
    case SM_EXPR_AND:
    case SM_EXPR_OR: return fold_logic(a, e);
    case SM_EXPR_CASE: return fold_case(a, e);
    case SM_EXPR_COALESCE: return fold_coalesce(a, e);
    default: return SM_OK;
    }
}

sm_status sm_expr_fold(sm_arena *a, sm_expr **e, sm_error *err)
{
    sm_status status = fold(a, e);
    return status == SM_ERR_OUT_OF_MEMORY ? sm_arena_failed(a, err) : status;
}
