/* A plan as pipe text (docs/plan-language.md): one step a line, in the order of execution. Every
 * column gets a name that is unique among its node's, so that a step above can speak of it; where
 * that changed a name of the result, a last SELECT gives it back. Read node.h first. */
#include "plan/print_parts.h"

typedef struct plan_printer {
    sm_out o;
    bool renamed; /* some column of the node printed last has another name than the plan says */
} plan_printer;

static sm_status named(plan_printer *p, const sm_col *cols, uint32_t n, sm_col **out)
{
    sm_col *unique = SM_NEW_N(p->o.a, sm_col, n + 1);
    p->o.failed |= !unique;
    p->renamed = false;
    for (uint32_t i = 0; i < n && !p->o.failed; i++) {
        const char *base = cols[i].name && cols[i].name[0] ? cols[i].name : "column";
        unique[i] = cols[i];
        unique[i].name = base;
        for (uint32_t k = 0, suffix = 1; k < i;) {
            if (strcmp(unique[k].name, unique[i].name) != 0) {
                k++;
                continue;
            }
            unique[i].name = sm_arena_printf(p->o.a, "%s_%u", base, ++suffix);
            if (!unique[i].name) {
                p->o.failed = true;
                return SM_ERR_OUT_OF_MEMORY;
            }
            k = 0;
        }
        p->renamed |= !cols[i].name || strcmp(cols[i].name, unique[i].name) != 0;
    }
    *out = unique;
    return p->o.failed ? SM_ERR_OUT_OF_MEMORY : SM_OK;
}

static void put_columns(sm_out *o, const sm_col *cols, uint32_t n)
{
    sm_out_str(o, "(");
    for (uint32_t i = 0; i < n; i++) {
        if (i) sm_out_str(o, ", ");
        sm_out_name(o, cols[i].name);
    }
    sm_out_str(o, ")");
}

static sm_status put_values(plan_printer *p, const sm_node *n, sm_col **cols)
{
    sm_out *o = &p->o;
    SM_TRY(named(p, n->cols, n->n_cols, cols));
    sm_out_str(o, "FROM (VALUES ");
    for (uint32_t r = 0; r < n->values.n_rows; r++) {
        sm_out_str(o, r ? ", (" : "(");
        if (!n->n_cols) sm_out_str(o, "true");
        for (uint32_t c = 0; c < n->n_cols; c++) {
            if (c) sm_out_str(o, ", ");
            sm_out_expr(o, n->values.rows[r][c], NULL, 0, true);
        }
        sm_out_str(o, ")");
    }
    sm_out_str(o, ") AS v");
    put_columns(o, n->n_cols ? *cols : &(sm_col){.name = "nothing"}, n->n_cols ? n->n_cols : 1);
    p->renamed = false;
    return SM_OK;
}

static sm_status put_series(plan_printer *p, const sm_node *n, sm_col **cols)
{
    sm_out *o = &p->o;
    SM_TRY(named(p, n->cols, n->n_cols, cols));
    sm_out_str(o, "FROM generate_series(");
    sm_out_expr(o, n->series.start, NULL, 0, true);
    sm_out_str(o, ", ");
    sm_out_expr(o, n->series.stop, NULL, 0, true);
    if (n->series.step) {
        sm_out_str(o, ", ");
        sm_out_expr(o, n->series.step, NULL, 0, true);
    }
    sm_out_str(o, ") AS s");
    put_columns(o, *cols, n->n_cols);
    p->renamed = false;
    return SM_OK;
}

/* expr AS name, or the name alone where it is that already. */
static void put_item(sm_out *o, const sm_expr *e, const char *name, const sm_col *in, uint32_t n_in)
{
    sm_out_expr(o, e, in, n_in, true);
    if (e->kind == SM_EXPR_COLUMN && e->column < n_in && strcmp(in[e->column].name, name) == 0)
        return;
    sm_out_str(o, " AS ");
    sm_out_name(o, name);
}

static sm_status put_project(plan_printer *p, const sm_node *n, const sm_col *in, sm_col **cols)
{
    SM_TRY(named(p, n->cols, n->n_cols, cols));
    sm_out_str(&p->o, "|> SELECT ");
    for (uint32_t i = 0; i < n->n_cols; i++) {
        if (i) sm_out_str(&p->o, ", ");
        put_item(&p->o, n->project.exprs[i], (*cols)[i].name, in, n->input->n_cols);
    }
    return SM_OK;
}

static void put_call(sm_out *o, const sm_agg_call *call, const sm_col *in, uint32_t n_in)
{
    sm_out_format(o, "%s(%s", sm_agg_name(call->fn), call->distinct ? "DISTINCT " : "");
    if (call->fn == SM_AGG_COUNT_ALL || !call->arg) {
        sm_out_str(o, "*");
    } else {
        sm_out_expr(o, call->arg, in, n_in, true);
    }
    sm_out_str(o, ")");
    if (!call->filter) return;
    sm_out_str(o, " FILTER (WHERE ");
    sm_out_expr(o, call->filter, in, n_in, true);
    sm_out_str(o, ")");
}

static sm_status put_aggregate(plan_printer *p, const sm_node *n, const sm_col *in, sm_col **cols)
{
    sm_out *o = &p->o;
    SM_TRY(named(p, n->cols, n->n_cols, cols));
    sm_out_str(o, "|> AGGREGATE");
    for (uint32_t i = 0; i < n->aggregate.n_aggs; i++) {
        sm_out_str(o, i ? ", " : " ");
        put_call(o, &n->aggregate.aggs[i], in, n->input->n_cols);
        sm_out_str(o, " AS ");
        sm_out_name(o, (*cols)[n->aggregate.n_keys + i].name);
    }
    for (uint32_t i = 0; i < n->aggregate.n_keys; i++) {
        sm_out_str(o, i ? ", " : " GROUP BY ");
        put_item(o, n->aggregate.keys[i], (*cols)[i].name, in, n->input->n_cols);
    }
    return SM_OK;
}

static void put_sort(sm_out *o, const sm_node *n, const sm_col *in)
{
    sm_out_str(o, "|> ORDER BY ");
    for (uint32_t i = 0; i < n->sort.n_orders; i++) {
        const sm_order *order = &n->sort.orders[i];
        if (i) sm_out_str(o, ", ");
        sm_out_expr(o, order->expr, in, n->input->n_cols, true);
        if (order->desc) sm_out_str(o, " DESC");
        if (order->desc != order->nulls_first)
            sm_out_str(o, order->nulls_first ? " NULLS FIRST" : " NULLS LAST");
    }
}

static void put_limit(sm_out *o, const sm_node *n)
{
    sm_out_str(o, "|>");
    if (n->limit.limit) {
        sm_out_str(o, " LIMIT ");
        sm_out_expr(o, n->limit.limit, NULL, 0, false);
    }
    if (n->limit.offset) {
        sm_out_str(o, " OFFSET ");
        sm_out_expr(o, n->limit.offset, NULL, 0, false);
    }
}

/* Prints the steps below n, then n; *cols are n's columns under their printed names. */
static sm_status put_node(plan_printer *p, const sm_node *n, sm_col **cols)
{
    sm_out *o = &p->o;
    sm_col *in = NULL;
    if (n->input) {
        SM_TRY(put_node(p, n->input, &in));
        sm_out_str(o, "\n");
        *cols = in;
    }
    switch (n->kind) {
    case SM_NODE_SCAN:
        sm_out_str(o, "FROM ");
        sm_out_name(o, n->scan.table);
        return named(p, n->cols, n->n_cols, cols);
    case SM_NODE_VALUES: return put_values(p, n, cols);
    case SM_NODE_SERIES: return put_series(p, n, cols);
    case SM_NODE_FILTER:
        sm_out_str(o, "|> WHERE ");
        sm_out_expr(o, n->filter.condition, in, n->input->n_cols, true);
        return SM_OK;
    case SM_NODE_PROJECT: return put_project(p, n, in, cols);
    case SM_NODE_AGGREGATE: return put_aggregate(p, n, in, cols);
    case SM_NODE_DISTINCT: sm_out_str(o, "|> DISTINCT"); return SM_OK;
    case SM_NODE_SORT: put_sort(o, n, in); return SM_OK;
    case SM_NODE_LIMIT: put_limit(o, n); return SM_OK;
    case SM_NODE_JOIN:
    case SM_NODE_UNION_ALL:
    case SM_NODE_SHARED:
    case SM_N_NODES: break;
    }
    return SM_OK;
}

/* Gives the result the names that the plan has. */
static void put_last_names(plan_printer *p, const sm_node *n, const sm_col *cols)
{
    sm_out_str(&p->o, "\n|> SELECT ");
    for (uint32_t i = 0; i < n->n_cols; i++) {
        if (i) sm_out_str(&p->o, ", ");
        sm_out_name(&p->o, cols[i].name);
        if (!n->cols[i].name || !n->cols[i].name[0] || strcmp(n->cols[i].name, cols[i].name) == 0)
            continue;
        sm_out_str(&p->o, " AS ");
        sm_out_name(&p->o, n->cols[i].name);
    }
}

sm_status sm_node_print(const sm_node *n, sm_arena *a, char **out, sm_error *err)
{
    plan_printer p = {.o = {.a = a}};
    sm_col *cols = NULL;
    if (put_node(&p, n, &cols) != SM_OK || p.o.failed) return sm_arena_failed(a, err);
    if (p.renamed && n->n_cols) put_last_names(&p, n, cols);
    sm_out_str(&p.o, "\n");
    if (p.o.failed) return sm_arena_failed(a, err);
    *out = p.o.text;
    return SM_OK;
}
