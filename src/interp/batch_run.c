/* Runs a batch: the instruction list over 1,024 rows, then the sink. Arithmetic runs its dense
 * kernel over all rows while many are live; if that reports a failure, the selected kernel finds
 * out whether a live row fails. A batch in which one does is refused before the sink saw any of it.
 * Read batch_state.h first. */
#include <time.h>

#include "interp/batch_state.h"

enum { MOST_MISSES = 4, SPARSE_BELOW = 8 }; /* an eighth of the rows */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- live rows ------------------------------------------------------------------------------- */

const uint16_t *sm_live_sel(sm_batch_state *s, sm_live *l)
{
    if (l->sparse) return l->sel;
    if (!l->mask) return NULL;
    if (!l->has_sel) {
        s->select->sel_of_mask(l->mask, s->n_rows, l->sel);
        l->has_sel = true;
    }
    return l->sel;
}

/* Decides the form of a set whose mask_room holds n rows. */
static sm_flow settle_mask(sm_batch_state *s, sm_live *to, uint32_t n)
{
    to->n = n;
    to->has_sel = false;
    to->mask = n == s->n_rows ? NULL : to->mask_room;
    to->sparse = n < s->n_rows / SPARSE_BELOW;
    if (to->sparse) s->select->sel_of_mask(to->mask_room, s->n_rows, to->sel);
    return n ? SM_FLOW_NEXT : SM_FLOW_JUMP;
}

void sm_live_all(sm_live *l, uint32_t n)
{
    l->n = n;
    l->mask = NULL;
    l->sparse = l->has_sel = false;
}

sm_flow sm_live_keep(sm_batch_state *s, sm_live *l, const uint8_t *keep)
{
    uint32_t n = 0;
    if (!l->sparse)
        return settle_mask(
            s, l, s->select->pick(SM_PICK_TRUE, keep, NULL, l->mask, s->n_rows, l->mask_room));
    for (uint32_t k = 0; k < l->n; k++) {
        uint16_t i = l->sel[k];
        l->sel[n] = i;
        n += keep[i];
    }
    l->n = n;
    return n ? SM_FLOW_NEXT : SM_FLOW_JUMP;
}

static sm_flow settle_sel(sm_live *to, uint32_t n)
{
    to->n = n;
    to->sparse = true;
    return n ? SM_FLOW_NEXT : SM_FLOW_JUMP;
}

SM_INLINE bool keeps(sm_pick pick, bool value, bool valid)
{
    switch (pick) {
    case SM_PICK_TRUE: return valid & value;
    case SM_PICK_NOT_TRUE: return !(valid & value);
    default: return !valid | value;
    }
}

sm_flow sm_run_narrow(sm_batch_state *s, sm_instr *in)
{
    sm_live *from = s->lives[in->from_live], *to = s->lives[in->to_live];
    const sm_vec *v = &in->arg[0]->v;
    const uint8_t *b = v->data;
    s->cur = in->to_live;
    if (!from->sparse) {
        uint32_t n = s->select->pick(in->pick, b, v->valid, from->mask, s->n_rows, to->mask_room);
        return settle_mask(s, to, n);
    }
    uint32_t n = 0;
    for (uint32_t k = 0; k < from->n; k++) {
        uint16_t i = from->sel[k];
        to->sel[n] = i;
        n += keeps(in->pick, b[i], !v->valid || sm_bit_get(v->valid, i));
    }
    return settle_sel(to, n);
}

sm_flow sm_run_narrow_null(sm_batch_state *s, sm_instr *in)
{
    sm_live *from = s->lives[in->from_live], *to = s->lives[in->to_live];
    const uint64_t *valid = in->arg[0]->v.valid;
    uint32_t n = 0;
    s->cur = in->to_live;
    if (!valid) {
        to->n = 0;
        return SM_FLOW_JUMP;
    }
    if (from->sparse) {
        for (uint32_t k = 0; k < from->n; k++) {
            uint16_t i = from->sel[k];
            to->sel[n] = i;
            n += !sm_bit_get(valid, i);
        }
        return settle_sel(to, n);
    }
    for (uint32_t w = 0; w < sm_bit_words(s->n_rows); w++) {
        uint64_t bits = ~valid[w];
        if (from->mask) bits &= from->mask[w];
        if (s->n_rows - w * 64 < 64) bits &= ((uint64_t)1 << (s->n_rows & 63)) - 1;
        to->mask_room[w] = bits;
        n += (uint32_t)__builtin_popcountll(bits);
    }
    return settle_mask(s, to, n);
}

sm_flow sm_run_set_live(sm_batch_state *s, sm_instr *in)
{
    s->cur = in->from_live;
    return SM_FLOW_NEXT;
}

/* ---- scan, operations ------------------------------------------------------------------------ */

sm_flow sm_run_scan(sm_batch_state *s, sm_instr *in)
{
    sm_chunk_col_decode(&s->pin->chunk->cols[in->column], in->phys, s->row0, s->source_rows,
                        &in->room, &in->out->v);
    return SM_FLOW_NEXT;
}

/* Validity of a strict result: the arguments' in common. One argument's alone is only pointed to.
 */
static const uint64_t *join_valid(sm_batch_state *s, sm_instr *in)
{
    const uint64_t *first = NULL;
    uint64_t *own = in->out->valid_room;
    for (uint32_t a = 0; a < in->n_args; a++) {
        const uint64_t *next = in->arg[a]->v.valid;
        if (!next || next == first) continue;
        if (!first) {
            first = next;
            continue;
        }
        for (uint32_t w = 0; w < sm_bit_words(s->n_rows); w++) own[w] = first[w] & next[w];
        first = own;
    }
    return first;
}

/* The operation on the live, valid rows only. */
static sm_flow run_selected(sm_batch_state *s, sm_instr *in, const void *const *args)
{
    sm_live *l = s->lives[s->cur];
    sm_opctx cx = {{in->imm[0], in->imm[1]}, &s->w->scratch, NULL};
    uint32_t failed_row;
    sm_status status = in->selected(&cx, args, in->out->room, sm_live_sel(s, l), l->n,
                                    in->out->v.valid, &failed_row);
    if (SM_LIKELY(status == SM_OK)) return SM_FLOW_NEXT;
    if (status != SM_ERR_OUT_OF_MEMORY) return SM_FLOW_REFUSE;
    (void)!sm_arena_failed(&s->w->scratch, &s->w->err);
    return SM_FLOW_FAIL;
}

sm_flow sm_run_op(sm_batch_state *s, sm_instr *in)
{
    const void *args[3] = {NULL, NULL, NULL};
    for (uint32_t a = 0; a < in->n_args; a++) args[a] = in->arg[a]->v.data;
    in->out->v.valid = join_valid(s, in);
    if (s->lives[s->cur]->sparse || in->misses >= MOST_MISSES) return run_selected(s, in, args);
    if (in->wrap) {
        in->wrap(args, in->out->room, s->n_rows);
        return SM_FLOW_NEXT;
    }
    if (!in->dense) return run_selected(s, in, args);
    sm_opctx cx = {{in->imm[0], in->imm[1]}, NULL, NULL};
    if (in->dense(&cx, args, in->out->room, s->n_rows) || in->no_check) return SM_FLOW_NEXT;
    sm_flow flow = run_selected(s, in, args);
    in->misses = (uint8_t)(in->misses + (flow == SM_FLOW_NEXT));
    return flow;
}

sm_flow sm_run_convert(sm_batch_state *s, sm_instr *in)
{
    sm_reg *to = in->out, *from = in->arg[0];
    to->v.valid = from->v.valid;
    if (to->v.phys == SM_PHYS_I128)
        s->select->widen(to->room, from->v.data, s->n_rows);
    else
        s->select->narrow(to->room, from->v.data, s->n_rows);
    return SM_FLOW_NEXT;
}

static void count_step(sm_batch_state *s, uint32_t step, uint32_t rows)
{
    s->step_rows[step] += rows;
    if (!s->w->timing) return;
    uint64_t now = now_ns();
    s->step_ns[step] += now - s->clock_ns;
    s->clock_ns = now;
}

sm_flow sm_run_step_end(sm_batch_state *s, sm_instr *in)
{
    count_step(s, in->column, s->lives[0]->n);
    return SM_FLOW_NEXT;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* From instruction `at` on. */
static sm_flow run_list(sm_batch_state *s, uint32_t at)
{
    sm_instr *instrs = s->instrs;
    while (at < s->n_instrs) {
        sm_instr *in = &instrs[at];
        sm_flow flow = in->run(s, in);
        if (SM_LIKELY(flow == SM_FLOW_NEXT))
            at++;
        else if (flow == SM_FLOW_JUMP)
            at = in->target;
        else
            return flow;
    }
    return SM_FLOW_NEXT;
}

static void begin_batch(sm_batch_state *s, uint32_t from, uint32_t n)
{
    sm_arena *scratch = &s->w->scratch;
    if (scratch->at) sm_arena_rewind(scratch);
    s->row0 = from;
    s->n_rows = s->source_rows = n;
    s->from = NULL;
    s->last_from = UINT32_MAX;
    s->cur = 0;
    s->w->rows_out = 0;
    sm_live_all(s->lives[0], n);
    sm_batch_probe_begin(s);
    for (uint32_t i = 0; i <= s->w->p->n_steps; i++) s->step_rows[i] = 0, s->step_ns[i] = 0;
}

/* A refused batch counts nothing: its rows come again in the row tier. */
static void count_batch(sm_batch_state *s)
{
    sm_worker *w = s->w;
    for (uint32_t i = 0; i <= w->p->n_steps; i++) {
        w->stats[i + 1].rows_out += s->step_rows[i];
        w->stats[i + 1].ns += s->step_ns[i];
    }
}

static sm_flow sink_rows(sm_batch_state *s)
{
    sm_worker *w = s->w;
    uint32_t sunk = s->lives[0]->n;
    if (w->rows_left < sunk) sunk = (uint32_t)w->rows_left;
    if (sunk && sm_batch_sink(s) != SM_OK) return SM_FLOW_FAIL;
    w->rows_out += sunk;
    count_step(s, w->p->n_steps, sunk);
    return SM_FLOW_NEXT;
}

/* One batch to its end: behind a probe that makes more rows than a batch holds, several times. */
static sm_flow run_batch(sm_batch_state *s)
{
    for (uint32_t at = 0; at != SM_NO_INSTR; at = sm_batch_probe_more(s)) {
        sm_flow flow = run_list(s, at);
        if (flow == SM_FLOW_NEXT) flow = sink_rows(s);
        if (SM_UNLIKELY(flow != SM_FLOW_NEXT)) return flow;
        if (!s->w->rows_left) break;
    }
    return SM_FLOW_NEXT;
}

sm_status sm_batch_run(sm_worker *w, const sm_pin *pin, uint32_t from, uint32_t to, uint32_t *stop,
                       uint32_t *end)
{
    sm_batch_state *s = w->batch;
    s->pin = pin;
    *stop = *end = to;
    if (w->timing) s->clock_ns = now_ns();
    for (uint32_t at = from; at < to && w->rows_left;) {
        uint32_t n = to - at < w->batch_rows ? to - at : w->batch_rows;
        begin_batch(s, at, n);
        sm_flow flow = run_batch(s);
        if (SM_UNLIKELY(flow == SM_FLOW_FAIL)) return w->err.status;
        if (SM_UNLIKELY(flow == SM_FLOW_REFUSE)) {
            *stop = at;
            *end = at + n;
            return SM_OK;
        }
        count_batch(s);
        at += n;
    }
    return SM_OK;
}
