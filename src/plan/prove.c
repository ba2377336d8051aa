/* Proving: a copy of an expression for one execution, with what follows from the ranges of its
 * inputs. A decimal that is declared wider than 18 digits but whose values fit in 64 bits has phys
 * I64 throughout the copy; where an operation really needs 128 bits, i64_to_d128 is put in between.
 * Single operations are in prove_ops.c.
 *
 * A range may be wrong about NULL slots and dead rows. Nothing relies on it there: unchecked
 * arithmetic wraps, and divisions guard themselves. */
#include "plan/prove_parts.h"

typedef struct prover {
    sm_arena *a;
    const sm_expr *const *inputs;
} prover;

static sm_expr *prove(const prover *pr, const sm_expr *e);

static bool is_null_const(const sm_expr *e)
{
    return e->kind == SM_EXPR_CONST && e->value.is_null;
}

sm_expr *sm_prove_widen(sm_arena *a, sm_expr *e)
{
    if (e->phys != SM_PHYS_I64) return e;
    if (e->kind == SM_EXPR_CONST) {
        e->value.i128 = e->value.is_null ? 0 : e->value.i64;
        e->phys = SM_PHYS_I128;
        return e;
    }
    sm_expr *w = sm_expr_op(a, SM_OP_i64_to_d128, e->type, &e, 1);
    if (!w) return NULL;
    w->range = e->range;
    w->nullable = e->nullable;
    w->can_fail = e->can_fail;
    w->position = e->position;
    return w;
}

static sm_expr *prove_const(sm_expr *c)
{
    if (c->phys != SM_PHYS_I128) return c;
    if (c->value.is_null) {
        c->value.i64 = 0;
        c->phys = SM_PHYS_I64;
    } else if (sm_range_fits_i64(c->range)) {
        c->value.i64 = (int64_t)c->value.i128;
        c->phys = SM_PHYS_I64;
    }
    return c;
}

static sm_expr *prove_column(const prover *pr, sm_expr *c)
{
    const sm_expr *in = pr->inputs[c->column];
    c->phys = in->phys;
    c->range = in->range;
    c->nullable = c->nullable && in->nullable;
    return c;
}

/* CASE and COALESCE: the values get one phys and a common range. */
static sm_expr *prove_choice(sm_arena *a, sm_expr *c)
{
    bool is_case = c->kind == SM_EXPR_CASE, wide = false;
    sm_range range = SM_RANGE_UNKNOWN;
    bool first = true;
    c->nullable = !is_case;
    for (uint32_t i = 0; i < c->n_args; i++) {
        const sm_expr *v = c->args[i];
        if (is_case && i % 2 == 0 && i + 1 < c->n_args) continue; /* a condition */
        wide |= v->phys == SM_PHYS_I128;
        if (is_case) {
            c->nullable |= v->nullable;
        } else {
            c->nullable &= v->nullable;
        }
        if (is_null_const(v)) continue;
        range = first ? v->range : sm_range_union(range, v->range);
        first = false;
    }
    c->range = range;
    if (c->phys != SM_PHYS_I128) return c;
    c->phys = wide ? SM_PHYS_I128 : SM_PHYS_I64;
    for (uint32_t i = 0; wide && i < c->n_args; i++) {
        if (is_case && i % 2 == 0 && i + 1 < c->n_args) continue;
        if (!(c->args[i] = sm_prove_widen(a, c->args[i]))) return NULL;
    }
    return c;
}

static sm_expr *prove_is_null(sm_arena *a, sm_expr *c)
{
    const sm_expr *arg = c->args[0];
    c->nullable = false;
    c->range = sm_range_of(is_null_const(arg), arg->nullable);
    if (arg->nullable || arg->can_fail) return c;
    sm_expr *no = sm_expr_const(a, c->type, &(sm_value){.b = 0});
    if (no) no->position = c->position;
    return no;
}

static sm_expr *prove_logic(sm_expr *c)
{
    bool is_and = c->kind == SM_EXPR_AND;
    c->nullable = false;
    c->range = is_and ? sm_range_of(1, 1) : sm_range_of(0, 0);
    for (uint32_t i = 0; i < c->n_args; i++) {
        const sm_range r = c->args[i]->range;
        c->nullable |= c->args[i]->nullable;
        if (!r.known) {
            *(is_and ? &c->range.lo : &c->range.hi) = !is_and;
        } else if (is_and) {
            if (r.lo < c->range.lo) c->range.lo = r.lo;
            if (r.hi < c->range.hi) c->range.hi = r.hi;
        } else {
            if (r.lo > c->range.lo) c->range.lo = r.lo;
            if (r.hi > c->range.hi) c->range.hi = r.hi;
        }
    }
    return c;
}

static sm_expr *prove(const prover *pr, const sm_expr *e)
{
    sm_expr *c = sm_arena_alloc(pr->a, sizeof *c);
    if (!c) return NULL;
    *c = *e;
    if (e->n_args) {
        c->args = SM_NEW_N(pr->a, sm_expr *, e->n_args);
        if (!c->args) return NULL;
    }
    c->can_fail = false;
    for (uint32_t i = 0; i < e->n_args; i++) {
        c->args[i] = prove(pr, e->args[i]);
        if (!c->args[i]) return NULL;
        c->can_fail |= c->args[i]->can_fail;
    }
    switch (e->kind) {
    case SM_EXPR_CONST: return prove_const(c);
    case SM_EXPR_COLUMN: return prove_column(pr, c);
    case SM_EXPR_OP: return sm_prove_op(pr->a, c);
    case SM_EXPR_AND:
    case SM_EXPR_OR: return prove_logic(c);
    case SM_EXPR_CASE:
    case SM_EXPR_COALESCE: return prove_choice(pr->a, c);
    case SM_EXPR_IS_NULL: return prove_is_null(pr->a, c);
    case SM_EXPR_OUTER:
    case SM_EXPR_SUBQUERY:
    case SM_EXPR_PARAM: break;
    }
    c->can_fail = true;
    return c;
}

sm_status sm_prove(sm_arena *a, const sm_expr *e, const sm_expr *const *inputs, sm_expr **out,
                   sm_error *err)
{
    prover pr = {a, inputs};
    *out = prove(&pr, e);
    return *out ? SM_OK : sm_arena_failed(a, err);
}

/* Every chunk stores offsets from a base, so decoding to 64 bits is what is natural. */
static bool all_narrow(const sm_source *s, uint32_t column)
{
    if (s->kind != SM_SOURCE_VERSION) return false;
    for (uint64_t i = 0; i < s->version->n_chunks; i++)
        if (s->version->chunks[i]->cols[column].enc != SM_ENC_NARROW) return false;
    return true;
}

sm_status sm_prove_source(sm_arena *a, const sm_source *s, const sm_expr ***inputs, sm_error *err)
{
    const sm_expr **list = SM_NEW_N(a, const sm_expr *, s->n_cols + 1);
    if (!list) return sm_arena_failed(a, err);
    for (uint32_t i = 0; i < s->n_cols; i++) {
        const sm_table_col *col = &s->cols[i];
        sm_expr *e = sm_expr_column(a, i, col->type, col->null_count != 0);
        if (!e) return sm_arena_failed(a, err);
        sm_phys own = sm_type_phys(col->type);
        if (e->range.known && col->has_minmax) {
            e->range = sm_range_of(sm_value_int(&col->min, own), sm_value_int(&col->max, own));
        } else if (e->range.known && col->null_count == s->n_rows) {
            e->range = sm_range_of(0, 0); /* no value at all */
        }
        if (own == SM_PHYS_I128 && sm_range_fits_i64(e->range) && all_narrow(s, i))
            e->phys = SM_PHYS_I64;
        list[i] = e;
    }
    *inputs = list;
    return SM_OK;
}
