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
    sm_chunk_col_decode(&s->pin->chunk->cols[in->column], in->phys, s->row0, s->n_rows, &in->room,
                        &in->out->v);
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

sm_flow sm_run_step_end(sm_batch_state *s, sm_instr *in)
{
    s->step_rows[in->column] = s->lives[0]->n;
    if (s->w->timing) {
        uint64_t now = now_ns();
        s->step_ns[in->column] = now - s->clock_ns;
        s->clock_ns = now;
    }
    return SM_FLOW_NEXT;
}

/* ---- batches --------------------------------------------------------------------------------- */

static sm_flow run_list(sm_batch_state *s)
{
    sm_instr *instrs = s->instrs;
    for (uint32_t at = 0; at < s->n_instrs;) {
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
    sm_live *all = s->lives[0];
    sm_arena *scratch = &s->w->scratch;
    if (scratch->at) sm_arena_rewind(scratch);
    s->row0 = from;
    s->n_rows = n;
    s->cur = 0;
    all->n = n;
    all->mask = NULL;
    all->sparse = all->has_sel = false;
    for (uint32_t i = 0; i < s->w->p->n_steps; i++) s->step_rows[i] = 0, s->step_ns[i] = 0;
}

/* A refused batch counts nothing: its rows come again in the row tier. */
static void count_batch(sm_batch_state *s, uint32_t sunk_rows)
{
    sm_worker *w = s->w;
    uint32_t n_steps = w->p->n_steps;
    for (uint32_t i = 0; i < n_steps; i++) w->stats[i + 1].rows_out += s->step_rows[i];
    w->stats[n_steps + 1].rows_out += sunk_rows;
    if (!w->timing) return;
    for (uint32_t i = 0; i < n_steps; i++) w->stats[i + 1].ns += s->step_ns[i];
    uint64_t now = now_ns();
    w->stats[n_steps + 1].ns += now - s->clock_ns;
    s->clock_ns = now;
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
        sm_flow flow = run_list(s);
        if (SM_UNLIKELY(flow == SM_FLOW_FAIL)) return w->err.status;
        if (SM_UNLIKELY(flow == SM_FLOW_REFUSE)) {
            *stop = at;
            *end = at + n;
            return SM_OK;
        }
        uint32_t sunk = s->lives[0]->n;
        if (w->rows_left < sunk) sunk = (uint32_t)w->rows_left;
        if (sunk) SM_TRY(sm_batch_sink(s));
        count_batch(s, sunk);
        at += n;
    }
    return SM_OK;
}
