/* FROM: tables, WITH names, subqueries, VALUES and generate_series, with their aliases; and the
 * helpers that put a node of columns under another. Joins are bind_join.c's. Read bind.h first. */
#include <string.h>

#include "sql/bind.h"

/* ---- nodes ---- */

sm_node *sm_pass(sm_binder *b, sm_node_kind kind, sm_node *in)
{
    sm_node *n = sm_node_new(b->a, kind, in);
    if (n) {
        n->n_cols = in->n_cols;
        n->cols = in->cols;
    }
    return n;
}

/* Columns whose names nothing but the printed plan needs, so that changing one changes no meaning.
 */
static bool may_rename(const sm_node *n)
{
    const sm_col *cols = n->cols;
    while (n->kind == SM_NODE_FILTER || n->kind == SM_NODE_DISTINCT || n->kind == SM_NODE_SORT ||
           n->kind == SM_NODE_LIMIT)
        n = n->input;
    if (n->cols != cols) return false;
    return n->kind == SM_NODE_PROJECT || n->kind == SM_NODE_AGGREGATE ||
           n->kind == SM_NODE_VALUES || n->kind == SM_NODE_SERIES;
}

sm_status sm_project(sm_binder *b, sm_node *in, sm_expr *const *exprs, const char *const *names,
                     uint32_t n, sm_node **out)
{
    bool same_cols = n == in->n_cols, same_names = true;
    for (uint32_t i = 0; i < n && same_cols; i++) {
        same_cols = exprs[i]->kind == SM_EXPR_COLUMN && exprs[i]->column == i;
        same_names &= strcmp(names[i], in->cols[i].name) == 0;
    }
    *out = in;
    if (same_cols && same_names) return SM_OK;
    if (same_cols && may_rename(in)) {
        for (uint32_t i = 0; i < n; i++) in->cols[i].name = names[i];
        return SM_OK;
    }
    sm_node *p = sm_node_new(b->a, SM_NODE_PROJECT, in);
    if (!p) return sm_out_of_memory(b);
    p->n_cols = n;
    p->cols = SM_NEW_N(b->a, sm_col, n + 1);
    p->project.exprs = SM_NEW_N(b->a, sm_expr *, n + 1);
    if (!p->cols || !p->project.exprs) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n; i++) {
        p->project.exprs[i] = exprs[i];
        p->cols[i] = (sm_col){names[i], exprs[i]->type, exprs[i]->nullable};
    }
    *out = p;
    return SM_OK;
}

sm_status sm_rename(sm_binder *b, sm_node *in, const char *const *names, uint32_t n, sm_node **out)
{
    sm_expr **exprs = SM_NEW_N(b->scratch, sm_expr *, in->n_cols + 1);
    const char **all = SM_NEW_N(b->scratch, const char *, in->n_cols + 1);
    if (!exprs || !all) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < in->n_cols; i++) {
        exprs[i] = sm_expr_column(b->a, i, in->cols[i].type, in->cols[i].nullable);
        all[i] = i < n ? names[i] : in->cols[i].name;
        if (!exprs[i]) return sm_out_of_memory(b);
    }
    return sm_project(b, in, exprs, all, in->n_cols, out);
}

/* ---- tables ---- */

static void unref_version(void *v)
{
    sm_version_unref(v);
}

static void offer_tables(sm_catalog *catalog, sm_nearest *near, sm_arena *a)
{
    pthread_mutex_lock(&catalog->lock);
    for (const sm_table *t = catalog->tables; t; t = t->next) {
        const char *before = near->best;
        sm_nearest_offer(near, t->name);
        if (near->best != before) near->best = sm_arena_strdup(a, near->best);
    }
    pthread_mutex_unlock(&catalog->lock);
}

sm_status sm_bind_table(sm_binder *b, const PgQuery__RangeVar *v, sm_version **out)
{
    bool elsewhere =
        v->catalogname[0] || (v->schemaname[0] && strcmp(v->schemaname, "public") != 0 &&
                              strcmp(v->schemaname, "pg_temp") != 0);
    if (elsewhere) {
        const char *full = sm_arena_printf(b->scratch, "%s.%s", v->schemaname, v->relname);
        return full ? SM_FAIL(b, v->location, SM_ERR_UNDEFINED_TABLE, full) : sm_out_of_memory(b);
    }
    sm_status s = sm_catalog_snapshot(b->catalog, v->relname, out, b->err);
    if (s == SM_ERR_UNDEFINED_TABLE) {
        sm_nearest near = {.name = v->relname};
        sm_blame(b, v->location, s);
        offer_tables(b->catalog, &near, b->scratch);
        if (near.best) sm_error_hint(b->err, "Perhaps you meant the table \"%s\".", near.best);
    }
    SM_TRY(s);
    return sm_arena_on_reset(b->a, unref_version, *out) ? SM_OK : sm_out_of_memory(b);
}

sm_status sm_scan(sm_binder *b, const PgQuery__RangeVar *v, sm_node **out)
{
    sm_version *version;
    SM_TRY(sm_bind_table(b, v, &version));
    sm_node *n = sm_node_new(b->a, SM_NODE_SCAN, NULL);
    if (!n) return sm_out_of_memory(b);
    n->scan.version = version;
    n->scan.table = sm_keep(b, v->relname);
    n->n_cols = version->n_cols;
    n->cols = SM_NEW_N(b->a, sm_col, n->n_cols + 1);
    if (!n->scan.table || !n->cols) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n->n_cols; i++) {
        const sm_table_col *c = &version->cols[i];
        n->cols[i] = (sm_col){c->name, c->type, !c->not_null};
    }
    *out = n;
    return SM_OK;
}

static sm_status alias_columns(sm_binder *b, const char *rel, size_t n_names, pg_node *const *nodes,
                               int32_t location, sm_node **n)
{
    if (n_names > (*n)->n_cols) {
        const char *text = sm_arena_printf(
            b->scratch, "table \"%s\" has %u columns available but %zu columns specified",
            rel ? rel : "", (*n)->n_cols, n_names);
        return text ? SM_FAIL(b, location, SM_ERR_INVALID_REFERENCE, text) : sm_out_of_memory(b);
    }
    if (!n_names) return SM_OK;
    const char **names = SM_NEW_N(b->scratch, const char *, n_names);
    if (!names) return sm_out_of_memory(b);
    for (size_t i = 0; i < n_names; i++)
        if (!(names[i] = sm_keep(b, sm_pg_string(nodes[i])))) return sm_out_of_memory(b);
    return sm_rename(b, *n, names, (uint32_t)n_names, n);
}

sm_status sm_bind_cte(sm_binder *b, sm_cte *cte, sm_node **out)
{
    const PgQuery__CommonTableExpr *d = cte->def;
    sm_cte *visible = b->ctes;
    if (!PG_IS(d->ctequery, SELECT_STMT))
        return SM_FAIL(b, d->location, SM_ERR_NOT_SUPPORTED,
                       "a statement that changes data in WITH");
    cte->used = true;
    sm_outer *queries = b->outer;
    b->ctes = cte->outer; /* a WITH query sees those before it */
    b->outer = cte->queries;
    sm_status s = sm_bind_select(b, d->ctequery->select_stmt, out);
    b->ctes = visible;
    b->outer = queries;
    SM_TRY(s);
    return alias_columns(b, d->ctename, d->n_aliascolnames, d->aliascolnames, d->location, out);
}

static const char *alias_name(const PgQuery__Alias *a)
{
    return a ? a->aliasname : NULL;
}

static sm_status with_alias(sm_binder *b, const PgQuery__Alias *a, const char *own,
                            int32_t location, sm_node **n, sm_scope *scope)
{
    const char *rel = alias_name(a) ? alias_name(a) : own;
    if (a) SM_TRY(alias_columns(b, rel, a->n_colnames, a->colnames, location, n));
    return sm_scope_of(b, *n, rel, scope);
}

static sm_status from_table(sm_binder *b, const PgQuery__RangeVar *v, sm_node **out,
                            sm_scope *scope)
{
    sm_cte *cte = v->schemaname[0] ? NULL : b->ctes;
    while (cte && strcmp(cte->def->ctename, v->relname) != 0) cte = cte->outer;
    SM_TRY(cte ? sm_bind_cte(b, cte, out) : sm_scan(b, v, out));
    return with_alias(b, v->alias, v->relname, v->location, out, scope);
}

/* ---- generate_series ---- */

/* One row of one column. */
static sm_status one_value(sm_binder *b, sm_type type, const char *name, sm_expr *e, sm_node **out)
{
    sm_node *n = sm_node_new(b->a, SM_NODE_VALUES, NULL);
    if (!n || !e) return sm_out_of_memory(b);
    n->n_cols = 1;
    n->cols = SM_NEW(b->a, sm_col);
    n->values.n_rows = 1;
    n->values.rows = SM_NEW(b->a, sm_expr **);
    if (!n->cols || !n->values.rows) return sm_out_of_memory(b);
    n->values.rows[0] = SM_NEW(b->a, sm_expr *);
    if (!n->values.rows[0]) return sm_out_of_memory(b);
    n->cols[0] = (sm_col){name, type, e->nullable};
    n->values.rows[0][0] = e;
    *out = n;
    return SM_OK;
}

/* A series with a NULL bound has no rows. */
static sm_status no_series(sm_binder *b, sm_type type, const char *col, sm_node **out)
{
    sm_value none = {.i64 = 0};
    SM_TRY(one_value(b, type, col, sm_expr_null(b->a, type), out));
    *out = sm_pass(b, SM_NODE_LIMIT, *out);
    if (!*out || !((*out)->limit.limit = sm_expr_const(b->a, sm_type_of(SM_INT64), &none)))
        return sm_out_of_memory(b);
    return SM_OK;
}

/* A bound as a constant if it is one; what fails now would fail at every execution. */
static sm_status settle(sm_binder *b, sm_expr **e)
{
    SM_TRY(sm_expr_fold(b->a, e, b->err));
    if ((*e)->kind == SM_EXPR_CONST || b->n_params) return SM_OK;
    sm_eval ev = {.scratch = b->scratch, .err = b->err};
    sm_value v;
    sm_status s = sm_expr_eval(&ev, *e, &v);
    if (s != SM_OK && b->err && b->err->position == 0) b->err->position = (*e)->position;
    return s;
}

static sm_status series_types(sm_binder *b, sm_expr **args, uint32_t n, int32_t location,
                              sm_type *type)
{
    SM_TRY(sm_common_type(b, "generate_series", args,
                          n == 3 && args[2]->type.id == SM_INTERVAL ? 2 : n, type));
    if (type->id == SM_INT16) *type = sm_type_of(SM_INT32);
    if (type->id == SM_DATE) *type = sm_type_of(SM_TIMESTAMP);
    bool numbers = type->id == SM_INT32 || type->id == SM_INT64 || type->id == SM_DECIMAL;
    bool times = type->id == SM_TIMESTAMP && n == 3;
    if (!numbers && !times) {
        const char *text = sm_arena_printf(b->scratch, "function generate_series(%s, ...)",
                                           sm_type_word(args[0]->type));
        return text ? SM_FAIL(b, location, SM_ERR_UNDEFINED_FUNCTION, text) : sm_out_of_memory(b);
    }
    for (uint32_t i = 0; i < n; i++)
        SM_TRY(sm_coerce(b, args[i], times && i == 2 ? sm_type_of(SM_INTERVAL) : *type, &args[i]));
    if (n == 2) {
        args[2] = sm_make_int(b, 1, 0);
        if (!args[2]) return sm_out_of_memory(b);
        SM_TRY(sm_coerce(b, args[2], *type, &args[2]));
    }
    return SM_OK;
}

static sm_status bind_series(sm_binder *b, const PgQuery__FuncCall *f, const char *col,
                             sm_node **out)
{
    sm_ctx cx = {
        .b = b, .clause = "FROM", .no_columns = "generate_series must not refer to columns"};
    sm_expr *args[3] = {NULL};
    sm_type type;
    bool null = false;
    uint32_t n = (uint32_t)f->n_args;
    if (n < 2 || n > 3)
        return SM_FAIL(b, f->location, SM_ERR_UNDEFINED_FUNCTION,
                       "generate_series with these arguments");
    for (uint32_t i = 0; i < n; i++) SM_TRY(sm_bind_expr(&cx, f->args[i], &args[i]));
    if (args[0]->type.id == SM_UNKNOWN && args[1]->type.id == SM_UNKNOWN) {
        sm_type guess =
            sm_type_of(n == 3 && args[2]->type.id == SM_INTERVAL ? SM_TIMESTAMP : SM_INT32);
        SM_TRY(sm_coerce(b, args[0], guess, &args[0]));
    }
    SM_TRY(series_types(b, args, n, f->location, &type));
    for (int i = 0; i < 3; i++) {
        SM_TRY(settle(b, &args[i]));
        null |= args[i]->kind == SM_EXPR_CONST && args[i]->value.is_null;
    }
    if (!(col = sm_keep(b, col ? col : "generate_series"))) return sm_out_of_memory(b);
    if (null) return no_series(b, type, col, out);
    sm_node *s = sm_node_new(b->a, SM_NODE_SERIES, NULL);
    if (!s || !(s->cols = SM_NEW(b->a, sm_col))) return sm_out_of_memory(b);
    s->n_cols = 1;
    s->cols[0] = (sm_col){col, type, false};
    s->series.start = args[0];
    s->series.stop = args[1];
    s->series.step = args[2];
    *out = s;
    return SM_OK;
}

static sm_status from_function(sm_binder *b, const PgQuery__RangeFunction *f, sm_node **out,
                               sm_scope *scope)
{
    const pg_node *item = f->n_functions == 1 && PG_IS(f->functions[0], LIST)
                              ? f->functions[0]->list->items[0]
                              : NULL;
    if (f->lateral || f->ordinality || f->is_rowsfrom || f->n_coldeflist || !PG_IS(item, FUNC_CALL))
        return SM_FAIL(b, sm_pg_location(item), SM_ERR_NOT_SUPPORTED, "this function in FROM");
    const PgQuery__FuncCall *call = item->func_call;
    const char *name = sm_last_name(call->n_funcname, call->funcname, NULL);
    if (!name || strcmp(name, "generate_series") != 0)
        return SM_FAIL(b, call->location, SM_ERR_NOT_SUPPORTED,
                       "a function other than generate_series in FROM");
    SM_TRY(bind_series(b, call, alias_name(f->alias), out));
    return with_alias(b, f->alias, name, call->location, out, scope);
}

/* ---- all of them ---- */

/* SELECT without FROM reads one row; its column has no name that a query could use. */
static sm_status one_row(sm_binder *b, sm_node **out)
{
    return one_value(b, sm_type_of(SM_BOOL), "one_row", sm_make_bool(b, true, 0), out);
}

static sm_status from_relation(sm_binder *b, const pg_node *item, sm_node **out, sm_scope *scope)
{
    switch (item->node_case) {
    case PG_QUERY__NODE__NODE_RANGE_VAR: return from_table(b, item->range_var, out, scope);
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION:
        return from_function(b, item->range_function, out, scope);
    case PG_QUERY__NODE__NODE_RANGE_SUBSELECT: {
        const PgQuery__RangeSubselect *s = item->range_subselect;
        if (s->lateral)
            return SM_FAIL(b, sm_pg_location(s->subquery), SM_ERR_NOT_SUPPORTED, "LATERAL");
        SM_TRY(sm_bind_select(b, s->subquery->select_stmt, out));
        return with_alias(b, s->alias, NULL, -1, out, scope);
    }
    default: return SM_FAIL(b, sm_pg_location(item), SM_ERR_NOT_SUPPORTED, "this item in FROM");
    }
}

sm_status sm_bind_from_item(sm_binder *b, const pg_node *item, sm_from *from, sm_scope *scope)
{
    sm_node *n;
    if (PG_IS(item, JOIN_EXPR)) return sm_bind_join(b, item->join_expr, from, scope);
    SM_TRY(from_relation(b, item, &n, scope));
    SM_TRY(sm_scope_shift(b, scope, from->n_cols));
    return sm_from_add(b, from, n);
}

sm_status sm_bind_from(sm_binder *b, size_t n, pg_node *const *items, sm_from *from,
                       sm_scope *scope)
{
    *from = (sm_from){0};
    *scope = (sm_scope){0};
    if (n == 0) {
        sm_node *row;
        SM_TRY(one_row(b, &row));
        return sm_from_add(b, from, row);
    }
    for (size_t i = 0; i < n; i++) {
        sm_scope item;
        SM_TRY(sm_bind_from_item(b, items[i], from, &item));
        SM_TRY(sm_scope_both(b, scope, &item, sm_pg_location(items[i]), scope));
    }
    return SM_OK;
}
