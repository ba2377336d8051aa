/* The row tier's sinks: a row to the builder, or to the accumulators of its group. Float sums read
 * plain columns straight from the chunk; everything else comes from slots. Read row_state.h and
 * runtime/agg_body.h first. */
#include "interp/row_state.h"

#include "runtime/agg_body.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static void make_canonical(sm_phys phys, sm_value *v)
{
    const uint64_t nan = 0x7FF8000000000000u;
    if (phys == SM_PHYS_F64 && v->f64 != v->f64) memcpy(&v->f64, &nan, 8);
    if (phys == SM_PHYS_F32 && v->f32 != v->f32) v->f32 = __builtin_nanf("");
}

static sm_status sink_row(sm_row_state *s)
{
    sm_worker *w = s->w;
    const sm_pipeline *p = w->p;
    sm_row_read(&s->nodes[p->n_steps + 1], s->row - 1);
    for (uint32_t i = 0; i < p->n_in; i++) {
        s->out[i] = *s->in[i];
        if (s->canonical[i]) make_canonical(sm_type_phys(p->in_cols[i].type), &s->out[i]);
    }
    if (w->rows_left != UINT64_MAX) w->rows_left--;
    return sm_builder_row(w->rows, s->out, &w->err);
}

/* ---- accumulators ---------------------------------------------------------------------------- */

SM_INLINE sm_status add(sm_row_state *s, const sm_row_accum *a, void *state, uint32_t row)
{
    if (a->filter && (a->filter->is_null || !a->filter->b)) return SM_OK;
    switch (a->how) {
    case SM_ROW_COUNT_ALL: sm_count_add(state); return SM_OK;
    case SM_ROW_SUM_F64:
        if (a->valid && !sm_bit_get(a->valid, row)) return SM_OK;
        sm_sum_f_add(state, row & s->lane_mask, a->data[row]);
        return SM_OK;
    default:
        if (a->arg->is_null) return SM_OK;
        if (sm_acc_add_quick(a->acc, state, row & s->lane_mask, a->arg)) return SM_OK;
        return sm_acc_add(a->acc, state, row & s->lane_mask, a->arg, s->arena, &s->w->err);
    }
}

/* What orders groups. */
SM_INLINE uint64_t number_of(const sm_row_state *s, uint32_t row)
{
    uint64_t number = s->pin->first_row + row;
    return s->expands ? sm_row_number(number, s->ordinal) : number;
}

SM_INLINE sm_status add_all(sm_row_state *s, char *state_row, uint32_t row)
{
    uint64_t *first_row = (void *)state_row, number = number_of(s, row);
    if (number < *first_row) *first_row = number;
    for (uint32_t i = 0; i < s->n_accums; i++)
        SM_TRY(add(s, &s->accums[i], state_row + s->accums[i].offset, row));
    return SM_OK;
}

static sm_status sink_one_group(sm_row_state *s)
{
    uint32_t row = s->row - 1;
    sm_row_read(&s->nodes[s->w->p->n_steps + 1], row);
    return add_all(s, s->w->agg->lanes, row);
}

static uint32_t code_of(const sm_row_key *k, uint32_t row)
{
    if (k->col) {
        const sm_chunk_col *c = k->col;
        if (c->valid && !sm_bit_get(c->valid, row)) return k->code->n_values;
        return c->width == 1 ? ((const uint8_t *)c->data)[row] : ((const uint16_t *)c->data)[row];
    }
    if (k->slot->is_null) return k->code->n_values;
    return (uint32_t)(sm_value_int(k->slot, k->phys) - k->code->min);
}

static sm_status sink_by_code(sm_row_state *s)
{
    const sm_agg_sink *sink = &s->w->p->agg;
    sm_agg_local *agg = s->w->agg;
    uint32_t row = s->row - 1, code = 0;
    sm_row_read(&s->nodes[s->w->p->n_steps + 1], row);
    for (uint32_t i = 0; i < sink->layout.n_keys; i++)
        code += s->keys[i].code->stride * code_of(&s->keys[i], row);
    char *state_row = sink->mode == SM_GROUPS_TINY
                          ? agg->lanes + code * (size_t)sink->layout.lanes_bytes
                          : agg->direct + code * (size_t)sink->layout.row_bytes;
    return add_all(s, state_row, row);
}

static sm_status sink_by_hash(sm_row_state *s)
{
    sm_worker *w = s->w;
    const sm_group_layout *layout = &w->p->agg.layout;
    uint32_t row = s->row - 1;
    void *state_row;
    sm_row_read(&s->nodes[w->p->n_steps + 1], row);
    for (uint32_t i = 0; i < layout->n_keys; i++) s->out[i] = *s->keys[i].slot;
    SM_TRY(sm_group_find(&w->agg->table, sm_group_hash(layout, s->out), s->out,
                         number_of(s, row), &state_row, &w->err));
    return add_all(s, state_row, row);
}

/* ---- open ------------------------------------------------------------------------------------ */

static sm_status open_accum(sm_row_state *s, sm_row_node *n, const sm_accum *acc, sm_row_accum *out)
{
    uint32_t n_sources = s->w->p->source.n_cols;
    bool lanes = s->lane_mask != 0;
    *out = (sm_row_accum){.acc = acc, .offset = lanes ? acc->lanes_offset : acc->offset};
    if (acc->filter_col >= 0) {
        uint32_t slot = s->env[acc->filter_col];
        SM_TRY(sm_row_need(s, n, &slot, 1));
        out->filter = &s->values[slot];
    }
    if (acc->arg_col < 0) {
        out->how = SM_ROW_COUNT_ALL;
        return SM_OK;
    }
    uint32_t slot = s->env[acc->arg_col];
    if (acc->kind == SM_ACC_SUM_F && acc->type.id == SM_FLOAT64 && !acc->distinct &&
        slot < n_sources) {
        out->how = SM_ROW_SUM_F64;
        out->column = slot;
        return SM_OK;
    }
    out->how = SM_ROW_VALUE;
    out->arg = &s->values[slot];
    return sm_row_need(s, n, &slot, 1);
}

static sm_status open_agg(sm_row_state *s, sm_row_node *n)
{
    const sm_agg_sink *sink = &s->w->p->agg;
    const sm_group_layout *layout = &sink->layout;
    bool lanes = sink->mode == SM_GROUPS_NONE || sink->mode == SM_GROUPS_TINY;
    s->lane_mask = lanes ? layout->lanes - 1 : 0;
    s->n_accums = layout->n_accums;
    s->accums = SM_NEW_N(&s->w->arena, sm_row_accum, layout->n_accums + 1);
    s->keys = SM_NEW_N(&s->w->arena, sm_row_key, layout->n_keys + 1);
    if (!s->accums || !s->keys) return sm_arena_failed(&s->w->arena, &s->w->err);
    for (uint32_t i = 0; i < layout->n_keys; i++) {
        sm_row_key *k = &s->keys[i];
        k->slot = &s->values[s->env[i]];
        k->phys = sm_type_phys(layout->keys[i].type);
        if (sink->mode == SM_GROUPS_TINY || sink->mode == SM_GROUPS_DIRECT)
            k->code = &sink->codes[i];
        if (!k->code || !k->code->dict) SM_TRY(sm_row_need(s, n, &s->env[i], 1));
    }
    for (uint32_t i = 0; i < layout->n_accums; i++)
        SM_TRY(open_accum(s, n, &layout->accums[i], &s->accums[i]));
    switch (sink->mode) {
    case SM_GROUPS_NONE: s->sink = sink_one_group; break;
    case SM_GROUPS_HASH: s->sink = sink_by_hash; break;
    default: s->sink = sink_by_code; break;
    }
    return SM_OK;
}

sm_status sm_row_sink_open(sm_row_state *s, sm_row_node *n)
{
    const sm_pipeline *p = s->w->p;
    sm_arena *a = &s->w->arena;
    s->out = SM_NEW_N(a, sm_value, p->n_in + 1);
    s->in = SM_NEW_N(a, sm_value *, p->n_in + 1);
    s->canonical = SM_NEW_N(a, bool, p->n_in + 1);
    if (!s->out || !s->in || !s->canonical) return sm_arena_failed(a, &s->w->err);
    if (p->sink == SM_SINK_AGG) return open_agg(s, n);
    for (uint32_t i = 0; i < p->n_in; i++) {
        s->in[i] = &s->values[s->env[i]];
        s->canonical[i] = s->env[i] >= p->source.n_cols && sm_type_is_float(p->in_cols[i].type);
    }
    s->sink = sink_row;
    return sm_row_need(s, n, s->env, p->n_in);
}

void sm_row_sink_begin(sm_row_state *s)
{
    const sm_pipeline *p = s->w->p;
    const sm_chunk *chunk = s->pin->chunk;
    if (p->sink != SM_SINK_AGG) return;
    s->arena = p->agg.mode == SM_GROUPS_HASH ? &s->w->agg->table.arena : &s->w->agg->arena;
    for (uint32_t i = 0; i < s->n_accums; i++) {
        sm_row_accum *a = &s->accums[i];
        if (a->how != SM_ROW_SUM_F64) continue;
        a->data = chunk->cols[a->column].data;
        a->valid = chunk->cols[a->column].valid;
    }
    for (uint32_t i = 0; i < p->agg.layout.n_keys; i++) {
        sm_row_key *k = &s->keys[i];
        if (k->code && k->code->dict) k->col = &chunk->cols[k->code->source_col];
    }
}
