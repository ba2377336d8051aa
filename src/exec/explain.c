/* EXPLAIN: the plan as a pipe plan, then a comment block per pipeline, so that the whole text can be fed back. With
 * ANALYZE the pipelines tell what they did; with IR or ASM the compiled loops follow. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exec/statement.h"

typedef struct writer {
    sm_arena *a;
    char *text;
    size_t used, room;
    bool failed;
} writer;

static void put(writer *w, const char *format, ...) SM_PRINTF(2, 3);
static void put(writer *w, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n >= 0 && w->used + (size_t)n + 1 > w->room) {
        size_t room = 2 * (w->room + (size_t)n) + 256;
        char *text = sm_arena_alloc(w->a, room);
        if (!text) {
            w->failed = true;
        } else {
            memcpy(text, w->text ? w->text : "", w->used + (w->text != NULL));
            w->text = text;
            w->room = room;
        }
    }
    if (n >= 0 && !w->failed) {
        vsnprintf(w->text + w->used, w->room - w->used, format, again);
        w->used += (size_t)n;
    }
    va_end(again);
}

static const char *const mode_names[] = {"one group", "by masks", "by index", "by hash"};

static void put_source(writer *w, const sm_pipeline *p)
{
    switch (p->input) {
    case SM_INPUT_VERSION: put(w, "scan %s", p->source_node->scan.table); break;
    case SM_INPUT_SERIES: put(w, "generate_series"); break;
    case SM_INPUT_VALUES: put(w, "values"); break;
    case SM_INPUT_PIPELINE: put(w, "pipeline %u", p->from + 1); break;
    case SM_INPUT_CONCAT: put(w, "%u pipelines in order", p->n_parts); break;
    case SM_INPUT_UNMATCHED: put(w, "unmatched rows of pipeline %u", p->from + 1); break;
    }
}

static const char *step_name(const sm_step *s)
{
    static const char *const names[] = {"filter", "project", "probe"};
    return names[s->kind];
}

static void put_sink(writer *w, const sm_pipeline *p, bool prepared)
{
    if (p->sink == SM_SINK_BUILD) {
        put(w, "build");
    } else if (p->sink == SM_SINK_AGG) {
        put(w, "aggregate");
        if (!prepared) return;
        put(w, " (%s", mode_names[p->agg.mode]);
        if (p->agg.mode == SM_GROUPS_TINY || p->agg.mode == SM_GROUPS_DIRECT) {
            put(w, ", %u possible", p->agg.n_codes);
        }
        put(w, ")");
    } else if (p->rows.n_orders) {
        put(w, "sort");
    } else {
        put(w, p->sink_node ? "limit" : "result");
    }
}

static void put_shape(writer *w, const sm_pipeline *p, bool prepared)
{
    put(w, "-- pipeline %u: ", p->number + 1);
    put_source(w, p);
    for (uint32_t i = 0; i < p->n_steps; i++) put(w, " -> %s", step_name(&p->steps[i]));
    put(w, " -> ");
    put_sink(w, p, prepared);
    put(w, "\n");
}

static void put_report(writer *w, const sm_pipeline_report *r, bool analyze)
{
    const sm_pipeline *p = r->p;
    const sm_exec_metrics *m = &r->metrics;
    put(w, "--   tier:");
    for (int t = SM_TIER_ROW; t <= SM_TIER_JIT; t++) {
        if (m->morsels[t]) put(w, " %s %llu morsels", sm_tier_name((sm_tier)t), (unsigned long long)m->morsels[t]);
    }
    if (r->why[0]) put(w, " (not compiled: %s)", r->why);
    put(w, "\n");
    if (!analyze) return;
    double rows = (double)m->rows_scanned, ms = (double)r->ns / 1e6;
    put(w, "--   %.3f ms, %u workers, %.3f ns/row", ms, r->workers, rows > 0 ? (double)r->ns / rows : 0.0);
    if (m->compiles) put(w, ", compiled %u in %.2f ms", m->compiles, (double)m->compile_ns / 1e6);
    if (m->cache_hits) put(w, ", %u found in the code cache", m->cache_hits);
    if (m->replayed) put(w, ", %llu blocks replayed", (unsigned long long)m->replayed);
    put(w, "\n");
    for (uint32_t i = 0; i < p->n_steps + 2; i++) {
        const sm_step_stats *s = &r->stats[i];
        const char *name = i == 0 ? "source" : i <= p->n_steps ? step_name(&p->steps[i - 1]) : "sink";
        put(w, "--   %-8s %llu rows", name, (unsigned long long)s->rows_out);
        if (s->ns && rows > 0) put(w, ", %.3f ms, %.3f ns/row", (double)s->ns / 1e6, (double)s->ns / rows);
        put(w, "\n");
    }
}

/* Why the jit tier would not compile a pipeline, if it would not. */
static void put_compilable(writer *w, sm_exec *x, const sm_pipeline *p)
{
    char why[256] = "";
    const sm_jit_module *m =
        x->options.jit_on ? sm_compiler_module(&x->engine->compiler, why, sizeof why) : NULL;
    if (!x->options.jit_on) snprintf(why, sizeof why, "the jit is switched off");
    bool can = m && m->can(p, why, sizeof why);
    put(w, can ? "--   can be compiled\n" : "--   not compiled: %s\n", why);
}

static void unref_rows(void *rows) { sm_version_unref(rows); }

/* Plain EXPLAIN: later pipelines are prepared over no rows. */
static sm_status explain_shapes(writer *w, sm_exec *x, const sm_node *plan, sm_error *err)
{
    sm_arena *a = &x->lease->arena;
    sm_pipelines list;
    SM_TRY(sm_pipelines_build(a, plan, &list, err));
    sm_output *outputs = SM_NEW_N(a, sm_output, list.n + 1);
    if (!outputs) return sm_arena_failed(a, err);
    for (uint32_t i = 0; i < list.n; i++) {
        sm_pipeline *p = &list.list[i];
        sm_status s = sm_pipeline_prepare(p, a, x->params, x->param_types, x->n_params, outputs, err);
        if (s == SM_OK) s = sm_version_new(&x->engine->mem, p->out_cols, p->n_out, &outputs[i].rows, err);
        if (s == SM_OK && !sm_arena_on_reset(a, unref_rows, outputs[i].rows)) s = sm_arena_failed(a, err);
        SM_TRY(s);
        put_shape(w, p, p->input != SM_INPUT_PIPELINE);
        put_compilable(w, x, p);
    }
    return SM_OK;
}

static sm_status explain_run(writer *w, sm_exec *x, const sm_node *plan, unsigned flags, sm_error *err)
{
    sm_version *rows = NULL;
    bool loops = flags & (SM_EXPLAIN_IR | SM_EXPLAIN_ASM);
    x->options.timing = (flags & SM_EXPLAIN_ANALYZE) != 0;
    x->options.jit.keep_text = loops;
    if (loops) x->options.tier = SM_TIER_JIT;
    SM_TRY(sm_exec_plan(x, plan, &rows, err));
    sm_version_unref(rows);
    for (uint32_t i = 0; i < x->n_reports; i++) {
        const sm_pipeline_report *r = &x->reports[i];
        put_shape(w, r->p, true);
        put_report(w, r, (flags & SM_EXPLAIN_ANALYZE) != 0);
        if (flags & SM_EXPLAIN_IR && r->ir) put(w, "%s\n", r->ir);
        if (flags & SM_EXPLAIN_ASM && r->assembly) put(w, "%s\n", r->assembly);
    }
    return SM_OK;
}

sm_status sm_explain(sm_exec *x, const sm_node *plan, unsigned flags, sm_arena *a, char **out, sm_error *err)
{
    writer w = {.a = a};
    char *text = NULL;
    SM_TRY(sm_node_print(plan, a, &text, err));
    put(&w, "%s", text);
    if (w.used && w.text && w.text[w.used - 1] != '\n') put(&w, "\n");
    SM_TRY(flags ? explain_run(&w, x, plan, flags, err) : explain_shapes(&w, x, plan, err));
    if (w.failed) return sm_arena_failed(a, err);
    *out = w.text;
    return SM_OK;
}
