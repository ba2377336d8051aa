/* SELECT and VALUES as plan nodes: FROM, FILTER, AGGREGATE, FILTER (HAVING), PROJECT, DISTINCT,
 * SORT, LIMIT, in the order in which SQL defines them. Read bind.h first, then bind_group.c.
 *
 * ORDER BY sorts by columns of the projection; an expression that is not selected is projected as a
 * hidden last column, and a PROJECT above the sort drops it. */
#include <string.h>

#include "sql/bind.h"

typedef struct order_item {
    uint32_t target;
    bool desc, nulls_first;
} order_item;

typedef struct selection {
    sm_binder *b;
    const PgQuery__SelectStmt *s;
    sm_node *node;
    sm_scope scope;
    sm_agg_list aggs;
    sm_targets targets;
    uint32_t n_visible; /* targets behind these are hidden */
    uint32_t n_keys, n_orders;
    sm_expr **keys;
    order_item *orders;
    sm_expr *having;
    bool grouped;
} selection;

/* ---- the list of SELECT ---- */

sm_status sm_targets_add(sm_binder *b, sm_targets *t, sm_expr *e, const char *name)
{
    if (t->n == t->room) {
        uint32_t room = t->room ? t->room * 2 : 8;
        sm_expr **exprs = SM_NEW_N(b->scratch, sm_expr *, room);
        const char **names = SM_NEW_N(b->scratch, const char *, room);
        if (!exprs || !names) return sm_out_of_memory(b);
        for (uint32_t i = 0; i < t->n; i++) exprs[i] = t->exprs[i], names[i] = t->names[i];
        t->exprs = exprs, t->names = names, t->room = room;
    }
    name = sm_keep(b, name);
    if (!name) return sm_out_of_memory(b);
    t->exprs[t->n] = e;
    t->names[t->n++] = name;
    return SM_OK;
}

static bool is_star(const pg_node *n)
{
    return PG_IS(n, COLUMN_REF) &&
           PG_IS(n->column_ref->fields[n->column_ref->n_fields - 1], A_STAR);
}

static sm_status add_star(sm_ctx *cx, const PgQuery__ColumnRef *c, sm_targets *out)
{
    sm_binder *b = cx->b;
    const char *rel = c->n_fields > 1 ? sm_pg_string(c->fields[c->n_fields - 2]) : NULL;
    if (rel && !sm_scope_has(cx->scope, rel))
        return sm_no_relation(b, cx->scope, rel, c->location);
    if (!rel && !cx->scope->n_cols && !cx->scope->n_rels)
        return SM_FAIL(b, c->location, SM_ERR_SYNTAX,
                       "SELECT * with no tables specified is not valid");
    for (uint32_t i = 0; i < cx->scope->n_cols; i++) {
        const sm_scope_col *col = &cx->scope->cols[i];
        sm_expr *e;
        if (rel ? !col->rel || strcmp(col->rel, rel) != 0 : col->hidden) continue;
        SM_TRY(sm_scope_expr(b, col, c->location, &e));
        SM_TRY(sm_targets_add(b, out, e, col->name));
    }
    return SM_OK;
}

sm_status sm_bind_targets(sm_ctx *cx, size_t n, pg_node *const *items, sm_targets *out)
{
    *out = (sm_targets){0};
    for (size_t i = 0; i < n; i++) {
        const PgQuery__ResTarget *t = items[i]->res_target;
        sm_expr *e;
        if (is_star(t->val)) {
            SM_TRY(add_star(cx, t->val->column_ref, out));
            continue;
        }
        SM_TRY(sm_bind_expr(cx, t->val, &e));
        SM_TRY(sm_decide(cx->b, &e));
        bool named = t->name && t->name[0];
        SM_TRY(sm_targets_add(cx->b, out, e, named ? t->name : sm_output_name(t->val)));
    }
    return SM_OK;
}

/* ---- what ORDER BY and GROUP BY items mean ---- */

/* An integer constant is the number of a selected item. */
static sm_status by_ordinal(selection *q, const char *clause, const PgQuery__AConst *c,
                            uint32_t *target)
{
    sm_binder *b = q->b;
    const char *text;
    if (c->val_case != PG_QUERY__A__CONST__VAL_IVAL) {
        text = sm_arena_printf(b->scratch, "non-integer constant in %s", clause);
        return text ? SM_FAIL(b, c->location, SM_ERR_SYNTAX, text) : sm_out_of_memory(b);
    }
    int32_t n = c->ival->ival;
    if (n >= 1 && (uint32_t)n <= q->n_visible) return *target = (uint32_t)n - 1, SM_OK;
    text = sm_arena_printf(b->scratch, "%s position %d is not in select list", clause, (int)n);
    return text ? SM_FAIL(b, c->location, SM_ERR_INVALID_REFERENCE, text) : sm_out_of_memory(b);
}

/* The selected item of this output name; UINT32_MAX if there is none. */
static sm_status by_name(selection *q, const PgQuery__ColumnRef *c, uint32_t *target)
{
    const char *name = c->n_fields == 1 ? sm_pg_string(c->fields[0]) : NULL;
    *target = UINT32_MAX;
    for (uint32_t i = 0; name && i < q->n_visible; i++) {
        if (strcmp(q->targets.names[i], name) != 0) continue;
        if (*target != UINT32_MAX && !sm_expr_equal(q->targets.exprs[*target], q->targets.exprs[i]))
            return SM_FAIL(q->b, c->location, SM_ERR_AMBIGUOUS_COLUMN, name);
        if (*target == UINT32_MAX) *target = i;
    }
    return SM_OK;
}

static bool in_scope(const selection *q, const PgQuery__ColumnRef *c)
{
    const char *name = c->n_fields == 1 ? sm_pg_string(c->fields[0]) : NULL;
    for (uint32_t i = 0; name && i < q->scope.n_cols; i++)
        if (!q->scope.cols[i].hidden && strcmp(q->scope.cols[i].name, name) == 0) return true;
    return false;
}

static bool has_no_aggregate(const sm_expr *e, void *arg)
{
    (void)arg;
    return e->kind != SM_EXPR_COLUMN || e->column < SM_AGG_COLUMN;
}

static sm_status add_key(selection *q, const pg_node *n)
{
    sm_binder *b = q->b;
    sm_ctx cx = {.b = b, .scope = &q->scope, .clause = "GROUP BY"};
    uint32_t target = UINT32_MAX;
    sm_expr *e;
    if (PG_IS(n, A_CONST)) SM_TRY(by_ordinal(q, "GROUP BY", n->a_const, &target));
    /* an input column comes before an output name here, unlike in ORDER BY */
    if (PG_IS(n, COLUMN_REF) && !in_scope(q, n->column_ref))
        SM_TRY(by_name(q, n->column_ref, &target));
    if (target == UINT32_MAX) {
        SM_TRY(sm_bind_expr(&cx, n, &e));
        SM_TRY(sm_decide(b, &e));
    } else {
        e = q->targets.exprs[target];
        if (!sm_expr_walk(e, has_no_aggregate, NULL))
            return sm_raise_at(b->err, e->position, SM_ERR_GROUPING,
                               "aggregate functions are not allowed in GROUP BY");
    }
    for (uint32_t i = 0; i < q->n_keys; i++)
        if (sm_expr_equal(q->keys[i], e)) return SM_OK;
    if (q->n_keys == SM_GROUP_MAX_KEYS)
        return sm_raise(b->err, SM_ERR_TOO_COMPLEX, "more than 64 columns in GROUP BY");
    q->keys[q->n_keys++] = e;
    return SM_OK;
}

static sm_status bind_keys(selection *q)
{
    q->keys = SM_NEW_N(q->b->scratch, sm_expr *, SM_GROUP_MAX_KEYS);
    if (!q->keys) return sm_out_of_memory(q->b);
    for (size_t i = 0; i < q->s->n_group_clause; i++) {
        const pg_node *n = q->s->group_clause[i];
        if (PG_IS(n, GROUPING_SET)) {
            if (n->grouping_set->kind == PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_EMPTY) continue;
            return SM_FAIL(q->b, n->grouping_set->location, SM_ERR_NOT_SUPPORTED, "GROUPING SETS");
        }
        if (!PG_IS(n, ROW_EXPR)) {
            SM_TRY(add_key(q, n));
            continue;
        }
        for (size_t k = 0; k < n->row_expr->n_args; k++) SM_TRY(add_key(q, n->row_expr->args[k]));
    }
    return SM_OK;
}

void sm_order_flags(const PgQuery__SortBy *s, sm_order *o)
{
    o->desc = s->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
    o->nulls_first = s->sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST ||
                     (o->desc && s->sortby_nulls != PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_LAST);
}

static sm_status add_order(selection *q, const PgQuery__SortBy *s, order_item *out)
{
    sm_binder *b = q->b;
    sm_ctx cx = {.b = b, .scope = &q->scope, .clause = "ORDER BY", .aggs = &q->aggs};
    uint32_t target = UINT32_MAX;
    sm_order flags;
    sm_expr *e;
    if (s->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_USING)
        return SM_FAIL(b, s->location, SM_ERR_NOT_SUPPORTED, "ORDER BY ... USING");
    sm_order_flags(s, &flags);
    if (PG_IS(s->node, A_CONST)) SM_TRY(by_ordinal(q, "ORDER BY", s->node->a_const, &target));
    if (PG_IS(s->node, COLUMN_REF)) SM_TRY(by_name(q, s->node->column_ref, &target));
    if (target == UINT32_MAX) {
        SM_TRY(sm_bind_expr(&cx, s->node, &e));
        SM_TRY(sm_decide(b, &e));
        for (uint32_t i = 0; i < q->targets.n && target == UINT32_MAX; i++)
            if (sm_expr_equal(q->targets.exprs[i], e)) target = i;
    }
    if (target == UINT32_MAX) {
        if (q->s->n_distinct_clause)
            return sm_raise_at(
                b->err, e->position, SM_ERR_INVALID_REFERENCE,
                "for SELECT DISTINCT, ORDER BY expressions must appear in select list");
        target = q->targets.n;
        SM_TRY(sm_targets_add(b, &q->targets, e, "order"));
    }
    *out = (order_item){target, flags.desc, flags.nulls_first};
    return SM_OK;
}

static sm_status bind_orders(selection *q)
{
    q->orders = SM_NEW_N(q->b->scratch, order_item, q->s->n_sort_clause + 1);
    if (!q->orders) return sm_out_of_memory(q->b);
    for (size_t i = 0; i < q->s->n_sort_clause; i++) {
        order_item item;
        bool again = false;
        SM_TRY(add_order(q, q->s->sort_clause[i]->sort_by, &item));
        for (uint32_t k = 0; k < q->n_orders; k++) again |= q->orders[k].target == item.target;
        if (!again) q->orders[q->n_orders++] = item;
    }
    return SM_OK;
}

/* ---- limit ---- */

sm_status sm_bind_count(sm_binder *b, const char *clause, const pg_node *n, sm_expr **out)
{
    bool is_limit = clause[0] == 'L';
    sm_ctx cx = {.b = b, .clause = clause};
    const sm_target to = {.type = {.id = SM_INT64}};
    cx.no_columns = is_limit ? "argument of LIMIT must not contain variables"
                             : "argument of OFFSET must not contain variables";
    *out = NULL;
    if (!n) return SM_OK;
    SM_TRY(sm_bind_expr(&cx, n, out));
    SM_TRY(sm_cast(b, *out, &to, SM_CAST_ASSIGN, -1, out));
    int32_t position = (*out)->position;
    SM_TRY(sm_expr_fold(b->a, out, b->err));
    if ((*out)->kind != SM_EXPR_CONST) return SM_OK;
    if ((*out)->value.is_null) return *out = NULL, SM_OK;
    if ((*out)->value.i64 < 0)
        return sm_raise_at(b->err, position,
                           is_limit ? SM_ERR_NEGATIVE_LIMIT : SM_ERR_NEGATIVE_OFFSET);
    return SM_OK;
}

sm_status sm_bind_limit(sm_binder *b, const pg_node *count, const pg_node *offset, sm_node *in,
                        sm_node **out)
{
    sm_expr *limit, *skip;
    SM_TRY(sm_bind_count(b, "LIMIT", count, &limit));
    SM_TRY(sm_bind_count(b, "OFFSET", offset, &skip));
    *out = in;
    if (!limit && !skip) return SM_OK;
    *out = sm_pass(b, SM_NODE_LIMIT, in);
    if (!*out) return sm_out_of_memory(b);
    (*out)->limit.limit = limit;
    (*out)->limit.offset = skip;
    return SM_OK;
}

/* ---- putting it together ---- */

/* Subqueries in keys and arguments of aggregates. */
static sm_status lift_group(selection *q)
{
    sm_binder *b = q->b;
    SM_TRY(sm_lift(b, &q->node, q->keys, q->n_keys));
    for (uint32_t i = 0; i < q->aggs.n; i++) {
        sm_agg_call *c = &q->aggs.calls[i];
        if (c->arg) SM_TRY(sm_lift(b, &q->node, &c->arg, 1));
        if (c->filter) SM_TRY(sm_lift(b, &q->node, &c->filter, 1));
    }
    return SM_OK;
}

static sm_status group(selection *q)
{
    sm_binder *b = q->b;
    if (!q->grouped) return SM_OK;
    for (uint32_t i = 0; i < q->targets.n; i++)
        SM_TRY(sm_regroup(b, &q->scope, q->keys, q->n_keys, q->targets.exprs[i],
                          &q->targets.exprs[i]));
    if (q->having) SM_TRY(sm_regroup(b, &q->scope, q->keys, q->n_keys, q->having, &q->having));
    SM_TRY(lift_group(q));
    SM_TRY(sm_aggregate(b, q->node, &q->scope, q->keys, q->n_keys, &q->aggs, &q->node));
    return q->having ? sm_filter(b, q->having, &q->node) : SM_OK;
}

/* Hidden columns get names that no other column has, so that the printed plan can be read back. */
static sm_status name_hidden(selection *q)
{
    sm_col *cols = SM_NEW_N(q->b->scratch, sm_col, q->targets.n + 1);
    if (!cols) return sm_out_of_memory(q->b);
    for (uint32_t i = 0; i < q->targets.n; i++) {
        if (i >= q->n_visible) q->targets.names[i] = sm_unique_name(q->b, "order", cols, i);
        if (!q->targets.names[i]) return sm_out_of_memory(q->b);
        cols[i].name = q->targets.names[i];
    }
    return SM_OK;
}

static sm_status sort(selection *q)
{
    sm_binder *b = q->b;
    if (!q->n_orders) return SM_OK;
    sm_node *n = sm_pass(b, SM_NODE_SORT, q->node);
    if (!n) return sm_out_of_memory(b);
    n->hidden_cols = q->targets.n - q->n_visible;
    n->sort.n_orders = q->n_orders;
    n->sort.orders = SM_NEW_N(b->a, sm_order, q->n_orders);
    if (!n->sort.orders) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < q->n_orders; i++) {
        const order_item *o = &q->orders[i];
        const sm_col *c = &n->cols[o->target];
        n->sort.orders[i] = (sm_order){sm_expr_column(b->a, o->target, c->type, c->nullable),
                                       o->desc, o->nulls_first};
        if (!n->sort.orders[i].expr) return sm_out_of_memory(b);
    }
    q->node = n;
    return SM_OK;
}

static sm_status drop_hidden(selection *q)
{
    sm_binder *b = q->b;
    if (q->targets.n == q->n_visible) return SM_OK;
    for (uint32_t i = 0; i < q->n_visible; i++) {
        const sm_col *c = &q->node->cols[i];
        if (!(q->targets.exprs[i] = sm_expr_column(b->a, i, c->type, c->nullable)))
            return sm_out_of_memory(b);
    }
    return sm_project(b, q->node, q->targets.exprs, q->targets.names, q->n_visible, &q->node);
}

static sm_status refuse_unsupported(sm_binder *b, const PgQuery__SelectStmt *s)
{
    if (s->into_clause)
        return SM_FAIL(b, s->into_clause->rel ? s->into_clause->rel->location : -1,
                       SM_ERR_NOT_SUPPORTED, "SELECT INTO");
    if (s->n_window_clause)
        return SM_FAIL(b, sm_pg_location(s->window_clause[0]), SM_ERR_NOT_SUPPORTED, "WINDOW");
    if (s->n_locking_clause) return SM_FAIL(b, -1, SM_ERR_NOT_SUPPORTED, "FOR UPDATE");
    if (s->limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES)
        return SM_FAIL(b, sm_pg_location(s->limit_count), SM_ERR_NOT_SUPPORTED, "WITH TIES");
    if (s->n_distinct_clause && s->distinct_clause[0]->node_case != PG_QUERY__NODE__NODE__NOT_SET)
        return SM_FAIL(b, sm_pg_location(s->distinct_clause[0]), SM_ERR_NOT_SUPPORTED,
                       "DISTINCT ON");
    return SM_OK;
}

static sm_status bind_clauses(selection *q)
{
    sm_binder *b = q->b;
    const PgQuery__SelectStmt *s = q->s;
    if (s->n_values_lists || s->larg) {
        SM_TRY(s->larg ? sm_bind_union(b, s, &q->node) : sm_bind_values(b, s, NULL, 0, &q->node));
        SM_TRY(sm_scope_of(b, q->node, NULL, &q->scope));
        for (uint32_t i = 0; i < q->node->n_cols; i++) {
            const sm_col *c = &q->node->cols[i];
            sm_expr *e = sm_expr_column(b->a, i, c->type, c->nullable);
            if (!e) return sm_out_of_memory(b);
            SM_TRY(sm_targets_add(b, &q->targets, e, c->name));
        }
    } else {
        sm_ctx where = {.b = b, .scope = &q->scope, .clause = "WHERE"};
        sm_ctx list = {.b = b, .scope = &q->scope, .clause = "SELECT", .aggs = &q->aggs};
        sm_ctx having = {.b = b, .scope = &q->scope, .clause = "HAVING", .aggs = &q->aggs};
        sm_expr *condition = NULL;
        sm_from from;
        SM_TRY(sm_bind_from(b, s->n_from_clause, s->from_clause, &from, &q->scope));
        if (s->where_clause) SM_TRY(sm_bind_condition(&where, s->where_clause, &condition));
        SM_TRY(sm_from_plan(b, &from, condition, &q->node));
        SM_TRY(sm_bind_targets(&list, s->n_target_list, s->target_list, &q->targets));
        if (s->having_clause) SM_TRY(sm_bind_condition(&having, s->having_clause, &q->having));
    }
    q->n_visible = q->targets.n;
    SM_TRY(bind_keys(q));
    return bind_orders(q);
}

static sm_status bind_body(sm_binder *b, const PgQuery__SelectStmt *s, sm_node **out)
{
    selection q = {.b = b, .s = s};
    SM_TRY(refuse_unsupported(b, s));
    SM_TRY(bind_clauses(&q));
    q.grouped = q.aggs.n || s->n_group_clause || q.having;
    if (q.n_visible == 0) return SM_FAIL(b, -1, SM_ERR_NOT_SUPPORTED, "a SELECT of no columns");
    SM_TRY(group(&q));
    SM_TRY(name_hidden(&q));
    SM_TRY(sm_lift(b, &q.node, q.targets.exprs, q.targets.n));
    SM_TRY(sm_project(b, q.node, q.targets.exprs, q.targets.names, q.targets.n, &q.node));
    if (s->n_distinct_clause && !(q.node = sm_pass(b, SM_NODE_DISTINCT, q.node)))
        return sm_out_of_memory(b);
    SM_TRY(sort(&q));
    SM_TRY(sm_bind_limit(b, s->limit_count, s->limit_offset, q.node, &q.node));
    SM_TRY(drop_hidden(&q));
    *out = q.node;
    return SM_OK;
}

/* Nobody reads a WITH query that is not named, but it must be right. */
static sm_status check_unused(sm_binder *b, const sm_cte *outer)
{
    sm_node *ignored;
    for (sm_cte *c = b->ctes; c != outer; c = c->outer)
        if (!c->used) SM_TRY(sm_bind_cte(b, c, &ignored));
    return SM_OK;
}

sm_status sm_bind_select(sm_binder *b, const PgQuery__SelectStmt *s, sm_node **out)
{
    sm_cte *outer = b->ctes;
    for (size_t i = 0; s->with_clause && i < s->with_clause->n_ctes; i++) {
        sm_cte *cte = SM_NEW(b->scratch, sm_cte);
        if (!cte) return sm_out_of_memory(b);
        cte->def = s->with_clause->ctes[i]->common_table_expr;
        cte->outer = b->ctes;
        cte->queries = b->outer;
        b->ctes = cte;
    }
    sm_status st = bind_body(b, s, out);
    if (st == SM_OK) st = check_unused(b, outer);
    b->ctes = outer;
    return st;
}

/* ---- VALUES ---- */

static sm_status bind_cells(sm_binder *b, const PgQuery__List *row, uint32_t n, sm_expr **cells)
{
    sm_ctx cx = {.b = b, .clause = "VALUES"};
    if (row->n_items != n)
        return SM_FAIL(b, row->n_items ? sm_pg_location(row->items[0]) : -1, SM_ERR_SYNTAX,
                       "VALUES lists must all be the same length");
    for (uint32_t i = 0; i < n; i++) {
        const pg_node *item = row->items[i];
        if (PG_IS(item, SET_TO_DEFAULT)) {
            if (!(cells[i] = sm_expr_null(b->a, sm_type_of(SM_UNKNOWN))))
                return sm_out_of_memory(b);
            cells[i]->position = sm_position(b, item->set_to_default->location);
        } else {
            SM_TRY(sm_bind_expr(&cx, item, &cells[i]));
        }
    }
    return SM_OK;
}

static sm_status assign_column(sm_binder *b, const sm_target *to, sm_expr **cells, uint32_t n_rows)
{
    for (uint32_t r = 0; r < n_rows; r++) {
        if (!sm_can_assign(cells[r]->type, to->type)) {
            const char *text = sm_arena_printf(
                b->scratch, "column \"%s\" is of type %s but expression is of type %s", to->name,
                sm_type_word(to->type), sm_type_word(cells[r]->type));
            if (!text) return sm_out_of_memory(b);
            return sm_raise_at(b->err, cells[r]->position, SM_ERR_TYPE_MISMATCH, text);
        }
        SM_TRY(sm_cast(b, cells[r], to, SM_CAST_ASSIGN, -1, &cells[r]));
    }
    return SM_OK;
}

sm_status sm_bind_values(sm_binder *b, const PgQuery__SelectStmt *s, const sm_target *types,
                         uint32_t n_types, sm_node **out)
{
    uint32_t n_rows = (uint32_t)s->n_values_lists, n = (uint32_t)s->values_lists[0]->list->n_items;
    sm_node *v = sm_node_new(b->a, SM_NODE_VALUES, NULL);
    sm_expr **column = SM_NEW_N(b->scratch, sm_expr *, n_rows);
    if (!v || !column) return sm_out_of_memory(b);
    v->n_cols = n;
    v->cols = SM_NEW_N(b->a, sm_col, n + 1);
    v->values.n_rows = n_rows;
    v->values.rows = SM_NEW_N(b->a, sm_expr **, n_rows);
    if (!v->cols || !v->values.rows) return sm_out_of_memory(b);
    for (uint32_t r = 0; r < n_rows; r++) {
        v->values.rows[r] = SM_NEW_N(b->a, sm_expr *, n + 1);
        if (!v->values.rows[r]) return sm_out_of_memory(b);
        SM_TRY(bind_cells(b, s->values_lists[r]->list, n, v->values.rows[r]));
    }
    for (uint32_t c = 0; c < n; c++) {
        sm_type type;
        bool nullable = false;
        for (uint32_t r = 0; r < n_rows; r++) column[r] = v->values.rows[r][c];
        if (c < n_types) {
            SM_TRY(assign_column(b, &types[c], column, n_rows));
            type = types[c].type;
        } else {
            SM_TRY(sm_unify(b, "VALUES", column, n_rows, &type));
        }
        for (uint32_t r = 0; r < n_rows; r++) {
            if (column[r]->kind != SM_EXPR_CONST) SM_TRY(sm_expr_fold(b->a, &column[r], b->err));
            nullable |= column[r]->nullable;
            v->values.rows[r][c] = column[r];
        }
        type.flags = 0;
        v->cols[c] = (sm_col){sm_arena_printf(b->a, "column%u", c + 1), type, nullable};
        if (!v->cols[c].name) return sm_out_of_memory(b);
    }
    *out = v;
    return SM_OK;
}
