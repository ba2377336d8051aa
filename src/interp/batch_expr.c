/* Compiles expressions into instructions. An operation wants its arguments in the physical forms of
 * its row in ops.def; where the planner proved that 128-bit decimals fit 64 bits and an operation
 * differs, values are converted. An expression over one dictionary column is a table look-up
 * (batch_dict.c). Read batch_state.h first. */
#include "interp/batch_state.h"

static sm_status no_memory(sm_batch_state *s)
{
    return sm_arena_failed(&s->w->arena, &s->w->err);
}

static sm_status emit(sm_batch_state *s, sm_flow (*run)(sm_batch_state *, sm_instr *), sm_reg *out,
                      sm_reg *arg, sm_instr **made)
{
    sm_instr *in = sm_batch_instr(s, run);
    if (!in) return no_memory(s);
    in->out = out;
    in->arg[0] = arg;
    in->n_args = arg ? 1 : 0;
    if (made) *made = in;
    return SM_OK;
}

sm_status sm_batch_convert(sm_batch_state *s, sm_reg *r, sm_phys phys, sm_reg **out)
{
    *out = r;
    if (r->v.phys == phys) return SM_OK;
    if (r->v.phys != (phys == SM_PHYS_I128 ? SM_PHYS_I64 : SM_PHYS_I128))
        return sm_raise(&s->w->err, SM_ERR_INTERNAL, "value of another physical form");
    sm_reg *to = sm_batch_reg(s, phys, true);
    if (!to) return no_memory(s);
    SM_TRY(emit(s, sm_run_convert, to, r, NULL));
    to->range = r->range;
    sm_batch_reg_free(s, r);
    *out = to;
    return SM_OK;
}

/* ---- constants ------------------------------------------------------------------------------- */

enum { CONST_BYTES = 256 << 10 }; /* of constants that stand as full vectors */

#define FILL(T, FIELD)                                                                             \
    {                                                                                              \
        T *to = in->out->room, one = in->value->FIELD;                                             \
        for (uint32_t i = 0; i < SM_BATCH_ROWS; i++) to[i] = one;                                  \
    }

static sm_flow run_fill(sm_batch_state *s, sm_instr *in)
{
    (void)s;
    switch (in->out->v.phys) {
    case SM_PHYS_BOOL: FILL(uint8_t, b) break;
    case SM_PHYS_I16: FILL(int16_t, i16) break;
    case SM_PHYS_I32: FILL(int32_t, i32) break;
    case SM_PHYS_I64: FILL(int64_t, i64) break;
    case SM_PHYS_I128: FILL(sm_i128, i128) break;
    case SM_PHYS_F32: FILL(float, f32) break;
    case SM_PHYS_F64: FILL(double, f64) break;
    case SM_PHYS_IV: FILL(sm_interval, iv) break;
    default: FILL(sm_text, text) break;
    }
    return SM_FLOW_NEXT;
}

/* A vector of it, filled now; or, where there are very many (long IN lists), per batch in a room
 * that others use too. */
static sm_status compile_const(sm_batch_state *s, const sm_expr *e, sm_reg **out)
{
    size_t bytes = sm_phys_bytes(e->phys) * SM_BATCH_ROWS;
    bool standing = e->value.is_null || s->const_bytes + bytes <= CONST_BYTES;
    sm_reg *r = *out = sm_batch_reg(s, e->phys, !standing);
    if (!r) return no_memory(s);
    if (standing) {
        r->room = r->v.data = sm_arena_vector(&s->w->arena, bytes);
        if (!r->room) return no_memory(s);
        r->pinned = true;
        s->const_bytes += bytes;
    }
    if (e->value.is_null) {
        r->v.valid = r->valid_room; /* all zero; whatever values */
        return SM_OK;
    }
    if (!standing) {
        sm_instr *in = NULL;
        SM_TRY(emit(s, run_fill, r, NULL, &in));
        in->value = &e->value;
        return SM_OK;
    }
    sm_instr now = {.out = r, .value = &e->value};
    run_fill(s, &now);
    return SM_OK;
}

/* ---- operations ------------------------------------------------------------------------------ */

static sm_status compile_op(sm_batch_state *s, const sm_expr *e, sm_reg **out)
{
    sm_op op = e->op;
    const sm_op_info *info = &sm_ops[op];
    sm_reg *args[3] = {NULL, NULL, NULL};
    for (uint32_t a = 0; a < e->n_args; a++) {
        SM_TRY(sm_batch_expr(s, e->args[a], &args[a]));
        SM_TRY(sm_batch_convert(s, args[a], sm_code_phys(info->args[a]), &args[a]));
    }
    sm_reg *r = sm_batch_reg(s, sm_code_phys(info->result), true);
    sm_instr *in = r ? sm_batch_instr(s, sm_run_op) : NULL;
    if (!in) return no_memory(s);
    in->out = r;
    in->op = op;
    in->n_args = e->n_args;
    memcpy(in->arg, args, sizeof args);
    memcpy(in->imm, e->imm, sizeof in->imm);
    in->no_check = e->no_check;
    in->dense = s->ops->dense[op];
    in->selected = s->ops->selected[op];
    in->wrap = e->no_check ? s->nocheck->op[op] : NULL;
    for (uint32_t a = 0; a < e->n_args; a++) sm_batch_reg_free(s, args[a]);
    return sm_batch_convert(s, r, e->phys, out);
}

/* ---- lazy expressions ------------------------------------------------------------------------ */

static bool cheap_node(const sm_expr *e, void *arg)
{
    (void)arg;
    switch (e->kind) {
    case SM_EXPR_OP: return sm_ops[e->op].emit;
    case SM_EXPR_CONST:
    case SM_EXPR_COLUMN:
    case SM_EXPR_IS_NULL: return true;
    default: return false;
    }
}

/* Whether the arguments after the first may be computed for all rows: they cannot fail and cost
 * little. */
static bool may_be_eager(const sm_expr *e)
{
    for (uint32_t i = 1; i < e->n_args; i++)
        if (e->args[i]->can_fail || !sm_expr_walk(e->args[i], cheap_node, NULL)) return false;
    return true;
}

/* A jump whose target is patched when it is known; inner ones have been by then. */
#define LATER (UINT32_MAX - 1)

static void patch(sm_batch_state *s, uint32_t from, uint32_t to, uint32_t target)
{
    for (uint32_t i = from; i < to; i++)
        if (s->instrs[i].target == LATER) s->instrs[i].target = target;
}

static sm_status emit_narrow(sm_batch_state *s, sm_reg *r, sm_pick pick, uint32_t from, uint32_t to)
{
    sm_instr *in = NULL;
    SM_TRY(emit(s, pick == SM_N_PICKS ? sm_run_narrow_null : sm_run_narrow, NULL, r, &in));
    in->pick = pick;
    in->from_live = from;
    in->to_live = to;
    in->target = LATER;
    s->cur = to;
    return SM_OK;
}

static sm_status emit_blend(sm_batch_state *s, sm_reg *out, sm_reg *r)
{
    return emit(s, sm_run_blend, out, r, NULL); /* under the current live set */
}

/* AND, OR and COALESCE: the first argument for all rows, each later one where it is still
 * undecided. */
static sm_status compile_chain(sm_batch_state *s, const sm_expr *e, sm_reg **out)
{
    bool coalesce = e->kind == SM_EXPR_COALESCE, eager = !coalesce && may_be_eager(e);
    sm_pick pick = coalesce                 ? SM_N_PICKS
                   : e->kind == SM_EXPR_AND ? SM_PICK_NOT_FALSE
                                            : SM_PICK_NOT_TRUE;
    uint32_t outer = s->cur, rest = outer, first_instr = s->n_instrs;
    sm_reg *first, *r;
    SM_TRY(sm_batch_expr(s, e->args[0], &first));
    SM_TRY(sm_batch_convert(s, first, e->phys, &first));
    if (first->pinned) { /* a column stays as it is; a temporary becomes the result */
        r = sm_batch_reg(s, e->phys, true);
        if (!r) return no_memory(s);
        SM_TRY(emit(s, sm_run_alias, r, first, NULL));
    } else {
        r = first;
    }
    if (!eager) SM_TRY(sm_batch_live_push(s, &rest));
    for (uint32_t i = 1; i < e->n_args; i++) {
        sm_reg *next;
        if (!eager) SM_TRY(emit_narrow(s, r, pick, s->cur, rest));
        SM_TRY(sm_batch_expr(s, e->args[i], &next));
        SM_TRY(sm_batch_convert(s, next, e->phys, &next));
        if (coalesce)
            SM_TRY(emit_blend(s, r, next));
        else
            SM_TRY(emit(s, e->kind == SM_EXPR_AND ? sm_run_and : sm_run_or, r, next, NULL));
        sm_batch_reg_free(s, next);
    }
    if (!eager) {
        patch(s, first_instr, s->n_instrs, s->n_instrs);
        s->cur = outer;
        SM_TRY(emit(s, sm_run_set_live, NULL, NULL, NULL));
        sm_batch_live_pop(s);
    }
    *out = r;
    return SM_OK;
}

static sm_status compile_arm(sm_batch_state *s, const sm_expr *value, sm_reg *r)
{
    sm_reg *v;
    SM_TRY(sm_batch_expr(s, value, &v));
    SM_TRY(sm_batch_convert(s, v, r->v.phys, &v));
    SM_TRY(emit_blend(s, r, v));
    sm_batch_reg_free(s, v);
    return SM_OK;
}

static sm_status compile_case(sm_batch_state *s, const sm_expr *e, sm_reg **out)
{
    uint32_t outer = s->cur, undecided, taken, begin = s->n_instrs;
    sm_reg *r = sm_batch_reg(s, e->phys, true);
    if (!r) return no_memory(s);
    SM_TRY(sm_batch_live_push(s, &undecided));
    SM_TRY(sm_batch_live_push(s, &taken));
    SM_TRY(emit(s, sm_run_begin, r, NULL, NULL));
    for (uint32_t i = 0; i + 1 < e->n_args; i += 2) {
        uint32_t here = s->cur, arm;
        sm_reg *condition;
        SM_TRY(sm_batch_expr(s, e->args[i], &condition));
        arm = s->n_instrs;
        SM_TRY(emit_narrow(s, condition, SM_PICK_TRUE, here, taken));
        SM_TRY(compile_arm(s, e->args[i + 1], r));
        s->instrs[arm].target = s->n_instrs;
        SM_TRY(emit_narrow(s, condition, SM_PICK_NOT_TRUE, here, undecided));
        sm_batch_reg_free(s, condition);
    }
    SM_TRY(compile_arm(s, e->args[e->n_args - 1], r));
    patch(s, begin, s->n_instrs, s->n_instrs);
    s->cur = outer;
    SM_TRY(emit(s, sm_run_set_live, NULL, NULL, NULL));
    sm_batch_live_pop(s);
    sm_batch_live_pop(s);
    *out = r;
    return SM_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

sm_status sm_batch_expr(sm_batch_state *s, const sm_expr *e, sm_reg **out)
{
    SM_TRY(sm_batch_dict(s, e, out));
    if (*out) return SM_OK;
    SM_TRY(sm_batch_compare(s, e, out));
    if (*out) return SM_OK;
    switch (e->kind) {
    case SM_EXPR_CONST: return compile_const(s, e, out);
    case SM_EXPR_COLUMN:
        SM_TRY(sm_batch_want_values(s, s->env[e->column]));
        return sm_batch_convert(s, s->env[e->column], e->phys, out);
    case SM_EXPR_OP: return compile_op(s, e, out);
    case SM_EXPR_AND:
    case SM_EXPR_OR:
    case SM_EXPR_COALESCE: return compile_chain(s, e, out);
    case SM_EXPR_CASE: return compile_case(s, e, out);
    case SM_EXPR_IS_NULL: {
        sm_reg *arg, *r = sm_batch_reg(s, SM_PHYS_BOOL, true);
        if (!r) return no_memory(s);
        if (e->args[0]->kind == SM_EXPR_COLUMN)
            arg = s->env[e->args[0]->column]; /* its values are of no interest */
        else
            SM_TRY(sm_batch_expr(s, e->args[0], &arg));
        SM_TRY(emit(s, sm_run_is_null, r, arg, NULL));
        sm_batch_reg_free(s, arg);
        *out = r;
        return SM_OK;
    }
    case SM_EXPR_OUTER:
    case SM_EXPR_SUBQUERY:
    case SM_EXPR_PARAM: break;
    }
    return sm_raise(&s->w->err, SM_ERR_INTERNAL, "parameter without a value");
}
