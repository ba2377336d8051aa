/* Helpers of check_interp.c: a table with a column of every kind, plans over it made from nodes,
 * running a plan's first pipeline in one tier as the executor does, and comparing results bit by
 * bit. Everything lives in one arena until t_teardown, which also checks that nothing leaked. */
#ifndef T_INTERP_PLANS_H
#define T_INTERP_PLANS_H

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "interp/interp.h"
#include "runtime/format.h"

enum {
    T_ROW, /* the row's number */
    T_BOOL,
    T_I16,
    T_I32,
    T_I64,
    T_F32,
    T_F64, /* with NULLs, NaNs, infinities */
    T_F64_FULL,
    T_D64,
    T_D128, /* fits 64 bits */
    T_D128_BIG,
    T_DATE,
    T_TS,
    T_IV,
    T_DICT,
    T_TEXT,
    T_N_COLUMNS
};
enum { T_ROW_TIER, T_BATCH };

static sm_mem t_mem;
static sm_arena t_arena;
static sm_error t_err;
static uint64_t t_state;

static void t_setup(void)
{
    sm_mem_init(&t_mem, NULL, SIZE_MAX);
    sm_arena_init(&t_arena, &t_mem, "test");
    sm_error_reset(&t_err);
    t_state = 88172645463325252u;
}

static void t_teardown(void)
{
    sm_arena_reset(&t_arena);
    ck_assert_uint_eq(atomic_load(&t_mem.used_bytes), 0);
}

static void t_seed(unsigned seed)
{
    t_state = 88172645463325252u + seed * 7919u;
}

static uint32_t t_pick(uint32_t n)
{
    t_state ^= t_state << 13;
    t_state ^= t_state >> 7;
    t_state ^= t_state << 17;
    return (uint32_t)((t_state >> 20) % n);
}

/* ---- the table ------------------------------------------------------------------------------- */

static sm_type t_type(int column)
{
    switch (column) {
    case T_BOOL: return sm_type_of(SM_BOOL);
    case T_I16: return sm_type_of(SM_INT16);
    case T_I32: return sm_type_of(SM_INT32);
    case T_F32: return sm_type_of(SM_FLOAT32);
    case T_F64:
    case T_F64_FULL: return sm_type_of(SM_FLOAT64);
    case T_D64: return sm_decimal(18, 2);
    case T_D128: return sm_decimal(30, 2);
    case T_D128_BIG: return sm_decimal(38, 2);
    case T_DATE: return sm_type_of(SM_DATE);
    case T_TS: return sm_type_of(SM_TIMESTAMP);
    case T_IV: return sm_type_of(SM_INTERVAL);
    case T_DICT:
    case T_TEXT: return sm_type_of(SM_TEXT);
    default: return sm_type_of(SM_INT64);
    }
}

static double t_float(uint32_t i)
{
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e300, -1e-300};
    if (i % 40 == 7) return odd[t_pick(7)];
    return ((double)t_pick(2000000) - 1000000) / (t_pick(2) ? 1000 : 7);
}

static void t_row(uint32_t i, sm_value *v, char *text)
{
    static const char *const words[] = {"alpha", "bravo", "", "a word of more than twelve bytes",
                                        "Delta%"};
    for (int c = 0; c < T_N_COLUMNS; c++)
        v[c] = (sm_value){.is_null = c != T_ROW && c != T_F64_FULL && c != T_D64 && t_pick(9) == 0};
    v[T_ROW].i64 = i;
    v[T_BOOL].b = (uint8_t)t_pick(2);
    v[T_I16].i16 = (int16_t)t_pick(300);
    v[T_I32].i32 = (int32_t)t_pick(2000) - 1000;
    v[T_I64].i64 =
        i % 50 == 3 ? (t_pick(2) ? INT64_MAX : INT64_MIN) : (int64_t)t_pick(2000000) - 1000000;
    v[T_F32].f32 = i % 60 == 9 ? NAN : (float)t_pick(10000) / 16;
    v[T_F64].f64 = t_float(i);
    v[T_F64_FULL].f64 = i % 13 ? ((double)t_pick(1000000) - 300000) / 17 : 3;
    v[T_D64].i64 = (int64_t)t_pick(1000000) - 500000;
    v[T_D128].i128 = (sm_i128)t_pick(1000000000) * 1000 - 7;
    v[T_D128_BIG].i128 =
        ((sm_i128)t_pick(1000000000) - 500000000) * 1000000000 * 1000000000 * (1 + t_pick(1000));
    v[T_DATE].i32 = (int32_t)t_pick(20000);
    v[T_TS].i64 = (int64_t)t_pick(1000000000) * 1000003;
    v[T_IV].iv = (sm_interval){(int32_t)t_pick(30), (int32_t)t_pick(40), (int64_t)t_pick(1000000)};
    const char *word = words[t_pick(5)];
    v[T_DICT].text = sm_text_view(word, (uint32_t)strlen(word));
    int n = snprintf(text, 64, t_pick(3) ? "t%u" : "a longer text, %u", t_pick(2) ? t_pick(20) : i);
    v[T_TEXT].text = sm_text_view(text, (uint32_t)n);
}

static void t_unref(void *v)
{
    sm_version_unref(v);
}

static sm_node *t_scan(uint32_t rows)
{
    sm_table_col cols[T_N_COLUMNS];
    sm_version *version;
    sm_builder *b;
    char text[64];
    memset(cols, 0, sizeof cols);
    sm_node *n = sm_node_new(&t_arena, SM_NODE_SCAN, NULL);
    n->cols = SM_NEW_N(&t_arena, sm_col, T_N_COLUMNS);
    n->n_cols = T_N_COLUMNS;
    for (int c = 0; c < T_N_COLUMNS; c++) {
        cols[c].name = sm_arena_printf(&t_arena, "c%d", c);
        cols[c].type = t_type(c);
        n->cols[c] = (sm_col){cols[c].name, cols[c].type, true};
    }
    ck_assert_int_eq(sm_builder_new(&t_mem, cols, T_N_COLUMNS, NULL, &b, &t_err), SM_OK);
    for (uint32_t i = 0; i < rows; i++) {
        sm_value row[T_N_COLUMNS];
        t_row(i, row, text);
        ck_assert_int_eq(sm_builder_row(b, row, &t_err), SM_OK);
    }
    ck_assert_int_eq(sm_builder_finish(b, &version, &t_err), SM_OK);
    sm_arena_on_reset(&t_arena, t_unref, version);
    n->scan.version = version;
    return n;
}

/* ---- expressions and nodes ------------------------------------------------------------------- */

static sm_expr *t_column(const sm_node *input, uint32_t column)
{
    return sm_expr_column(&t_arena, column, input->cols[column].type, true);
}

static sm_type t_code_type(sm_code c)
{
    return c == SM_CODE_D64    ? sm_decimal(18, 2)
           : c == SM_CODE_D128 ? sm_decimal(38, 2)
                               : sm_code_type(c);
}

static sm_expr *t_op(sm_op op, sm_expr *a, sm_expr *b)
{
    sm_expr *args[2] = {a, b};
    return sm_expr_op(&t_arena, op, t_code_type((sm_code)sm_ops[op].result), args, b ? 2 : 1);
}

static sm_expr *t_node(sm_expr_kind kind, sm_type type, sm_expr *const *args, uint32_t n)
{
    return sm_expr_node(&t_arena, kind, type, args, n);
}

static sm_expr *t_const_f64(double v)
{
    return sm_expr_const(&t_arena, sm_type_of(SM_FLOAT64), &(sm_value){.f64 = v});
}
static sm_expr *t_const_i32(int32_t v)
{
    return sm_expr_const(&t_arena, sm_type_of(SM_INT32), &(sm_value){.i32 = v});
}
static sm_expr *t_const_i64(int64_t v)
{
    return sm_expr_const(&t_arena, sm_type_of(SM_INT64), &(sm_value){.i64 = v});
}
static sm_expr *t_const_text(const char *s)
{
    return sm_expr_const(&t_arena, sm_type_of(SM_TEXT),
                         &(sm_value){.text = sm_text_view(s, (uint32_t)strlen(s))});
}

static sm_node *t_filter(sm_node *input, sm_expr *condition)
{
    sm_node *n = sm_node_new(&t_arena, SM_NODE_FILTER, input);
    n->filter.condition = condition;
    return n;
}

static sm_node *t_project(sm_node *input, sm_expr *const *exprs, uint32_t count)
{
    sm_node *n = sm_node_new(&t_arena, SM_NODE_PROJECT, input);
    n->n_cols = count;
    n->cols = SM_NEW_N(&t_arena, sm_col, count);
    n->project.exprs = SM_NEW_N(&t_arena, sm_expr *, count);
    for (uint32_t i = 0; i < count; i++) {
        n->project.exprs[i] = exprs[i];
        n->cols[i] = (sm_col){sm_arena_printf(&t_arena, "p%u", i), exprs[i]->type, true};
    }
    return n;
}

static sm_node *t_limit(sm_node *input, int64_t rows)
{
    sm_node *n = sm_node_new(&t_arena, SM_NODE_LIMIT, input);
    n->limit.limit = t_const_i64(rows);
    return n;
}

typedef struct t_agg {
    sm_agg_fn fn;
    sm_expr *arg, *filter;
    bool distinct;
} t_agg;

static sm_node *t_aggregate(sm_node *input, sm_expr *const *keys, uint32_t n_keys,
                            const t_agg *aggs, size_t n_aggs)
{
    sm_node *n = sm_node_new(&t_arena, SM_NODE_AGGREGATE, input);
    n->n_cols = n_keys + (uint32_t)n_aggs;
    n->cols = SM_NEW_N(&t_arena, sm_col, n->n_cols + 1);
    n->aggregate.n_keys = n_keys;
    n->aggregate.n_aggs = (uint32_t)n_aggs;
    n->aggregate.keys = SM_NEW_N(&t_arena, sm_expr *, n_keys + 1);
    n->aggregate.aggs = SM_NEW_N(&t_arena, sm_agg_call, n_aggs + 1);
    for (uint32_t i = 0; i < n_keys; i++) {
        n->aggregate.keys[i] = keys[i];
        n->cols[i] = (sm_col){sm_arena_printf(&t_arena, "k%u", i), keys[i]->type, true};
    }
    for (uint32_t i = 0; i < n_aggs; i++) {
        sm_agg_call *c = &n->aggregate.aggs[i];
        *c = (sm_agg_call){.fn = aggs[i].fn,
                           .arg = aggs[i].arg,
                           .filter = aggs[i].filter,
                           .distinct = aggs[i].distinct};
        sm_type arg = c->arg ? c->arg->type : sm_type_of(SM_INT64);
        ck_assert(sm_agg_result_type(c->fn, arg, &c->type));
        n->cols[n_keys + i] = (sm_col){sm_arena_printf(&t_arena, "a%u", i), c->type, true};
    }
    return n;
}

/* ---- random expressions ---------------------------------------------------------------------- */

static int t_column_of(sm_code c)
{
    switch (c) {
    case SM_CODE_B: return T_BOOL;
    case SM_CODE_I16: return T_I16;
    case SM_CODE_I32: return T_I32;
    case SM_CODE_I64: return t_pick(2) ? T_ROW : T_I64;
    case SM_CODE_F32: return T_F32;
    case SM_CODE_F64: return t_pick(2) ? T_F64 : T_F64_FULL;
    case SM_CODE_D64: return T_D64;
    case SM_CODE_D128: return t_pick(3) ? T_D128 : T_D128_BIG;
    case SM_CODE_DATE: return T_DATE;
    case SM_CODE_TS: return T_TS;
    case SM_CODE_IV: return T_IV;
    default: return t_pick(3) ? T_DICT : T_TEXT;
    }
}

static sm_expr *t_random_const(sm_code c)
{
    sm_value row[T_N_COLUMNS];
    char *text = sm_arena_alloc(&t_arena, 64);
    t_row(3 + t_pick(100), row, text);
    return sm_expr_const(&t_arena, t_code_type(c), &row[t_column_of(c)]);
}

/* Operations that may make huge text, or fail for nearly every row, hide everything else. */
static bool t_usable(sm_op op)
{
    if (op == SM_OP_repeat_txt || op == SM_OP_lpad_txt || op == SM_OP_rpad_txt) return false;
    if (sm_ops[op].can_fail && t_pick(8)) return false;
    return strncmp(sm_ops[op].id, "txt_to", 6) != 0 || t_pick(40) == 0;
}

static void t_set_imm(sm_expr *e)
{
    switch (e->op) {
    case SM_OP_like_txt:
    case SM_OP_ilike_txt: e->imm[0] = t_pick(2) ? -1 : '\\'; break;
    case SM_OP_extract_ts:
    case SM_OP_extract_iv: e->imm[0] = SM_FIELD_HOUR; break;
    case SM_OP_extract_date:
    case SM_OP_trunc_ts: e->imm[0] = SM_FIELD_MONTH; break;
    case SM_OP_div_d128: e->imm[0] = 0; break;
    case SM_OP_fit_d64:
    case SM_OP_fit_d128: e->imm[0] = 9 + (int32_t)t_pick(9); break;
    case SM_OP_txt_to_d128:
    case SM_OP_f32_to_d128:
    case SM_OP_f64_to_d128: e->imm[0] = 2, e->imm[1] = 38; break;
    case SM_OP_round_d128:
    case SM_OP_trunc_d128: e->imm[0] = e->imm[1] = 2; break;
    default: e->imm[0] = 1 + (int32_t)t_pick(3); break;
    }
}

static sm_expr *t_random(const sm_node *input, sm_code want, int depth);

static sm_expr *t_random_lazy(const sm_node *input, sm_code want, int depth)
{
    sm_expr *args[5];
    if (want == SM_CODE_B && t_pick(3)) {
        uint32_t n = 2 + t_pick(2);
        for (uint32_t i = 0; i < n; i++) args[i] = t_random(input, SM_CODE_B, depth);
        return t_node(t_pick(2) ? SM_EXPR_AND : SM_EXPR_OR, sm_type_of(SM_BOOL), args, n);
    }
    if (want == SM_CODE_B && t_pick(2)) {
        args[0] = t_random(input, (sm_code)(1 + t_pick(SM_CODE_TXT)), depth);
        return t_node(SM_EXPR_IS_NULL, sm_type_of(SM_BOOL), args, 1);
    }
    bool is_case = t_pick(2);
    uint32_t n = is_case ? 3 + 2 * t_pick(2) : 2 + t_pick(2);
    for (uint32_t i = 0; i < n; i++)
        args[i] = t_random(input, is_case && i % 2 == 0 && i + 1 < n ? SM_CODE_B : want, depth);
    return t_node(is_case ? SM_EXPR_CASE : SM_EXPR_COALESCE, t_code_type(want), args, n);
}

static sm_expr *t_random(const sm_node *input, sm_code want, int depth)
{
    sm_expr *args[3], *e = NULL;
    if (depth == 0 || t_pick(8) == 0) {
        if (t_pick(12) == 0) return sm_expr_null(&t_arena, t_code_type(want));
        e = t_pick(3) ? t_column(input, (uint32_t)t_column_of(want)) : t_random_const(want);
        e->type = t_code_type(want);
        return e;
    }
    if (t_pick(4) == 0) return t_random_lazy(input, want, depth - 1);
    for (;;) {
        sm_op op = (sm_op)t_pick(SM_N_OPS);
        const sm_op_info *info = &sm_ops[op];
        if (info->result != want || !t_usable(op)) continue;
        for (uint32_t i = 0; i < info->n_args; i++)
            args[i] = t_random(input, (sm_code)info->args[i], depth - 1);
        e = sm_expr_op(&t_arena, op, t_code_type(want), args, info->n_args);
        e->position = (int32_t)(1 + t_pick(1000));
        t_set_imm(e);
        return e;
    }
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct t_result {
    sm_status status;
    sm_error err;
    sm_version *out;
    int mode;
    sm_step_stats stats[SM_MAX_STEPS];
} t_result;

static void t_result_reset(t_result *r)
{
    if (r->out) sm_version_unref(r->out);
    r->out = NULL;
}

static sm_value t_value(const sm_version *v, uint32_t column, uint64_t row)
{
    sm_value out;
    sm_chunk_col_get(&v->chunks[row / SM_CHUNK_ROWS]->cols[column], v->cols[column].type,
                     (uint32_t)(row % SM_CHUNK_ROWS), &out);
    return out;
}

static sm_status t_rows_of_pin(sm_worker *w, const sm_pin *pin, int tier)
{
    uint32_t n = pin->chunk->n_rows;
    if (tier == T_ROW_TIER) return sm_row_run(w, pin, 0, n);
    for (uint32_t at = 0; at < n && w->rows_left;) {
        uint32_t stop, end;
        SM_TRY(sm_batch_run(w, pin, at, n, &stop, &end));
        ck_assert_uint_ge(stop, at);
        if (stop == n) break;
        ck_assert_uint_le(end, n);
        w->drop_rows = w->rows_out;
        SM_TRY(sm_row_run(w, pin, stop, end));
        at = end;
    }
    return SM_OK;
}

/* One morsel's share of the sink. total: where DIRECT and HASH morsels, units of their own here,
 * are merged. */
static sm_status t_morsel(sm_worker *w, const sm_pin *pin, int tier, sm_agg_local *total)
{
    const sm_agg_sink *sink = &w->p->agg;
    if (w->p->sink != SM_SINK_AGG) return t_rows_of_pin(w, pin, tier);
    if (sink->mode <= SM_GROUPS_TINY) {
        void *partial;
        w->agg = total;
        sm_agg_morsel_begin(total);
        SM_TRY(t_rows_of_pin(w, pin, tier));
        size_t bytes = (size_t)sink->n_codes * sink->layout.row_bytes;
        SM_TRY(sm_alloc(w->mem, bytes, "test", &partial, &w->err));
        sm_status status = sm_agg_morsel_end(total, partial, &w->err);
        if (status == SM_OK) status = sm_agg_merge_partial(total, partial, &w->err);
        sm_free(w->mem, partial, bytes);
        return status;
    }
    sm_agg_local own;
    sm_status status = sm_agg_local_init(&own, sink, w->mem, &w->err);
    w->agg = &own;
    if (status == SM_OK) status = t_rows_of_pin(w, pin, tier);
    if (status == SM_OK) status = sm_agg_merge(total, &own, &w->err);
    sm_agg_local_reset(&own);
    return status;
}

static sm_status t_run_worker(sm_worker *w, int tier, t_result *r)
{
    const sm_pipeline *p = w->p;
    sm_agg_local total = {0};
    sm_pin pin = {0};
    bool agg = p->sink == SM_SINK_AGG;
    SM_TRY(sm_row_open(w));
    SM_TRY(sm_batch_open(w));
    sm_status status = agg ? sm_agg_local_init(&total, &p->agg, w->mem, &w->err)
                           : sm_builder_new(w->mem, p->in_cols, p->n_in, NULL, &w->rows, &w->err);
    for (uint64_t m = 0; status == SM_OK && m < p->source.n_morsels; m++) {
        status = sm_source_pin(&p->source, m, &pin, &w->err);
        if (status == SM_OK) status = t_morsel(w, &pin, tier, &total);
        sm_source_unpin(&p->source, &pin);
    }
    sm_pin_reset(&p->source, &pin);
    if (status == SM_OK)
        status = agg ? sm_agg_finish(&total, p, &r->out, &w->err)
                     : sm_builder_finish(w->rows, &r->out, &w->err);
    else if (w->rows)
        sm_builder_free(w->rows);
    sm_agg_local_reset(&total);
    return status;
}

static t_result t_run_prepared(const sm_pipeline *p, int tier, uint32_t batch_rows,
                               int64_t fail_after)
{
    t_result r = {0};
    sm_mem *mem = SM_NEW(&t_arena, sm_mem); /* outlives the result */
    sm_mem_init(mem, &t_mem, SIZE_MAX);
    sm_worker w = {
        .p = p, .mem = mem, .rows_left = UINT64_MAX, .batch_rows = batch_rows, .timing = true};
    if (p->sink == SM_SINK_ROWS) w.rows_left = p->rows.limit_rows;
    sm_arena_init(&w.arena, mem, "pipeline");
    sm_arena_init(&w.scratch, mem, "expressions");
    w.stats = r.stats;
    atomic_store(&mem->fail_after, fail_after);
    r.status = t_run_worker(&w, tier, &r);
    atomic_store(&mem->fail_after, -1);
    r.err = w.err;
    if (p->sink == SM_SINK_AGG) r.mode = (int)p->agg.mode;
    sm_arena_reset(&w.scratch);
    sm_arena_reset(&w.arena);
    return r;
}

static const sm_pipeline *t_prepare(sm_node *plan)
{
    sm_pipelines list;
    ck_assert_int_eq(sm_pipelines_build(&t_arena, plan, &list, &t_err), SM_OK);
    sm_pipeline *p = &list.list[0];
    ck_assert_msg(sm_pipeline_prepare(p, &t_arena, NULL, NULL, 0, NULL, &t_err) == SM_OK, "%s",
                  t_err.message);
    return p;
}

static t_result t_run(sm_node *plan, int tier, uint32_t batch_rows)
{
    return t_run_prepared(t_prepare(plan), tier, batch_rows, -1);
}

static t_result t_run_failing(sm_node *plan, int tier, uint32_t batch_rows, int64_t calls)
{
    return t_run_prepared(t_prepare(plan), tier, batch_rows, calls);
}

static bool t_same_value(sm_phys p, const sm_value *a, const sm_value *b)
{
    if (a->is_null || b->is_null) return a->is_null == b->is_null;
    if (p == SM_PHYS_TEXT) return sm_text_eq(a->text, b->text);
    return memcmp(a, b, sm_phys_bytes(p)) == 0;
}

static void t_same(const t_result *a, const t_result *b, uint32_t batch_rows)
{
    ck_assert_msg(a->status == b->status, "batch of %u: status %d, row tier %d %s", batch_rows,
                  (int)b->status, (int)a->status, a->err.message);
    ck_assert_int_eq(a->err.position, b->err.position);
    ck_assert_str_eq(a->err.message, b->err.message);
    if (!a->out) return;
    ck_assert_msg(a->out->n_rows == b->out->n_rows, "batch of %u: %u rows, row tier %u", batch_rows,
                  (unsigned)b->out->n_rows, (unsigned)a->out->n_rows);
    for (uint32_t c = 0; c < a->out->n_cols; c++) {
        sm_phys p = sm_type_phys(a->out->cols[c].type);
        for (uint64_t i = 0; i < a->out->n_rows; i++) {
            sm_value x = t_value(a->out, c, i), y = t_value(b->out, c, i);
            ck_assert_msg(t_same_value(p, &x, &y), "batch of %u: column %u row %u differs",
                          batch_rows, c, (unsigned)i);
        }
    }
}

/* Row tier against batch tier; returns the way of grouping. */
static int t_compare(sm_node *plan)
{
    static const uint32_t sizes[] = {1024, 1, 2, 7, 100};
    const sm_pipeline *p = t_prepare(plan);
    t_result row = t_run_prepared(p, T_ROW_TIER, 1, -1);
    int mode = row.mode;
    for (size_t i = 0; i < SM_COUNT(sizes); i++) {
        t_result batch = t_run_prepared(p, T_BATCH, sizes[i], -1);
        t_same(&row, &batch, sizes[i]);
        t_result_reset(&batch);
    }
    t_result_reset(&row);
    return mode;
}

#endif
