/* Subqueries as joins, where that needs no general unnesting: those that do not refer to the query
 * around them, and EXISTS that does so in conditions of its WHERE only. What a WHERE demands
 * becomes a SEMI or ANTI join; elsewhere a MARK or SINGLE join adds the subquery's value as a last
 * column. A subquery that fits neither stays in the expression, and the statement is refused at its
 * position. Read bind_subquery.c first. */
#include "sql/bind.h"

static sm_status leave(sm_binder *b, const sm_expr *e)
{
    if (!b->unresolved) b->unresolved = e->position ? e->position : 1;
    return SM_OK;
}

/* ---- what EXISTS reads ---- */

/* The rows of a subquery, without what does not decide whether there are any. */
static sm_node *rows_alone(sm_node *n)
{
    for (;; n = n->input) {
        bool limit = n->kind == SM_NODE_LIMIT && !n->limit.offset && n->limit.limit &&
                     n->limit.limit->kind == SM_EXPR_CONST && n->limit.limit->value.i64 > 0;
        if (!limit && n->kind != SM_NODE_PROJECT && n->kind != SM_NODE_SORT &&
            n->kind != SM_NODE_DISTINCT)
            return n;
    }
}

typedef struct reference {
    bool outer, inner, beyond; /* the query around; its own columns; queries further out */
} reference;

static bool see_reference(const sm_expr *e, void *arg)
{
    reference *r = arg;
    r->inner |= e->kind == SM_EXPR_COLUMN;
    r->outer |= e->kind == SM_EXPR_OUTER;
    r->beyond |= (e->kind == SM_EXPR_OUTER && e->imm[0] != 1) || e->kind == SM_EXPR_SUBQUERY;
    return true;
}

static reference references(const sm_expr *e)
{
    reference r = {0};
    sm_expr_walk(e, see_reference, &r);
    return r;
}

typedef struct shift {
    sm_binder *b;
    uint32_t by;
} shift;

/* Over the columns of a join: the query around is its left side, the subquery its right one. */
static sm_expr *over_join(const sm_expr *leaf, void *arg)
{
    const shift *s = arg;
    if (leaf->kind != SM_EXPR_COLUMN && leaf->kind != SM_EXPR_OUTER) return NULL;
    uint32_t column = leaf->kind == SM_EXPR_OUTER ? leaf->column : leaf->column + s->by;
    sm_expr *e = sm_expr_column(s->b->a, column, leaf->type, leaf->nullable);
    if (e) e->position = leaf->position;
    return e;
}

/* Takes the conditions that refer to the query around out of a plan. *n is NULL if there are
 * others than those of filters on top. */
static sm_status decorrelate(sm_binder *b, uint32_t n_left, sm_node **n, sm_expr **on)
{
    sm_conjuncts outside = {0}, inside = {0};
    shift s = {b, n_left};
    sm_expr *rest;
    *n = rows_alone(*n);
    for (; (*n)->kind == SM_NODE_FILTER; *n = (*n)->input) {
        sm_conjuncts all = {0};
        SM_TRY(sm_conjuncts_add(b, &all, (*n)->filter.condition));
        for (uint32_t i = 0; i < all.n; i++) {
            reference r = references(all.exprs[i]);
            if (r.beyond) return *n = NULL, SM_OK;
            sm_expr *e = all.exprs[i];
            if (r.outer && !(e = sm_expr_replace(b->a, e, over_join, &s)))
                return sm_out_of_memory(b);
            SM_TRY(sm_conjuncts_add(b, r.outer ? &outside : &inside, e));
        }
    }
    if (sm_has_outer(*n)) return *n = NULL, SM_OK;
    SM_TRY(sm_conjuncts_all(b, &inside, &rest));
    if (rest) SM_TRY(sm_filter(b, rest, n));
    return sm_conjuncts_all(b, &outside, on);
}

static sm_status first_row(sm_binder *b, sm_node **n)
{
    sm_value one = {.i64 = 1};
    *n = sm_pass(b, SM_NODE_LIMIT, *n);
    if (!*n || !((*n)->limit.limit = sm_expr_const(b->a, sm_type_of(SM_INT64), &one)))
        return sm_out_of_memory(b);
    return SM_OK;
}

/* ---- joins ---- */

static sm_status join_exists(sm_binder *b, const sm_expr *e, sm_join_kind kind, sm_node **node,
                             bool *done)
{
    sm_node *right = e->subquery->plan;
    sm_expr *on = NULL;
    SM_TRY(decorrelate(b, (*node)->n_cols, &right, &on));
    *done = right != NULL;
    if (!right) return SM_OK;
    if (!on) SM_TRY(first_row(b, &right));
    return sm_join(b, kind, *node, right, on, node);
}

/* args[i] compared with the subquery's column i, over the columns of the join. */
static sm_status any_condition(sm_binder *b, const sm_expr *e, uint32_t n_left, sm_expr **out)
{
    sm_conjuncts all = {0};
    for (uint32_t i = 0; i < e->n_args; i++) {
        const sm_col *c = &e->subquery->plan->cols[i];
        sm_expr *both[2] = {e->args[i],
                            sm_expr_column(b->a, n_left + i, c->type, c->nullable)};
        sm_expr *compare = both[1] ? sm_expr_op(b->a, e->subquery->compare[i],
                                                sm_type_of(SM_BOOL), both, 2)
                                   : NULL;
        if (!compare) return sm_out_of_memory(b);
        compare->position = e->position;
        SM_TRY(sm_conjuncts_add(b, &all, compare));
    }
    return sm_conjuncts_all(b, &all, out);
}

/* A constant or parameter on the left is a column first, so that it can be a key. */
static sm_status keys_as_columns(sm_binder *b, sm_node **node, sm_expr *const *args, uint32_t n,
                                 sm_expr **out)
{
    uint32_t n_in = (*node)->n_cols, total = n_in;
    sm_expr **exprs = SM_NEW_N(b->scratch, sm_expr *, n_in + n + 1);
    const char **names = SM_NEW_N(b->scratch, const char *, n_in + n + 1);
    if (!exprs || !names) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n_in; i++) {
        const sm_col *c = &(*node)->cols[i];
        names[i] = c->name;
        if (!(exprs[i] = sm_expr_column(b->a, i, c->type, c->nullable))) return sm_out_of_memory(b);
    }
    for (uint32_t i = 0; i < n; i++) {
        out[i] = args[i];
        if (references(args[i]).inner && !args[i]->can_fail) continue;
        exprs[total] = args[i];
        names[total] = "key";
        out[i] = sm_expr_column(b->a, total++, args[i]->type, args[i]->nullable);
        if (!out[i]) return sm_out_of_memory(b);
    }
    return total == n_in ? SM_OK : sm_project(b, *node, exprs, names, total, node);
}

static sm_status join_any(sm_binder *b, const sm_expr *e, sm_join_kind kind, sm_node **node,
                          bool *done)
{
    sm_expr *on, any = *e;
    bool equality = true;
    for (uint32_t i = 0; i < e->n_args; i++) {
        sm_phys phys = e->args[i]->phys;
        equality &= e->subquery->compare[i] == sm_op_compare("=", phys) && !sm_is_open(e->args[i]);
    }
    *done = !sm_has_outer(e->subquery->plan) && (equality || kind == SM_JOIN_SEMI);
    if (!*done) return SM_OK;
    any.args = SM_NEW_N(b->a, sm_expr *, e->n_args + 1);
    if (!any.args) return sm_out_of_memory(b);
    SM_TRY(keys_as_columns(b, node, e->args, e->n_args, any.args));
    SM_TRY(any_condition(b, &any, (*node)->n_cols, &on));
    return sm_join(b, kind, *node, e->subquery->plan, on, node);
}

static sm_status join_scalar(sm_binder *b, const sm_expr *e, sm_node **node, bool *done)
{
    *done = !sm_has_outer(e->subquery->plan);
    return *done ? sm_join(b, SM_JOIN_SINGLE, *node, e->subquery->plan, NULL, node) : SM_OK;
}

/* ---- anywhere in an expression ---- */

typedef struct lifted {
    const sm_subquery *of;
    sm_expr *value;
} lifted;

typedef struct lifting {
    sm_binder *b;
    sm_node **node;
    uint32_t n, room;
    lifted *list; /* what stands twice in an expression is joined once */
} lifting;

static sm_status remember(lifting *l, const sm_expr *e, sm_expr *value)
{
    if (l->n == l->room) {
        uint32_t room = l->room ? l->room * 2 : 4;
        lifted *grown = SM_NEW_N(l->b->scratch, lifted, room);
        if (!grown) return sm_out_of_memory(l->b);
        for (uint32_t i = 0; i < l->n; i++) grown[i] = l->list[i];
        l->list = grown;
        l->room = room;
    }
    l->list[l->n++] = (lifted){e->subquery, value};
    return SM_OK;
}

static sm_status lift_one(lifting *l, sm_expr **e)
{
    sm_binder *b = l->b;
    sm_expr *was = *e, *args[2];
    bool done = false;
    for (uint32_t i = 0; i < l->n; i++)
        if (l->list[i].of == was->subquery) return *e = l->list[i].value, SM_OK;
    switch (was->subquery->kind) {
    case SM_SUBQUERY_SCALAR: SM_TRY(join_scalar(b, was, l->node, &done)); break;
    case SM_SUBQUERY_EXISTS: SM_TRY(join_exists(b, was, SM_JOIN_MARK, l->node, &done)); break;
    case SM_SUBQUERY_ANY: SM_TRY(join_any(b, was, SM_JOIN_MARK, l->node, &done)); break;
    case SM_SUBQUERY_ALL: break;
    }
    if (!done) return leave(b, was);
    args[0] = sm_expr_column(b->a, (*l->node)->n_cols - 1, was->type, true);
    if (!args[0]) return sm_out_of_memory(b);
    args[0]->position = was->position;
    *e = args[0];
    if (was->subquery->kind == SM_SUBQUERY_EXISTS) { /* never NULL, whatever was compared */
        if (!(args[1] = sm_make_bool(b, false, was->position))) return sm_out_of_memory(b);
        SM_TRY(sm_make_node(b, SM_EXPR_COALESCE, was->type, args, 2, was->position, e));
    }
    return remember(l, was, *e);
}

static bool no_subquery(const sm_expr *e, void *arg)
{
    (void)arg;
    return e->kind != SM_EXPR_SUBQUERY;
}

static bool has_subquery(const sm_expr *e)
{
    return !sm_expr_walk(e, no_subquery, NULL);
}

static sm_status lift_expr(lifting *l, sm_expr **e)
{
    if (!has_subquery(*e)) return SM_OK;
    sm_expr *copy = SM_NEW(l->b->a, sm_expr);
    if (!copy) return sm_out_of_memory(l->b);
    *copy = **e;
    if (copy->n_args) {
        copy->args = SM_NEW_N(l->b->a, sm_expr *, copy->n_args);
        if (!copy->args) return sm_out_of_memory(l->b);
    }
    for (uint32_t i = 0; i < copy->n_args; i++) {
        copy->args[i] = (*e)->args[i];
        SM_TRY(lift_expr(l, &copy->args[i]));
    }
    *e = copy;
    return copy->kind == SM_EXPR_SUBQUERY ? lift_one(l, e) : SM_OK;
}

sm_status sm_lift(sm_binder *b, sm_node **node, sm_expr **exprs, uint32_t n)
{
    lifting l = {.b = b, .node = node};
    for (uint32_t i = 0; i < n; i++) SM_TRY(lift_expr(&l, &exprs[i]));
    return SM_OK;
}

/* ---- conditions ---- */

/* A condition that is [NOT] IN or [NOT] EXISTS, as a join that keeps the rows where it is TRUE. */
static sm_status join_condition(sm_binder *b, const sm_expr *e, sm_node **node, bool *done)
{
    bool negated = e->kind == SM_EXPR_OP && e->op == SM_OP_not_b;
    const sm_expr *s = negated ? e->args[0] : e;
    *done = false;
    if (s->kind != SM_EXPR_SUBQUERY) return SM_OK;
    for (uint32_t i = 0; i < s->n_args; i++)
        if (has_subquery(s->args[i])) return SM_OK;
    if (s->subquery->kind == SM_SUBQUERY_EXISTS)
        return join_exists(b, s, negated ? SM_JOIN_ANTI : SM_JOIN_SEMI, node, done);
    if (s->subquery->kind == SM_SUBQUERY_ANY)
        return join_any(b, s, negated ? SM_JOIN_NULL_ANTI : SM_JOIN_SEMI, node, done);
    return SM_OK;
}

static sm_status plain_filter(sm_binder *b, sm_expr *condition, sm_node **node)
{
    sm_node *n = sm_pass(b, SM_NODE_FILTER, *node);
    if (!n) return sm_out_of_memory(b);
    n->filter.condition = condition;
    *node = n;
    return SM_OK;
}

/* Only the first n columns of *node. */
static sm_status keep_columns(sm_binder *b, uint32_t n, sm_node **node)
{
    if ((*node)->n_cols == n) return SM_OK;
    sm_expr **exprs = SM_NEW_N(b->scratch, sm_expr *, n + 1);
    const char **names = SM_NEW_N(b->scratch, const char *, n + 1);
    if (!exprs || !names) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n; i++) {
        const sm_col *c = &(*node)->cols[i];
        names[i] = c->name;
        if (!(exprs[i] = sm_expr_column(b->a, i, c->type, c->nullable))) return sm_out_of_memory(b);
    }
    return sm_project(b, *node, exprs, names, n, node);
}

/* Conditions that cannot fail come first, then the joins, then the rest in order. */
sm_status sm_filter(sm_binder *b, sm_expr *condition, sm_node **node)
{
    sm_conjuncts all = {0}, safe = {0}, rest = {0};
    sm_expr *first, *last;
    uint32_t n_cols = (*node)->n_cols;
    if (!has_subquery(condition)) return plain_filter(b, condition, node);
    SM_TRY(sm_conjuncts_add(b, &all, condition));
    for (uint32_t i = 0; i < all.n; i++)
        if (!has_subquery(all.exprs[i]) && !all.exprs[i]->can_fail)
            SM_TRY(sm_conjuncts_add(b, &safe, all.exprs[i]));
    SM_TRY(sm_conjuncts_all(b, &safe, &first));
    if (first) SM_TRY(plain_filter(b, first, node));
    for (uint32_t i = 0; i < all.n; i++) {
        sm_expr *e = all.exprs[i];
        bool done = !has_subquery(e) && !e->can_fail;
        if (!done) SM_TRY(join_condition(b, e, node, &done));
        if (!done) SM_TRY(sm_conjuncts_add(b, &rest, e));
    }
    SM_TRY(sm_conjuncts_all(b, &rest, &last));
    if (last) {
        SM_TRY(sm_lift(b, node, &last, 1));
        SM_TRY(plain_filter(b, last, node));
    }
    return keep_columns(b, n_cols, node);
}
