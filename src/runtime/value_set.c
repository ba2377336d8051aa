/* The set of values behind a DISTINCT aggregate: keys (hash.h) in order of arrival, and slots of
 * 32-bit numbers that find them, linear probing. Old arrays stay in the arena when a set grows,
 * which costs as much again as the set itself and spares it a clean-up. */
#include "hash.h"
#include "sort.h"

typedef struct entry {
    uint64_t hash;
    sm_key key;
} entry;

struct sm_value_set {
    entry *entries;
    uint32_t *slots; /* number of the entry + 1; 0 = free */
    uint32_t n, cap;
    uint32_t mask; /* slots - 1 */
    sm_phys phys;
};

enum { FIRST_SLOTS = 8, MOST_ENTRIES = 1 << 30 };

/* Of equal intervals the set keeps the greatest, so that its content depends on no order of
 * arrival. */
static void prefer_interval(sm_key *kept, sm_key k)
{
    sm_interval a, b;
    memcpy(&a, kept, 16);
    memcpy(&b, &k, 16);
    if (sm_interval_cmp(b, a) > 0) *kept = k;
}

/* At most half of the slots are taken. */
static bool resize(sm_value_set *s, uint32_t n_slots, sm_arena *arena)
{
    uint32_t *slots = SM_NEW_N(arena, uint32_t, n_slots);
    entry *entries = sm_arena_alloc(arena, sizeof(entry) * (n_slots / 2));
    if (!slots || !entries) return false;
    if (s->n) memcpy(entries, s->entries, s->n * sizeof *entries);
    s->entries = entries;
    s->slots = slots;
    s->cap = n_slots / 2;
    s->mask = n_slots - 1;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t at = (uint32_t)entries[i].hash & s->mask;
        while (slots[at]) at = (at + 1) & s->mask;
        slots[at] = i + 1;
    }
    return true;
}

static sm_status make(sm_value_set **set, sm_phys phys, sm_arena *arena, sm_error *err)
{
    sm_value_set *s = SM_NEW(arena, sm_value_set);
    if (!s || !resize(s, FIRST_SLOTS, arena)) return sm_arena_failed(arena, err);
    s->phys = phys;
    *set = s;
    return SM_OK;
}

static sm_status add_key(sm_value_set *s, uint64_t hash, sm_key k, sm_arena *arena, sm_error *err)
{
    uint32_t at = (uint32_t)hash & s->mask;
    for (; s->slots[at]; at = (at + 1) & s->mask) {
        entry *e = &s->entries[s->slots[at] - 1];
        if (e->hash != hash || !sm_key_eq(s->phys, e->key, k)) continue;
        if (s->phys == SM_PHYS_IV) prefer_interval(&e->key, k);
        return SM_OK;
    }
    if (s->n == s->cap) {
        if (s->n >= MOST_ENTRIES || !resize(s, (s->mask + 1) * 2, arena))
            return sm_arena_failed(arena, err);
        for (at = (uint32_t)hash & s->mask; s->slots[at];) at = (at + 1) & s->mask;
    }
    if (!sm_key_own(s->phys, &k, arena)) return sm_arena_failed(arena, err);
    s->entries[s->n] = (entry){hash, k};
    s->slots[at] = ++s->n;
    return SM_OK;
}

sm_status sm_value_set_add(sm_value_set **set, sm_type t, const sm_value *v, sm_arena *arena,
                           sm_error *err)
{
    sm_phys phys = sm_type_phys(t);
    sm_key k = sm_key_load(phys, v);
    if (!*set) SM_TRY(make(set, phys, arena, err));
    return add_key(*set, sm_hash_zero() ? 0 : sm_key_hash(phys, k), k, arena, err);
}

sm_status sm_value_set_merge(sm_value_set **set, sm_type t, const sm_value_set *src,
                             sm_arena *arena, sm_error *err)
{
    if (!src) return SM_OK;
    if (!*set) SM_TRY(make(set, sm_type_phys(t), arena, err));
    for (uint32_t i = 0; i < src->n; i++)
        SM_TRY(add_key(*set, src->entries[i].hash, src->entries[i].key, arena, err));
    return SM_OK;
}

int64_t sm_value_set_count(const sm_value_set *set)
{
    return set ? set->n : 0;
}

/* The values as an array of their physical form. */
static void *column_of(const sm_value_set *set, sm_arena *arena)
{
    size_t bytes = sm_phys_bytes(set->phys);
    char *column = sm_arena_alloc(arena, bytes * set->n);
    if (!column) return NULL;
    for (uint32_t i = 0; i < set->n; i++) {
        sm_value v;
        sm_key_store(set->phys, set->entries[i].key, &v);
        memcpy(column + i * bytes, &v, bytes);
    }
    return column;
}

sm_status sm_value_set_sorted(const sm_value_set *set, sm_value **out, sm_arena *arena,
                              sm_error *err)
{
    uint32_t n = set ? set->n : 0;
    sm_sort_key key = {.phys = set ? set->phys : SM_PHYS_I64};
    uint64_t *order;
    *out = SM_NEW_N(arena, sm_value, n);
    if (!*out) return sm_arena_failed(arena, err);
    if (n == 0) return SM_OK;
    key.data = column_of(set, arena);
    order = sm_arena_alloc(arena, n * sizeof *order);
    if (!key.data || !order) return sm_arena_failed(arena, err);
    SM_TRY(sm_sort_rows(&key, 1, n, order, arena->mem, err));
    for (uint32_t i = 0; i < n; i++)
        sm_key_store(set->phys, set->entries[order[i]].key, &(*out)[i]);
    return SM_OK;
}

bool sm_value_set_validate(const sm_value_set *set)
{
    uint32_t used = 0;
    if (!set) return true;
    if ((set->mask & (set->mask + 1)) != 0 || set->n > set->cap || set->cap * 2 > set->mask + 1)
        return false;
    for (uint32_t i = 0; i <= set->mask; i++) used += set->slots[i] != 0;
    for (uint32_t i = 0; i < set->n; i++) {
        uint32_t at = (uint32_t)set->entries[i].hash & set->mask;
        while (set->slots[at] && set->slots[at] != i + 1) at = (at + 1) & set->mask;
        if (!set->slots[at]) return false;
    }
    return used == set->n;
}
