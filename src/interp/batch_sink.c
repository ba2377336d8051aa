/* Hands a finished batch to the sink: rows to the builder, or to the aggregates in the way of the
 * sink's grouping mode. Nothing here can fail but for resources. Read batch_state.h first;
 * batch_agg.c adds to one group or by masks, batch_groups.c row by row. */
#include "interp/batch_state.h"

static sm_status column_values(sm_batch_state *s, uint32_t i, sm_phys phys)
{
    SM_TRY(sm_batch_scan_column(s, i));
    SM_TRY(sm_batch_want_values(s, s->env[i]));
    if (phys == SM_N_PHYS) return SM_OK;
    SM_TRY(sm_batch_convert(s, s->env[i], phys, &s->env[i]));
    s->env[i]->pinned = true;
    return SM_OK;
}

/* NaNs that were computed differ in sign and payload between vectors and scalars: results have one.
 */
static sm_flow run_canonical(sm_batch_state *s, sm_instr *in)
{
    const sm_vec *from = &in->arg[0]->v;
    in->out->v.valid = from->valid;
    if (from->phys == SM_PHYS_F64) {
        const double *v = from->data;
        double *to = in->out->room;
        for (uint32_t i = 0; i < s->n_rows; i++) to[i] = v[i] == v[i] ? v[i] : __builtin_nan("");
    } else {
        const float *v = from->data;
        float *to = in->out->room;
        for (uint32_t i = 0; i < s->n_rows; i++) to[i] = v[i] == v[i] ? v[i] : __builtin_nanf("");
    }
    return SM_FLOW_NEXT;
}

static sm_status open_rows(sm_batch_state *s)
{
    const sm_pipeline *p = s->w->p;
    for (uint32_t i = 0; i < p->n_in; i++) {
        SM_TRY(column_values(s, i, sm_type_phys(p->in_cols[i].type)));
        sm_reg *r = s->env[i];
        if (r->source_col >= 0 || !sm_type_is_float(p->in_cols[i].type)) continue;
        sm_reg *out = sm_batch_reg(s, r->v.phys, true);
        sm_instr *in = out ? sm_batch_instr(s, run_canonical) : NULL;
        if (!in) return sm_arena_failed(&s->w->arena, &s->w->err);
        in->arg[0] = r;
        in->out = s->env[i] = out;
    }
    return SM_OK;
}

/* Sums and counts read narrowed values; minima and value sets keep them in the type's own form. */
static sm_status open_accum(sm_batch_state *s, const sm_accum *acc, sm_batch_accum *out)
{
    const sm_i128 most = (sm_i128)1 << 52;
    out->acc = acc;
    if (acc->filter_col >= 0) {
        SM_TRY(column_values(s, (uint32_t)acc->filter_col, SM_N_PHYS));
        out->filter = s->env[acc->filter_col];
    }
    if (acc->arg_col < 0) return SM_OK;
    uint32_t i = (uint32_t)acc->arg_col;
    bool sums = acc->kind == SM_ACC_SUM_I || acc->kind == SM_ACC_SUM_D;
    if (acc->kind == SM_ACC_COUNT && !acc->distinct)
        SM_TRY(sm_batch_scan_column(s, i));
    else
        SM_TRY(column_values(s, i, sums && !acc->distinct ? SM_N_PHYS : sm_type_phys(acc->type)));
    out->arg = s->env[i];
    const sm_range *range = &out->arg->range;
    out->is_short = range->known && range->lo >= -most && range->hi <= most;
    return SM_OK;
}

static sm_status open_keys(sm_batch_state *s, const sm_agg_sink *sink)
{
    bool by_code = sink->mode == SM_GROUPS_TINY || sink->mode == SM_GROUPS_DIRECT;
    for (uint32_t i = 0; i < sink->layout.n_keys; i++) {
        if (by_code && sink->codes[i].dict) {
            SM_TRY(sm_batch_scan_column(s, i));
            SM_TRY(sm_batch_want_codes(s, s->env[i]));
        } else {
            SM_TRY(column_values(s, i, sm_type_phys(sink->layout.keys[i].type)));
        }
    }
    return SM_OK;
}

static sm_status open_agg(sm_batch_state *s)
{
    const sm_agg_sink *sink = &s->w->p->agg;
    sm_arena *a = &s->w->arena;
    s->accums = SM_NEW_N(a, sm_batch_accum, sink->layout.n_accums + 1);
    s->codes = sm_arena_vector(a, SM_BATCH_ROWS * sizeof(uint16_t));
    s->rows = sm_arena_vector(a, SM_BATCH_ROWS * sizeof(void *));
    s->masks = sm_arena_vector(a, SM_MASK_GROUPS * sizeof *s->masks);
    s->acc_mask = sm_arena_vector(a, SM_MASK_WORDS * sizeof(uint64_t));
    s->acc_sel = sm_arena_vector(a, (SM_BATCH_ROWS + 32) * sizeof(uint16_t));
    if (!s->accums || !s->codes || !s->rows || !s->masks || !s->acc_mask || !s->acc_sel)
        return sm_arena_failed(a, &s->w->err);
    s->expands = sm_expands(s->w->p);
    if ((s->expands || s->n_probes) && sink->mode != SM_GROUPS_NONE) {
        s->numbers = sm_arena_vector(a, SM_BATCH_ROWS * sizeof(uint64_t));
        if (!s->numbers) return sm_arena_failed(a, &s->w->err);
    }
    SM_TRY(open_keys(s, sink));
    for (uint32_t i = 0; i < sink->layout.n_accums; i++)
        SM_TRY(open_accum(s, &sink->layout.accums[i], &s->accums[i]));
    return SM_OK;
}

sm_status sm_batch_sink_open(sm_batch_state *s)
{
    const sm_pipeline *p = s->w->p;
    sm_arena *a = &s->w->arena;
    sm_reg **own = SM_NEW_N(a, sm_reg *, p->n_in + 1); /* conversions are the sink's alone */
    s->sink_cols = SM_NEW_N(a, sm_vec, p->n_in + 1);
    if (!own || !s->sink_cols) return sm_arena_failed(a, &s->w->err);
    memcpy(own, s->env, p->n_in * sizeof *own);
    s->env = s->sink_regs = own;
    return p->sink == SM_SINK_AGG ? open_agg(s) : open_rows(s);
}

/* ---- rows of one accumulator ----------------------------------------------------------------- */

static bool takes_row(const sm_batch_accum *a, uint32_t i)
{
    if (a->arg && a->arg->v.valid && !sm_bit_get(a->arg->v.valid, i)) return false;
    if (!a->filter) return true;
    const sm_vec *f = &a->filter->v;
    return ((const uint8_t *)f->data)[i] && (!f->valid || sm_bit_get(f->valid, i));
}

uint32_t sm_batch_accum_rows(sm_batch_state *s, const sm_batch_accum *a, sm_live *l, bool want_sel,
                             const uint64_t **mask, const uint16_t **sel)
{
    const uint64_t *valid = a->arg ? a->arg->v.valid : NULL;
    *mask = l->mask;
    *sel = NULL;
    if (!valid && !a->filter) {
        if (want_sel || l->sparse) *sel = sm_live_sel(s, l);
        return l->n;
    }
    if (l->sparse) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < l->n; k++) {
            s->acc_sel[n] = l->sel[k];
            n += takes_row(a, l->sel[k]);
        }
        *sel = s->acc_sel;
        return n;
    }
    uint32_t n;
    if (a->filter) {
        const sm_vec *f = &a->filter->v;
        s->select->pick(SM_PICK_TRUE, f->data, f->valid, l->mask, s->n_rows, s->acc_mask);
        for (uint32_t w = 0; valid && w < sm_bit_words(s->n_rows); w++) s->acc_mask[w] &= valid[w];
        *mask = s->acc_mask;
    } else if (l->mask) {
        for (uint32_t w = 0; w < sm_bit_words(s->n_rows); w++)
            s->acc_mask[w] = valid[w] & l->mask[w];
        *mask = s->acc_mask;
    } else {
        *mask = valid; /* bits beyond the batch are undefined, and never looked at */
    }
    n = s->agg->count(*mask, s->n_rows);
    if (want_sel && n < s->n_rows) {
        memcpy(s->acc_mask, *mask, sm_bit_words(s->n_rows) * sizeof(uint64_t));
        if (s->n_rows & 63) s->acc_mask[s->n_rows / 64] &= ((uint64_t)1 << (s->n_rows & 63)) - 1;
        s->select->sel_of_mask(s->acc_mask, s->n_rows, s->acc_sel);
        *sel = s->acc_sel;
    }
    return n;
}

/* ---- the batch ------------------------------------------------------------------------------- */

static sm_batch whole_batch(sm_batch_state *s, sm_live *l)
{
    const sm_pipeline *p = s->w->p;
    for (uint32_t i = 0; i < p->n_in; i++) s->sink_cols[i] = s->sink_regs[i]->v;
    return (sm_batch){.cols = s->sink_cols,
                      .n_cols = p->n_in,
                      .n_rows = s->n_rows,
                      .sel = sm_live_sel(s, l),
                      .n_sel = l->n,
                      .lane0 = s->row0,
                      .first_row = s->pin->first_row + s->row0,
                      .from = s->from,
                      .numbers = s->numbers};
}

static sm_status add_rows(sm_batch_state *s, sm_live *l)
{
    sm_worker *w = s->w;
    sm_batch b = whole_batch(s, l);
    if (w->rows_left < b.n_sel) { /* the first ones, in whichever form */
        b.n_sel = (uint32_t)w->rows_left;
        if (!b.sel) b.n_rows = b.n_sel;
    }
    if (w->rows_left != UINT64_MAX) w->rows_left -= b.n_sel;
    return sm_builder_batch(w->rows, &b, &w->err);
}

/* What orders groups, where it does not follow from the row's position. */
static void number_rows(sm_batch_state *s, sm_live *l)
{
    const uint16_t *sel = sm_live_sel(s, l);
    for (uint32_t k = 0; k < l->n; k++) {
        uint32_t i = sel ? sel[k] : k, row = sm_batch_row(s, i);
        s->ordinal = row == s->last_from ? s->ordinal + 1 : 0;
        s->last_from = row;
        uint64_t number = s->pin->first_row + row;
        s->numbers[i] = s->expands ? sm_row_number(number, s->ordinal) : number;
    }
}

static sm_status add_each_accum(sm_batch_state *s, sm_live *l, sm_arena *arena)
{
    sm_states t = {NULL, s->rows, false, arena};
    for (uint32_t i = 0; i < s->w->p->agg.layout.n_accums; i++) {
        const uint64_t *mask;
        const uint16_t *sel;
        uint32_t n = sm_batch_accum_rows(s, &s->accums[i], l, true, &mask, &sel);
        SM_TRY(sm_batch_add_rows(s, &s->accums[i], &t, sel, n));
    }
    return SM_OK;
}

static sm_status add_direct(sm_batch_state *s, sm_live *l)
{
    sm_agg_local *agg = s->w->agg;
    sm_batch b = whole_batch(s, l);
    size_t row_bytes = agg->sink->layout.row_bytes;
    sm_agg_codes(agg->sink, &b, s->codes);
    for (uint32_t k = 0; k < b.n_sel; k++) {
        uint32_t i = b.sel ? b.sel[k] : k;
        s->rows[i] = agg->direct + s->codes[i] * row_bytes;
        sm_batch_note_first(s, s->rows[i], i);
    }
    return add_each_accum(s, l, &agg->arena);
}

static sm_status add_hash(sm_batch_state *s, sm_live *l)
{
    sm_batch b = whole_batch(s, l);
    SM_TRY(sm_agg_find_rows(s->w->agg, &b, s->rows, &s->w->err));
    return add_each_accum(s, l, &s->w->agg->table.arena);
}

static sm_status add_tiny(sm_batch_state *s, sm_live *l)
{
    sm_live all = {.n = s->n_rows}; /* codes of dead rows are garbage that nobody reads */
    sm_batch b = whole_batch(s, l->sparse ? l : &all);
    sm_agg_codes(s->w->agg->sink, &b, s->codes);
    return sm_batch_add_tiny(s, l);
}

sm_status sm_batch_sink(sm_batch_state *s)
{
    sm_live *l = s->lives[0];
    if (s->w->p->sink != SM_SINK_AGG) return add_rows(s, l);
    if (s->numbers) number_rows(s, l);
    switch (s->w->p->agg.mode) {
    case SM_GROUPS_NONE: return sm_batch_add_one_group(s, l);
    case SM_GROUPS_TINY: return add_tiny(s, l);
    case SM_GROUPS_DIRECT: return add_direct(s, l);
    default: return add_hash(s, l);
    }
}
