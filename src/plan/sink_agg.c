/* The aggregation sink's state: making it, folding morsels, merging workers or segments, and giving
 * the groups as rows. A TINY or DIRECT group is a state row indexed by its code, and its keys
 * follow from the code; a HASH group's keys are in its row. A group exists once its first_row is
 * set; without GROUP BY the one group always exists. Read sink.h and runtime/agg.h first. */
#include "plan/sink.h"

static bool by_code(const sm_agg_sink *s)
{
    return s->mode != SM_GROUPS_HASH;
}

static bool has_lanes(const sm_agg_sink *s)
{
    return s->mode == SM_GROUPS_NONE || s->mode == SM_GROUPS_TINY;
}

static uint64_t first_row_of(const char *row)
{
    uint64_t v;
    memcpy(&v, row + SM_GROUP_FIRST_ROW, sizeof v);
    return v;
}

static void note_first_row(char *row, uint64_t v)
{
    if (v < first_row_of(row)) memcpy(row + SM_GROUP_FIRST_ROW, &v, sizeof v);
}

sm_status sm_agg_local_init(sm_agg_local *l, const sm_agg_sink *sink, sm_mem *mem, sm_error *err)
{
    *l = (sm_agg_local){.sink = sink, .mem = mem};
    sm_arena_init(&l->arena, mem, "aggregate");
    const sm_group_layout *lay = &sink->layout;
    if (!by_code(sink)) return sm_group_table_init(&l->table, lay, mem, err);
    l->direct = sm_arena_vector(&l->arena, (size_t)sink->n_codes * lay->row_bytes);
    if (l->direct && has_lanes(sink))
        l->lanes = sm_arena_vector(&l->arena, (size_t)sink->n_codes * lay->lanes_bytes);
    if (!l->direct || (has_lanes(sink) && !l->lanes)) return sm_arena_failed(&l->arena, err);
    for (uint32_t i = 0; i < sink->n_codes; i++)
        sm_group_row_init(lay, l->direct + (size_t)i * lay->row_bytes);
    sm_agg_morsel_begin(l);
    return SM_OK;
}

void sm_agg_local_reset(sm_agg_local *l)
{
    if (!l->sink) return;
    if (!by_code(l->sink)) sm_group_table_reset(&l->table);
    sm_arena_reset(&l->arena);
    *l = (sm_agg_local){.sink = NULL};
}

void sm_agg_morsel_begin(sm_agg_local *l)
{
    const sm_group_layout *lay = &l->sink->layout;
    if (!has_lanes(l->sink)) return;
    for (uint32_t i = 0; i < l->sink->n_codes; i++)
        sm_group_lanes_init(lay, l->lanes + (size_t)i * lay->lanes_bytes);
}

sm_status sm_agg_morsel_end(sm_agg_local *l, char *partial, sm_error *err)
{
    const sm_group_layout *lay = &l->sink->layout;
    if (!has_lanes(l->sink)) return SM_OK;
    for (uint32_t i = 0; i < l->sink->n_codes; i++) {
        const char *from = l->lanes + (size_t)i * lay->lanes_bytes;
        char *to = (partial ? partial : l->direct) + (size_t)i * lay->row_bytes;
        if (partial) sm_group_row_init(lay, to);
        if (l->sink->mode != SM_GROUPS_NONE && first_row_of(from) == SM_NO_ROW) continue;
        note_first_row(to, first_row_of(from));
        for (uint32_t k = 0; k < lay->n_accums; k++) {
            const sm_accum *acc = &lay->accums[k];
            SM_TRY(sm_acc_fold(acc, lay->lanes, from + acc->lanes_offset, to + acc->offset,
                               &l->arena, err));
        }
    }
    return SM_OK;
}

/* Adds n_codes state rows in final form. */
static sm_status merge_rows(sm_agg_local *dst, const char *rows, sm_error *err)
{
    const sm_group_layout *lay = &dst->sink->layout;
    for (uint32_t i = 0; i < dst->sink->n_codes; i++) {
        const char *from = rows + (size_t)i * lay->row_bytes;
        char *to = dst->direct + (size_t)i * lay->row_bytes;
        if (dst->sink->mode != SM_GROUPS_NONE && first_row_of(from) == SM_NO_ROW) continue;
        note_first_row(to, first_row_of(from));
        for (uint32_t k = 0; k < lay->n_accums; k++) {
            const sm_accum *acc = &lay->accums[k];
            SM_TRY(sm_acc_combine(acc, to + acc->offset, from + acc->offset, &dst->arena, err));
        }
    }
    return SM_OK;
}

sm_status sm_agg_merge(sm_agg_local *dst, sm_agg_local *src, sm_error *err)
{
    return by_code(dst->sink) ? merge_rows(dst, src->direct, err)
                              : sm_group_table_merge(&dst->table, &src->table, err);
}

sm_status sm_agg_merge_partial(sm_agg_local *dst, const char *partial, sm_error *err)
{
    return merge_rows(dst, partial, err);
}

/* ---- codes of batch rows ---- */

/* Code of a text that came without its dictionary code. */
static uint32_t find_entry(const sm_dict *d, const sm_text *t)
{
    for (uint32_t i = 0; i < d->n; i++)
        if (sm_text_eq(d->entries[i], *t)) return i;
    return 0;
}

static uint32_t key_code(const sm_code_key *k, const sm_vec *v, uint32_t i)
{
    if (v->valid && !sm_bit_get(v->valid, i)) return k->n_values;
    if (k->dict)
        return v->codes ? v->codes[i] : find_entry(k->dictionary, &((const sm_text *)v->data)[i]);
    switch (v->phys) {
    case SM_PHYS_BOOL: return (uint32_t)(((const uint8_t *)v->data)[i] - k->min);
    case SM_PHYS_I16: return (uint32_t)(((const int16_t *)v->data)[i] - k->min);
    case SM_PHYS_I32: return (uint32_t)(((const int32_t *)v->data)[i] - k->min);
    default: return (uint32_t)((uint64_t)((const int64_t *)v->data)[i] - (uint64_t)k->min);
    }
}

/* codes[i] (+)= stride * code; the usual forms without NULLs get loops of their own. */
static void add_key(const sm_code_key *k, const sm_vec *v, const sm_batch *b, bool first,
                    uint16_t *codes)
{
    const uint32_t stride = k->stride;
    if (!b->sel && !v->valid && k->dict && v->codes) {
        for (uint32_t i = 0; i < b->n_rows; i++)
            codes[i] = (uint16_t)((first ? 0u : codes[i]) + stride * v->codes[i]);
        return;
    }
    if (!b->sel && !v->valid && v->phys == SM_PHYS_I32 && v->data) {
        const int32_t *data = v->data;
        const uint32_t min = (uint32_t)k->min;
        for (uint32_t i = 0; i < b->n_rows; i++)
            codes[i] = (uint16_t)((first ? 0u : codes[i]) + stride * ((uint32_t)data[i] - min));
        return;
    }
    for (uint32_t j = 0; j < b->n_sel; j++) {
        uint32_t i = b->sel ? b->sel[j] : j;
        codes[i] = (uint16_t)((first ? 0u : codes[i]) + stride * key_code(k, v, i));
    }
}

void sm_agg_codes(const sm_agg_sink *s, const sm_batch *b, uint16_t *codes)
{
    for (uint32_t k = 0; k < s->layout.n_keys; k++)
        add_key(&s->codes[k], &b->cols[k], b, k == 0, codes);
}

sm_status sm_agg_find_rows(sm_agg_local *l, const sm_batch *b, void **rows, sm_error *err)
{
    uint64_t hashes[SM_BATCH_ROWS];
    const sm_agg_sink *s = l->sink;
    if (by_code(s)) {
        uint16_t *codes = (uint16_t *)hashes;
        sm_agg_codes(s, b, codes);
        for (uint32_t j = 0; j < b->n_sel; j++) {
            uint32_t i = b->sel ? b->sel[j] : j;
            char *row = l->direct + (size_t)codes[i] * s->layout.row_bytes;
            note_first_row(row, b->numbers ? b->numbers[i] : b->first_row + i);
            rows[i] = row;
        }
        return SM_OK;
    }
    sm_group_hash_batch(&s->layout, b->cols, b->sel, b->n_sel, hashes);
    return sm_group_find_rows(&l->table, hashes, b->cols, b->sel, b->n_sel, b->first_row,
                              b->numbers, rows, err);
}

/* ---- result ---- */

typedef struct group {
    uint64_t first_row;
    const char *row;
    uint32_t code;
} group;

/* Key i of a TINY or DIRECT group, from its code. */
static void key_of_code(const sm_code_key *k, sm_type type, uint32_t code, sm_value *out)
{
    uint32_t v = code / k->stride % (k->n_values + k->nullable);
    *out = (sm_value){.is_null = v == k->n_values};
    if (out->is_null) return;
    if (k->dict) {
        out->text = k->dictionary->entries[v];
        return;
    }
    int64_t x = k->min + (int64_t)v;
    switch (sm_type_phys(type)) {
    case SM_PHYS_BOOL: out->b = (uint8_t)x; break;
    case SM_PHYS_I16: out->i16 = (int16_t)x; break;
    case SM_PHYS_I32: out->i32 = (int32_t)x; break;
    default: out->i64 = x; break;
    }
}

static int compare_values(sm_phys phys, const sm_value *a, const sm_value *b)
{
    if (a->is_null || b->is_null) return a->is_null - b->is_null;
    if (phys == SM_PHYS_TEXT) return sm_text_cmp(a->text, b->text);
    if (phys == SM_PHYS_IV) return sm_interval_cmp(a->iv, b->iv);
    sm_i128 x = sm_key_i128(sm_key_load(phys, a)), y = sm_key_i128(sm_key_load(phys, b));
    return x < y ? -1 : x > y;
}

/* By first row. Behind a join several groups may begin at one source row; any order of their keys
 * then does that is the same for all tiers and numbers of threads. Codes are listed in order. */
static bool comes_before(const sm_agg_sink *s, const group *a, const group *b)
{
    if (a->first_row != b->first_row || by_code(s)) return a->first_row <= b->first_row;
    for (uint32_t k = 0; k < s->layout.n_keys; k++) {
        sm_value x, y;
        sm_group_key_get(&s->layout, a->row, k, &x);
        sm_group_key_get(&s->layout, b->row, k, &y);
        int c = compare_values(sm_type_phys(s->layout.keys[k].type), &x, &y);
        if (c) return c < 0;
    }
    return true;
}

/* Bottom-up merge sort; groups mostly arrive in order, and then nothing is moved. */
static void sort_groups(const sm_agg_sink *s, group *list, group *room, uint64_t n)
{
    bool sorted = true;
    for (uint64_t i = 1; i < n && sorted; i++) sorted = comes_before(s, &list[i - 1], &list[i]);
    if (sorted) return;
    group *from = list, *to = room;
    for (uint64_t width = 1; width < n; width *= 2) {
        for (uint64_t lo = 0; lo < n; lo += 2 * width) {
            uint64_t mid = lo + width < n ? lo + width : n,
                     hi = lo + 2 * width < n ? lo + 2 * width : n;
            uint64_t a = lo, b = mid;
            for (uint64_t k = lo; k < hi; k++) {
                bool left = a < mid && (b == hi || comes_before(s, &from[a], &from[b]));
                to[k] = left ? from[a++] : from[b++];
            }
        }
        group *swap = from;
        from = to;
        to = swap;
    }
    if (from != list) memcpy(list, from, n * sizeof *list);
}

static uint64_t list_groups(const sm_agg_local *l, group *list)
{
    const sm_agg_sink *s = l->sink;
    uint64_t n = 0;
    if (!by_code(s)) {
        for (uint64_t i = 0; i < l->table.n_groups; i++)
            list[n++] = (group){first_row_of(l->table.rows[i]), l->table.rows[i], 0};
        return n;
    }
    for (uint32_t i = 0; i < s->n_codes; i++) {
        const char *row = l->direct + (size_t)i * s->layout.row_bytes;
        if (s->mode == SM_GROUPS_NONE || first_row_of(row) != SM_NO_ROW)
            list[n++] = (group){first_row_of(row), row, i};
    }
    return n;
}

static int32_t position_of(const sm_pipeline *p, uint32_t out)
{
    const sm_node *n = p->sink_node;
    return n && n->kind == SM_NODE_AGGREGATE && out < n->aggregate.n_aggs
               ? n->aggregate.aggs[out].position
               : 0;
}

static sm_status put_group(const sm_agg_local *l, const sm_pipeline *p, const group *g,
                           sm_value *row, sm_arena *scratch, sm_error *err)
{
    const sm_agg_sink *s = l->sink;
    const sm_group_layout *lay = &s->layout;
    for (uint32_t k = 0; k < lay->n_keys; k++) {
        if (by_code(s)) {
            key_of_code(&s->codes[k], lay->keys[k].type, g->code, &row[k]);
        } else {
            sm_group_key_get(lay, g->row, k, &row[k]);
        }
    }
    for (uint32_t k = 0; k < s->n_outs; k++) {
        const sm_agg_out *o = &s->outs[k];
        const sm_accum *acc = &lay->accums[o->accum];
        sm_status status = sm_acc_result(acc, o->fn, o->type, g->row + acc->offset,
                                         &row[lay->n_keys + k], scratch, err);
        if (status == SM_OK) continue;
        if (err && err->status == status && !err->position) err->position = position_of(p, k);
        return status;
    }
    return SM_OK;
}

static sm_status put_groups(const sm_agg_local *l, const sm_pipeline *p, const group *list,
                            uint64_t n, sm_builder *b, sm_arena *scratch, sm_error *err)
{
    sm_value *row = SM_NEW_N(scratch, sm_value, l->sink->layout.n_keys + l->sink->n_outs + 1);
    sm_arena values;
    if (!row) return sm_arena_failed(scratch, err);
    sm_arena_init(&values, l->mem, "aggregate");
    sm_status status = SM_OK;
    for (uint64_t i = 0; i < n && status == SM_OK; i++) {
        status = put_group(l, p, &list[i], row, &values, err);
        if (status == SM_OK) status = sm_builder_row(b, row, err);
        sm_arena_rewind(&values);
    }
    sm_arena_reset(&values);
    return status;
}

sm_status sm_agg_finish(sm_agg_local *l, const sm_pipeline *p, sm_version **out, sm_error *err)
{
    uint64_t most = by_code(l->sink) ? l->sink->n_codes : l->table.n_groups;
    sm_arena scratch;
    sm_arena_init(&scratch, l->mem, "aggregate");
    group *list = SM_NEW_N(&scratch, group, most + 1), *room = SM_NEW_N(&scratch, group, most + 1);
    sm_builder *b = NULL;
    sm_status status = list && room ? SM_OK : sm_arena_failed(&scratch, err);
    if (status == SM_OK) status = sm_builder_new(l->mem, p->out_cols, p->n_out, NULL, &b, err);
    if (status == SM_OK) {
        uint64_t n = list_groups(l, list);
        sort_groups(l->sink, list, room, n);
        status = put_groups(l, p, list, n, b, &scratch, err);
        if (status == SM_OK) {
            status = sm_builder_finish(b, out, err);
        } else {
            sm_builder_free(b);
        }
    }
    sm_arena_reset(&scratch);
    return status;
}
