/* The worker's loop: take a unit, run its morsels in the chosen tier, hand what came out to the run by unit number.
 * Read worker.h first. What the order of units decides (errors, LIMIT) is settled here, under the run's lock. */
#include "exec/worker.h"

#include <string.h>

sm_status sm_run_worker_open(sm_run_worker *rw, sm_run *run, sm_error *err)
{
    const sm_exec *x = run->x;
    sm_mem *mem = &x->engine->mem;
    rw->run = run;
    rw->w = (sm_worker){.p = run->p,
                        .mem = mem,
                        .rows_left = UINT64_MAX,
                        .batch_rows = x->options.batch_rows,
                        .timing = x->options.timing};
    sm_arena_init(&rw->w.arena, mem, "pipeline");
    sm_arena_init(&rw->w.scratch, mem, "expressions");
    rw->w.stats = SM_NEW_N(&rw->w.arena, sm_step_stats, run->p->n_steps + 2);
    if (!rw->w.stats) return sm_arena_failed(&rw->w.arena, err);
    if (run->p->sink == SM_SINK_AGG && !run->segments) {
        SM_TRY(sm_agg_local_init(&rw->agg, &run->p->agg, mem, err));
        rw->agg_ready = true;
        rw->w.agg = &rw->agg;
    }
    return SM_OK;
}

void sm_run_worker_close(sm_run_worker *rw)
{
    if (!rw->run) return;
    sm_pin_reset(&rw->run->p->source, &rw->pin);
    if (rw->agg_ready) sm_agg_local_reset(&rw->agg);
    if (rw->code) rw->module->release(rw->code);
    sm_arena_reset(&rw->w.scratch);
    sm_arena_reset(&rw->w.arena);
}

/* ---- one morsel in one tier ---- */

static sm_status row_run(sm_run_worker *rw, uint32_t from, uint32_t to)
{
    if (!rw->w.row) SM_TRY(sm_row_open(&rw->w));
    return sm_row_run(&rw->w, &rw->pin, from, to);
}

typedef sm_status (*tier_run)(sm_run_worker *rw, uint32_t from, uint32_t to, uint32_t *stop, uint32_t *end);

static sm_status batch_run(sm_run_worker *rw, uint32_t from, uint32_t to, uint32_t *stop, uint32_t *end)
{
    return sm_batch_run(&rw->w, &rw->pin, from, to, stop, end);
}

/* Runs all rows in a tier that may refuse some, which the row tier then replays; it raises the error, or, finding
 * none, lets the tier go on behind them. */
static sm_status run_with_replay(sm_run_worker *rw, tier_run run, uint32_t n_rows)
{
    uint32_t at = 0;
    while (at < n_rows && rw->w.rows_left) {
        uint32_t stop = at, end = at;
        SM_TRY(run(rw, at, n_rows, &stop, &end));
        if (stop >= n_rows) break;
        rw->metrics.replayed++;
        rw->w.drop_rows = rw->w.rows_out;
        SM_TRY(row_run(rw, stop, end));
        rw->w.drop_rows = rw->w.rows_out = 0;
        at = end;
    }
    return SM_OK;
}

static void count_bytes(sm_run_worker *rw, const sm_chunk *chunk)
{
    const sm_pipeline *p = rw->run->p;
    uint64_t bits = 0;
    for (uint32_t c = 0; c < chunk->n_cols; c++) {
        if (!p->used[c]) continue;
        bits += chunk->cols[c].width ? 8u * chunk->cols[c].width : 1u;
        bits += chunk->cols[c].valid ? 1u : 0u;
    }
    rw->metrics.bytes_scanned += bits * chunk->n_rows / 8;
    rw->metrics.rows_scanned += chunk->n_rows;
}

static sm_tier choose_tier(sm_run_worker *rw, const sm_chunk *chunk)
{
    sm_tier t = rw->run->tier;
    if (t == SM_TIER_ROW || t == SM_TIER_BATCH) return t;
    return sm_jit_ready(rw, chunk) ? SM_TIER_JIT : SM_TIER_BATCH;
}

static sm_status run_morsel(sm_run_worker *rw)
{
    sm_run *run = rw->run;
    const sm_chunk *chunk = rw->pin.chunk;
    sm_tier tier = choose_tier(rw, chunk);
    int64_t start = run->tier == SM_TIER_AUTO ? sm_now_ns() : 0;
    sm_status s;
    if (tier == SM_TIER_ROW) {
        s = row_run(rw, 0, chunk->n_rows);
    } else if (tier == SM_TIER_JIT) {
        s = run_with_replay(rw, sm_jit_run, chunk->n_rows);
    } else {
        if (!rw->w.batch) SM_TRY(sm_batch_open(&rw->w));
        s = run_with_replay(rw, batch_run, chunk->n_rows);
    }
    rw->metrics.morsels[tier]++;
    rw->w.stats[0].rows_out += chunk->n_rows;
    count_bytes(rw, chunk);
    uint64_t done = atomic_fetch_add(&run->x->control->rows_done, chunk->n_rows) + chunk->n_rows;
    if (run->tier == SM_TIER_AUTO && s == SM_OK) {
        int64_t ns = sm_now_ns() - start;
        if (tier == SM_TIER_JIT) {
            atomic_fetch_add(&run->jit_ns, ns);
            atomic_fetch_add(&run->jit_rows, chunk->n_rows);
        } else {
            uint64_t total = run->p->source.n_rows;
            sm_tiering_note(rw, chunk, ns, total > done ? total - done : 0);
        }
    }
    return s;
}

/* ---- one unit ---- */

static sm_status begin_morsel(sm_run_worker *rw)
{
    sm_run *run = rw->run;
    if (run->p->sink == SM_SINK_AGG) {
        if (run->p->agg.mode <= SM_GROUPS_TINY) sm_agg_morsel_begin(rw->w.agg);
        return SM_OK;
    }
    rw->w.rows_left = run->limit;
    return sm_builder_new(rw->w.mem, run->p->in_cols, run->p->n_in, NULL, &rw->w.rows, &rw->w.err);
}

static sm_status end_morsel(sm_run_worker *rw, uint64_t unit)
{
    sm_run *run = rw->run;
    if (run->p->sink != SM_SINK_AGG) {
        sm_builder *b = rw->w.rows;
        rw->w.rows = NULL;
        SM_TRY(sm_builder_finish(b, &rw->part, &rw->w.err));
        if (run->p->sink == SM_SINK_BUILD) return SM_OK;
        return sm_rows_trim(run->p, &rw->part, rw->w.mem, &rw->w.err);
    }
    const sm_agg_sink *sink = &run->p->agg;
    if (sink->mode > SM_GROUPS_TINY) return SM_OK;
    if (!run->partials) return sm_agg_morsel_end(rw->w.agg, NULL, &rw->w.err);
    SM_TRY(sm_agg_morsel_end(rw->w.agg, run->partials + unit * run->partial_bytes, &rw->w.err));
    run->partial_set[unit] = true;
    return SM_OK;
}

static sm_status run_one(sm_run_worker *rw, uint64_t unit, uint64_t morsel)
{
    sm_run *run = rw->run;
    SM_TRY(sm_control_check(run->x->control, &rw->w.err));
    SM_TRY(sm_source_pin(&run->p->source, morsel, &rw->pin, &rw->w.err));
    sm_status s = begin_morsel(rw);
    if (s == SM_OK) s = run_morsel(rw);
    if (s == SM_OK) s = end_morsel(rw, unit);
    if (rw->w.rows) sm_builder_free(rw->w.rows);
    rw->w.rows = NULL;
    sm_source_unpin(&run->p->source, &rw->pin);
    return s;
}

static sm_status run_unit(sm_run_worker *rw, uint64_t unit)
{
    sm_run *run = rw->run;
    uint64_t first = unit * run->unit_morsels, last = first + run->unit_morsels;
    if (last > run->p->source.n_morsels) last = run->p->source.n_morsels;
    if (run->segments) {
        SM_TRY(sm_agg_local_init(&run->segments[unit], &run->p->agg, rw->w.mem, &rw->w.err));
        rw->w.agg = &run->segments[unit];
    }
    for (uint64_t m = first; m < last; m++) {
        if (unit >= atomic_load_explicit(&run->stop_at, memory_order_relaxed)) return SM_OK;
        SM_TRY(run_one(rw, unit, m));
    }
    return SM_OK;
}

/* Units behind the first that failed, or behind enough rows for LIMIT, are not wanted. */
static void note_unit(sm_run_worker *rw, uint64_t unit, sm_status s)
{
    sm_run *run = rw->run;
    sm_version *part = rw->part;
    rw->part = NULL;
    if (s != SM_OK && part) {
        sm_version_unref(part);
        part = NULL;
    }
    if (s == SM_OK && run->limit == UINT64_MAX) {
        if (part) run->parts[unit] = part; /* read when all workers are done */
        return;
    }
    pthread_mutex_lock(&run->lock);
    if (part) run->parts[unit] = part;
    if (s != SM_OK && unit < run->error_unit) {
        run->error_unit = unit;
        run->status = s;
        run->err = rw->w.err;
    }
    if (run->parts && run->limit != UINT64_MAX) {
        while (run->prefix_units < run->n_units && run->prefix_rows < run->limit &&
               run->parts[run->prefix_units]) {
            run->prefix_rows += run->parts[run->prefix_units++]->n_rows;
        }
    }
    uint64_t stop = run->error_unit;
    if (run->prefix_rows >= run->limit && run->prefix_units <= stop) {
        stop = run->prefix_units;
        run->error_unit = UINT64_MAX;
        run->status = SM_OK; /* the failing unit is behind the last row that is wanted */
    }
    if (stop < atomic_load(&run->stop_at)) atomic_store(&run->stop_at, stop);
    pthread_mutex_unlock(&run->lock);
    sm_error_reset(&rw->w.err);
}

void sm_worker_run(sm_job *job, unsigned worker)
{
    sm_run *run = (sm_run *)job;
    if (worker >= run->n_workers) return;
    sm_run_worker *rw = &run->workers[worker];
    for (;;) {
        uint64_t unit = atomic_fetch_add(&run->cursor, 1);
        if (unit >= run->n_units || unit >= atomic_load(&run->stop_at)) return;
        sm_status s = run_unit(rw, unit);
        note_unit(rw, unit, s);
    }
}
