/* Cutting a logical plan into pipelines. The tree is walked bottom-up with one open "flow": a
 * source and the steps so far. FILTER and PROJECT add a step; AGGREGATE, DISTINCT, SORT and LIMIT
 * close the flow with a sink and open the next one on its output. JOIN closes its right side's flow
 * with a BUILD sink and adds a PROBE step to the left one's. When all are closed, pipeline_tidy.c
 * folds, merges and prunes.
 *
 * What a tier may rely on: the input of an AGG sink is made by a PROJECT step (keys, then the
 * distinct arguments and filters); the input of a ROWS sink with decimals beyond 18 digits too.
 * Read pipeline.h first. */
#include "plan/pipeline_parts.h"

typedef struct flow {
    build *b;
    sm_pipeline *p; /* not yet in the list */
    uint32_t steps_cap;
    uint32_t n_cols; /* of the rows that leave the last step */
    const sm_col *cols;
} flow;

#define OUT_OF_MEMORY(b) sm_arena_failed((b)->a, (b)->err)

/* ---- flows ---- */

static sm_status flow_open(flow *f, build *b, sm_input_kind input, const sm_node *node,
                           uint32_t n_cols, const sm_col *cols)
{
    *f = (flow){.b = b, .n_cols = n_cols, .cols = cols};
    f->p = SM_NEW(b->a, sm_pipeline);
    if (!f->p) return OUT_OF_MEMORY(b);
    f->p->input = input;
    f->p->source_node = node;
    f->p->segment_chunks = 1;
    return SM_OK;
}

/* A flow that goes on with the output of a pipeline. */
static sm_status flow_open_on(flow *f, build *b, uint32_t from, uint32_t n_cols, const sm_col *cols)
{
    SM_TRY(flow_open(f, b, SM_INPUT_PIPELINE, NULL, n_cols, cols));
    f->p->from = from;
    return SM_OK;
}

static sm_status flow_step(flow *f, sm_step_kind kind, sm_expr **exprs, uint32_t n,
                           const sm_node *node)
{
    sm_pipeline *p = f->p;
    if (p->n_steps == f->steps_cap) {
        uint32_t cap = f->steps_cap ? f->steps_cap * 2 : 4;
        sm_step *steps = SM_NEW_N(f->b->a, sm_step, cap);
        if (!steps) return OUT_OF_MEMORY(f->b);
        if (p->n_steps) memcpy(steps, p->steps, p->n_steps * sizeof *steps);
        p->steps = steps;
        f->steps_cap = cap;
    }
    p->steps[p->n_steps++] = (sm_step){.kind = kind, .n_exprs = n, .exprs = exprs, .node = node};
    return SM_OK;
}

/* The pipeline whose output this flow still is, unchanged; NULL if it is something else. */
static sm_pipeline *flow_of_output(const flow *f)
{
    return f->p->input == SM_INPUT_PIPELINE && f->p->n_steps == 0 ? f->b->list[f->p->from].p : NULL;
}

static sm_status table_cols(build *b, const sm_col *cols, uint32_t n, sm_table_col **out)
{
    *out = SM_NEW_N(b->a, sm_table_col, n ? n : 1);
    if (!*out) return OUT_OF_MEMORY(b);
    for (uint32_t i = 0; i < n; i++) {
        (*out)[i].name = sm_arena_strdup(b->a, cols[i].name ? cols[i].name : "");
        if (!(*out)[i].name) return OUT_OF_MEMORY(b);
        (*out)[i].type = cols[i].type;
    }
    return SM_OK;
}

/* Puts the finished pipeline into the list and opens the next flow on its output. */
static sm_status flow_close(flow *f, uint32_t n_out, const sm_col *out)
{
    build *b = f->b;
    sm_pipeline *p = f->p;
    SM_TRY(table_cols(b, out, n_out, &p->out_cols));
    p->n_out = n_out;
    if (b->n == b->cap) {
        uint32_t cap = b->cap ? b->cap * 2 : 4;
        made *list = SM_NEW_N(b->a, made, cap);
        if (!list) return OUT_OF_MEMORY(b);
        if (b->n) memcpy(list, b->list, b->n * sizeof *list);
        b->list = list;
        b->cap = cap;
    }
    p->number = b->n;
    b->list[b->n++] = (made){.p = p};
    return flow_open_on(f, b, p->number, n_out, out);
}

static sm_status identity(flow *f, sm_expr ***out)
{
    sm_expr **e = SM_NEW_N(f->b->a, sm_expr *, f->n_cols ? f->n_cols : 1);
    if (!e) return OUT_OF_MEMORY(f->b);
    for (uint32_t i = 0; i < f->n_cols; i++)
        if (!(e[i] = sm_expr_column(f->b->a, i, f->cols[i].type, f->cols[i].nullable)))
            return OUT_OF_MEMORY(f->b);
    *out = e;
    return SM_OK;
}

static sm_status close_rows(flow *f, const sm_node *node, uint32_t n_orders, const sm_order *orders)
{
    sm_pipeline *p = f->p;
    sm_order *own = SM_NEW_N(f->b->a, sm_order, n_orders + 1);
    if (!own) return OUT_OF_MEMORY(f->b);
    if (n_orders) memcpy(own, orders, n_orders * sizeof *own);
    bool wide = false;
    for (uint32_t i = 0; i < f->n_cols; i++) wide |= sm_type_phys(f->cols[i].type) == SM_PHYS_I128;
    if (wide && !(p->n_steps && p->steps[p->n_steps - 1].kind == SM_STEP_PROJECT)) {
        sm_expr **all;
        SM_TRY(identity(f, &all));
        SM_TRY(flow_step(f, SM_STEP_PROJECT, all, f->n_cols, NULL));
    }
    p->sink = SM_SINK_ROWS;
    p->sink_node = node;
    p->rows = (sm_rows_sink){
        .n_orders = n_orders, .orders = own, .limit_rows = UINT64_MAX, .n_keep = f->n_cols};
    p->n_in = f->n_cols;
    SM_TRY(table_cols(f->b, f->cols, f->n_cols, &p->in_cols));
    return flow_close(f, f->n_cols, f->cols);
}

/* ---- aggregation ---- */

typedef struct agg_builder {
    flow *f;
    sm_expr **exprs; /* of the PROJECT before the sink */
    uint32_t n_exprs;
    sm_accum *accums;
    uint32_t n_accums;
} agg_builder;

static int32_t input_column(agg_builder *g, sm_expr *e)
{
    for (uint32_t i = 0; i < g->n_exprs; i++)
        if (sm_expr_equal(g->exprs[i], e)) return (int32_t)i;
    g->exprs[g->n_exprs] = e;
    return (int32_t)g->n_exprs++;
}

/* The argument as double precision, which is what variances are computed in. */
static sm_expr *as_double(sm_arena *a, sm_expr *e)
{
    sm_op op;
    switch (e->type.id) {
    case SM_INT16: op = SM_OP_i16_to_f64; break;
    case SM_INT32: op = SM_OP_i32_to_f64; break;
    case SM_INT64: op = SM_OP_i64_to_f64; break;
    case SM_FLOAT32: op = SM_OP_f32_to_f64; break;
    case SM_DECIMAL: op = e->phys == SM_PHYS_I64 ? SM_OP_d64_to_f64 : SM_OP_d128_to_f64; break;
    default: return e;
    }
    sm_expr *c = sm_expr_op(a, op, sm_type_of(SM_FLOAT64), &e, 1);
    if (c && e->type.id == SM_DECIMAL) c->imm[0] = e->type.scale;
    if (c) c->position = e->position;
    return c;
}

/* FILTER guards its argument: where it is not TRUE the argument is not evaluated. */
static sm_expr *guarded(sm_arena *a, sm_expr *arg, sm_expr *filter)
{
    if (!filter || !arg->can_fail) return arg;
    sm_expr *none = sm_expr_null(a, arg->type);
    if (!none) return NULL;
    sm_expr *args[3] = {filter, arg, none};
    sm_expr *c = sm_expr_node(a, SM_EXPR_CASE, arg->type, args, 3);
    if (c) c->position = arg->position;
    return c;
}

static sm_status add_accum(agg_builder *g, const sm_agg_call *call, sm_agg_out *out)
{
    sm_arena *a = g->f->b->a;
    sm_accum acc = {.arg_col = -1, .filter_col = -1};
    sm_expr *arg = call->fn == SM_AGG_COUNT_ALL ? NULL : call->arg, *filter = call->filter;
    out->fn = call->fn;
    out->type = call->type;
    if (arg) SM_TRY(sm_expr_fold(a, &arg, g->f->b->err));
    if (filter) SM_TRY(sm_expr_fold(a, &filter, g->f->b->err));
    bool one_is_all = call->fn == SM_AGG_MIN || call->fn == SM_AGG_MAX ||
                      call->fn == SM_AGG_BOOL_AND || call->fn == SM_AGG_BOOL_OR;
    acc.distinct = arg && call->distinct && !one_is_all;
    if (out->fn == SM_AGG_COUNT && !acc.distinct && !arg->nullable && !arg->can_fail) {
        out->fn = SM_AGG_COUNT_ALL;
        arg = NULL;
    }
    if (filter) acc.filter_col = input_column(g, filter);
    if (arg) {
        acc.kind = sm_agg_acc_kind(out->fn, arg->type);
        if (acc.kind == SM_ACC_VAR) arg = as_double(a, arg);
        if (arg) arg = guarded(a, arg, filter);
        if (!arg) return OUT_OF_MEMORY(g->f->b);
        acc.type = arg->type;
        acc.arg_col = input_column(g, arg);
    } else {
        acc.kind = SM_ACC_COUNT;
        acc.type = sm_type_of(SM_INT64);
    }
    for (out->accum = 0; out->accum < g->n_accums; out->accum++) {
        const sm_accum *o = &g->accums[out->accum];
        if (o->kind == acc.kind && o->arg_col == acc.arg_col && o->filter_col == acc.filter_col &&
            o->distinct == acc.distinct)
            return SM_OK;
    }
    g->accums[g->n_accums++] = acc;
    return SM_OK;
}

static sm_status close_agg(flow *f, const sm_node *node, uint32_t n_keys, sm_expr *const *keys,
                           uint32_t n_aggs, const sm_agg_call *aggs)
{
    build *b = f->b;
    sm_pipeline *p = f->p;
    agg_builder g = {.f = f};
    g.exprs = SM_NEW_N(b->a, sm_expr *, n_keys + 2 * n_aggs + 1);
    g.accums = SM_NEW_N(b->a, sm_accum, n_aggs + 1);
    sm_agg_sink *s = &p->agg;
    memset(s, 0, sizeof *s);
    s->outs = SM_NEW_N(b->a, sm_agg_out, n_aggs + 1);
    s->layout.keys = SM_NEW_N(b->a, sm_group_key, n_keys + 1);
    if (!g.exprs || !g.accums || !s->outs || !s->layout.keys) return OUT_OF_MEMORY(b);
    if (n_keys > SM_GROUP_MAX_KEYS)
        return sm_raise(b->err, SM_ERR_TOO_COMPLEX, "more than 64 grouping columns");
    for (uint32_t i = 0; i < n_keys; i++) {
        g.exprs[g.n_exprs++] = keys[i];
        s->layout.keys[i].type = keys[i]->type;
    }
    for (uint32_t i = 0; i < n_aggs; i++) SM_TRY(add_accum(&g, &aggs[i], &s->outs[i]));
    s->n_outs = n_aggs;
    s->layout.n_keys = n_keys;
    s->layout.n_accums = g.n_accums;
    s->layout.accums = g.accums;
    p->sink = SM_SINK_AGG;
    p->sink_node = node;
    sm_col *in = SM_NEW_N(b->a, sm_col, g.n_exprs ? g.n_exprs : 1);
    if (!in) return OUT_OF_MEMORY(b);
    for (uint32_t i = 0; i < g.n_exprs; i++)
        in[i] =
            (sm_col){i < n_keys ? node->cols[i].name : "", g.exprs[i]->type, g.exprs[i]->nullable};
    p->n_in = g.n_exprs;
    SM_TRY(table_cols(b, in, p->n_in, &p->in_cols));
    SM_TRY(flow_step(f, SM_STEP_PROJECT, g.exprs, g.n_exprs, NULL));
    return flow_close(f, node->n_cols, node->cols);
}

static sm_status close_distinct(flow *f, const sm_node *node)
{
    sm_expr **all;
    SM_TRY(identity(f, &all));
    return close_agg(f, node, f->n_cols, all, 0, NULL);
}

/* ---- the walk ---- */

/* Is it only the first columns of its input, under other names perhaps? */
static bool is_prefix(const sm_node *project)
{
    for (uint32_t i = 0; i < project->n_cols; i++) {
        const sm_expr *e = project->project.exprs[i];
        if (e->kind != SM_EXPR_COLUMN || e->column != i) return false;
    }
    return true;
}

static sm_status walk_project(flow *f, const sm_node *n)
{
    sm_pipeline *of = flow_of_output(f);
    if (of && f->b->list[of->number].fixed) of = NULL;
    if (of && is_prefix(n) && (of->sink == SM_SINK_ROWS || n->n_cols == of->n_out)) {
        SM_TRY(table_cols(f->b, n->cols, n->n_cols, &of->out_cols));
        of->n_out = n->n_cols;
        if (of->sink == SM_SINK_ROWS) of->rows.n_keep = n->n_cols;
    } else {
        SM_TRY(flow_step(f, SM_STEP_PROJECT, n->project.exprs, n->n_cols, n));
    }
    f->n_cols = n->n_cols;
    f->cols = n->cols;
    return SM_OK;
}

/* LIMIT goes into the sink below if only a PROJECT, which gives one row for each, is between. */
static sm_status walk_limit(flow *f, const sm_node *n)
{
    const made *from = f->p->input == SM_INPUT_PIPELINE ? &f->b->list[f->p->from] : NULL;
    sm_pipeline *below = from && !from->fixed ? from->p : NULL;
    bool direct =
        f->p->n_steps == 0 || (f->p->n_steps == 1 && f->p->steps[0].kind == SM_STEP_PROJECT);
    if (below && direct && below->sink == SM_SINK_ROWS && !below->rows.limit &&
        !below->rows.offset) {
        below->rows.limit = n->limit.limit;
        below->rows.offset = n->limit.offset;
        return SM_OK;
    }
    sm_pipeline *p = f->p;
    SM_TRY(close_rows(f, n, 0, NULL));
    p->rows.limit = n->limit.limit;
    p->rows.offset = n->limit.offset;
    return SM_OK;
}

/* ---- joins ---- */

static sm_status walk(build *b, const sm_node *n, flow *f);

/* Ends the right side in a BUILD sink: keys, then the columns that are no keys already. cols[i] is
 * where the table has right's column i. */
static sm_status close_build(flow *r, const sm_node *n, const bool *null_safe, uint32_t *cols)
{
    build *b = r->b;
    sm_pipeline *p = r->p;
    uint32_t n_keys = n->join.n_keys, n_in = n_keys, most = n_keys + r->n_cols + 1;
    sm_expr **exprs = SM_NEW_N(b->a, sm_expr *, most);
    sm_col *in = SM_NEW_N(b->a, sm_col, most);
    if (!exprs || !in) return OUT_OF_MEMORY(b);
    for (uint32_t i = 0; i < n_keys; i++) {
        exprs[i] = n->join.right_keys[i];
        in[i] = (sm_col){"", exprs[i]->type, exprs[i]->nullable};
    }
    for (uint32_t c = 0; c < r->n_cols; c++) {
        cols[c] = UINT32_MAX;
        for (uint32_t i = 0; i < n_keys; i++)
            if (exprs[i]->kind == SM_EXPR_COLUMN && exprs[i]->column == c) cols[c] = i;
        if (cols[c] != UINT32_MAX) continue;
        in[n_in] = r->cols[c];
        exprs[n_in] = sm_expr_column(b->a, c, r->cols[c].type, r->cols[c].nullable);
        if (!exprs[n_in]) return OUT_OF_MEMORY(b);
        cols[c] = n_in++;
    }
    if (!n_in) { /* rows are counted by their columns */
        exprs[n_in] = sm_expr_const(b->a, sm_type_of(SM_BOOL), &(sm_value){.b = 1});
        if (!exprs[n_in]) return OUT_OF_MEMORY(b);
        in[n_in++] = (sm_col){"", sm_type_of(SM_BOOL), false};
    }
    sm_join_kind kind = n->join.kind;
    bool marks = kind == SM_JOIN_RIGHT || kind == SM_JOIN_FULL;
    p->sink = SM_SINK_BUILD;
    p->sink_node = n;
    p->build = (sm_build_sink){.n_keys = n_keys,
                               .null_safe = null_safe,
                               .keeps_null_keys =
                                   marks || kind == SM_JOIN_MARK || kind == SM_JOIN_NULL_ANTI,
                               .marks_matches = marks};
    p->n_in = n_in;
    SM_TRY(table_cols(b, in, n_in, &p->in_cols));
    SM_TRY(flow_step(r, SM_STEP_PROJECT, exprs, n_in, NULL));
    return flow_close(r, n_in, in);
}

static sm_status add_probe(flow *f, const sm_node *n, uint32_t build_number, const bool *null_safe,
                           uint32_t *cols)
{
    build *b = f->b;
    uint32_t n_build = n->right->n_cols;
    sm_probe *q = SM_NEW(b->a, sm_probe);
    sm_type *types = SM_NEW_N(b->a, sm_type, n_build + 1);
    if (!q || !types) return OUT_OF_MEMORY(b);
    for (uint32_t c = 0; c < n_build; c++) types[c] = n->right->cols[c].type;
    *q = (sm_probe){.kind = n->join.kind,
                    .build = build_number,
                    .n_keys = n->join.n_keys,
                    .null_safe = null_safe,
                    .residual = n->join.residual,
                    .n_build = n_build,
                    .build_cols = cols,
                    .build_types = types,
                    .n_out = n->n_cols};
    SM_TRY(flow_step(f, SM_STEP_PROBE, n->join.left_keys, n->join.n_keys, n));
    f->p->steps[f->p->n_steps - 1].probe = q;
    f->n_cols = n->n_cols;
    f->cols = n->cols;
    return SM_OK;
}

/* The flow becomes the outputs of two pipelines, one after the other. */
static sm_status flow_concat(flow *f, build *b, const uint32_t *parts, uint32_t n_parts,
                             const sm_node *n)
{
    uint32_t *copy = SM_NEW_N(b->a, uint32_t, n_parts);
    if (!copy) return OUT_OF_MEMORY(b);
    memcpy(copy, parts, n_parts * sizeof *copy);
    SM_TRY(flow_open(f, b, SM_INPUT_CONCAT, NULL, n->n_cols, n->cols));
    f->p->parts = copy;
    f->p->n_parts = n_parts;
    return SM_OK;
}

/* RIGHT and FULL: the probed rows, then the build rows without a match, beside NULLs. */
static sm_status add_unmatched(flow *f, const sm_node *n, uint32_t build_number,
                               const uint32_t *cols)
{
    build *b = f->b;
    uint32_t n_left = n->n_cols - n->right->n_cols, parts[2];
    sm_expr **exprs = SM_NEW_N(b->a, sm_expr *, n->n_cols + 1);
    if (!exprs) return OUT_OF_MEMORY(b);
    for (uint32_t i = 0; i < n->n_cols; i++) {
        exprs[i] = i < n_left ? sm_expr_null(b->a, n->cols[i].type)
                              : sm_expr_column(b->a, cols[i - n_left], n->cols[i].type, true);
        if (!exprs[i]) return OUT_OF_MEMORY(b);
    }
    SM_TRY(close_rows(f, NULL, 0, NULL));
    parts[0] = f->p->from;
    flow u;
    SM_TRY(flow_open(&u, b, SM_INPUT_UNMATCHED, n, n->n_cols, n->cols));
    u.p->from = build_number;
    SM_TRY(flow_step(&u, SM_STEP_PROJECT, exprs, n->n_cols, NULL));
    SM_TRY(close_rows(&u, NULL, 0, NULL));
    parts[1] = u.p->from;
    return flow_concat(f, b, parts, 2, n);
}

static sm_status walk_join(flow *f, const sm_node *n)
{
    enum { MOST_STEPS = 40 }; /* a tier may have fixed room for them */
    build *b = f->b;
    flow r;
    if (n->join.lateral) return sm_raise(b->err, SM_ERR_NOT_SUPPORTED, "this LATERAL");
    if (n->join.n_keys > SM_GROUP_MAX_KEYS)
        return sm_raise(b->err, SM_ERR_TOO_COMPLEX, "more than 64 keys of a join");
    uint32_t *cols = SM_NEW_N(b->a, uint32_t, n->right->n_cols + 1);
    uint32_t *table_cols_of = SM_NEW_N(b->a, uint32_t, n->right->n_cols + 1);
    const bool *null_safe = n->join.null_safe;
    if (!null_safe) null_safe = SM_NEW_N(b->a, bool, n->join.n_keys + 1);
    if (!cols || !table_cols_of || !null_safe) return OUT_OF_MEMORY(b);
    SM_TRY(walk(b, n->right, &r));
    SM_TRY(close_build(&r, n, null_safe, cols));
    memcpy(table_cols_of, cols, n->right->n_cols * sizeof *cols);
    if (f->p->n_steps >= MOST_STEPS) SM_TRY(close_rows(f, NULL, 0, NULL));
    SM_TRY(add_probe(f, n, r.p->from, null_safe, table_cols_of));
    if (n->join.kind != SM_JOIN_RIGHT && n->join.kind != SM_JOIN_FULL) return SM_OK;
    return add_unmatched(f, n, r.p->from, cols);
}

/* ---- several inputs, several readers ---- */

/* The number of a pipeline whose output is this flow's rows. */
static sm_status output_of(flow *f, uint32_t *number)
{
    if (!flow_of_output(f)) SM_TRY(close_rows(f, NULL, 0, NULL));
    *number = f->p->from;
    return SM_OK;
}

static sm_status walk_union(flow *f, const sm_node *n)
{
    build *b = f->b;
    flow r;
    bool more = f->p->input == SM_INPUT_CONCAT && f->p->n_steps == 0;
    uint32_t n_parts = more ? f->p->n_parts : 1;
    uint32_t *parts = SM_NEW_N(b->a, uint32_t, n_parts + 1);
    if (!parts) return OUT_OF_MEMORY(b);
    if (more) {
        memcpy(parts, f->p->parts, n_parts * sizeof *parts);
    } else {
        SM_TRY(output_of(f, &parts[0]));
    }
    SM_TRY(walk(b, n->right, &r));
    SM_TRY(output_of(&r, &parts[n_parts]));
    return flow_concat(f, b, parts, n_parts + 1, n);
}

typedef struct shared_plan {
    const sm_shared *plan;
    uint32_t number;
    struct shared_plan *next;
} shared_plan;

/* The first reader has the plan run; its output then stays as it is. */
static sm_status walk_shared(flow *f, build *b, const sm_node *n)
{
    shared_plan *s = b->shared;
    while (s && s->plan != n->shared) s = s->next;
    if (!s) {
        flow own;
        s = SM_NEW(b->a, shared_plan);
        if (!s) return OUT_OF_MEMORY(b);
        SM_TRY(walk(b, n->shared->plan, &own));
        SM_TRY(output_of(&own, &s->number));
        b->list[s->number].fixed = true;
        s->plan = n->shared;
        s->next = b->shared;
        b->shared = s;
    }
    return flow_open_on(f, b, s->number, n->n_cols, n->cols);
}

static sm_status walk(build *b, const sm_node *n, flow *f)
{
    if (n->input) SM_TRY(walk(b, n->input, f));
    switch (n->kind) {
    case SM_NODE_SCAN: return flow_open(f, b, SM_INPUT_VERSION, n, n->n_cols, n->cols);
    case SM_NODE_VALUES: return flow_open(f, b, SM_INPUT_VALUES, n, n->n_cols, n->cols);
    case SM_NODE_SERIES: return flow_open(f, b, SM_INPUT_SERIES, n, n->n_cols, n->cols);
    case SM_NODE_FILTER: {
        sm_expr **condition = SM_NEW(b->a, sm_expr *);
        if (!condition) return OUT_OF_MEMORY(b);
        *condition = n->filter.condition;
        return flow_step(f, SM_STEP_FILTER, condition, 1, n);
    }
    case SM_NODE_PROJECT: return walk_project(f, n);
    case SM_NODE_AGGREGATE:
        return close_agg(f, n, n->aggregate.n_keys, n->aggregate.keys, n->aggregate.n_aggs,
                         n->aggregate.aggs);
    case SM_NODE_DISTINCT: return close_distinct(f, n);
    case SM_NODE_SORT: return close_rows(f, n, n->sort.n_orders, n->sort.orders);
    case SM_NODE_LIMIT: return walk_limit(f, n);
    case SM_NODE_JOIN: return walk_join(f, n);
    case SM_NODE_UNION_ALL: return walk_union(f, n);
    case SM_NODE_SHARED: return walk_shared(f, b, n);
    case SM_N_NODES: break;
    }
    return sm_raise(b->err, SM_ERR_INTERNAL, "unknown plan node");
}

sm_status sm_pipelines_build(sm_arena *a, const sm_node *plan, sm_pipelines *out, sm_error *err)
{
    build b = {.a = a, .err = err};
    flow f;
    SM_TRY(walk(&b, plan, &f));
    const sm_pipeline *last = flow_of_output(&f);
    bool own = last && last->number + 1 == b.n && !b.list[last->number].fixed;
    if (!own) SM_TRY(close_rows(&f, NULL, 0, NULL));
    SM_TRY(sm_pipelines_tidy(&b));
    out->n = b.n;
    out->list = SM_NEW_N(a, sm_pipeline, b.n);
    if (!out->list) return OUT_OF_MEMORY(&b);
    for (uint32_t i = 0; i < b.n; i++) out->list[i] = *b.list[i].p;
    return SM_OK;
}
