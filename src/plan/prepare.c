/* Making a pipeline ready for one execution: parameters and LIMITs get their values, the source is
 * opened, ranges are proved step by step, and the way of grouping is chosen from plan and data
 * alone. Everything made here lives in the execution's arena. Read pipeline.h first, then prove.c.
 */
#include "plan/prove_parts.h"

#include "plan/join_table.h"
#include "runtime/format.h"

typedef struct prep {
    sm_pipeline *p;
    sm_arena *a;
    const sm_value *params;
    const sm_type *param_types;
    uint32_t n_params;
    sm_error *err;
} prep;

#define OUT_OF_MEMORY(q) sm_arena_failed((q)->a, (q)->err)

/* ---- parameters ---- */

static sm_expr *put_param(const sm_expr *leaf, void *arg)
{
    const prep *q = arg;
    if (leaf->kind != SM_EXPR_PARAM || leaf->column == 0 || leaf->column > q->n_params) return NULL;
    sm_expr *c = sm_expr_const(q->a, leaf->type, &q->params[leaf->column - 1]);
    if (c) c->position = leaf->position;
    return c;
}

static sm_status with_params(const prep *q, sm_expr **e)
{
    if (!q->n_params) return SM_OK;
    *e = sm_expr_replace(q->a, *e, put_param, (void *)q);
    if (!*e) return OUT_OF_MEMORY(q);
    return sm_expr_fold(q->a, e, q->err);
}

/* The value of an expression without columns. */
static sm_status value_of(const prep *q, sm_expr *e, sm_value *out)
{
    SM_TRY(with_params(q, &e));
    sm_eval ev = {.scratch = q->a, .err = q->err};
    return sm_expr_eval(&ev, e, out);
}

static sm_status put_params(const prep *q)
{
    for (uint32_t i = 0; i < q->p->n_steps; i++) {
        sm_step *s = &q->p->steps[i];
        for (uint32_t k = 0; k < s->n_exprs; k++) SM_TRY(with_params(q, &s->exprs[k]));
        if (s->probe && s->probe->residual) SM_TRY(with_params(q, &s->probe->residual));
    }
    return SM_OK;
}

static sm_status rows_of(const prep *q, sm_expr *e, sm_status negative, uint64_t *rows)
{
    if (!e) return SM_OK;
    sm_value v;
    SM_TRY(value_of(q, e, &v));
    if (v.is_null) return SM_OK;
    if (v.i64 < 0) return sm_raise_at(q->err, e->position, negative);
    *rows = (uint64_t)v.i64;
    return SM_OK;
}

static sm_status put_limits(const prep *q)
{
    sm_rows_sink *s = &q->p->rows;
    s->limit_rows = UINT64_MAX;
    s->offset_rows = 0;
    SM_TRY(rows_of(q, s->limit, SM_ERR_NEGATIVE_LIMIT, &s->limit_rows));
    return rows_of(q, s->offset, SM_ERR_NEGATIVE_OFFSET, &s->offset_rows);
}

/* ---- sources ---- */

static void reset_source(void *s)
{
    sm_source_reset(s);
}

/* The arena releases the source; the pipeline has a copy of the structure. */
static sm_status keep_source(const prep *q, sm_source *s)
{
    sm_source *own = SM_NEW(q->a, sm_source);
    if (!own) {
        sm_source_reset(s);
        return OUT_OF_MEMORY(q);
    }
    *own = *s;
    if (own->kind == SM_SOURCE_SERIES) own->cols = &own->series.col;
    if (!sm_arena_on_reset(q->a, reset_source, own)) return OUT_OF_MEMORY(q);
    q->p->source = *own;
    if (own->kind == SM_SOURCE_SERIES) q->p->source.cols = &q->p->source.series.col;
    return SM_OK;
}

static sm_status values_version(const prep *q, const sm_node *n, sm_version **out)
{
    uint32_t n_cols = n->n_cols ? n->n_cols : 1; /* rows without columns carry an unused one */
    sm_table_col *cols = SM_NEW_N(q->a, sm_table_col, n_cols);
    sm_value *row = SM_NEW_N(q->a, sm_value, n_cols);
    if (!cols || !row) return OUT_OF_MEMORY(q);
    cols[0] = (sm_table_col){.name = sm_arena_strdup(q->a, ""), .type = sm_type_of(SM_BOOL)};
    for (uint32_t c = 0; c < n->n_cols; c++)
        cols[c] =
            (sm_table_col){.name = sm_arena_strdup(q->a, n->cols[c].name ? n->cols[c].name : ""),
                           .type = n->cols[c].type};
    for (uint32_t c = 0; c < n_cols; c++)
        if (!cols[c].name) return OUT_OF_MEMORY(q);
    sm_builder *b;
    SM_TRY(sm_builder_new(q->a->mem, cols, n_cols, NULL, &b, q->err));
    for (uint32_t r = 0; r < n->values.n_rows; r++) {
        sm_status status = SM_OK;
        for (uint32_t c = 0; c < n->n_cols && status == SM_OK; c++)
            status = value_of(q, n->values.rows[r][c], &row[c]);
        if (status == SM_OK) status = sm_builder_row(b, row, q->err);
        if (status != SM_OK) {
            sm_builder_free(b);
            return status;
        }
    }
    return sm_builder_finish(b, out, q->err);
}

static sm_status series_source(const prep *q, const sm_node *n, sm_source *s)
{
    sm_type type = n->cols[0].type;
    sm_value start, stop, step;
    SM_TRY(value_of(q, n->series.start, &start));
    SM_TRY(value_of(q, n->series.stop, &stop));
    if (n->series.step) {
        SM_TRY(value_of(q, n->series.step, &step));
    } else {
        sm_i128 one = type.id == SM_DECIMAL ? sm_pow10(type.scale) : 1;
        step = (sm_value){.i128 = one}; /* little-endian: the narrower members agree */
    }
    if (start.is_null || stop.is_null || step.is_null) { /* no rows: from one to zero */
        start = step = (sm_value){.i128 = 1};
        stop = (sm_value){.i128 = 0};
        if (type.id == SM_TIMESTAMP) step = (sm_value){.iv = {0, 1, 0}};
    }
    return sm_source_of_series(s, q->a->mem, type, &start, &stop, &step, q->err);
}

static sm_status concat_source(const prep *q, const sm_output *outputs, sm_source *s)
{
    const sm_pipeline *p = q->p;
    sm_version *all;
    uint64_t n = 0;
    for (uint32_t i = 1; i < p->n_parts; i++) n += outputs[p->parts[i]].rows->n_chunks;
    sm_chunk **chunks = SM_NEW_N(q->a, sm_chunk *, n + 1);
    if (!chunks) return OUT_OF_MEMORY(q);
    n = 0;
    for (uint32_t i = 1; i < p->n_parts; i++) {
        const sm_version *part = outputs[p->parts[i]].rows;
        for (uint64_t c = 0; c < part->n_chunks; c++) chunks[n++] = sm_chunk_ref(part->chunks[c]);
    }
    SM_TRY(sm_version_extend(outputs[p->parts[0]].rows, chunks, n, &all, q->err));
    sm_source_of_version(s, all);
    sm_version_unref(all);
    return SM_OK;
}

/* Where only shapes are explained there is no table, but an empty version of its columns. */
static sm_status unmatched_source(const prep *q, const sm_output *build, sm_source *s)
{
    sm_version *rows = build->rows;
    if (build->table) SM_TRY(sm_join_unmatched(build->table, &rows, q->err));
    sm_source_of_version(s, rows);
    if (build->table) sm_version_unref(rows);
    return SM_OK;
}

static sm_status open_source(const prep *q, const sm_output *outputs)
{
    sm_pipeline *p = q->p;
    sm_source s;
    switch (p->input) {
    case SM_INPUT_VERSION: sm_source_of_version(&s, p->source_node->scan.version); break;
    case SM_INPUT_PIPELINE: sm_source_of_version(&s, outputs[p->from].rows); break;
    case SM_INPUT_CONCAT: SM_TRY(concat_source(q, outputs, &s)); break;
    case SM_INPUT_UNMATCHED: SM_TRY(unmatched_source(q, &outputs[p->from], &s)); break;
    case SM_INPUT_SERIES: SM_TRY(series_source(q, p->source_node, &s)); break;
    case SM_INPUT_VALUES: {
        sm_version *v;
        SM_TRY(values_version(q, p->source_node, &v));
        sm_source_of_version(&s, v);
        sm_version_unref(v);
        break;
    }
    }
    return keep_source(q, &s);
}

/* ---- proofs ---- */

static bool sums_only(const sm_pipeline *p, uint32_t column)
{
    if (p->sink != SM_SINK_AGG || column < p->agg.layout.n_keys) return false;
    for (uint32_t i = 0; i < p->agg.layout.n_accums; i++) {
        const sm_accum *acc = &p->agg.layout.accums[i];
        bool sum =
            acc->kind == SM_ACC_SUM_I || acc->kind == SM_ACC_SUM_D || acc->kind == SM_ACC_COUNT;
        if (acc->arg_col == (int32_t)column && (!sum || acc->distinct)) return false;
    }
    return true;
}

/* What enters the sink has its type's own form, but for the arguments of sums. */
static sm_status widen_outputs(const prep *q, sm_step *s)
{
    for (uint32_t i = 0; i < s->n_exprs; i++) {
        if (sm_type_phys(s->exprs[i]->type) != SM_PHYS_I128 || sums_only(q->p, i)) continue;
        s->proved[i] = sm_prove_widen(q->a, s->proved[i]);
        if (!s->proved[i]) return OUT_OF_MEMORY(q);
    }
    return SM_OK;
}

static sm_status prove_all(const prep *q, sm_step *s, const sm_expr *const *in)
{
    s->proved = SM_NEW_N(q->a, sm_expr *, s->n_exprs + 1);
    if (!s->proved) return OUT_OF_MEMORY(q);
    for (uint32_t k = 0; k < s->n_exprs; k++)
        SM_TRY(sm_prove(q->a, s->exprs[k], in, &s->proved[k], q->err));
    return SM_OK;
}

/* What is known of the build columns that a probe reads, from statistics over the build rows. */
static sm_status build_inputs(const prep *q, const sm_probe *pr, const sm_output *build,
                              const sm_expr **out)
{
    const sm_version *rows = build->table ? build->table->rows : build->rows;
    const sm_expr **known;
    sm_source s;
    sm_source_of_version(&s, (sm_version *)(uintptr_t)rows);
    sm_status status = sm_prove_source(q->a, &s, &known, q->err);
    sm_source_reset(&s);
    SM_TRY(status);
    for (uint32_t k = 0; k < pr->n_build; k++) {
        const sm_expr *column = known[pr->build_cols[k]];
        sm_expr *e = sm_expr_column(q->a, 0, pr->build_types[k], column->nullable);
        if (!e) return OUT_OF_MEMORY(q);
        e->range = column->range; /* phys is the type's: the table's columns are */
        out[k] = e;
    }
    return SM_OK;
}

/* Columns that pass a step keep what is known of them, under new numbers. */
static sm_status passed_on(const prep *q, const sm_expr *const *from, uint32_t n, bool nullable,
                           uint32_t at, const sm_expr **to)
{
    for (uint32_t i = 0; i < n; i++) {
        sm_expr *e = sm_expr_column(q->a, at + i, from[i]->type, from[i]->nullable || nullable);
        if (!e) return OUT_OF_MEMORY(q);
        e->phys = from[i]->phys;
        e->range = from[i]->range;
        to[at + i] = e;
    }
    return SM_OK;
}

static sm_status prove_probe(const prep *q, sm_step *s, const sm_output *outputs,
                             const sm_expr *const **in, uint32_t *width)
{
    sm_probe *pr = s->probe;
    uint32_t n_in = *width;
    pr->table = outputs[pr->build].table;
    const sm_expr **seen = SM_NEW_N(q->a, const sm_expr *, n_in + pr->n_build + 2);
    const sm_expr **out = SM_NEW_N(q->a, const sm_expr *, n_in + pr->n_build + 2);
    if (!seen || !out) return OUT_OF_MEMORY(q);
    SM_TRY(prove_all(q, s, *in));
    for (uint32_t k = 0; k < s->n_exprs; k++) {
        if (sm_type_phys(s->exprs[k]->type) != SM_PHYS_I128) continue;
        s->proved[k] = sm_prove_widen(q->a, s->proved[k]);
        if (!s->proved[k]) return OUT_OF_MEMORY(q);
    }
    memcpy(seen, *in, n_in * sizeof *seen);
    SM_TRY(build_inputs(q, pr, &outputs[pr->build], seen + n_in));
    if (pr->residual) SM_TRY(sm_prove(q->a, pr->residual, seen, &pr->residual_proved, q->err));
    SM_TRY(passed_on(q, *in, n_in, false, 0, out));
    bool padded =
        pr->kind == SM_JOIN_LEFT || pr->kind == SM_JOIN_FULL || pr->kind == SM_JOIN_SINGLE;
    if (pr->kind == SM_JOIN_MARK) {
        out[n_in] = sm_expr_column(q->a, n_in, sm_type_of(SM_BOOL), true);
        if (!out[n_in]) return OUT_OF_MEMORY(q);
    } else if (pr->n_out > n_in) {
        SM_TRY(passed_on(q, seen + n_in, pr->n_build, padded, n_in, out));
    }
    *in = out;
    *width = pr->n_out;
    return SM_OK;
}

/* *in becomes what is known of the sink's input columns. */
static sm_status prove_steps(const prep *q, const sm_output *outputs, const sm_expr *const **in)
{
    const sm_expr **inputs;
    SM_TRY(sm_prove_source(q->a, &q->p->source, &inputs, q->err));
    *in = inputs;
    uint32_t width = q->p->source.n_cols;
    for (uint32_t i = 0; i < q->p->n_steps; i++) {
        sm_step *s = &q->p->steps[i];
        if (s->kind == SM_STEP_PROBE) {
            SM_TRY(prove_probe(q, s, outputs, in, &width));
            continue;
        }
        SM_TRY(prove_all(q, s, *in));
        if (s->kind == SM_STEP_FILTER) continue;
        if (i + 1 == q->p->n_steps) SM_TRY(widen_outputs(q, s));
        *in = (const sm_expr *const *)s->proved;
        width = s->n_exprs;
    }
    return SM_OK;
}

/* ---- grouping ---- */

/* The source column that key i is a copy of, through all projections; -1 if it is computed or comes
 * from the build side of a join. */
static int64_t traced_column(const sm_pipeline *p, uint32_t i)
{
    uint32_t column = i;
    for (uint32_t k = p->n_steps; k-- > 0;) {
        const sm_step *s = &p->steps[k];
        if (s->kind == SM_STEP_PROBE) {
            uint32_t n_added = s->probe->kind == SM_JOIN_MARK ? 1
                               : sm_probe_carries(s->probe)   ? s->probe->n_build
                                                              : 0;
            if (column >= s->probe->n_out - n_added) return -1;
        }
        if (s->kind != SM_STEP_PROJECT) continue;
        const sm_expr *e = s->proved[column];
        if (e->kind != SM_EXPR_COLUMN) return -1;
        column = e->column;
    }
    return column;
}

/* Fills a key's code from dictionary or range. False: the key has no small known domain. */
static bool code_key(const sm_pipeline *p, uint32_t i, const sm_expr *key, sm_code_key *out)
{
    memset(out, 0, sizeof *out);
    out->nullable = key->nullable;
    if (key->type.id == SM_TEXT) {
        int64_t column = traced_column(p, i);
        if (column < 0 || p->source.kind != SM_SOURCE_VERSION || !p->source.cols[column].dict)
            return false;
        out->dict = true;
        out->source_col = (uint32_t)column;
        out->dictionary = p->source.cols[column].dict;
        out->n_values = out->dictionary->n;
        return true;
    }
    if (!key->range.known || key->phys == SM_PHYS_I128) return false;
    if (key->phys == SM_PHYS_BOOL) { /* codes are the values themselves */
        out->n_values = 2;
        return true;
    }
    sm_i128 n = key->range.hi - key->range.lo + 1;
    if (n < 1 || n > SM_DIRECT_GROUPS || !sm_range_fits_i64(key->range)) return false;
    out->min = (int64_t)key->range.lo;
    out->n_values = (uint32_t)n;
    return true;
}

static bool code_keys(const sm_pipeline *p, const sm_expr *const *in, sm_code_key *codes,
                      uint32_t *n_codes)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < p->agg.layout.n_keys; i++) {
        if (!code_key(p, i, in[i], &codes[i])) return false;
        codes[i].stride = (uint32_t)n;
        n *= (uint64_t)codes[i].n_values + codes[i].nullable;
        if (n > SM_DIRECT_GROUPS || n == 0) return false;
    }
    *n_codes = (uint32_t)n;
    return true;
}

static sm_status choose_groups(const prep *q, const sm_expr *const *in)
{
    enum { DIRECT_BYTES = 4 << 20, DIRECT_ALWAYS = 1024 };
    sm_pipeline *p = q->p;
    sm_agg_sink *s = &p->agg;
    s->codes = SM_NEW_N(q->a, sm_code_key, s->layout.n_keys + 1);
    if (!s->codes) return OUT_OF_MEMORY(q);
    s->order_sensitive = false;
    for (uint32_t i = 0; i < s->layout.n_accums; i++) {
        const sm_accum *acc = &s->layout.accums[i];
        s->order_sensitive |=
            !acc->distinct && (acc->kind == SM_ACC_SUM_F || acc->kind == SM_ACC_VAR);
    }
    s->mode = SM_GROUPS_HASH;
    s->n_codes = 0;
    uint32_t n_codes = 1;
    unsigned lanes = 1;
    if (s->layout.n_keys == 0) {
        s->mode = SM_GROUPS_NONE;
        lanes = SM_LANES_NONE;
    } else if (code_keys(p, in, s->codes, &n_codes)) {
        sm_group_layout_init(&s->layout, 1);
        uint64_t few = 4 * p->source.n_rows > DIRECT_ALWAYS ? 4 * p->source.n_rows : DIRECT_ALWAYS;
        if (n_codes <= SM_TINY_GROUPS) {
            s->mode = SM_GROUPS_TINY;
            lanes = SM_LANES_TINY;
        } else if (n_codes <= few && (uint64_t)n_codes * s->layout.row_bytes <= DIRECT_BYTES) {
            s->mode = SM_GROUPS_DIRECT;
        }
    }
    if (s->mode != SM_GROUPS_HASH) s->n_codes = n_codes;
    sm_group_layout_init(&s->layout, lanes);
    bool by_segments =
        s->order_sensitive && (s->mode == SM_GROUPS_DIRECT || s->mode == SM_GROUPS_HASH);
    p->segment_chunks = by_segments ? (p->source.n_morsels + 63) / 64 : 1;
    if (p->segment_chunks == 0) p->segment_chunks = 1;
    return SM_OK;
}

sm_status sm_pipeline_prepare(sm_pipeline *p, sm_arena *a, const sm_value *params,
                              const sm_type *param_types, uint32_t n_params,
                              const sm_output *outputs, sm_error *err)
{
    prep q = {p, a, params, param_types, n_params, err};
    SM_TRY(put_params(&q));
    if (p->sink == SM_SINK_ROWS) SM_TRY(put_limits(&q));
    SM_TRY(open_source(&q, outputs));
    const sm_expr *const *in;
    SM_TRY(prove_steps(&q, outputs, &in));
    return p->sink == SM_SINK_AGG ? choose_groups(&q, in) : SM_OK;
}
