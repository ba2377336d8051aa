/* Pipelines of one plan in order: prepare, share out, merge by unit number, finish. */
#include "exec/run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exec/worker.h"
#include "plan/join_table.h"

void sm_exec_options_init(sm_exec_options *o, const sm_engine *e)
{
    const sm_settings *s = &e->settings;
    *o = (sm_exec_options){
        .tier = (sm_tier)sm_setting_get(s, SM_SETTING_tier),
        .threads = (uint32_t)sm_setting_get(s, SM_SETTING_threads),
        .batch_rows = (uint32_t)sm_setting_get(s, SM_SETTING_batch_rows),
        .jit.step = (uint32_t)sm_setting_get(s, SM_SETTING_jit_step),
        .jit_on = sm_setting_get(s, SM_SETTING_jit) != 0,
        .jit_wait = sm_setting_get(s, SM_SETTING_jit_wait) != 0,
        .jit_min_rows = (uint64_t)sm_setting_get(s, SM_SETTING_jit_min_rows)};
}

sm_status sm_control_check(const sm_control *c, sm_error *err)
{
    if (atomic_load_explicit(&c->cancel, memory_order_relaxed)) return sm_raise(err, SM_ERR_CANCELED);
    if (c->deadline_ns && sm_now_ns() > c->deadline_ns) return sm_raise(err, SM_ERR_TIMEOUT);
    return SM_OK;
}

static unsigned worker_count(const sm_exec *x, uint64_t n_units)
{
    uint64_t n = x->options.threads;
    if (!n) {
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        n = cpus > 0 ? (uint64_t)cpus : 1;
    }
    if (n > SM_POOL_MAX) n = SM_POOL_MAX;
    if (n > n_units) n = n_units;
    return n ? (unsigned)n : 1;
}

/* ---- setting a run up ---- */

/* ROWS and BUILD collect rows by unit. */
static bool keeps_rows(const sm_pipeline *p) { return p->sink != SM_SINK_AGG; }

static bool keeps_partials(const sm_pipeline *p)
{
    return p->sink == SM_SINK_AGG && p->agg.order_sensitive && p->agg.mode <= SM_GROUPS_TINY;
}

static bool keeps_segments(const sm_pipeline *p)
{
    return p->sink == SM_SINK_AGG && p->agg.order_sensitive && p->agg.mode > SM_GROUPS_TINY;
}

static sm_status run_open(sm_run *r, sm_exec *x, sm_pipeline *p, sm_pipeline_report *report, sm_error *err)
{
    sm_arena *a = &x->lease->arena;
    *r = (sm_run){.x = x, .p = p, .report = report};
    r->unit_morsels = p->segment_chunks ? p->segment_chunks : 1;
    r->n_units = (p->source.n_morsels + r->unit_morsels - 1) / r->unit_morsels;
    r->n_workers = worker_count(x, r->n_units);
    r->error_unit = UINT64_MAX;
    r->limit = UINT64_MAX;
    atomic_init(&r->stop_at, UINT64_MAX);
    r->job.run = sm_worker_run;
    report->p = p;
    report->workers = r->n_workers;
    report->stats = SM_NEW_N(a, sm_step_stats, p->n_steps + 2);
    r->workers = SM_NEW_N(a, sm_run_worker, r->n_workers);
    if (p->sink == SM_SINK_BUILD) {
        p->rows = (sm_rows_sink){.limit_rows = UINT64_MAX, .n_keep = p->n_in};
    }
    if (keeps_rows(p)) {
        r->parts = SM_NEW_N(a, sm_version *, r->n_units + 1);
        if (!p->rows.n_orders && p->rows.limit_rows != UINT64_MAX) {
            r->limit = p->rows.limit_rows + p->rows.offset_rows;
            if (r->limit < p->rows.limit_rows) r->limit = UINT64_MAX;
        }
        if (r->limit == 0) atomic_store(&r->stop_at, 0);
    }
    if (keeps_partials(p)) {
        r->partial_bytes = (size_t)p->agg.n_codes * p->agg.layout.row_bytes;
        r->partials = sm_arena_alloc(a, r->partial_bytes * (r->n_units + 1));
        r->partial_set = SM_NEW_N(a, bool, r->n_units + 1);
    }
    if (keeps_segments(p)) r->segments = SM_NEW_N(a, sm_agg_local, r->n_units + 1);
    if (!report->stats || !r->workers || (keeps_rows(p) && !r->parts) ||
        (keeps_partials(p) && !(r->partials && r->partial_set)) || (keeps_segments(p) && !r->segments)) {
        return sm_arena_failed(a, err);
    }
    if (pthread_mutex_init(&r->lock, NULL) || pthread_mutex_init(&r->compile_lock, NULL)) {
        return sm_raise(err, SM_ERR_INTERNAL, "no mutex");
    }
    return SM_OK;
}

static void run_close(sm_run *r)
{
    for (unsigned i = 0; i < r->n_workers; i++) sm_run_worker_close(&r->workers[i]);
    for (uint64_t u = 0; u < r->n_units; u++) {
        if (r->parts && r->parts[u]) sm_version_unref(r->parts[u]);
        if (r->segments && r->segments[u].sink) sm_agg_local_reset(&r->segments[u]);
    }
    sm_compile_result_unref(atomic_load(&r->compiled));
    pthread_mutex_destroy(&r->compile_lock);
    pthread_mutex_destroy(&r->lock);
}

/* ---- merging ---- */

static sm_status merge_agg(sm_run *r, sm_agg_local *total, sm_error *err)
{
    SM_TRY(sm_agg_local_init(total, &r->p->agg, &r->x->engine->mem, err));
    for (uint64_t u = 0; r->segments && u < r->n_units; u++) {
        if (r->segments[u].sink) SM_TRY(sm_agg_merge(total, &r->segments[u], err));
    }
    for (uint64_t u = 0; r->partials && u < r->n_units; u++) {
        const char *partial = r->partials + u * r->partial_bytes;
        if (r->partial_set[u]) SM_TRY(sm_agg_merge_partial(total, partial, err));
    }
    for (unsigned i = 0; !r->segments && !r->partials && i < r->n_workers; i++) {
        if (r->workers[i].agg_ready) SM_TRY(sm_agg_merge(total, &r->workers[i].agg, err));
    }
    return SM_OK;
}

static sm_status finish(sm_run *r, sm_output *out, sm_error *err)
{
    sm_mem *mem = &r->x->engine->mem;
    if (keeps_rows(r->p)) {
        SM_TRY(sm_rows_finish(r->p, r->parts, r->n_units, mem, &out->rows, err));
        if (r->p->sink == SM_SINK_ROWS) return SM_OK;
        return sm_join_table_build(r->p, out->rows, mem, &out->table, err);
    }
    sm_agg_local total = {0};
    sm_status s = merge_agg(r, &total, err);
    if (s == SM_OK) s = sm_agg_finish(&total, r->p, &out->rows, err);
    if (total.sink) sm_agg_local_reset(&total);
    return s;
}

static void add_metrics(sm_exec_metrics *to, const sm_exec_metrics *from)
{
    to->rows_scanned += from->rows_scanned;
    to->bytes_scanned += from->bytes_scanned;
    for (unsigned i = 0; i < SM_COUNT(to->morsels); i++) to->morsels[i] += from->morsels[i];
    to->replayed += from->replayed;
    to->compiles += from->compiles;
    to->cache_hits += from->cache_hits;
    to->compile_ns += from->compile_ns;
}

static void note_code(sm_exec_metrics *m, const sm_jit_code_info *info)
{
    if (info->cache_hit) {
        m->cache_hits++;
        return;
    }
    m->compiles++;
    m->compile_ns += (int64_t)(1e6 * (info->emit_ms + info->passes_ms + info->codegen_ms + info->link_ms));
}

/* What AUTO expects of compiled code next time follows what it brought this time. */
static void learn_speedup(sm_run *r)
{
    _Atomic int64_t *percent = &r->x->engine->compiler.speedup_percent;
    int64_t jit_ns = atomic_load(&r->jit_ns), jit_rows = atomic_load(&r->jit_rows);
    int64_t batch_ns = atomic_load(&r->batch_ns), batch_rows = atomic_load(&r->batch_rows);
    if (jit_rows < 2 * SM_CHUNK_ROWS || batch_rows < SM_CHUNK_ROWS || !jit_ns) return;
    double measured = 100.0 * (double)batch_ns / (double)batch_rows * (double)jit_rows / (double)jit_ns;
    if (measured > 2000) measured = 2000;
    if (measured < 105) measured = 105;
    int64_t old = atomic_load(percent);
    atomic_store(percent, old + ((int64_t)measured - old) / 4);
}

static void collect(sm_run *r)
{
    learn_speedup(r);
    sm_pipeline_report *report = r->report;
    for (unsigned i = 0; i < r->n_workers; i++) {
        const sm_run_worker *rw = &r->workers[i];
        add_metrics(&report->metrics, &rw->metrics);
        for (uint32_t s = 0; rw->w.stats && s < r->p->n_steps + 2; s++) {
            report->stats[s].rows_out += rw->w.stats[s].rows_out;
            report->stats[s].ns += rw->w.stats[s].ns;
        }
    }
    sm_compile_result *c = atomic_load(&r->compiled);
    if (c && atomic_load_explicit(&c->done, memory_order_acquire)) {
        if (c->code) note_code(&report->metrics, c->module->info(c->code));
        else snprintf(report->why, sizeof report->why, "%s", c->why);
    }
    add_metrics(&r->x->metrics, &report->metrics);
}

static sm_status run_pipeline(sm_exec *x, sm_pipeline *p, sm_pipeline_report *report, sm_output *out,
                              sm_error *err)
{
    sm_run run;
    int64_t start = sm_now_ns();
    SM_TRY(run_open(&run, x, p, report, err));
    sm_status s = SM_OK;
    for (unsigned i = 0; i < run.n_workers && s == SM_OK; i++) {
        s = sm_run_worker_open(&run.workers[i], &run, err);
    }
    if (s == SM_OK) {
        atomic_store(&x->control->rows_done, 0);
        atomic_store(&x->control->rows_total, p->source.n_rows);
        sm_tiering_start(&run);
        sm_pool_run(&x->engine->pool, &run.job, run.n_workers - 1);
        s = run.status;
        if (s != SM_OK && err && err->status == SM_OK) *err = run.err;
    }
    if (s == SM_OK) s = sm_control_check(x->control, err);
    if (s == SM_OK) s = finish(&run, out, err);
    collect(&run);
    report->ns = sm_now_ns() - start;
    run_close(&run);
    return s;
}

sm_status sm_exec_plan(sm_exec *x, const sm_node *plan, sm_version **out, sm_error *err)
{
    sm_arena *a = &x->lease->arena;
    sm_pipelines pipelines;
    *out = NULL;
    SM_TRY(sm_control_check(x->control, err));
    SM_TRY(sm_pipelines_build(a, plan, &pipelines, err));
    x->reports = SM_NEW_N(a, sm_pipeline_report, pipelines.n);
    sm_output *outputs = SM_NEW_N(a, sm_output, pipelines.n);
    if (!x->reports || !outputs) return sm_arena_failed(a, err);
    sm_status s = SM_OK;
    for (uint32_t i = 0; i < pipelines.n && s == SM_OK; i++) {
        sm_pipeline *p = &pipelines.list[i];
        s = sm_pipeline_prepare(p, a, x->params, x->param_types, x->n_params, outputs, err);
        if (s == SM_OK) s = run_pipeline(x, p, &x->reports[i], &outputs[i], err);
        if (s == SM_OK) x->n_reports = i + 1;
    }
    for (uint32_t i = 0; i < pipelines.n; i++) {
        if (outputs[i].table) sm_join_table_unref(outputs[i].table);
        if (i + 1 == pipelines.n && s == SM_OK) *out = outputs[i].rows;
        else if (outputs[i].rows) sm_version_unref(outputs[i].rows);
    }
    return s;
}
