/* Columns that nobody reads. Readers come later in the list than what they read, so one walk from
 * the last pipeline to the first notes for every step and every output what is needed, and one walk
 * from the first to the last takes the rest out: from projections, from the output of a pipeline
 * that only other pipelines read, and from what a probe brings along. Read pipeline_parts.h first.
 */
#include "plan/pipeline_parts.h"

/* needed[i]: of the rows that enter step i; needed[n_steps]: of the sink's input. */
typedef struct needs {
    bool **needed;
    uint32_t *width;
} needs;

uint32_t sm_pipeline_source_cols(const build *b, const sm_pipeline *p)
{
    switch (p->input) {
    case SM_INPUT_PIPELINE:
    case SM_INPUT_UNMATCHED: return b->list[p->from].p->n_out;
    case SM_INPUT_CONCAT: return b->list[p->parts[0]].p->n_out;
    default: return p->source_node->n_cols;
    }
}

static bool note_column(const sm_expr *e, void *arg)
{
    if (e->kind == SM_EXPR_COLUMN) ((bool *)arg)[e->column] = true;
    return true;
}

static void note_all(bool *needed, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) needed[i] = true;
}

static sm_status needs_init(build *b, const sm_pipeline *p, needs *out)
{
    uint32_t n = sm_pipeline_source_cols(b, p);
    out->needed = SM_NEW_N(b->a, bool *, p->n_steps + 1);
    out->width = SM_NEW_N(b->a, uint32_t, p->n_steps + 1);
    if (!out->needed || !out->width) return sm_arena_failed(b->a, b->err);
    for (uint32_t i = 0; i <= p->n_steps; i++) {
        out->width[i] = n;
        out->needed[i] = SM_NEW_N(b->a, bool, n + 1);
        if (!out->needed[i]) return sm_arena_failed(b->a, b->err);
        if (i < p->n_steps) n = sm_step_cols(&p->steps[i], n);
    }
    return SM_OK;
}

/* ---- from the last to the first ---- */

/* What the sink reads, given what later pipelines read of its output. */
static void sink_needs(const build *b, const sm_pipeline *p, bool *needed)
{
    const bool *out = b->list[p->number].needed;
    if (p->sink == SM_SINK_AGG) {
        note_all(needed, p->n_in);
        return;
    }
    uint32_t n_out = p->n_out < p->n_in ? p->n_out : p->n_in;
    memcpy(needed, out, n_out);
    if (p->sink == SM_SINK_BUILD) note_all(needed, p->build.n_keys);
    for (uint32_t i = 0; p->sink == SM_SINK_ROWS && i < p->rows.n_orders; i++)
        needed[p->rows.orders[i].expr->column] = true;
    bool some = false;
    for (uint32_t i = 0; i < n_out; i++) some |= needed[i];
    if (!some && n_out) needed[0] = true; /* rows are counted by their columns */
}

static sm_status probe_needs(build *b, const sm_step *s, uint32_t width, bool *in, const bool *out)
{
    sm_probe *q = s->probe;
    q->used = SM_NEW_N(b->a, bool, q->n_out + 1);
    bool *seen = SM_NEW_N(b->a, bool, width + q->n_build + 1);
    if (!q->used || !seen) return sm_arena_failed(b->a, b->err);
    memcpy(q->used, out, q->n_out);
    if (q->residual) sm_expr_walk(q->residual, note_column, seen);
    for (uint32_t i = 0; i < s->n_exprs; i++) sm_expr_walk(s->exprs[i], note_column, seen);
    for (uint32_t i = 0; i < width; i++) in[i] = seen[i] | out[i];
    for (uint32_t k = 0; k < q->n_build; k++)
        if (seen[width + k] || (sm_probe_carries(q) && out[width + k]))
            b->list[q->build].needed[q->build_cols[k]] = true;
    return SM_OK;
}

static void note_source(build *b, const sm_pipeline *p, const bool *needed, uint32_t n)
{
    bool whole = false;
    switch (p->input) {
    case SM_INPUT_PIPELINE:
    case SM_INPUT_UNMATCHED:
        for (uint32_t c = 0; c < n; c++) b->list[p->from].needed[c] |= needed[c];
        break;
    case SM_INPUT_CONCAT: /* all parts lose the same columns, or none loses any */
        for (uint32_t i = 0; i < p->n_parts; i++) {
            const made *part = &b->list[p->parts[i]];
            whole |= part->fixed || part->p->sink != SM_SINK_ROWS || part->p->rows.n_orders;
        }
        for (uint32_t i = 0; i < p->n_parts; i++)
            for (uint32_t c = 0; c < n; c++) b->list[p->parts[i]].needed[c] |= whole || needed[c];
        break;
    default: break;
    }
}

static sm_status find_needs(build *b, const sm_pipeline *p, needs *ns)
{
    SM_TRY(needs_init(b, p, ns));
    sink_needs(b, p, ns->needed[p->n_steps]);
    for (uint32_t i = p->n_steps; i-- > 0;) {
        const sm_step *s = &p->steps[i];
        bool *in = ns->needed[i];
        const bool *out = ns->needed[i + 1];
        if (s->kind == SM_STEP_PROBE) {
            SM_TRY(probe_needs(b, s, ns->width[i], in, out));
            continue;
        }
        if (s->kind == SM_STEP_FILTER) {
            memcpy(in, out, ns->width[i]);
            sm_expr_walk(s->exprs[0], note_column, in);
            continue;
        }
        for (uint32_t c = 0; c < s->n_exprs; c++)
            if (out[c]) sm_expr_walk(s->exprs[c], note_column, in);
    }
    note_source(b, p, ns->needed[0], ns->width[0]);
    return SM_OK;
}

/* ---- from the first to the last ---- */

/* The numbers of the columns needed[0..n) once the others are gone; NULL where all stay. */
static sm_status number(build *b, const bool *needed, uint32_t n, uint32_t **now, uint32_t *n_now)
{
    *now = SM_NEW_N(b->a, uint32_t, n + 1);
    if (!*now) return sm_arena_failed(b->a, b->err);
    *n_now = 0;
    for (uint32_t i = 0; i < n; i++) (*now)[i] = needed[i] ? (*n_now)++ : UINT32_MAX;
    if (*n_now == n) *now = NULL;
    return SM_OK;
}

typedef struct renumbering {
    sm_arena *a;
    const uint32_t *now;
} renumbering;

static sm_expr *moved_column(const sm_expr *leaf, void *arg)
{
    const renumbering *r = arg;
    if (leaf->kind != SM_EXPR_COLUMN) return NULL;
    sm_expr *c = sm_expr_clone(r->a, leaf);
    if (c) c->column = r->now[leaf->column];
    return c;
}

static sm_status renumber(build *b, sm_expr **list, uint32_t n, const uint32_t *now)
{
    renumbering r = {b->a, now};
    for (uint32_t i = 0; now && i < n; i++)
        if (list[i] && !(list[i] = sm_expr_replace(b->a, list[i], moved_column, &r)))
            return sm_arena_failed(b->a, b->err);
    return SM_OK;
}

/* *now: numbers of the columns that enter the step, then of those that leave it. */
static sm_status prune_project(build *b, sm_step *s, const bool *needed, const uint32_t **now)
{
    uint32_t n = 0, *after;
    SM_TRY(renumber(b, s->exprs, s->n_exprs, *now));
    SM_TRY(number(b, needed, s->n_exprs, &after, &n));
    for (uint32_t c = 0, k = 0; after && c < s->n_exprs; c++)
        if (needed[c]) s->exprs[k++] = s->exprs[c];
    s->n_exprs = n;
    *now = after;
    return SM_OK;
}

static sm_status prune_probe(build *b, sm_step *s, uint32_t width, uint32_t new_width,
                             const uint32_t **now)
{
    sm_probe *q = s->probe;
    const made *table = &b->list[q->build];
    uint32_t n_seen = width + q->n_build, *after = SM_NEW_N(b->a, uint32_t, n_seen + 2), kept = 0;
    bool *used = SM_NEW_N(b->a, bool, n_seen + 2), *seen = SM_NEW_N(b->a, bool, n_seen + 1);
    if (!after || !used || !seen) return sm_arena_failed(b->a, b->err);
    if (q->residual) sm_expr_walk(q->residual, note_column, seen);
    for (uint32_t c = 0; c < width; c++) {
        after[c] = *now ? (*now)[c] : c;
        if (after[c] != UINT32_MAX) used[after[c]] = q->used[c];
    }
    SM_TRY(renumber(b, s->exprs, s->n_exprs, *now));
    bool carries = sm_probe_carries(q);
    for (uint32_t k = 0; k < q->n_build; k++) {
        bool goes_on = carries && q->used[width + k];
        after[width + k] = UINT32_MAX;
        if (!goes_on && !seen[width + k]) continue;
        after[width + k] = new_width + kept;
        if (carries) used[new_width + kept] = goes_on;
        uint32_t column = q->build_cols[k];
        q->build_cols[kept] = table->now ? table->now[column] : column;
        q->build_types[kept++] = q->build_types[k];
    }
    SM_TRY(renumber(b, &q->residual, 1, after));
    q->n_build = kept;
    q->n_out = new_width + (carries ? kept : 0);
    if (q->kind == SM_JOIN_MARK) {
        used[q->n_out] = q->used[width];
        after[width] = q->n_out++;
    }
    q->used = used;
    *now = after;
    return SM_OK;
}

/* A sink loses columns by a PROJECT before it. */
static sm_status insert_project(build *b, sm_pipeline *p, const bool *needed)
{
    sm_step *steps = SM_NEW_N(b->a, sm_step, p->n_steps + 1);
    sm_expr **exprs = SM_NEW_N(b->a, sm_expr *, p->n_in + 1);
    uint32_t n = 0;
    if (!steps || !exprs) return sm_arena_failed(b->a, b->err);
    for (uint32_t c = 0; c < p->n_in; c++) {
        if (!needed[c]) continue;
        exprs[n] = sm_expr_column(b->a, c, p->in_cols[c].type, true);
        if (!exprs[n++]) return sm_arena_failed(b->a, b->err);
    }
    if (p->n_steps) memcpy(steps, p->steps, p->n_steps * sizeof *steps);
    steps[p->n_steps++] = (sm_step){.kind = SM_STEP_PROJECT, .n_exprs = n, .exprs = exprs};
    p->steps = steps;
    return SM_OK;
}

static void keep_cols(sm_table_col *cols, uint32_t *n, const bool *needed)
{
    uint32_t kept = 0;
    for (uint32_t c = 0; c < *n; c++)
        if (needed[c]) cols[kept++] = cols[c];
    *n = kept;
}

static sm_status prune_sink(build *b, sm_pipeline *p, const bool *needed, const uint32_t *now)
{
    if (!now) return SM_OK; /* nothing is dropped */
    uint32_t n_out = p->n_out;
    for (uint32_t i = 0; p->sink == SM_SINK_ROWS && i < p->rows.n_orders; i++)
        SM_TRY(renumber(b, &p->rows.orders[i].expr, 1, now));
    keep_cols(p->out_cols, &p->n_out, needed);
    keep_cols(p->in_cols, &p->n_in, needed);
    if (p->sink == SM_SINK_ROWS) p->rows.n_keep = p->n_out;
    if (p->n_out == n_out) return SM_OK; /* only what ordered was dropped */
    b->list[p->number].now = SM_NEW_N(b->a, uint32_t, n_out + 1);
    if (!b->list[p->number].now) return sm_arena_failed(b->a, b->err);
    memcpy(b->list[p->number].now, now, n_out * sizeof *now);
    return SM_OK;
}

static const made *source_of(const build *b, const sm_pipeline *p)
{
    switch (p->input) {
    case SM_INPUT_PIPELINE:
    case SM_INPUT_UNMATCHED: return &b->list[p->from];
    case SM_INPUT_CONCAT: return &b->list[p->parts[0]];
    default: return NULL;
    }
}

static sm_status prune(build *b, sm_pipeline *p, const needs *ns)
{
    const made *source = source_of(b, p);
    const uint32_t *now = source ? source->now : NULL;
    uint32_t width = sm_pipeline_source_cols(b, p);
    const bool *sink = ns->needed[p->n_steps];
    uint32_t n_steps = p->n_steps, *last = NULL, n_last = 0;
    p->used = SM_NEW_N(b->a, bool, ns->width[0] + 1);
    if (!p->used) return sm_arena_failed(b->a, b->err);
    for (uint32_t c = 0; c < ns->width[0]; c++)
        if (!now || now[c] != UINT32_MAX) p->used[now ? now[c] : c] |= ns->needed[0][c];
    if (p->sink != SM_SINK_AGG) SM_TRY(number(b, sink, p->n_in, &last, &n_last));
    if (last && !(n_steps && p->steps[n_steps - 1].kind == SM_STEP_PROJECT))
        SM_TRY(insert_project(b, p, sink));
    for (uint32_t i = 0; i < p->n_steps; i++) {
        sm_step *s = &p->steps[i];
        if (i == n_steps) { /* the inserted one */
            SM_TRY(renumber(b, s->exprs, s->n_exprs, now));
        } else if (s->kind == SM_STEP_FILTER) {
            SM_TRY(renumber(b, s->exprs, 1, now));
        } else if (s->kind == SM_STEP_PROJECT) {
            SM_TRY(prune_project(b, s, ns->needed[i + 1], &now));
        } else {
            SM_TRY(prune_probe(b, s, ns->width[i], width, &now));
        }
        width = sm_step_cols(s, width);
    }
    return prune_sink(b, p, sink, last);
}

sm_status sm_pipelines_prune(build *b)
{
    needs *all = SM_NEW_N(b->a, needs, b->n + 1);
    if (!all) return sm_arena_failed(b->a, b->err);
    for (uint32_t i = 0; i < b->n; i++) {
        made *m = &b->list[i];
        m->now = NULL;
        m->needed = SM_NEW_N(b->a, bool, m->p->n_out + 1);
        if (!m->needed) return sm_arena_failed(b->a, b->err);
        if (m->fixed || i + 1 == b->n) note_all(m->needed, m->p->n_out);
    }
    for (uint32_t i = b->n; i-- > 0;) SM_TRY(find_needs(b, b->list[i].p, &all[i]));
    for (uint32_t i = 0; i < b->n; i++) SM_TRY(prune(b, b->list[i].p, &all[i]));
    return SM_OK;
}
