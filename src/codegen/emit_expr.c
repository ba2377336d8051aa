/* Expressions to lanes: three-valued logic, control flow as narrowed masks, and the reuse of what
 * was emitted before. Read emit.h first; the operations themselves are in emit_ops_*.c. */
#include "emit.h"

struct sm_known {
    const sm_expr *x;
    uint32_t sub;
    const sm_mask *m;
    bool anywhere; /* good under any mask: cannot fail, and reads no memory that depends on the mask
                    */
    sm_lanes l;
    sm_known *next;
};

static bool within(const sm_mask *m, const sm_mask *wider)
{
    for (; m; m = m->wider)
        if (m == wider) return true;
    return false;
}

static bool any_mask(const sm_shape *s, const sm_expr *x)
{
    if (sm_shape_table(s, x) >= 0) return s->tables[sm_shape_table(s, x)].how < SM_TABLE_BITMAP;
    if (x->can_fail || (x->kind == SM_EXPR_OP && !sm_jit_has_emitter(x->op))) return false;
    for (uint32_t i = 0; i < x->n_args; i++)
        if (!any_mask(s, x->args[i])) return false;
    return true;
}

static const sm_lanes *find_known(const sm_emit *e, const sm_expr *x, uint32_t sub,
                                  const sm_mask *m)
{
    for (const sm_known *k = e->known; k; k = k->next)
        if (k->sub == sub && (k->anywhere || within(m, k->m)) && sm_jit_expr_equal(k->x, x))
            return &k->l;
    return NULL;
}

static void remember(sm_emit *e, const sm_expr *x, uint32_t sub, const sm_mask *m,
                     const sm_lanes *l)
{
    sm_known *k = sm_jit_pool_get(e->pool, sizeof *k);
    if (!k) return;
    *k = (sm_known){x, sub, m, any_mask(e->s, x), *l, e->known};
    e->known = k;
}

void sm_emit_fail(sm_emit *e, sm_ir bad, uint32_t sub, const sm_mask *m)
{
    e->error[sub] = sm_emit_or(e, e->error[sub], sm_emit_and(e, m->bits, bad));
}

sm_lanes sm_emit_as(sm_emit *e, sm_lanes l, sm_form f)
{
    if (l.form.kind == SM_FORM_INT && f.kind == SM_FORM_INT) {
        l.v = sm_emit_to_bits(e, l.v, l.form.bits, f.bits);
        l.form = f;
    } else if (l.form.kind != f.kind) { /* an untyped NULL */
        l.v = LLVMConstNull(sm_emit_form_vec(e, f));
        l.form = f;
    }
    return l;
}

sm_lanes sm_emit_select(sm_emit *e, sm_ir take, sm_lanes a, sm_lanes b, sm_form f)
{
    a = sm_emit_as(e, a, f);
    b = sm_emit_as(e, b, f);
    sm_lanes out = {.form = f, .no_nan = a.no_nan && b.no_nan};
    sm_ir words = f.kind == SM_FORM_PAIR ? sm_emit_twice(e, take) : take;
    out.v = LLVMBuildSelect(e->b, words, a.v, b.v, "");
    if (a.valid || b.valid)
        out.valid = LLVMBuildSelect(e->b, take, a.valid ? a.valid : sm_emit_true(e),
                                    b.valid ? b.valid : sm_emit_true(e), "");
    return out;
}

sm_lanes sm_emit_canonical(sm_emit *e, sm_lanes l)
{
    if ((l.form.kind != SM_FORM_F32 && l.form.kind != SM_FORM_F64) || l.no_nan) return l;
    sm_ir nan = LLVMBuildFCmp(e->b, LLVMRealUNO, l.v, l.v, "");
    sm_ir k = sm_emit_kreal(e, sm_emit_form_type(e, l.form), __builtin_nan(""));
    l.v = LLVMBuildSelect(e->b, nan, k, l.v, "");
    return l;
}

/* ---- control flow ---- */

static bool needs_mask(const sm_emit *e, const sm_expr *x)
{
    return !any_mask(e->s, x);
}

/* AND: t = all so far TRUE, f = some is FALSE; later arguments count where none is FALSE. OR is its
 * mirror. */
static sm_lanes logic(sm_emit *e, const sm_expr *x, uint32_t sub, const sm_mask *m)
{
    bool is_and = x->kind == SM_EXPR_AND, nullable = false;
    sm_ir t = NULL, f = NULL;
    for (uint32_t i = 0; i < x->n_args; i++) {
        const sm_mask *am = m;
        if (i && needs_mask(e, x->args[i]))
            am = sm_emit_narrow(e, m, LLVMBuildNot(e->b, is_and ? f : t, ""));
        sm_lanes a = sm_emit_expr(e, x->args[i], sub, am);
        sm_ir not = LLVMBuildNot(e->b, a.v, "");
        sm_ir at = a.valid ? LLVMBuildAnd(e->b, a.v, a.valid, "") : a.v;
        sm_ir af = a.valid ? LLVMBuildAnd(e->b, not, a.valid, "") : not ;
        nullable |= a.valid != NULL;
        if (!i) {
            t = at;
            f = af;
        } else {
            t = is_and ? LLVMBuildAnd(e->b, t, at, "") : LLVMBuildOr(e->b, t, at, "");
            f = is_and ? LLVMBuildOr(e->b, f, af, "") : LLVMBuildAnd(e->b, f, af, "");
        }
    }
    return (sm_lanes){
        .v = t, .valid = nullable ? LLVMBuildOr(e->b, t, f, "") : NULL, .form = {SM_FORM_BOOL, 1}};
}

static sm_lanes choose(sm_emit *e, const sm_expr *x, uint32_t sub, const sm_mask *m)
{
    uint32_t n = x->n_args / 2; /* conditions */
    sm_lanes *value = sm_jit_pool_get(e->pool, (n + 1) * sizeof *value);
    sm_ir *take = sm_jit_pool_get(e->pool, (n + 1) * sizeof *take);
    sm_ir rest = NULL; /* rows that no condition has taken */
    if (!value || !take)
        return (sm_lanes){.v = LLVMConstNull(sm_emit_vec(e, e->i1)), .form = {SM_FORM_BOOL, 1}};
    for (uint32_t i = 0; i < n; i++) {
        const sm_expr *cx = x->args[2 * i], *vx = x->args[2 * i + 1];
        const sm_mask *cm = needs_mask(e, cx) ? sm_emit_narrow(e, m, rest) : m;
        sm_lanes c = sm_emit_expr(e, cx, sub, cm);
        take[i] = sm_emit_and(e, c.v, c.valid);
        sm_ir now = sm_emit_and(e, rest, take[i]);
        value[i] = sm_emit_expr(e, vx, sub, needs_mask(e, vx) ? sm_emit_narrow(e, m, now) : m);
        rest = sm_emit_andnot(e, rest, take[i]);
    }
    const sm_expr *ex = x->args[2 * n];
    sm_lanes out = sm_emit_expr(e, ex, sub, needs_mask(e, ex) ? sm_emit_narrow(e, m, rest) : m);
    sm_form f = sm_form_of_expr(x);
    out = sm_emit_as(e, out, f);
    for (uint32_t i = n; i-- > 0;) out = sm_emit_select(e, take[i], value[i], out, f);
    return out;
}

static sm_lanes coalesce(sm_emit *e, const sm_expr *x, uint32_t sub, const sm_mask *m)
{
    sm_form f = sm_form_of_expr(x);
    sm_lanes out = sm_emit_as(e, sm_emit_expr(e, x->args[0], sub, m), f);
    for (uint32_t i = 1; i < x->n_args && out.valid; i++) {
        const sm_expr *a = x->args[i];
        sm_ir missing = LLVMBuildNot(e->b, out.valid, "");
        sm_lanes next =
            sm_emit_expr(e, a, sub, needs_mask(e, a) ? sm_emit_narrow(e, m, missing) : m);
        sm_ir had = out.valid;
        sm_lanes first = out;
        first.valid = NULL;
        out = sm_emit_select(e, had, first, next, f);
        out.valid = next.valid ? LLVMBuildOr(e->b, had, next.valid, "") : NULL;
    }
    return out;
}

/* ---- operations ---- */

sm_lanes sm_emit_exact_double(sm_emit *e, sm_lanes v, unsigned scale)
{
    sm_lanes out = {.form = {SM_FORM_F64, 64}, .no_nan = true};
    double power = 1;
    for (unsigned i = 0; i < scale; i++) power *= 10;
    v = v.form.bits > 64 ? sm_emit_as(e, v, (sm_form){SM_FORM_INT, 64}) : v;
    out.v = LLVMBuildSIToFP(e->b, v.v, sm_emit_vec(e, e->f64), "");
    if (scale) out.v = LLVMBuildFDiv(e->b, out.v, sm_emit_kreal(e, e->f64, power), "");
    return out;
}

static sm_lanes operation(sm_emit *e, const sm_expr *x, uint32_t sub, const sm_mask *m)
{
    const sm_op_info *op = &e->host->ops[x->op];
    sm_lanes a[3], out = {.form = sm_form_of_expr(x)};
    sm_ir valid = NULL;
    for (uint32_t i = 0; i < x->n_args; i++) {
        a[i] = sm_emit_expr(e, x->args[i], sub, m);
        sm_form want = sm_form_of_phys(sm_jit_code_phys(op->args[i]));
        if (a[i].form.kind != want.kind) a[i] = sm_emit_as(e, a[i], want);
        valid = sm_emit_and(e, valid, a[i].valid);
    }
    sm_op_site at = {x, sub, sm_emit_narrow(e, m, valid), a,
                     op->can_fail && x->can_fail && !x->no_check};
    sm_op_emit emit = sm_emit_int_op(x->op);
    if (!emit) emit = sm_emit_float_op(x->op);
    if (emit)
        emit(e, &at, &out);
    else if (sm_jit_in_place(x) && x->op == SM_OP_extract_date)
        sm_emit_date_field(e, a, x->imm[0], &out);
    else if (sm_jit_in_place(x))
        out = sm_emit_exact_double(e, a[0], (unsigned)x->imm[0]);
    else
        sm_emit_call_op(e, &at, &out);
    out.valid = valid;
    return out;
}

sm_lanes sm_emit_expr(sm_emit *e, const sm_expr *x, uint32_t sub, const sm_mask *m)
{
    if (x->kind == SM_EXPR_CONST && sm_shape_const(e->s, x) < e->s->n_consts)
        return sm_emit_const(e, x);
    if (x->kind == SM_EXPR_COLUMN) return sm_emit_column(e, x->column, sub);
    const sm_lanes *known = find_known(e, x, sub, m);
    if (known) return *known;
    sm_lanes out;
    int32_t table = sm_shape_table(e->s, x);
    if (table >= 0) {
        out = sm_emit_table(e, (uint32_t)table, sub, m);
    } else {
        switch (x->kind) {
        case SM_EXPR_OP: out = operation(e, x, sub, m); break;
        case SM_EXPR_AND:
        case SM_EXPR_OR: out = logic(e, x, sub, m); break;
        case SM_EXPR_CASE: out = choose(e, x, sub, m); break;
        case SM_EXPR_COALESCE: out = coalesce(e, x, sub, m); break;
        default: { /* IS_NULL */
            sm_lanes a = sm_emit_expr(e, x->args[0], sub, m);
            out = (sm_lanes){.form = {SM_FORM_BOOL, 1}};
            out.v = a.valid ? LLVMBuildNot(e->b, a.valid, "") : sm_emit_kvec(e, e->i1, 0);
        }
        }
    }
    if (!x->nullable) out.valid = NULL;
    remember(e, x, sub, m, &out);
    return out;
}

bool sm_jit_has_emitter(sm_op op)
{
    return sm_emit_int_op(op) || sm_emit_float_op(op);
}
