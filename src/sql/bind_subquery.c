/* Subqueries in expressions as SM_EXPR_SUBQUERY, and what expressions and plans say about queries
 * around them. lift.c makes joins of them. Read bind.h first. */
#include "sql/bind.h"

#include <string.h>

/* ---- looking at plans ---- */

static bool is_closed_expr(const sm_expr *e, void *arg)
{
    (void)arg;
    return e->kind != SM_EXPR_OUTER && e->kind != SM_EXPR_SUBQUERY;
}

bool sm_is_open(const sm_expr *e)
{
    return !sm_expr_walk(e, is_closed_expr, NULL);
}

static bool no_outer(const sm_expr *e, void *arg)
{
    (void)arg;
    return e->kind != SM_EXPR_OUTER &&
           (e->kind != SM_EXPR_SUBQUERY || !sm_has_outer(e->subquery->plan));
}

static bool any_outer(sm_expr *const *exprs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (exprs[i] && !sm_expr_walk(exprs[i], no_outer, NULL)) return true;
    return false;
}

static bool aggregate_outer(const sm_node *n)
{
    bool found = any_outer(n->aggregate.keys, n->aggregate.n_keys);
    for (uint32_t i = 0; i < n->aggregate.n_aggs; i++)
        found |= any_outer(&n->aggregate.aggs[i].arg, 1) ||
                 any_outer(&n->aggregate.aggs[i].filter, 1);
    return found;
}

static bool values_outer(const sm_node *n)
{
    bool found = false;
    for (uint32_t r = 0; r < n->values.n_rows; r++)
        found |= any_outer(n->values.rows[r], n->n_cols);
    return found;
}

bool sm_has_outer(const sm_node *n)
{
    bool found = false;
    switch (n->kind) {
    case SM_NODE_VALUES: found = values_outer(n); break;
    case SM_NODE_FILTER: found = any_outer(&n->filter.condition, 1); break;
    case SM_NODE_PROJECT: found = any_outer(n->project.exprs, n->n_cols); break;
    case SM_NODE_AGGREGATE: found = aggregate_outer(n); break;
    case SM_NODE_JOIN:
        found = any_outer(n->join.left_keys, n->join.n_keys) ||
                any_outer(n->join.right_keys, n->join.n_keys) || any_outer(&n->join.residual, 1);
        break;
    case SM_NODE_SHARED: return sm_has_outer(n->shared->plan);
    case SM_NODE_SCAN:
    case SM_NODE_SERIES:
    case SM_NODE_DISTINCT:
    case SM_NODE_SORT:
    case SM_NODE_LIMIT:
    case SM_NODE_UNION_ALL:
    case SM_N_NODES: break;
    }
    return found || (n->input && sm_has_outer(n->input)) || (n->right && sm_has_outer(n->right));
}

/* ---- binding ---- */

static sm_status make_subquery(sm_binder *b, sm_subquery_kind kind, sm_node *plan, sm_type type,
                               sm_expr *const *args, uint32_t n_args, int32_t location,
                               sm_expr **out)
{
    SM_TRY(sm_make_node(b, SM_EXPR_SUBQUERY, type, args, n_args, sm_position(b, location), out));
    (*out)->subquery = SM_NEW(b->a, sm_subquery);
    if (!(*out)->subquery) return sm_out_of_memory(b);
    *(*out)->subquery = (sm_subquery){.kind = kind, .plan = plan};
    (*out)->nullable = kind != SM_SUBQUERY_EXISTS;
    (*out)->can_fail |= kind == SM_SUBQUERY_SCALAR;
    return SM_OK;
}

static const char *negated(const char *op)
{
    static const char *const pairs[][2] = {{"=", "<>"}, {"<", ">="}, {">", "<="}};
    for (size_t i = 0; i < SM_COUNT(pairs); i++) {
        if (strcmp(op, pairs[i][0]) == 0) return pairs[i][1];
        if (strcmp(op, pairs[i][1]) == 0) return pairs[i][0];
    }
    return NULL;
}

/* The left side of IN, one expression a column. */
static sm_status left_side(sm_ctx *cx, const PgQuery__SubLink *s, const sm_node *plan,
                           sm_expr ***out)
{
    sm_binder *b = cx->b;
    bool row = PG_IS(s->testexpr, ROW_EXPR);
    size_t n = row ? s->testexpr->row_expr->n_args : 1;
    if (n != plan->n_cols)
        return SM_FAIL(b, s->location, SM_ERR_SYNTAX,
                       n > plan->n_cols ? "subquery has too few columns"
                                        : "subquery has too many columns");
    *out = SM_NEW_N(b->scratch, sm_expr *, n + 1);
    if (!*out) return sm_out_of_memory(b);
    for (size_t i = 0; i < n; i++)
        SM_TRY(sm_bind_expr(cx, row ? s->testexpr->row_expr->args[i] : s->testexpr, &(*out)[i]));
    return SM_OK;
}

/* args op ANY (plan), both sides at one type. */
static sm_status bind_any(sm_ctx *cx, const PgQuery__SubLink *s, const char *op, sm_node *plan,
                          sm_expr **out)
{
    sm_binder *b = cx->b;
    uint32_t n = plan->n_cols;
    sm_expr **left, **right = SM_NEW_N(b->scratch, sm_expr *, n + 1);
    const char **names = SM_NEW_N(b->scratch, const char *, n + 1);
    sm_op *compare = SM_NEW_N(b->a, sm_op, n + 1);
    if (!right || !names || !compare) return sm_out_of_memory(b);
    SM_TRY(left_side(cx, s, plan, &left));
    if (n > 1 && strcmp(op, "=") != 0)
        return SM_FAIL(b, s->location, SM_ERR_NOT_SUPPORTED, "comparing rows by order");
    for (uint32_t i = 0; i < n; i++) {
        sm_expr *e = sm_expr_column(b->a, i, plan->cols[i].type, plan->cols[i].nullable), *both;
        if (!e) return sm_out_of_memory(b);
        SM_TRY(sm_compare(b, op, left[i], e, s->location, &both));
        left[i] = both->args[0];
        right[i] = both->args[1];
        compare[i] = both->op;
        names[i] = plan->cols[i].name;
    }
    SM_TRY(sm_project(b, plan, right, names, n, &plan));
    SM_TRY(make_subquery(b, SM_SUBQUERY_ANY, plan, sm_type_of(SM_BOOL), left, n, s->location, out));
    (*out)->subquery->compare = compare;
    return SM_OK;
}

/* x op ALL (q) is NOT (x negated-op ANY (q)). */
static sm_status bind_quantified(sm_ctx *cx, const PgQuery__SubLink *s, sm_node *plan,
                                 sm_expr **out)
{
    sm_binder *b = cx->b;
    bool all = s->sub_link_type == PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK;
    const char *op = s->n_oper_name ? sm_last_name(s->n_oper_name, s->oper_name, NULL) : "=";
    if (op && strcmp(op, "!=") == 0) op = "<>";
    const char *inverse = op ? negated(op) : NULL;
    if (!inverse)
        return SM_FAIL(b, s->location, SM_ERR_NOT_SUPPORTED, "this operator before ANY or ALL");
    SM_TRY(bind_any(cx, s, all ? inverse : op, plan, out));
    if (!all) return SM_OK;
    SM_TRY(sm_make_op(b, SM_OP_not_b, sm_type_of(SM_BOOL), out, 1, 0, 0, out));
    (*out)->position = sm_position(b, s->location);
    return SM_OK;
}

sm_status sm_bind_sublink(sm_ctx *cx, const PgQuery__SubLink *s, sm_expr **out)
{
    sm_binder *b = cx->b;
    sm_outer outer = {cx->scope, b->outer};
    sm_node *plan;
    if (!cx->scope)
        return SM_FAIL(b, s->location, SM_ERR_NOT_SUPPORTED, "a subquery in this place");
    b->outer = &outer;
    sm_status st = sm_bind_select(b, s->subselect->select_stmt, &plan);
    b->outer = outer.next;
    SM_TRY(st);
    switch (s->sub_link_type) {
    case PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK:
        return make_subquery(b, SM_SUBQUERY_EXISTS, plan, sm_type_of(SM_BOOL), NULL, 0,
                             s->location, out);
    case PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK:
    case PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK: return bind_quantified(cx, s, plan, out);
    case PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK:
        if (plan->n_cols != 1)
            return SM_FAIL(b, s->location, SM_ERR_SYNTAX, "subquery must return only one column");
        return make_subquery(b, SM_SUBQUERY_SCALAR, plan, plan->cols[0].type, NULL, 0, s->location,
                             out);
    default: return SM_FAIL(b, s->location, SM_ERR_NOT_SUPPORTED, "this kind of subquery");
    }
}
