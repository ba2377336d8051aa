/* Tables, plan nodes, and the plainest possible executor of pipelines, for the suites of src/plan:
 * every row by the scalar evaluator, over the bound or the proved expressions. */
#ifndef SM_TEST_PLAN_RUN_H
#define SM_TEST_PLAN_RUN_H

#include "plan/join_table.h"
#include "plan/sink.h"
#include "plan_parts.h"

#define NIL    ((sm_value){.is_null = true})
#define V32(x) ((sm_value){.i32 = (x)})
#define V64(x) ((sm_value){.i64 = (x)})
#define VF(x)  ((sm_value){.f64 = (x)})
#define VB(x)  ((sm_value){.b = (x)})

static inline sm_value vtext(const char *s)
{
    return (sm_value){.text = sm_text_view(s, (uint32_t)strlen(s))};
}

static void drop_version(void *v)
{
    sm_version_unref(v);
}

/* A table of these rows; lives until the arena goes. */
static inline sm_version *table(const sm_type *types, uint32_t n_cols, const sm_value *values,
                                uint64_t n_rows)
{
    static char names[8][3] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
    sm_table_col cols[8] = {{0}};
    sm_builder *b;
    sm_version *v;
    for (uint32_t i = 0; i < n_cols; i++)
        cols[i] = (sm_table_col){.name = names[i], .type = types[i]};
    OK(sm_builder_new(&mem, cols, n_cols, NULL, &b, &err));
    for (uint64_t r = 0; r < n_rows; r++) OK(sm_builder_row(b, values + r * n_cols, &err));
    OK(sm_builder_finish(b, &v, &err));
    ck_assert(sm_arena_on_reset(&arena, drop_version, v));
    return v;
}

static inline sm_node *scan(sm_version *v)
{
    sm_node *n = sm_node_new(&arena, SM_NODE_SCAN, NULL);
    n->scan.table = "t";
    n->scan.version = v;
    n->n_cols = v->n_cols;
    n->cols = SM_NEW_N(&arena, sm_col, v->n_cols);
    for (uint32_t i = 0; i < v->n_cols; i++)
        n->cols[i] = (sm_col){v->cols[i].name, v->cols[i].type, true};
    return n;
}

static inline sm_node *filter(sm_node *in, sm_expr *condition)
{
    sm_node *n = sm_node_new(&arena, SM_NODE_FILTER, in);
    n->filter.condition = condition;
    return n;
}

static inline void name_cols(sm_node *n, uint32_t n_cols)
{
    n->n_cols = n_cols;
    n->cols = SM_NEW_N(&arena, sm_col, n_cols + 1);
    for (uint32_t i = 0; i < n_cols; i++) n->cols[i].name = sm_arena_printf(&arena, "x%u", i);
}

static inline sm_node *project(sm_node *in, sm_expr *const *exprs, uint32_t n_exprs)
{
    sm_node *n = sm_node_new(&arena, SM_NODE_PROJECT, in);
    name_cols(n, n_exprs);
    n->project.exprs = SM_NEW_N(&arena, sm_expr *, n_exprs + 1);
    for (uint32_t i = 0; i < n_exprs; i++) {
        n->project.exprs[i] = exprs[i];
        n->cols[i].type = exprs[i]->type;
        n->cols[i].nullable = exprs[i]->nullable;
    }
    return n;
}

static inline sm_agg_call call(sm_agg_fn fn, sm_expr *arg)
{
    sm_agg_call c = {.fn = fn, .arg = arg};
    ck_assert(sm_agg_result_type(fn, arg ? arg->type : T(INT64), &c.type));
    return c;
}

static inline sm_node *aggregate(sm_node *in, sm_expr *const *keys, uint32_t n_keys,
                                 const sm_agg_call *aggs, uint32_t n_aggs)
{
    sm_node *n = sm_node_new(&arena, SM_NODE_AGGREGATE, in);
    name_cols(n, n_keys + n_aggs);
    n->aggregate.n_keys = n_keys;
    n->aggregate.n_aggs = n_aggs;
    n->aggregate.keys = SM_NEW_N(&arena, sm_expr *, n_keys + 1);
    n->aggregate.aggs = SM_NEW_N(&arena, sm_agg_call, n_aggs + 1);
    for (uint32_t i = 0; i < n_keys; i++) {
        n->aggregate.keys[i] = keys[i];
        n->cols[i].type = keys[i]->type;
        n->cols[i].nullable = keys[i]->nullable;
    }
    for (uint32_t i = 0; i < n_aggs; i++) {
        n->aggregate.aggs[i] = aggs[i];
        n->cols[n_keys + i].type = aggs[i].type;
        n->cols[n_keys + i].nullable = true;
    }
    return n;
}

static inline sm_node *sort(sm_node *in, const sm_order *orders, uint32_t n_orders)
{
    sm_node *n = sm_node_new(&arena, SM_NODE_SORT, in);
    n->sort.n_orders = n_orders;
    n->sort.orders = SM_NEW_N(&arena, sm_order, n_orders);
    memcpy(n->sort.orders, orders, n_orders * sizeof *orders);
    return n;
}

static inline sm_node *limit(sm_node *in, sm_expr *most, sm_expr *offset)
{
    sm_node *n = sm_node_new(&arena, SM_NODE_LIMIT, in);
    n->limit.limit = most;
    n->limit.offset = offset;
    return n;
}

/* left JOIN right ON left_keys = right_keys AND residual. */
static inline sm_node *join(sm_join_kind kind, sm_node *left, sm_node *right,
                            sm_expr *const *left_keys, sm_expr *const *right_keys, uint32_t n_keys,
                            sm_expr *residual)
{
    bool both = kind <= SM_JOIN_FULL || kind == SM_JOIN_SINGLE;
    uint32_t n = left->n_cols + (both ? right->n_cols : kind == SM_JOIN_MARK);
    sm_node *j = sm_node_new(&arena, SM_NODE_JOIN, left);
    name_cols(j, n);
    j->right = right;
    j->join.kind = kind;
    j->join.n_keys = n_keys;
    j->join.left_keys = SM_NEW_N(&arena, sm_expr *, n_keys + 1);
    j->join.right_keys = SM_NEW_N(&arena, sm_expr *, n_keys + 1);
    j->join.null_safe = SM_NEW_N(&arena, bool, n_keys + 1);
    j->join.residual = residual;
    for (uint32_t i = 0; i < n_keys; i++) {
        j->join.left_keys[i] = left_keys[i];
        j->join.right_keys[i] = right_keys[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        bool is_left = i < left->n_cols;
        j->cols[i].type = is_left ? left->cols[i].type
                          : both  ? right->cols[i - left->n_cols].type
                                  : T(BOOL);
        j->cols[i].nullable = true;
    }
    return j;
}

static inline sm_node *union_all(sm_node *left, sm_node *right)
{
    sm_node *n = sm_node_new(&arena, SM_NODE_UNION_ALL, left);
    n->right = right;
    return n;
}

/* ---- running ---- */

/* Rows on their way through a pipeline. */
typedef struct row_list {
    sm_value **rows;
    uint32_t n, cap;
} row_list;

static inline void add_row(row_list *l, sm_value *row)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 8;
        sm_value **rows = SM_NEW_N(&arena, sm_value *, l->cap);
        if (l->n) memcpy(rows, l->rows, l->n * sizeof *rows);
        l->rows = rows;
    }
    l->rows[l->n++] = row;
}

static inline sm_value flat_value(const sm_flat_col *c, uint32_t row)
{
    sm_value v = {.is_null = c->valid && !sm_bit_get(c->valid, row)};
    size_t bytes = sm_phys_bytes(c->phys);
    if (!v.is_null) memcpy(&v, (const char *)c->data + row * bytes, bytes);
    return v;
}

/* in with the build columns of a row behind; row UINT32_MAX: NULLs. */
static inline sm_value *with_build(const sm_probe *q, const sm_value *in, uint32_t width,
                                   uint32_t row)
{
    sm_value *out = SM_NEW_N(&arena, sm_value, width + q->n_build + 1);
    memcpy(out, in, width * sizeof *in);
    for (uint32_t k = 0; k < q->n_build; k++)
        out[width + k] =
            row == UINT32_MAX ? NIL : flat_value(&q->table->cols[q->build_cols[k]], row);
    return out;
}

static inline bool residual_holds(const sm_probe *q, bool proved, const sm_value *row)
{
    sm_value v;
    if (!q->residual) return true;
    OK(eval(proved ? q->residual_proved : q->residual, row, &v));
    return !v.is_null && v.b;
}

static inline sm_status probe_row(const sm_step *s, bool proved, sm_value *in, uint32_t width,
                                  row_list *to)
{
    const sm_probe *q = s->probe;
    const sm_join_table *t = q->table;
    sm_value *keys = SM_NEW_N(&arena, sm_value, q->n_keys + 1);
    sm_type *types = SM_NEW_N(&arena, sm_type, q->n_keys + 1);
    for (uint32_t k = 0; k < q->n_keys; k++) {
        OK(eval((proved ? s->proved : s->exprs)[k], in, &keys[k]));
        types[k] = s->exprs[k]->type;
    }
    uint64_t hash = sm_join_hash(keys, types, q->n_keys), at, end;
    uint32_t matches = 0, unknown = 0;
    bool outer = q->kind == SM_JOIN_LEFT || q->kind == SM_JOIN_FULL || q->kind == SM_JOIN_SINGLE;
    sm_join_find(t, hash, &at, &end);
    for (uint32_t row; (row = sm_join_next(t, hash, keys, q->null_safe, &at, end)) != UINT32_MAX;) {
        sm_value *both = with_build(q, in, width, row);
        if (!residual_holds(q, proved, both)) continue;
        matches++;
        if (t->matched) atomic_store(&t->matched[row], 1);
        if (sm_probe_carries(q)) add_row(to, both);
    }
    at = 0;
    for (uint32_t row; (row = sm_join_next_unknown(t, keys, q->null_safe, &at)) != UINT32_MAX;)
        unknown += residual_holds(q, proved, with_build(q, in, width, row));
    if (q->kind == SM_JOIN_SINGLE && matches > 1) return sm_raise(&err, SM_ERR_CARDINALITY);
    if (outer && !matches) add_row(to, with_build(q, in, width, UINT32_MAX));
    if (q->kind == SM_JOIN_SEMI && matches) add_row(to, in);
    if (q->kind == SM_JOIN_ANTI && !matches) add_row(to, in);
    if (q->kind == SM_JOIN_NULL_ANTI && !matches && !unknown) add_row(to, in);
    if (q->kind == SM_JOIN_MARK) {
        sm_value *out = SM_NEW_N(&arena, sm_value, width + 1);
        memcpy(out, in, width * sizeof *in);
        out[width] = matches ? VB(1) : unknown ? NIL : VB(0);
        add_row(to, out);
    }
    return SM_OK;
}

/* A row through the steps: *out is what becomes of it. */
static inline sm_status through_steps(const sm_pipeline *p, bool proved, sm_value *row,
                                      row_list *out)
{
    uint32_t width = p->source.n_cols;
    *out = (row_list){0};
    add_row(out, row);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const sm_step *s = &p->steps[i];
        row_list next = {0};
        for (uint32_t r = 0; r < out->n; r++) {
            sm_value *values = SM_NEW_N(&arena, sm_value, s->n_exprs + 1), *in = out->rows[r];
            if (s->kind == SM_STEP_PROBE) {
                sm_status status = probe_row(s, proved, in, width, &next);
                if (status != SM_OK) return status;
                continue;
            }
            for (uint32_t k = 0; k < s->n_exprs; k++)
                OK(eval((proved ? s->proved : s->exprs)[k], in, &values[k]));
            if (s->kind == SM_STEP_PROJECT) {
                add_row(&next, values);
            } else if (!values->is_null && values->b) {
                add_row(&next, in);
            }
        }
        *out = next;
        if (s->kind == SM_STEP_PROJECT) width = s->n_exprs;
        if (s->kind == SM_STEP_PROBE) width = s->probe->n_out;
    }
    return SM_OK;
}

/* The number of a TINY or DIRECT group, by way of one-row vectors. */
static inline uint32_t code_of(const sm_pipeline *p, const sm_value *row)
{
    sm_vec cols[8];
    uint64_t valid[8];
    uint16_t code;
    for (uint32_t i = 0; i < p->agg.layout.n_keys; i++) {
        valid[i] = !row[i].is_null;
        cols[i] = (sm_vec){(void *)(uintptr_t)&row[i], &valid[i], NULL,
                           sm_type_phys(p->agg.layout.keys[i].type)};
    }
    sm_batch b = {.cols = cols, .n_cols = p->agg.layout.n_keys, .n_rows = 1, .n_sel = 1};
    sm_agg_codes(&p->agg, &b, &code);
    return code;
}

static inline void aggregate_row(const sm_pipeline *p, sm_agg_local *l, const sm_value *row,
                                 uint64_t number, bool proved)
{
    const sm_group_layout *lay = &p->agg.layout;
    bool lanes = p->agg.mode <= SM_GROUPS_TINY;
    char *state;
    if (p->agg.mode == SM_GROUPS_HASH) {
        void *found;
        OK(sm_group_find(&l->table, sm_group_hash(lay, row), row, number, &found, &err));
        state = found;
    } else {
        uint32_t code = lay->n_keys ? code_of(p, row) : 0;
        ck_assert_uint_lt(code, p->agg.n_codes);
        state = lanes ? l->lanes + (size_t)code * lay->lanes_bytes
                      : l->direct + (size_t)code * lay->row_bytes;
        uint64_t first;
        memcpy(&first, state, 8);
        if (number < first) memcpy(state, &number, 8);
    }
    for (uint32_t i = 0; i < lay->n_accums; i++) {
        const sm_accum *acc = &lay->accums[i];
        sm_value v = acc->arg_col >= 0 ? row[acc->arg_col] : (sm_value){.is_null = false};
        if (acc->filter_col >= 0 && (row[acc->filter_col].is_null || !row[acc->filter_col].b))
            continue;
        if (v.is_null) continue;
        if (proved && acc->arg_col >= 0 && sm_type_phys(acc->type) == SM_PHYS_I128 &&
            p->steps[p->n_steps - 1].proved[acc->arg_col]->phys == SM_PHYS_I64)
            v.i128 = v.i64;
        unsigned lane = lay->lanes > 1 ? (unsigned)(number % lay->lanes) : 0;
        OK(sm_acc_add(acc, state + (lanes ? acc->lanes_offset : acc->offset), lane, &v, &l->arena,
                      &err));
    }
}

/* Runs a prepared pipeline; the output lives until the arena goes. Workers: parts of the morsels
 * with states of their own, merged at the end (AGG). */
static inline sm_status run_pipeline(const sm_pipeline *p, bool proved, unsigned workers,
                                     sm_version **out)
{
    const sm_expr **inputs = NULL;
    OK(sm_prove_source(&arena, &p->source, &inputs, &err));
    uint64_t n = p->source.n_morsels;
    sm_version **parts = SM_NEW_N(&arena, sm_version *, n + 1);
    sm_agg_local *locals = SM_NEW_N(&arena, sm_agg_local, workers + 1);
    sm_pin pin = {0};
    sm_status s = SM_OK;
    for (unsigned w = 0; w < workers && p->sink == SM_SINK_AGG; w++)
        OK(sm_agg_local_init(&locals[w], &p->agg, &mem, &err));
    for (uint64_t m = 0; m < n && s == SM_OK; m++) {
        sm_agg_local *l = &locals[m % workers];
        sm_builder *b = NULL;
        OK(sm_source_pin(&p->source, m, &pin, &err));
        if (p->sink != SM_SINK_AGG)
            OK(sm_builder_new(&mem, p->in_cols, p->n_in, NULL, &b, &err));
        else
            sm_agg_morsel_begin(l);
        for (uint32_t r = 0; r < pin.chunk->n_rows; r++) {
            sm_value *row = SM_NEW_N(&arena, sm_value, p->source.n_cols + 1);
            for (uint32_t c = 0; c < p->source.n_cols; c++) {
                if (!p->used[c]) continue;
                sm_chunk_col_get(&pin.chunk->cols[c], p->source.cols[c].type, r, &row[c]);
                bool narrow = proved && inputs[c]->phys != sm_type_phys(p->source.cols[c].type);
                if (narrow && !row[c].is_null) row[c].i64 = (int64_t)row[c].i128;
            }
            row_list list;
            s = through_steps(p, proved, row, &list);
            if (s != SM_OK) break;
            for (uint32_t i = 0; i < list.n; i++) {
                if (b)
                    OK(sm_builder_row(b, list.rows[i], &err));
                else
                    aggregate_row(p, l, list.rows[i], pin.first_row + r, proved);
            }
        }
        if (b) {
            OK(sm_builder_finish(b, &parts[m], &err));
            OK(sm_rows_trim(p, &parts[m], &mem, &err));
        } else if (p->agg.order_sensitive && p->agg.mode <= SM_GROUPS_TINY) {
            void *partial = SM_NEW_N(&arena, char, p->agg.n_codes * p->agg.layout.row_bytes);
            OK(sm_agg_morsel_end(l, partial, &err));
            OK(sm_agg_merge_partial(l, partial, &err));
        } else {
            OK(sm_agg_morsel_end(l, NULL, &err));
        }
        sm_source_unpin(&p->source, &pin);
    }
    sm_pin_reset(&p->source, &pin);
    if (s == SM_OK) sm_error_reset(&err);
    if (s != SM_OK) {
        *out = NULL;
    } else if (p->sink != SM_SINK_AGG) {
        s = sm_rows_finish(p, parts, n, &mem, out, &err);
    } else {
        for (unsigned w = 1; w < workers; w++) OK(sm_agg_merge(&locals[0], &locals[w], &err));
        s = sm_agg_finish(&locals[0], p, out, &err);
    }
    for (unsigned w = 0; w < workers && p->sink == SM_SINK_AGG; w++) sm_agg_local_reset(&locals[w]);
    for (uint64_t m = 0; m < n; m++)
        if (parts[m]) sm_version_unref(parts[m]);
    if (s == SM_OK) {
        ck_assert(sm_version_validate(*out));
        ck_assert(sm_arena_on_reset(&arena, drop_version, *out));
    }
    return s;
}

static void drop_table(void *t)
{
    sm_join_table_unref(t);
}

/* Builds, prepares and runs a whole plan. */
static inline sm_status run_plan(const sm_node *plan, bool proved, unsigned workers,
                                 sm_version **out)
{
    sm_pipelines list;
    OK(sm_pipelines_build(&arena, plan, &list, &err));
    sm_output *outputs = SM_NEW_N(&arena, sm_output, list.n);
    for (uint32_t i = 0; i < list.n; i++) {
        sm_pipeline *p = &list.list[i];
        sm_status s = sm_pipeline_prepare(p, &arena, NULL, NULL, 0, outputs, &err);
        if (s == SM_OK) s = run_pipeline(p, proved, workers, &outputs[i].rows);
        if (s != SM_OK) return s;
        if (p->sink != SM_SINK_BUILD) continue;
        OK(sm_join_table_build(p, outputs[i].rows, &mem, &outputs[i].table, &err));
        ck_assert(sm_join_table_validate(outputs[i].table));
        ck_assert(sm_arena_on_reset(&arena, drop_table, outputs[i].table));
    }
    *out = outputs[list.n - 1].rows;
    return SM_OK;
}

/* A version as text: columns by |, rows by newlines, NULL as ~. */
static inline const char *rows_text(const sm_version *v)
{
    char *text = sm_arena_strdup(&arena, "");
    for (uint64_t r = 0; r < v->n_rows; r++) {
        uint64_t c = 0;
        while (c + 1 < v->n_chunks && v->first_row[c + 1] <= r) c++;
        for (uint32_t i = 0; i < v->n_cols; i++) {
            char buffer[SM_FORMAT_BYTES + 1];
            sm_value x;
            sm_chunk_col_get(&v->chunks[c]->cols[i], v->cols[i].type,
                             (uint32_t)(r - v->first_row[c]), &x);
            const char *s = "~";
            if (!x.is_null && v->cols[i].type.id == SM_TEXT) {
                s = sm_arena_strndup(&arena, sm_text_bytes(&x.text), x.text.len);
            } else if (!x.is_null) {
                buffer[sm_format_value(v->cols[i].type, &x, buffer)] = '\0';
                s = buffer;
            }
            text = sm_arena_printf(&arena, "%s%s%s", text, i ? "|" : r ? "\n" : "", s);
        }
    }
    return text;
}

/* Both ways, with one worker and with three, give this text. */
static inline void check_plan(const sm_node *plan, const char *expected)
{
    for (int i = 0; i < 4; i++) {
        sm_version *v = NULL;
        OK(run_plan(plan, i & 1, i & 2 ? 3 : 1, &v));
        ck_assert_str_eq(rows_text(v), expected);
    }
}

#endif
