/* When to compile, and running compiled code over a morsel.
 *
 * AUTO starts each pipeline in the batch tier, measures it, and asks the compile thread when the rows that are left
 * times the gain expected exceed twice the expected compile time. Workers look for the code at morsel boundaries.
 * Estimates are corrected by what was measured. JIT compiles before the first morsel. */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "exec/worker.h"

/* One bit a row of a chunk without nulls, and a block more: compiled code reads it instead of a bitmap. */
static const uint32_t *all_valid(void)
{
    static const struct {
        _Alignas(64) uint32_t words[SM_CHUNK_ROWS / 32 + 16];
    } ones = {{[0 ... SM_CHUNK_ROWS / 32 + 15] = UINT32_MAX}};
    return ones.words;
}

static bool fail_pipeline(sm_run *run, const char *why)
{
    pthread_mutex_lock(&run->lock);
    if (!run->report->why[0]) snprintf(run->report->why, sizeof run->report->why, "%.255s", why);
    pthread_mutex_unlock(&run->lock);
    return false;
}

void sm_tiering_start(sm_run *run)
{
    const sm_exec_options *o = &run->x->options;
    run->tier = o->tier;
    if (run->tier == SM_TIER_ROW || run->tier == SM_TIER_BATCH) return;
    if (!o->jit_on) {
        run->tier = SM_TIER_BATCH;
        fail_pipeline(run, "the jit is switched off");
        return;
    }
    if (run->tier == SM_TIER_JIT) {
        char why[256] = "";
        run->module = sm_compiler_module(&run->x->engine->compiler, why, sizeof why);
        if (run->module && run->module->can(run->p, why, sizeof why)) return;
        run->tier = SM_TIER_BATCH;
        fail_pipeline(run, why);
    } else if (run->p->source.n_rows < o->jit_min_rows) {
        run->tier = SM_TIER_BATCH;
    } else {
        run->module = atomic_load(&run->x->engine->compiler.loaded); /* only if someone has loaded it */
    }
}

/* ---- code for a morsel's signature ---- */

static void signature(const sm_pipeline *p, const sm_chunk *chunk, sm_jit_sig_col *sig)
{
    for (uint32_t c = 0; c < p->source.n_cols; c++) {
        sig[c] = p->used[c] ? (sm_jit_sig_col){chunk->cols[c].enc, chunk->cols[c].width}
                            : (sm_jit_sig_col){0, 0};
    }
}

static bool makes_text(const sm_expr *e, void *arg)
{
    bool *found = arg;
    if (e->kind == SM_EXPR_OP && e->type.id == SM_TEXT) *found = true;
    return !*found;
}

static bool jit_open(sm_run_worker *rw)
{
    const sm_pipeline *p = rw->run->p;
    sm_arena *a = &rw->w.arena;
    rw->sig = SM_NEW_N(a, sm_jit_sig_col, p->source.n_cols + 1);
    rw->cols = SM_NEW_N(a, sm_jit_col, p->source.n_cols + 1);
    rw->tail = sm_arena_vector(a, (size_t)(p->source.n_cols + 1) * SM_PAD_BYTES);
    rw->step_rows = SM_NEW_N(a, uint64_t, p->n_steps + 1);
    rw->spans = p->sink != SM_SINK_AGG;
    for (uint32_t s = 0; s < p->n_steps; s++) {
        for (uint32_t i = 0; i < p->steps[s].n_exprs; i++) {
            sm_expr_walk(p->steps[s].proved[i], makes_text, &rw->spans);
        }
    }
    if (p->sink != SM_SINK_AGG) {
        rw->outs = SM_NEW_N(a, sm_jit_out, p->n_in + 1);
        rw->out_vecs = SM_NEW_N(a, sm_vec, p->n_in + 1);
        rw->out_live = sm_arena_vector(a, SM_BATCH_ROWS / 8);
        if (!rw->outs || !rw->out_vecs || !rw->out_live) return false;
        for (uint32_t c = 0; c < p->n_in; c++) {
            sm_phys phys = sm_type_phys(p->in_cols[c].type);
            rw->outs[c].data = sm_arena_vector(a, SM_BATCH_ROWS * sm_phys_bytes(phys));
            rw->outs[c].valid = sm_arena_vector(a, SM_BATCH_ROWS / 8);
            rw->out_vecs[c] = (sm_vec){.data = rw->outs[c].data, .valid = (void *)rw->outs[c].valid, .phys = phys};
            if (!rw->outs[c].data || !rw->outs[c].valid) return false;
        }
    }
    return rw->sig && rw->cols && rw->tail && rw->step_rows;
}

static bool take_code(sm_run_worker *rw, sm_jit_code *code)
{
    sm_run *run = rw->run;
    if (rw->code) rw->module->release(rw->code);
    rw->code = code;
    rw->info = rw->module->info(code);
    rw->consts = NULL;
    if (rw->module->bind(code, run->p, &rw->w.arena, sm_arena_vector, &rw->consts, NULL) == SM_OK) {
        return true;
    }
    rw->module->release(code);
    rw->code = NULL;
    return fail_pipeline(run, "constants could not be bound");
}

static void count_code(sm_run_worker *rw)
{
    const sm_jit_code_info *i = rw->info;
    sm_pipeline_report *report = rw->run->report;
    if (i->cache_hit) {
        rw->metrics.cache_hits++;
    } else {
        rw->metrics.compiles++;
        rw->metrics.compile_ns += (int64_t)(1e6 * (i->emit_ms + i->passes_ms + i->codegen_ms + i->link_ms));
    }
    if (i->ir && !report->ir) {
        sm_arena *a = &rw->run->x->lease->arena;
        pthread_mutex_lock(&rw->run->lock);
        report->ir = sm_arena_strdup(a, i->ir);
        report->assembly = sm_arena_strdup(a, i->assembly ? i->assembly : "");
        pthread_mutex_unlock(&rw->run->lock);
    }
}

static bool compile_now(sm_run_worker *rw)
{
    sm_run *run = rw->run;
    sm_jit_code *code = NULL;
    sm_error err = {0};
    pthread_mutex_lock(&run->compile_lock); /* the second worker finds what the first has made */
    sm_status s = rw->module->compile(run->p, rw->sig, &run->x->options.jit, &code, &err);
    pthread_mutex_unlock(&run->compile_lock);
    if (s != SM_OK) return fail_pipeline(run, err.message);
    if (!take_code(rw, code)) return false;
    count_code(rw);
    return true;
}

/* AUTO: the code that the compile thread has made, if it fits this morsel. */
static bool take_compiled(sm_run_worker *rw)
{
    sm_run *run = rw->run;
    sm_compile_result *c = atomic_load_explicit(&run->compiled, memory_order_acquire);
    if (!c || !atomic_load_explicit(&c->done, memory_order_acquire) || !c->code) return false;
    if (memcmp(rw->sig, run->compiled_sig, sizeof(sm_jit_sig_col) * run->p->source.n_cols)) return false;
    rw->module = c->module;
    if (!rw->module->cached(run->p, rw->sig, &run->x->options.jit)) return false;
    sm_jit_code *code = NULL;
    if (rw->module->compile(run->p, rw->sig, &run->x->options.jit, &code, NULL) != SM_OK) return false;
    return take_code(rw, code);
}

bool sm_jit_ready(sm_run_worker *rw, const sm_chunk *chunk)
{
    sm_run *run = rw->run;
    if (!rw->module) rw->module = run->module;
    if (!rw->sig && !jit_open(rw)) return fail_pipeline(run, "out of memory");
    sm_jit_sig_col *old = rw->sig;
    sm_jit_sig_col now[64], *sig = now;
    uint32_t n = run->p->source.n_cols;
    if (n > SM_COUNT(now)) {
        sig = SM_NEW_N(&rw->w.arena, sm_jit_sig_col, n);
        if (!sig) return false;
    }
    signature(run->p, chunk, sig);
    bool same = rw->sig_set && !memcmp(sig, old, sizeof *sig * n);
    if (same && rw->code) return true;
    if (same && run->tier == SM_TIER_JIT) return false; /* it could not be compiled */
    memcpy(old, sig, sizeof *sig * n);
    rw->sig_set = true;
    if (run->tier == SM_TIER_JIT) return compile_now(rw);
    if (take_compiled(rw)) return true;
    if (rw->code) rw->module->release(rw->code);
    rw->code = NULL;
    if (!rw->module || !rw->module->cached(run->p, rw->sig, &run->x->options.jit)) return false;
    if (!compile_now(rw)) return false; /* found in the cache: compiles nothing */
    atomic_store(&run->decided, true);
    return true;
}

void sm_tiering_note(sm_run_worker *rw, const sm_chunk *chunk, int64_t ns, uint64_t rows_left)
{
    sm_run *run = rw->run;
    sm_compiler *c = &run->x->engine->compiler;
    int64_t total_ns = atomic_fetch_add(&run->batch_ns, ns) + ns;
    int64_t rows = atomic_fetch_add(&run->batch_rows, chunk->n_rows) + chunk->n_rows;
    bool wait = run->x->options.jit_wait;
    if (!wait && rows < 2 * SM_CHUNK_ROWS && total_ns < 5 * 1000 * 1000) return;
    int64_t speedup = atomic_load(&c->speedup_percent);
    double gain = (double)total_ns / (double)rows * (1 - 100.0 / (double)speedup) * (double)rows_left;
    gain /= run->n_workers;
    if (!wait && gain < 2.0 * (double)atomic_load(&c->estimate_ns)) return;
    if (!rows_left || atomic_exchange(&run->decided, true)) return;
    uint32_t n = run->p->source.n_cols;
    pthread_mutex_lock(&run->lock);
    run->compiled_sig = SM_NEW_N(&run->x->lease->arena, sm_jit_sig_col, n + 1);
    pthread_mutex_unlock(&run->lock);
    if (!run->compiled_sig) return;
    signature(run->p, chunk, run->compiled_sig);
    sm_lease *const leases[2] = {run->x->statement, run->x->lease};
    sm_compile_result *r =
        sm_compiler_post(run->x->engine, run->p, run->compiled_sig, &run->x->options.jit, leases);
    atomic_store_explicit(&run->compiled, r, memory_order_release);
    while (wait && r && !atomic_load_explicit(&r->done, memory_order_acquire)) sched_yield();
}

/* ---- running ---- */

static void point_cols(sm_run_worker *rw, const sm_chunk *chunk)
{
    const sm_pipeline *p = rw->run->p;
    for (uint32_t c = 0; c < p->source.n_cols; c++) {
        const sm_chunk_col *col = &chunk->cols[c];
        if (!p->used[c]) continue;
        rw->cols[c] = (sm_jit_col){.data = col->data,
                                   .valid = col->valid ? (const uint32_t *)(const void *)col->valid : all_valid(),
                                   .base = col->base,
                                   .dict = col->dict ? col->dict->entries : NULL};
    }
}

static bool padded(const sm_run_worker *rw, const sm_chunk *chunk)
{
    const sm_pipeline *p = rw->run->p;
    for (uint32_t c = 0; c < p->source.n_cols; c++) {
        if (p->used[c] && !chunk->cols[c].padded) return false;
    }
    return true;
}

/* Copies the rows of the last, partial block of unpadded columns into scratch, as block 0. */
static void copy_tail(sm_run_worker *rw, const sm_chunk *chunk, uint32_t block)
{
    const sm_pipeline *p = rw->run->p;
    uint32_t from = block * SM_BLOCK_ROWS;
    for (uint32_t c = 0; c < p->source.n_cols; c++) {
        const sm_chunk_col *col = &chunk->cols[c];
        if (!p->used[c]) continue;
        if (col->valid) rw->cols[c].valid += block;
        if (!col->width) {
            rw->cols[c].data = (const uint32_t *)col->data + block;
        } else if (col->padded) {
            rw->cols[c].data = (const char *)col->data + (size_t)from * col->width;
        } else {
            char *to = rw->tail + (size_t)c * SM_PAD_BYTES;
            memcpy(to, (const char *)col->data + (size_t)from * col->width, (chunk->n_rows - from) * col->width);
            rw->cols[c].data = to;
        }
    }
}

/* Hands blocks [0, n_blocks) of computed columns to the rows sink. */
static sm_status take_rows(sm_run_worker *rw, uint32_t n_blocks, uint64_t first_row)
{
    uint16_t sel[SM_BATCH_ROWS];
    uint32_t n = 0;
    for (uint32_t b = 0; b < n_blocks; b++) {
        for (uint32_t m = rw->out_live[b]; m; m &= m - 1) {
            sel[n++] = (uint16_t)(b * SM_BLOCK_ROWS + (uint32_t)__builtin_ctz(m));
        }
    }
    if (n > rw->w.rows_left) n = (uint32_t)rw->w.rows_left;
    if (rw->w.rows_left != UINT64_MAX) rw->w.rows_left -= n;
    sm_batch batch = {.cols = rw->out_vecs,
                      .n_cols = rw->run->p->n_in,
                      .n_rows = n_blocks * SM_BLOCK_ROWS,
                      .sel = sel,
                      .n_sel = n,
                      .first_row = first_row};
    return n ? sm_builder_batch(rw->w.rows, &batch, &rw->w.err) : SM_OK;
}

static char *state_of(const sm_run_worker *rw)
{
    const sm_pipeline *p = rw->run->p;
    if (p->sink != SM_SINK_AGG) return NULL;
    return p->agg.mode <= SM_GROUPS_TINY ? rw->w.agg->lanes : rw->w.agg->direct;
}

/* Runs blocks [block, n_blocks); *done is how many of the chunk's blocks are behind us afterwards. */
static sm_status call(sm_run_worker *rw, sm_jit_args *args, uint32_t *ran, bool *refused)
{
    uint32_t first = args->block;
    int result = rw->info->run(args);
    *refused = result == SM_JIT_REFUSED;
    *ran = (*refused ? args->block : args->n_blocks) - first;
    if (result == SM_JIT_FAILED) {
        return sm_raise(&rw->w.err, SM_ERR_OUT_OF_MEMORY, "aggregate", (size_t)0,
                        (size_t)atomic_load(&rw->w.mem->limit_bytes));
    }
    if (rw->run->p->sink != SM_SINK_AGG) {
        SM_TRY(take_rows(rw, *ran, args->first_row + (uint64_t)first * SM_BLOCK_ROWS));
    }
    return SM_OK;
}

/* Compiled code counts from the first filter on; what comes to it leaves every step before. */
static void count_steps(sm_run_worker *rw, uint32_t n_rows)
{
    const sm_pipeline *p = rw->run->p;
    uint64_t n = n_rows;
    bool counted = false;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        counted |= p->steps[i].kind == SM_STEP_FILTER;
        if (counted) n = rw->step_rows[i];
        rw->w.stats[i + 1].rows_out += n;
        rw->step_rows[i] = 0;
    }
    rw->w.stats[p->n_steps + 1].rows_out += n;
}

sm_status sm_jit_run(sm_run_worker *rw, uint32_t from, uint32_t to, uint32_t *stop, uint32_t *end)
{
    const sm_chunk *chunk = rw->pin.chunk;
    sm_opctx cx = {.scratch = &rw->w.scratch};
    sm_jit_args args = {.cols = rw->cols,
                        .consts = rw->consts,
                        .agg = rw->w.agg,
                        .lanes = state_of(rw),
                        .out = rw->outs,
                        .out_live = rw->out_live,
                        .cx = &cx,
                        .step_rows = rw->w.timing ? rw->step_rows : NULL};
    uint32_t n_blocks = (to + SM_BLOCK_ROWS - 1) / SM_BLOCK_ROWS, block = from / SM_BLOCK_ROWS;
    uint32_t last_mask = to % SM_BLOCK_ROWS ? (1u << to % SM_BLOCK_ROWS) - 1 : UINT32_MAX;
    bool whole = last_mask == UINT32_MAX || padded(rw, chunk);
    sm_status s = SM_OK;
    *stop = *end = to;
    point_cols(rw, chunk);
    while (block < n_blocks && s == SM_OK && rw->w.rows_left) {
        uint32_t ran = 0, span = rw->spans ? SM_BATCH_ROWS / SM_BLOCK_ROWS : n_blocks;
        uint32_t last = whole || block == n_blocks - 1 ? n_blocks : n_blocks - 1;
        uint32_t shift = 0;
        bool refused = false;
        if (last - block > span) last = block + span;
        if (!whole && block == n_blocks - 1) {
            shift = block;
            copy_tail(rw, chunk, block);
        }
        args.block = block - shift;
        args.n_blocks = last - shift;
        args.first_row = rw->pin.first_row + (uint64_t)shift * SM_BLOCK_ROWS;
        args.last_mask = last == n_blocks ? last_mask : UINT32_MAX;
        s = call(rw, &args, &ran, &refused);
        block += ran;
        if (rw->spans) sm_arena_rewind(&rw->w.scratch);
        if (refused && s == SM_OK) {
            *stop = block * SM_BLOCK_ROWS;
            *end = *stop + SM_BLOCK_ROWS < to ? *stop + SM_BLOCK_ROWS : to;
            break;
        }
    }
    uint32_t behind = block * SM_BLOCK_ROWS < to ? block * SM_BLOCK_ROWS : to;
    if (args.step_rows && behind > from) count_steps(rw, behind - from);
    sm_arena_rewind(&rw->w.scratch);
    return s;
}
