/* A plan as pipe text (docs/plan-language.md): one step a line, in the order of execution. Every
 * column gets a name that is unique among its node's, so that a step above can speak of it; where
 * that changed a name of the result, a last SELECT gives it back. Read node.h first. */
#include "plan/print_parts.h"

typedef struct printed_plan printed_plan;

typedef struct plan_printer {
    sm_out o;
    bool renamed;    /* some column of the node printed last has another name than the plan says */
    unsigned indent; /* of the lines, inside brackets */
    unsigned n_aliases;
    const sm_node *root;
    printed_plan *shared;
} plan_printer;

static void new_line(plan_printer *p)
{
    sm_out_str(&p->o, "\n");
    for (unsigned i = 0; i < p->indent; i++) sm_out_str(&p->o, "    ");
}

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

/* ---- joins, unions, shared plans ---- */

static sm_status put_node(plan_printer *p, const sm_node *n, sm_col **cols);

/* A shared plan is printed where it is read first, under a name for the other readers. */
struct printed_plan {
    const sm_shared *plan;
    const char *name;
    sm_col *cols;
    printed_plan *next;
};

static const printed_plan *find_printed(const plan_printer *p, const sm_node *n)
{
    const printed_plan *s = p->shared;
    while (s && (n->kind != SM_NODE_SHARED || s->plan != n->shared)) s = s->next;
    return s;
}

static bool scans_table(const sm_node *n, const char *name)
{
    for (; n; n = n->input) {
        if (n->kind == SM_NODE_SCAN && strcmp(n->scan.table, name) == 0) return true;
        if (n->right && scans_table(n->right, name)) return true;
        if (n->kind == SM_NODE_SHARED && scans_table(n->shared->plan, name)) return true;
    }
    return false;
}

static bool name_is_taken(const plan_printer *p, const char *name)
{
    for (const printed_plan *s = p->shared; s; s = s->next)
        if (strcmp(s->name, name) == 0) return true;
    return scans_table(p->root, name);
}

static void note_renamed(plan_printer *p, const sm_node *n, const sm_col *cols)
{
    p->renamed = false;
    for (uint32_t i = 0; i < n->n_cols; i++)
        p->renamed |= !n->cols[i].name || strcmp(n->cols[i].name, cols[i].name) != 0;
}

static sm_status put_shared(plan_printer *p, const sm_node *n, sm_col **cols)
{
    const printed_plan *found = find_printed(p, n);
    if (found) {
        sm_out_str(&p->o, "FROM ");
        sm_out_name(&p->o, found->name);
        *cols = found->cols;
        note_renamed(p, n, *cols);
        return SM_OK;
    }
    printed_plan *s = SM_NEW(p->o.a, printed_plan);
    if (!s) return SM_ERR_OUT_OF_MEMORY;
    SM_TRY(put_node(p, n->shared->plan, &s->cols));
    const char *base = n->shared->name && n->shared->name[0] ? n->shared->name : "shared";
    s->name = base;
    for (unsigned suffix = 2; s->name && name_is_taken(p, s->name); suffix++)
        s->name = sm_arena_printf(p->o.a, "%s_%u", base, suffix);
    if (!s->name) return SM_ERR_OUT_OF_MEMORY;
    s->plan = n->shared;
    s->next = p->shared;
    p->shared = s;
    new_line(p);
    sm_out_str(&p->o, "|> AS MATERIALIZED ");
    sm_out_name(&p->o, s->name);
    *cols = s->cols;
    note_renamed(p, n, *cols);
    return SM_OK;
}

static sm_status put_bracketed(plan_printer *p, const sm_node *n, sm_col **cols)
{
    sm_out_str(&p->o, "(");
    p->indent++;
    new_line(p);
    sm_status s = put_node(p, n, cols);
    p->indent--;
    new_line(p);
    sm_out_str(&p->o, ")");
    return s;
}

/* A table or a plan in brackets. */
static sm_status put_right(plan_printer *p, const sm_node *n, sm_col **cols)
{
    const printed_plan *shared = find_printed(p, n);
    if (shared) {
        sm_out_name(&p->o, shared->name);
        *cols = shared->cols;
        return SM_OK;
    }
    if (n->kind != SM_NODE_SCAN) return put_bracketed(p, n, cols);
    sm_out_name(&p->o, n->scan.table);
    return named(p, n->cols, n->n_cols, cols);
}

static sm_status put_union(plan_printer *p, const sm_node *n, const sm_col *in)
{
    sm_col *right;
    sm_out_str(&p->o, "|> UNION ALL ");
    SM_TRY(put_bracketed(p, n->right, &right));
    note_renamed(p, n, in);
    return SM_OK;
}

static bool same_name(const sm_col *a, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(a[i].name, name) == 0) return true;
    return false;
}

/* cols[0..n_left) are left's; gives right's columns names of their own behind them, by an alias
 * where that changes a name. */
static void alias_right(plan_printer *p, sm_col *cols, uint32_t n_left, const sm_col *right,
                        uint32_t n_right)
{
    bool changed = false;
    for (uint32_t i = 0; i < n_right && !p->o.failed; i++) {
        const char *name = right[i].name;
        for (unsigned suffix = 2; name && same_name(cols, n_left + i, name); suffix++)
            name = sm_arena_printf(p->o.a, "%s_%u", right[i].name, suffix);
        changed |= name != right[i].name;
        p->o.failed |= !name;
        cols[n_left + i] = right[i];
        cols[n_left + i].name = name;
    }
    if (!changed || p->o.failed) return;
    sm_out_format(&p->o, " AS build_%u", ++p->n_aliases);
    put_columns(&p->o, cols + n_left, n_right);
}

static void put_condition(sm_out *o, const sm_node *n, const sm_col *cols, uint32_t n_left,
                          uint32_t n_right)
{
    bool some = false;
    for (uint32_t k = 0; k < n->join.n_keys; k++) {
        bool null_safe = n->join.null_safe && n->join.null_safe[k];
        sm_out_str(o, some ? " AND (" : "(");
        sm_out_expr(o, n->join.left_keys[k], cols, n_left, true);
        sm_out_str(o, null_safe ? " IS NOT DISTINCT FROM " : " = ");
        sm_out_expr(o, n->join.right_keys[k], cols + n_left, n_right, true);
        sm_out_str(o, ")");
        some = true;
    }
    if (n->join.residual) {
        sm_out_str(o, some ? " AND " : "");
        sm_out_expr(o, n->join.residual, cols, n_left + n_right, true);
    } else if (!some) {
        sm_out_str(o, "true");
    }
}

static const char *const join_words[] = {
#define SM_JOIN(id, name, left_nullable, right_nullable) name,
#include "joins.def"
#undef SM_JOIN
};

static sm_status put_join(plan_printer *p, const sm_node *n, const sm_col *in, sm_col **cols)
{
    sm_out *o = &p->o;
    sm_col *right;
    uint32_t n_left = n->input->n_cols, n_right = n->right->n_cols;
    sm_out_format(o, "|> %s ", join_words[n->join.kind]);
    SM_TRY(put_right(p, n->right, &right));
    sm_col *both = SM_NEW_N(o->a, sm_col, n_left + n_right + 1);
    if (!both) return SM_ERR_OUT_OF_MEMORY;
    memcpy(both, in, n_left * sizeof *in);
    alias_right(p, both, n_left, right, n_right);
    sm_out_str(o, " ON ");
    put_condition(o, n, both, n_left, n_right);
    if (n->join.kind == SM_JOIN_MARK) {
        const char *base = n->cols[n_left].name && n->cols[n_left].name[0] ? n->cols[n_left].name
                                                                           : "mark",
                   *name = base;
        for (unsigned suffix = 2; name && same_name(both, n_left, name); suffix++)
            name = sm_arena_printf(o->a, "%s_%u", base, suffix);
        if (!name) return SM_ERR_OUT_OF_MEMORY;
        both[n_left] = n->cols[n_left];
        both[n_left].name = name;
        sm_out_str(o, " AS ");
        sm_out_name(o, name);
    }
    *cols = both;
    note_renamed(p, n, both);
    return o->failed ? SM_ERR_OUT_OF_MEMORY : SM_OK;
}

/* Prints the steps below n, then n; *cols are n's columns under their printed names. */
static sm_status put_node(plan_printer *p, const sm_node *n, sm_col **cols)
{
    sm_out *o = &p->o;
    sm_col *in = NULL;
    if (n->input) {
        SM_TRY(put_node(p, n->input, &in));
        new_line(p);
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
    case SM_NODE_JOIN: return put_join(p, n, in, cols);
    case SM_NODE_UNION_ALL: return put_union(p, n, in);
    case SM_NODE_SHARED: return put_shared(p, n, cols);
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
    plan_printer p = {.o = {.a = a}, .root = n};
    sm_col *cols = NULL;
    if (put_node(&p, n, &cols) != SM_OK || p.o.failed) return sm_arena_failed(a, err);
    if (p.renamed && n->n_cols) put_last_names(&p, n, cols);
    sm_out_str(&p.o, "\n");
    if (p.o.failed) return sm_arena_failed(a, err);
    *out = p.o.text;
    return SM_OK;
}
