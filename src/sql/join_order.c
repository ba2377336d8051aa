/* FROM and WHERE as a tree of inner joins. The one idea: conditions that cannot fail go where they
 * first can be evaluated (to one relation, into a join as keys, above a join); those that can fail
 * stay above all joins, in the order written. The largest table is probed first; the others follow
 * as written, but for those that nothing connects yet. Read bind_join.c first. */
#include "sql/bind.h"

enum { MOST_MEMBERS = 64 };

/* ---- expressions ---- */

typedef struct mover {
    sm_binder *b;
    const uint32_t *to;
} mover;

static sm_expr *move_column(const sm_expr *leaf, void *arg)
{
    const mover *m = arg;
    if (leaf->kind != SM_EXPR_COLUMN) return NULL;
    sm_expr *e = sm_expr_column(m->b->a, m->to[leaf->column], leaf->type, leaf->nullable);
    if (e) e->position = leaf->position;
    return e;
}

sm_expr *sm_expr_moved(sm_binder *b, const sm_expr *e, const uint32_t *to)
{
    mover m = {b, to};
    return sm_expr_replace(b->a, e, move_column, &m);
}

static bool is_plain_equality(const sm_expr *e, sm_expr **l, sm_expr **r)
{
    if (e->kind != SM_EXPR_OP || e->n_args != 2) return false;
    sm_type a = e->args[0]->type, c = e->args[1]->type;
    if (a.id != c.id || a.scale != c.scale || e->args[0]->phys != e->args[1]->phys) return false;
    if (e->op != sm_op_compare("=", e->args[0]->phys)) return false;
    *l = e->args[0];
    *r = e->args[1];
    return true;
}

/* The form that bind_rewrite.c gives a IS NOT DISTINCT FROM b: CASE WHEN a IS NULL THEN b IS NULL
 * WHEN b IS NULL THEN false ELSE a = b END. */
bool sm_is_equality(const sm_expr *e, sm_expr **l, sm_expr **r, bool *null_safe)
{
    *null_safe = e->kind == SM_EXPR_CASE;
    if (!*null_safe) return is_plain_equality(e, l, r);
    if (e->n_args != 5 || !is_plain_equality(e->args[4], l, r)) return false;
    bool form = e->args[0]->kind == SM_EXPR_IS_NULL && e->args[1]->kind == SM_EXPR_IS_NULL &&
                e->args[2]->kind == SM_EXPR_IS_NULL && e->args[3]->kind == SM_EXPR_CONST &&
                !e->args[3]->value.is_null && !e->args[3]->value.b;
    return form && sm_expr_equal(e->args[1], e->args[2]) &&
           sm_expr_equal(e->args[0]->args[0], *l) && sm_expr_equal(e->args[2]->args[0], *r);
}

/* ---- the order ---- */

typedef struct order {
    sm_binder *b;
    const sm_from *from;
    uint32_t n;        /* conditions that may be placed */
    sm_expr **exprs;
    uint64_t *needs;   /* members that each refers to */
    bool *placed;
    sm_conjuncts rest; /* conditions above all joins */
    sm_node **members;
    sm_node *node; /* joined so far */
    uint64_t joined;
    uint32_t *to; /* column of from -> column of node, or of one member */
} order;

typedef struct member_set {
    const sm_from *from;
    uint64_t set;
} member_set;

static bool see_member(const sm_expr *e, void *arg)
{
    member_set *m = arg;
    uint32_t i = m->from->n;
    if (e->kind != SM_EXPR_COLUMN) return true;
    while (i > 1 && m->from->first[i - 1] > e->column) i--;
    m->set |= UINT64_C(1) << (i - 1);
    return true;
}

static uint64_t members_of(const sm_from *from, const sm_expr *e)
{
    member_set m = {from, 0};
    sm_expr_walk(e, see_member, &m);
    return m.set;
}

static bool is_one(uint64_t set)
{
    return set && (set & (set - 1)) == 0;
}

/* An uncorrelated IN over one relation reduces it before it is joined. */
static bool may_place(const sm_expr *e)
{
    if (e->kind != SM_EXPR_SUBQUERY) return !e->can_fail && !sm_is_open(e);
    for (uint32_t i = 0; i < e->n_args; i++)
        if (e->args[i]->can_fail || sm_is_open(e->args[i])) return false;
    return e->subquery->kind == SM_SUBQUERY_ANY && !sm_has_outer(e->subquery->plan);
}

/* What every branch of an OR demands holds without the OR too; it may be a key. */
static sm_status add_common(order *o, sm_conjuncts *l, const sm_expr *e)
{
    sm_conjuncts first = {0};
    if (e->kind != SM_EXPR_OR) return SM_OK;
    SM_TRY(sm_conjuncts_add(o->b, &first, e->args[0]));
    for (uint32_t i = 0; i < first.n; i++) {
        bool everywhere = may_place(first.exprs[i]);
        for (uint32_t k = 1; k < e->n_args && everywhere; k++) {
            sm_conjuncts branch = {0};
            bool found = false;
            SM_TRY(sm_conjuncts_add(o->b, &branch, e->args[k]));
            for (uint32_t m = 0; m < branch.n && !found; m++)
                found = sm_expr_equal(branch.exprs[m], first.exprs[i]);
            everywhere = found;
        }
        if (everywhere) SM_TRY(sm_conjuncts_add(o->b, l, first.exprs[i]));
    }
    return SM_OK;
}

static sm_status sort_conditions(order *o, sm_expr *where)
{
    sm_conjuncts all = {0}, placed = {0};
    for (uint32_t i = 0; i < o->from->n_conjuncts; i++)
        SM_TRY(sm_conjuncts_add(o->b, &all, o->from->conjuncts[i]));
    if (where) SM_TRY(sm_conjuncts_add(o->b, &all, where));
    for (uint32_t i = 0; i < all.n; i++) {
        sm_expr *e = all.exprs[i];
        uint64_t needs = members_of(o->from, e);
        bool simple = may_place(e) && needs && (e->kind != SM_EXPR_SUBQUERY || is_one(needs));
        SM_TRY(add_common(o, &placed, e));
        SM_TRY(sm_conjuncts_add(o->b, simple ? &placed : &o->rest, e));
    }
    o->n = placed.n;
    o->exprs = placed.exprs;
    o->needs = SM_NEW_N(o->b->scratch, uint64_t, placed.n + 1);
    o->placed = SM_NEW_N(o->b->scratch, bool, placed.n + 1);
    if (!o->needs || !o->placed) return sm_out_of_memory(o->b);
    for (uint32_t i = 0; i < o->n; i++) o->needs[i] = members_of(o->from, o->exprs[i]);
    return SM_OK;
}

static uint64_t rows_of(const sm_node *n)
{
    while (n->kind != SM_NODE_SCAN && n->input) n = n->input;
    return n->kind == SM_NODE_SCAN ? n->scan.version->n_rows : 0;
}

/* Conditions of one member, as a filter of it. */
static sm_status reduce_member(order *o, uint32_t m)
{
    sm_conjuncts own = {0};
    sm_expr *all;
    for (uint32_t c = 0; c < o->from->members[m]->n_cols; c++) o->to[o->from->first[m] + c] = c;
    for (uint32_t i = 0; i < o->n; i++) {
        if (o->needs[i] != UINT64_C(1) << m) continue;
        sm_expr *e = sm_expr_moved(o->b, o->exprs[i], o->to);
        if (!e) return sm_out_of_memory(o->b);
        SM_TRY(sm_conjuncts_add(o->b, &own, e));
        o->placed[i] = true;
    }
    SM_TRY(sm_conjuncts_all(o->b, &own, &all));
    return all ? sm_filter(o->b, all, &o->members[m]) : SM_OK;
}

/* Could condition i be a key between what is joined and member m? */
static bool connects(const order *o, uint32_t i, uint32_t m)
{
    sm_expr *l, *r;
    bool null_safe;
    uint64_t one = UINT64_C(1) << m;
    if (o->placed[i] || !sm_is_equality(o->exprs[i], &l, &r, &null_safe)) return false;
    uint64_t a = members_of(o->from, l), c = members_of(o->from, r);
    return (a == one && c && !(c & ~o->joined)) || (c == one && a && !(a & ~o->joined));
}

/* The next member: the first that a key connects, else the first. */
static uint32_t next_member(const order *o)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t m = 0; m < o->from->n; m++) {
        if (o->joined >> m & 1) continue;
        for (uint32_t i = 0; i < o->n; i++)
            if (connects(o, i, m)) return m;
        if (first == UINT32_MAX) first = m;
    }
    return first;
}

static sm_status join_member(order *o, uint32_t m)
{
    sm_conjuncts keys = {0}, above = {0};
    sm_expr *on, *filter;
    uint32_t n_left = o->node->n_cols;
    uint64_t all = o->joined | UINT64_C(1) << m;
    for (uint32_t c = 0; c < o->members[m]->n_cols; c++)
        o->to[o->from->first[m] + c] = n_left + c;
    for (uint32_t i = 0; i < o->n; i++) {
        if (o->placed[i] || (o->needs[i] & ~all)) continue;
        sm_expr *e = sm_expr_moved(o->b, o->exprs[i], o->to);
        if (!e) return sm_out_of_memory(o->b);
        SM_TRY(sm_conjuncts_add(o->b, connects(o, i, m) ? &keys : &above, e));
        o->placed[i] = true;
    }
    SM_TRY(sm_conjuncts_all(o->b, &keys, &on));
    SM_TRY(sm_conjuncts_all(o->b, &above, &filter));
    SM_TRY(sm_join(o->b, SM_JOIN_INNER, o->node, o->members[m], on, &o->node));
    o->joined = all;
    return filter ? sm_filter(o->b, filter, &o->node) : SM_OK;
}

/* The columns in the order of from. */
static sm_status restore_order(order *o)
{
    sm_binder *b = o->b;
    uint32_t n = o->from->n_cols;
    sm_expr **exprs = SM_NEW_N(b->scratch, sm_expr *, n + 1);
    const char **names = SM_NEW_N(b->scratch, const char *, n + 1);
    bool same = true;
    if (!exprs || !names) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n; i++) {
        const sm_col *c = &o->node->cols[o->to[i]];
        same &= o->to[i] == i;
        names[i] = c->name;
        if (!(exprs[i] = sm_expr_column(b->a, o->to[i], c->type, c->nullable)))
            return sm_out_of_memory(b);
    }
    return same ? SM_OK : sm_project(b, o->node, exprs, names, n, &o->node);
}

static sm_status join_all(order *o)
{
    uint32_t largest = 0;
    for (uint32_t m = 0; m < o->from->n; m++) {
        SM_TRY(reduce_member(o, m));
        if (rows_of(o->members[m]) > rows_of(o->members[largest])) largest = m;
    }
    o->node = o->members[largest];
    o->joined = UINT64_C(1) << largest;
    for (uint32_t c = 0; c < o->node->n_cols; c++) o->to[o->from->first[largest] + c] = c;
    for (uint32_t i = 1; i < o->from->n; i++) SM_TRY(join_member(o, next_member(o)));
    return restore_order(o);
}

sm_status sm_from_plan(sm_binder *b, const sm_from *from, sm_expr *where, sm_node **out)
{
    order o = {.b = b, .from = from};
    sm_expr *rest;
    if (from->n == 1 && !from->n_conjuncts) {
        *out = from->members[0];
        return where ? sm_filter(b, where, out) : SM_OK;
    }
    if (from->n > MOST_MEMBERS)
        return sm_raise(b->err, SM_ERR_TOO_COMPLEX, "more than 64 relations in FROM");
    o.members = SM_NEW_N(b->scratch, sm_node *, from->n);
    o.to = SM_NEW_N(b->scratch, uint32_t, from->n_cols + 1);
    if (!o.members || !o.to) return sm_out_of_memory(b);
    for (uint32_t m = 0; m < from->n; m++) o.members[m] = from->members[m];
    SM_TRY(sort_conditions(&o, where));
    SM_TRY(join_all(&o));
    SM_TRY(sm_conjuncts_all(b, &o.rest, &rest));
    *out = o.node;
    return rest ? sm_filter(b, rest, out) : SM_OK;
}
