/* Looking up in a join's table: hashes of keys, candidates compared by hash and then by their full
 * keys, the comparisons that are NULL, and the rows that nothing has matched. The batch and the jit
 * tier have loops of their own over the same arrays. Read join_table.h first. */
#include "plan/join_table.h"

uint64_t sm_join_hash(const sm_value *keys, const sm_type *types, uint32_t n_keys)
{
    uint64_t hash = 0;
    if (sm_hash_zero()) return 0;
    for (uint32_t k = 0; k < n_keys; k++) {
        sm_phys p = sm_type_phys(types[k]);
        uint64_t h = keys[k].is_null ? SM_HASH_NULL : sm_key_hash(p, sm_key_load(p, &keys[k]));
        hash = k ? sm_hash_combine(hash, h) : h;
    }
    return hash;
}

void sm_join_hash_batch(const sm_vec *keys, uint32_t n_keys, const uint16_t *sel, uint32_t n,
                        uint64_t *out)
{
    sm_group_layout layout = {.n_keys = n_keys};
    sm_group_hash_batch(&layout, keys, sel, n, out);
}

/* ---- candidates
 * ------------------------------------------------------------------------------------------- */

typedef enum verdict { DIFFERENT, EQUAL, UNKNOWN } verdict;

static verdict compare_key(const sm_flat_col *c, uint32_t row, const sm_value *key, bool null_safe)
{
    bool is_null = c->valid && !sm_bit_get(c->valid, row);
    if (is_null || key->is_null) {
        if (!null_safe) return UNKNOWN;
        return is_null && key->is_null ? EQUAL : DIFFERENT;
    }
    const char *own = (const char *)c->data + row * sm_phys_bytes(c->phys);
    return sm_key_eq(c->phys, sm_key_load(c->phys, own), sm_key_load(c->phys, key)) ? EQUAL
                                                                                    : DIFFERENT;
}

static verdict compare_row(const sm_join_table *t, uint32_t row, const sm_value *keys,
                           const bool *null_safe)
{
    verdict all = EQUAL;
    for (uint32_t k = 0; k < t->n_keys; k++) {
        verdict v = compare_key(&t->cols[k], row, &keys[k], null_safe[k]);
        if (v == DIFFERENT) return DIFFERENT;
        if (v == UNKNOWN) all = UNKNOWN;
    }
    return all;
}

uint32_t sm_join_next(const sm_join_table *t, uint64_t hash, const sm_value *keys,
                      const bool *null_safe, uint64_t *at, uint64_t end)
{
    while (*at < end) {
        uint64_t i = (*at)++;
        if (t->hashes[i] == hash && compare_row(t, t->order[i], keys, null_safe) == EQUAL)
            return t->order[i];
    }
    return UINT32_MAX;
}

uint32_t sm_join_next_unknown(const sm_join_table *t, const sm_value *keys, const bool *null_safe,
                              uint64_t *at)
{
    bool any_row = false; /* a NULL on the probing side: any build row may do */
    for (uint32_t k = 0; k < t->n_keys; k++) any_row |= keys[k].is_null && !null_safe[k];
    uint64_t n = any_row ? t->n_rows : t->n_null_rows;
    while (*at < n) {
        uint64_t i = (*at)++;
        uint32_t row = any_row ? (uint32_t)i : t->null_rows[i];
        if (compare_row(t, row, keys, null_safe) == UNKNOWN) return row;
    }
    return UINT32_MAX;
}

/* ---- unmatched rows
 * --------------------------------------------------------------------------------------- */

/* Column c at the rows, copied to vec's own room. */
static void gather(const sm_flat_col *c, const uint32_t *rows, uint32_t n, sm_vec *vec,
                   uint64_t *valid)
{
    size_t bytes = sm_phys_bytes(c->phys);
    char *to = vec->data;
    for (uint32_t i = 0; i < n; i++)
        memcpy(to + i * bytes, (const char *)c->data + rows[i] * bytes, bytes);
    vec->valid = c->valid ? valid : NULL;
    if (!c->valid) return;
    memset(valid, 0, SM_BATCH_ROWS / 8);
    for (uint32_t i = 0; i < n; i++)
        if (sm_bit_get(c->valid, rows[i])) sm_bit_set(valid, i);
}

static sm_status put_unmatched(const sm_join_table *t, sm_builder *b, sm_arena *a, sm_error *err)
{
    uint32_t rows[SM_BATCH_ROWS], n = 0;
    sm_vec *vecs = SM_NEW_N(a, sm_vec, t->n_cols + 1);
    uint64_t **valid = SM_NEW_N(a, uint64_t *, t->n_cols + 1);
    if (!vecs || !valid) return sm_arena_failed(a, err);
    for (uint32_t c = 0; c < t->n_cols; c++) {
        vecs[c].phys = t->cols[c].phys;
        vecs[c].data = sm_arena_vector(a, SM_BATCH_ROWS * sm_phys_bytes(t->cols[c].phys));
        valid[c] = sm_arena_vector(a, SM_BATCH_ROWS / 8);
        if (!vecs[c].data || !valid[c]) return sm_arena_failed(a, err);
    }
    for (uint64_t r = 0; r < t->n_rows; r++) {
        bool matched =
            t->matched && atomic_load_explicit(&t->matched[r], memory_order_relaxed) != 0;
        if (!matched) rows[n++] = (uint32_t)r;
        if (n < SM_BATCH_ROWS && (r + 1 < t->n_rows || !n)) continue;
        for (uint32_t c = 0; c < t->n_cols; c++) gather(&t->cols[c], rows, n, &vecs[c], valid[c]);
        sm_batch batch = {.cols = vecs, .n_cols = t->n_cols, .n_rows = n, .n_sel = n};
        SM_TRY(sm_builder_batch(b, &batch, err));
        n = 0;
    }
    return SM_OK;
}

sm_status sm_join_unmatched(const sm_join_table *t, sm_version **out, sm_error *err)
{
    sm_builder *b;
    sm_arena a;
    *out = NULL;
    SM_TRY(sm_builder_new(t->mem, t->rows->cols, t->n_cols, NULL, &b, err));
    sm_arena_init(&a, t->mem, "hash join");
    sm_status s = put_unmatched(t, b, &a, err);
    sm_arena_reset(&a);
    if (s == SM_OK) return sm_builder_finish(b, out, err);
    sm_builder_free(b);
    return s;
}

/* ---- invariants
 * ------------------------------------------------------------------------------------------- */

static bool slot_holds(const sm_join_table *t, uint64_t slot)
{
    uint64_t from = t->directory[slot] >> 16, to = t->directory[slot + 1] >> 16;
    if (from > to || to > t->n_rows) return false;
    for (uint64_t i = from; i < to; i++) {
        uint64_t tag = sm_join_tag(t->hashes[i]);
        if (t->order[i] >= t->n_rows || t->hashes[i] >> t->shift != slot) return false;
        if ((t->directory[slot] & tag) != tag) return false;
        if (i > from && t->order[i] <= t->order[i - 1]) return false; /* build order */
    }
    return true;
}

bool sm_join_table_validate(const sm_join_table *t)
{
    if (t->shift < 32 || t->shift > 63 || !sm_version_validate(t->rows)) return false;
    if (t->rows->n_rows != t->n_rows || t->rows->n_cols != t->n_cols || t->n_keys > t->n_cols)
        return false;
    uint64_t n_slots = (uint64_t)1 << (64 - t->shift);
    if (n_slots < t->n_rows || t->directory[0] >> 16) return false;
    if (t->directory[n_slots] >> 16 != t->n_rows - t->n_null_rows) return false;
    for (uint64_t s = 0; s < n_slots; s++)
        if (!slot_holds(t, s)) return false;
    for (uint64_t i = 1; i < t->n_null_rows; i++)
        if (t->null_rows[i] <= t->null_rows[i - 1]) return false;
    return t->has_null_key == (t->n_null_rows > 0);
}
