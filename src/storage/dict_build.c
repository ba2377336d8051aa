/* Growing a dictionary: linear probing over codes, at most half full; the entries themselves are
 * the keys. Entries of a base dictionary are copied as views only when the first text is looked up.
 */
#include "storage/build_col.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_ENTRIES = 8 };

static uint32_t hash_of(const sm_text *t)
{
    uint64_t w[2];
    if (t->len > SM_TEXT_INLINE) return (uint32_t)XXH3_64bits(t->ptr, t->len);
    memcpy(w, t, 16);
    w[0] = (w[0] ^ 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    w[1] = (w[1] ^ w[0] >> 32) * 0xD6E8FEB86659FD93u;
    return (uint32_t)((w[0] ^ w[1]) >> 32);
}

static sm_status rehash(sm_dict_build *d, sm_mem *m, uint32_t n_slots, sm_error *err)
{
    void *p = NULL;
    uint32_t *slots;
    SM_TRY(sm_alloc_zero(m, n_slots * sizeof *slots, "dictionary", &p, err));
    slots = p;
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t at = hash_of(&d->entries[i]) & (n_slots - 1);
        while (slots[at]) at = (at + 1) & (n_slots - 1);
        slots[at] = i + 1;
    }
    sm_free(m, d->slots, d->n_slots * sizeof *slots);
    d->slots = slots;
    d->n_slots = n_slots;
    return SM_OK;
}

static sm_status grow_entries(sm_dict_build *d, sm_mem *m, uint32_t cap, sm_error *err)
{
    void *p = d->entries;
    SM_TRY(sm_realloc(m, &p, d->cap * sizeof(sm_text), cap * sizeof(sm_text), "dictionary", err));
    d->entries = p;
    d->cap = cap;
    return SM_OK;
}

/* Every INSERT that brings a new word makes a heap that hangs on the one before; a long chain is
 * copied flat, here, where nothing has taken a view of the new entries yet. */
static sm_status flatten(sm_dict_build *d, sm_mem *m, sm_error *err)
{
    if (!d->base || !d->base->heap || d->base->heap->depth < SM_TEXT_HEAP_MAX_DEPTH) return SM_OK;
    SM_TRY(sm_text_heap_new(m, NULL, NULL, &d->heap, err));
    for (uint32_t i = 0; i < d->n; i++) SM_TRY(sm_text_heap_own(d->heap, &d->entries[i], err));
    return SM_OK;
}

static sm_status open_for_lookup(sm_dict_build *d, sm_mem *m, sm_error *err)
{
    uint32_t n = d->base ? d->base->n : 0, n_slots = 4 * FIRST_ENTRIES;
    while (n_slots < 4 * n) n_slots *= 2;
    if (!d->entries) {
        SM_TRY(grow_entries(d, m, n < FIRST_ENTRIES ? FIRST_ENTRIES : n, err));
        if (n) memcpy(d->entries, d->base->entries, n * sizeof(sm_text));
        d->n = n;
        SM_TRY(flatten(d, m, err));
    }
    return rehash(d, m, n_slots, err);
}

static sm_status add(sm_dict_build *d, sm_mem *m, sm_text t, uint32_t slot, uint32_t *code,
                     sm_error *err)
{
    if (d->n == SM_DICT_MAX_ENTRIES) {
        *code = SM_DICT_FULL;
        return SM_OK;
    }
    if (!d->heap) {
        sm_text_heap *parent = d->base ? d->base->heap : NULL;
        SM_TRY(sm_text_heap_new(m, parent, NULL, &d->heap, err));
    }
    if (d->n == d->cap) SM_TRY(grow_entries(d, m, d->cap * 2, err));
    SM_TRY(sm_text_heap_own(d->heap, &t, err));
    d->entries[d->n] = t;
    *code = d->n++;
    d->slots[slot] = d->n;
    if (d->n * 2 > d->n_slots) return rehash(d, m, d->n_slots * 4, err);
    return SM_OK;
}

sm_status sm_dict_build_code(sm_dict_build *d, sm_mem *m, sm_text t, uint32_t *code, sm_error *err)
{
    uint32_t at;
    if (!d->slots) SM_TRY(open_for_lookup(d, m, err));
    at = hash_of(&t) & (d->n_slots - 1);
    while (d->slots[at]) {
        uint32_t i = d->slots[at] - 1;
        if (sm_text_eq(d->entries[i], t)) {
            *code = i;
            return SM_OK;
        }
        at = (at + 1) & (d->n_slots - 1);
    }
    return add(d, m, t, at, code, err);
}

sm_status sm_dict_build_share(sm_dict_build *d, sm_mem *m, sm_dict **out, sm_error *err)
{
    void *p = NULL;
    sm_dict *dict;
    sm_status status;
    *out = NULL;
    if (d->base && (!d->entries || d->n == d->base->n)) {
        *out = sm_dict_ref(d->base);
        return SM_OK;
    }
    SM_TRY(sm_alloc_zero(m, sizeof *dict, "dictionary", &p, err));
    dict = p;
    status = sm_buffer_new(m, d->n * sizeof(sm_text), "dictionary", &dict->entries_buf, err);
    if (status != SM_OK) {
        sm_free(m, dict, sizeof *dict);
        return status;
    }
    atomic_init(&dict->refs, 1);
    dict->mem = m;
    dict->n = d->n;
    memcpy(dict->entries_buf->data, d->entries, d->n * sizeof(sm_text));
    dict->entries = (const sm_text *)(const void *)dict->entries_buf->data;
    dict->heap = sm_text_heap_ref(d->heap);
    *out = dict;
    return SM_OK;
}

void sm_dict_build_reset(sm_dict_build *d, sm_mem *m)
{
    sm_free(m, d->entries, d->cap * sizeof(sm_text));
    sm_free(m, d->slots, d->n_slots * sizeof *d->slots);
    sm_text_heap_unref(d->heap);
    *d = (sm_dict_build){.base = NULL};
}

void sm_dict_unref(sm_dict *d)
{
    if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) != 1) return;
    sm_buffer_unref(d->entries_buf);
    sm_text_heap_unref(d->heap);
    sm_free(d->mem, d, sizeof *d);
}
