/* Finding matches of a batch's rows in a join table. Tag and slot turn most misses away; what is left
 * is compared by hash, and by key where the hash does not say all: of one integer it does. Read
 * batch_probe.h first. */
#include "interp/batch_probe.h"

enum { FAR_SLOTS = 1 << 15, AHEAD = 24 }; /* a directory that is not in the second cache */

/* ---- keys ------------------------------------------------------------------------------------ */

static bool key_equal(const sm_vec *v, uint32_t i, const sm_flat_col *c, uint32_t row)
{
    bool null = v->valid && !sm_bit_get(v->valid, i);
    if (null != (c->valid && !sm_bit_get(c->valid, row))) return false;
    if (null) return true; /* null-safe: the others are no candidates */
    size_t bytes = sm_phys_bytes(c->phys);
    const char *a = (const char *)v->data + i * bytes, *b = (const char *)c->data + row * bytes;
    switch (c->phys) {
    case SM_PHYS_I32: return *(const int32_t *)a == *(const int32_t *)b;
    case SM_PHYS_I64: return *(const int64_t *)a == *(const int64_t *)b;
    default: return sm_key_eq(c->phys, sm_key_load(c->phys, a), sm_key_load(c->phys, b));
    }
}

static bool keys_equal(const sm_batch_probe *p, uint32_t i, uint32_t row)
{
    for (uint32_t k = 0; k < p->p->n_keys; k++)
        if (!key_equal(&p->key_vecs[k], i, &p->t->cols[k], row)) return false;
    return true;
}

/* Rows none of whose keys is NULL, but for null-safe ones. */
static const uint64_t *keys_valid(sm_batch_state *s, sm_batch_probe *p)
{
    const uint64_t *first = NULL;
    for (uint32_t k = 0; k < p->p->n_keys; k++) {
        const uint64_t *next = p->key_vecs[k].valid;
        if (!next || p->p->null_safe[k] || next == first) continue;
        if (!first) {
            first = next;
            continue;
        }
        for (uint32_t w = 0; w < sm_bit_words(s->n_rows); w++) p->found[w] = first[w] & next[w];
        first = p->found;
    }
    return first;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static void all_pairs(sm_batch_probe *p, const uint16_t *sel, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        p->rows[k] = sel ? sel[k] : (uint16_t)k;
        p->begin[k] = 0;
        p->end[k] = (uint32_t)p->t->n_rows;
    }
    p->n = n;
}

static void no_pairs(sm_batch_probe *p, const uint16_t *sel, uint32_t n, bool all)
{
    for (uint32_t k = 0; all && k < n; k++) {
        p->rows[k] = sel ? sel[k] : (uint16_t)k;
        p->begin[k] = p->end[k] = 0;
    }
    p->n = all ? n : 0;
}

/* The loop over directory entries, for one shape of input each. */
SM_INLINE uint32_t look_up(sm_batch_probe *p, const uint16_t *sel, const uint64_t *valid, uint32_t n,
                           bool all, bool far)
{
    const sm_join_table *t = p->t;
    const uint64_t *directory = t->directory, *hashes = p->hashes;
    uint32_t shift = t->shift, m = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = sel ? sel[k] : k;
        uint64_t hash = hashes[i], tag = sm_join_tag(hash);
        if (far && k + AHEAD < n)
            __builtin_prefetch(&directory[hashes[sel ? sel[k + AHEAD] : k + AHEAD] >> shift]);
        const uint64_t *entry = &directory[hash >> shift];
        uint64_t from = entry[0];
        bool hit = (from & tag) == tag;
        if (valid) hit &= sm_bit_get(valid, i);
        p->rows[m] = (uint16_t)i;
        p->begin[m] = (uint32_t)(from >> 16);
        p->end[m] = hit ? (uint32_t)(entry[1] >> 16) : (uint32_t)(from >> 16);
        if (far) __builtin_prefetch(&t->hashes[from >> 16]);
        m += all | hit;
    }
    return m;
}

void sm_match_candidates(sm_batch_state *s, sm_batch_probe *p, sm_live *l, bool all)
{
    const uint16_t *sel = sm_live_sel(s, l);
    uint32_t n = l->n;
    p->k = p->pos = 0;
    if (!p->p->n_keys) {
        all_pairs(p, sel, n);
        return;
    }
    for (uint32_t k = 0; k < p->p->n_keys; k++) p->key_vecs[k] = p->keys[k]->v;
    if (!p->t->n_rows) {
        no_pairs(p, sel, n, all);
        return;
    }
    const uint64_t *valid = keys_valid(s, p);
    bool far = p->t->n_rows >= FAR_SLOTS;
    sm_join_hash_batch(p->key_vecs, p->p->n_keys, sel, n, p->hashes);
    if (all || valid || sel)
        p->n = look_up(p, sel, valid, n, all, far);
    else
        p->n = far ? look_up(p, NULL, NULL, n, false, true) : look_up(p, NULL, NULL, n, false, false);
}

/* ---- matches --------------------------------------------------------------------------------- */

uint32_t sm_match_next(const sm_batch_probe *p, uint32_t i, uint32_t pos, uint32_t end)
{
    const sm_join_table *t = p->t;
    if (!p->p->n_keys) return pos;
    for (uint64_t hash = p->hashes[i]; pos < end; pos++)
        if (t->hashes[pos] == hash && (p->by_hash || keys_equal(p, i, t->order[pos]))) return pos;
    return end;
}

static void first_by_hash(sm_batch_probe *p)
{
    const sm_join_table *t = p->t;
    for (uint32_t k = 0; k < p->n; k++) {
        uint32_t i = p->rows[k], pos = p->begin[k], end = p->end[k];
        uint64_t hash = p->hashes[i];
        while (pos < end && t->hashes[pos] != hash) pos++;
        if (pos == end) continue;
        p->keep[i] = 1;
        p->build_rows[i] = t->order[pos];
    }
}

bool sm_match_first(sm_batch_probe *p, bool single)
{
    if (p->by_hash && !single) {
        first_by_hash(p);
        return true;
    }
    for (uint32_t k = 0; k < p->n; k++) {
        uint32_t i = p->rows[k], end = p->end[k], pos = sm_match_next(p, i, p->begin[k], end);
        if (pos >= end) continue;
        p->keep[i] = 1;
        p->build_rows[i] = sm_match_build_row(p, pos);
        if (single && sm_match_next(p, i, pos + 1, end) < end) return false;
    }
    return true;
}

static void load_key(const sm_vec *v, uint32_t i, sm_value *out)
{
    size_t bytes = sm_phys_bytes(v->phys);
    out->is_null = v->valid && !sm_bit_get(v->valid, i);
    memcpy(out, (const char *)v->data + i * bytes, bytes); /* every form begins the union */
}

bool sm_match_unknown(sm_batch_probe *p, uint32_t i)
{
    uint64_t at = 0;
    for (uint32_t k = 0; k < p->p->n_keys; k++) load_key(&p->key_vecs[k], i, &p->key_values[k]);
    return sm_join_next_unknown(p->t, p->key_values, p->p->null_safe, &at) != SM_NO_BUILD_ROW;
}
