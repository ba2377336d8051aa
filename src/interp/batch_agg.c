/* Adds a batch to one group, or to a handful of groups by masks: whole vectors at a time, through
 * kernels. A group of TINY is the mask of its rows, so it needs no more than one group does. What
 * has no kernel goes row by row. Read batch_state.h and kernels.h first. */
#include "interp/batch_state.h"

static uint32_t first_set(const uint64_t *mask)
{
    uint32_t w = 0;
    while (!mask[w]) w++;
    return w * 64 + (uint32_t)__builtin_ctzll(mask[w]);
}

void sm_batch_note_first(const sm_batch_state *s, void *state_row, uint32_t i)
{
    uint64_t *first_row = state_row;
    uint64_t row = s->numbers ? s->numbers[i] : s->pin->first_row + sm_batch_row(s, i);
    if (row < *first_row) *first_row = row;
}

typedef void (*int_sum)(const void *v, const uint64_t *live, uint32_t n, sm_i128 *sum);
static int_sum int_sum_of(const sm_batch_state *s, const sm_batch_accum *a)
{
    switch (a->arg->v.phys) {
    case SM_PHYS_I16: return s->agg->sum_i16;
    case SM_PHYS_I32: return s->agg->sum_i32;
    case SM_PHYS_I64: return a->is_short ? s->agg->sum_i64_short : s->agg->sum_i64;
    default: return NULL;
    }
}

static void add_best(sm_batch_state *s, const sm_batch_accum *a, sm_acc_minmax *st,
                     const uint64_t *mask)
{
    bool min = a->acc->kind == SM_ACC_MIN;
    if (!st->has) st->i64 = min ? INT64_MAX : INT64_MIN;
    st->has = 1;
    (min ? s->agg->min : s->agg->max)[a->arg->v.phys](a->arg->v.data, mask, s->n_rows, &st->i64);
}

/* Whether add_mask knows the accumulator; otherwise its rows are added one by one. */
static bool has_kernel(const sm_batch_state *s, const sm_batch_accum *a)
{
    if (a->acc->distinct) return false;
    switch (a->acc->kind) {
    case SM_ACC_COUNT:
    case SM_ACC_SUM_I: return true;
    case SM_ACC_SUM_F: return !s->from; /* else lanes do not follow from positions */
    case SM_ACC_SUM_D: return a->arg->v.phys != SM_PHYS_I128;
    case SM_ACC_MIN:
    case SM_ACC_MAX: return s->agg->min[a->arg->v.phys];
    default: return false;
    }
}

/* The n > 0 rows of mask (NULL = all) to one state. lanes as in NONE: 32. */
static void add_mask(sm_batch_state *s, const sm_batch_accum *a, void *state, const uint64_t *mask,
                     uint32_t n)
{
    const void *v = a->arg ? a->arg->v.data : NULL;
    switch (a->acc->kind) {
    case SM_ACC_COUNT: ((sm_acc_count *)state)->n += n; break;
    case SM_ACC_SUM_F: {
        sm_acc_sum_f *st = state;
        st->n += n;
        (a->arg->v.phys == SM_PHYS_F64 ? s->agg->sum_f64 : s->agg->sum_f32)(v, mask, s->n_rows,
                                                                            s->row0, st->lane);
        break;
    }
    case SM_ACC_SUM_I: {
        sm_acc_sum_i *st = state;
        st->n += n;
        int_sum_of(s, a)(v, mask, s->n_rows, &st->sum);
        break;
    }
    case SM_ACC_SUM_D: {
        sm_i128 sum = 0;
        int_sum_of(s, a)(v, mask, s->n_rows, &sum);
        sm_acc_add_partial(a->acc, state, sum, n);
        break;
    }
    default: add_best(s, a, state, mask); break;
    }
}

sm_status sm_batch_add_one_group(sm_batch_state *s, sm_live *l)
{
    sm_agg_local *agg = s->w->agg;
    uint32_t n_accums = s->w->p->agg.layout.n_accums;
    sm_states t = {agg->lanes, NULL, true, &agg->arena};
    sm_batch_note_first(s, agg->lanes, l->sparse ? l->sel[0] : l->mask ? first_set(l->mask) : 0);
    for (uint32_t k = 0; k < n_accums; k++) {
        const sm_batch_accum *a = &s->accums[k];
        const uint64_t *mask;
        const uint16_t *sel;
        bool by_mask = !l->sparse && has_kernel(s, a);
        uint32_t n = sm_batch_accum_rows(s, a, l, !by_mask, &mask, &sel);
        if (!n) continue;
        if (by_mask)
            add_mask(s, a, agg->lanes + a->acc->lanes_offset, mask, n);
        else
            SM_TRY(sm_batch_add_rows(s, a, &t, sel, n));
    }
    return SM_OK;
}

/* ---- a handful of groups --------------------------------------------------------------------- */

/* Live rows of group k that the accumulator takes. */
static uint32_t rows_of(const sm_batch_state *s, const sm_tiny_groups *g,
                        uint64_t (*masks)[SM_MASK_WORDS], uint32_t k)
{
    return masks == s->masks ? g->rows[k] : s->agg->count(masks[k], s->n_rows);
}

static uint32_t narrow_masks(sm_batch_state *s, const sm_batch_accum *a, sm_live *l,
                             const sm_tiny_groups *g, uint64_t (**masks)[SM_MASK_WORDS],
                             uint64_t (*room)[SM_MASK_WORDS])
{
    const uint64_t *mask;
    const uint16_t *sel;
    *masks = s->masks;
    if (!a->filter && !(a->arg && a->arg->v.valid)) return l->n;
    uint32_t n = sm_batch_accum_rows(s, a, l, false, &mask, &sel);
    for (uint32_t k = 0; k < g->n; k++)
        for (uint32_t w = 0; w < sm_bit_words(s->n_rows); w++)
            room[k][w] = s->masks[k][w] & mask[w];
    *masks = room;
    return n;
}

static void add_sums_f(sm_batch_state *s, const sm_batch_accum *a, const sm_tiny_groups *g,
                       uint64_t (*masks)[SM_MASK_WORDS])
{
    double *lanes[SM_MASK_GROUPS];
    for (uint32_t k = 0; k < g->n; k++) {
        sm_acc_sum_f *st = (void *)(g->row[k] + a->acc->lanes_offset);
        st->n += rows_of(s, g, masks, k);
        lanes[k] = st->lane;
    }
    s->agg->sum_f64_groups(a->arg->v.data, masks, g->n, s->n_rows, s->row0, lanes);
}

static void add_sums_i(sm_batch_state *s, const sm_batch_accum *a, const sm_tiny_groups *g,
                       uint64_t (*masks)[SM_MASK_WORDS])
{
    sm_i128 sums[SM_MASK_GROUPS] = {0};
    (a->is_short ? s->agg->sum_i64_short_groups : s->agg->sum_i64_groups)(a->arg->v.data, masks,
                                                                          g->n, s->n_rows, sums);
    for (uint32_t k = 0; k < g->n; k++)
        sm_acc_add_partial(a->acc, g->row[k] + a->acc->lanes_offset, sums[k],
                           rows_of(s, g, masks, k));
}

static sm_status add_by_masks(sm_batch_state *s, sm_live *l, const sm_tiny_groups *g,
                              const sm_batch_accum *a)
{
    uint64_t room[SM_MASK_GROUPS][SM_MASK_WORDS], (*masks)[SM_MASK_WORDS];
    uint32_t n = narrow_masks(s, a, l, g, &masks, room);
    if (!n) return SM_OK;
    if (a->acc->kind == SM_ACC_SUM_F) {
        add_sums_f(s, a, g, masks);
        return SM_OK;
    }
    if ((a->acc->kind == SM_ACC_SUM_I || a->acc->kind == SM_ACC_SUM_D) &&
        a->arg->v.phys == SM_PHYS_I64) {
        add_sums_i(s, a, g, masks);
        return SM_OK;
    }
    for (uint32_t k = 0; k < g->n; k++) {
        uint32_t count = rows_of(s, g, masks, k);
        if (count) add_mask(s, a, g->row[k] + a->acc->lanes_offset, masks[k], count);
    }
    return SM_OK;
}

/* Masks cost a pass per group, single rows a dependent load and store each. Dead rows may have any
 * code: groups of theirs are empty. */
static bool find_groups(sm_batch_state *s, sm_live *l, sm_tiny_groups *g)
{
    sm_agg_local *agg = s->w->agg;
    uint16_t codes[SM_TINY_GROUPS];
    uint32_t seen = s->agg->codes_seen(s->codes, s->n_rows), n = 0;
    if ((uint32_t)__builtin_popcount(seen) > s->agg->most_groups) return false;
    for (; seen; seen &= seen - 1) codes[n++] = (uint16_t)__builtin_ctz(seen);
    s->agg->group_masks(s->codes, codes, n, l->mask, s->n_rows, s->masks);
    g->n = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t rows = s->agg->count(s->masks[k], s->n_rows);
        if (!rows) continue;
        if (g->n < k) memcpy(s->masks[g->n], s->masks[k], sizeof *s->masks);
        g->rows[g->n] = rows;
        g->row[g->n] = agg->lanes + codes[k] * agg->sink->layout.lanes_bytes;
        sm_batch_note_first(s, g->row[g->n], first_set(s->masks[g->n]));
        g->n++;
    }
    return true;
}

static void find_rows(sm_batch_state *s, sm_live *l, bool note_first)
{
    sm_agg_local *agg = s->w->agg;
    const uint16_t *sel = sm_live_sel(s, l);
    for (uint32_t k = 0; k < l->n; k++) {
        uint32_t i = sel ? sel[k] : k;
        s->rows[i] = agg->lanes + s->codes[i] * agg->sink->layout.lanes_bytes;
        if (note_first) sm_batch_note_first(s, s->rows[i], i);
    }
}

sm_status sm_batch_add_tiny(sm_batch_state *s, sm_live *l)
{
    sm_tiny_groups *g = &s->tiny;
    sm_states t = {NULL, s->rows, true, &s->w->agg->arena};
    bool masks = !l->sparse && find_groups(s, l, g), rows = !masks;
    if (rows) find_rows(s, l, true);
    for (uint32_t k = 0; k < s->w->p->agg.layout.n_accums; k++) {
        const sm_batch_accum *a = &s->accums[k];
        const uint64_t *mask;
        const uint16_t *sel;
        bool f32 = a->acc->kind == SM_ACC_SUM_F && a->arg->v.phys == SM_PHYS_F32;
        if (masks && has_kernel(s, a) && !f32) {
            SM_TRY(add_by_masks(s, l, g, a));
            continue;
        }
        if (!rows) find_rows(s, l, false);
        rows = true;
        uint32_t n = sm_batch_accum_rows(s, a, l, true, &mask, &sel);
        SM_TRY(sm_batch_add_rows(s, a, &t, sel, n));
    }
    return SM_OK;
}
