/* The hash table of groups. A slot is 16 bits of the hash (salt) and the row's address without its
 * 4 low bits, so most wrong slots are passed without touching a row; the lowest bits of the hash
 * choose the first slot. A row starts {first_row, hash, keys}; keys are two words each (hash.h), so
 * a lookup gathers the words of its keys once, and equal words are equal keys but for long texts
 * and intervals. */
#include "group_table.h"

enum { FIRST_SLOTS = 64, KEY_BYTES = sizeof(sm_key), SALT_SHIFT = 48 };

#define REF_MASK (((uint64_t)1 << SALT_SHIFT) - 1)

/* ---- layout ---- */

static uint32_t round16(size_t bytes)
{
    return (uint32_t)((bytes + 15) & ~(size_t)15);
}

void sm_group_layout_init(sm_group_layout *l, unsigned lanes)
{
    uint32_t at = SM_GROUP_HEADER, lanes_at = SM_GROUP_HEADER;
    for (uint32_t i = 0; i < l->n_keys; i++, at += KEY_BYTES) l->keys[i].offset = at;
    l->null_offset = at;
    if (l->n_keys) at = round16(at + sizeof(uint64_t));
    l->lanes = lanes;
    for (uint32_t i = 0; i < l->n_accums; i++) {
        sm_accum *acc = &l->accums[i];
        acc->offset = at;
        acc->lanes_offset = lanes_at;
        at += (uint32_t)sm_acc_bytes(acc, 1);
        lanes_at += (uint32_t)sm_acc_bytes(acc, lanes);
    }
    l->row_bytes = at;
    l->lanes_bytes = lanes_at;
}

static uint64_t *word_at(void *row, uint32_t offset)
{
    return (uint64_t *)(void *)((char *)row + offset);
}

static const uint64_t *const_word_at(const void *row, uint32_t offset)
{
    return (const uint64_t *)(const void *)((const char *)row + offset);
}

static const sm_key *keys_of(const void *row)
{
    return (const sm_key *)(const void *)((const char *)row + SM_GROUP_HEADER);
}

static uint64_t nulls_of(const sm_group_layout *l, const void *row)
{
    return l->n_keys ? *const_word_at(row, l->null_offset) : 0;
}

void sm_group_row_init(const sm_group_layout *l, void *row)
{
    memset(row, 0, l->row_bytes);
    *word_at(row, SM_GROUP_FIRST_ROW) = SM_NO_ROW;
    for (uint32_t i = 0; i < l->n_accums; i++)
        sm_acc_init(&l->accums[i], 1, (char *)row + l->accums[i].offset);
}

void sm_group_lanes_init(const sm_group_layout *l, void *row)
{
    memset(row, 0, SM_GROUP_HEADER);
    *word_at(row, SM_GROUP_FIRST_ROW) = SM_NO_ROW;
    for (uint32_t i = 0; i < l->n_accums; i++)
        sm_acc_init(&l->accums[i], l->lanes, (char *)row + l->accums[i].lanes_offset);
}

void sm_group_key_get(const sm_group_layout *l, const void *row, uint32_t i, sm_value *out)
{
    *out = (sm_value){.is_null = nulls_of(l, row) >> i & 1};
    if (!out->is_null) sm_key_store(sm_type_phys(l->keys[i].type), keys_of(row)[i], out);
}

/* ---- keys of one lookup ---- */

typedef struct probe {
    sm_key keys[SM_GROUP_MAX_KEYS];
    uint64_t nulls; /* bit i: key i is NULL, its words are 0 */
} probe;

static void probe_values(const sm_group_layout *l, const sm_value *keys, probe *p)
{
    p->nulls = 0;
    for (uint32_t i = 0; i < l->n_keys; i++) {
        p->keys[i] = (sm_key){{0, 0}};
        if (keys[i].is_null)
            p->nulls |= (uint64_t)1 << i;
        else
            p->keys[i] = sm_key_load(sm_type_phys(l->keys[i].type), &keys[i]);
    }
}

static sm_key vec_key(const sm_vec *v, uint32_t i)
{
    return sm_key_load(v->phys, (const char *)v->data + i * sm_phys_bytes(v->phys));
}

static void probe_columns(const sm_group_layout *l, const sm_vec *cols, uint32_t row, probe *p)
{
    p->nulls = 0;
    for (uint32_t i = 0; i < l->n_keys; i++) {
        p->keys[i] = (sm_key){{0, 0}};
        if (cols[i].valid && !sm_bit_get(cols[i].valid, row))
            p->nulls |= (uint64_t)1 << i;
        else
            p->keys[i] = vec_key(&cols[i], row);
    }
}

static bool keys_equal(const sm_group_layout *l, const void *row, const sm_key *keys,
                       uint64_t nulls)
{
    const sm_key *own = keys_of(row);
    if (nulls_of(l, row) != nulls) return false;
    for (uint32_t i = 0; i < l->n_keys; i++)
        if (!sm_key_eq(sm_type_phys(l->keys[i].type), own[i], keys[i])) return false;
    return true;
}

/* ---- hashes ---- */

uint64_t sm_group_hash(const sm_group_layout *l, const sm_value *keys)
{
    uint64_t hash = 0;
    if (sm_hash_zero()) return 0;
    for (uint32_t i = 0; i < l->n_keys; i++) {
        sm_phys p = sm_type_phys(l->keys[i].type);
        uint64_t h = keys[i].is_null ? SM_HASH_NULL : sm_key_hash(p, sm_key_load(p, &keys[i]));
        hash = i ? sm_hash_combine(hash, h) : h;
    }
    return hash;
}

static void put_hash(uint64_t *out, bool first, uint64_t h)
{
    *out = first ? h : sm_hash_combine(*out, h);
}

/* The switch stays outside of the loops of the usual keys. */
static void hash_column(const sm_vec *v, bool first, const uint16_t *sel, uint32_t n, uint64_t *out)
{
    switch (v->phys) {
    case SM_PHYS_I32:
        for (uint32_t j = 0; j < n; j++) {
            uint32_t i = sel ? sel[j] : j;
            bool is_null = v->valid && !sm_bit_get(v->valid, i);
            uint64_t h = sm_hash_mix((uint64_t)(int64_t)((const int32_t *)v->data)[i]);
            put_hash(&out[i], first, is_null ? SM_HASH_NULL : h);
        }
        break;
    case SM_PHYS_I64:
        for (uint32_t j = 0; j < n; j++) {
            uint32_t i = sel ? sel[j] : j;
            bool is_null = v->valid && !sm_bit_get(v->valid, i);
            uint64_t h = sm_hash_mix(((const uint64_t *)v->data)[i]);
            put_hash(&out[i], first, is_null ? SM_HASH_NULL : h);
        }
        break;
    default:
        for (uint32_t j = 0; j < n; j++) {
            uint32_t i = sel ? sel[j] : j;
            bool is_null = v->valid && !sm_bit_get(v->valid, i);
            uint64_t h = is_null ? SM_HASH_NULL : sm_key_hash(v->phys, vec_key(v, i));
            put_hash(&out[i], first, h);
        }
    }
}

void sm_group_hash_batch(const sm_group_layout *l, const sm_vec *keys, const uint16_t *sel,
                         uint32_t n, uint64_t *out)
{
    if (sm_hash_zero() || l->n_keys == 0) {
        for (uint32_t j = 0; j < n; j++) out[sel ? sel[j] : j] = 0;
        return;
    }
    for (uint32_t i = 0; i < l->n_keys; i++) hash_column(&keys[i], i == 0, sel, n, out);
}

/* ---- the table ---- */

static sm_status allocate_slots(sm_group_table *t, uint64_t n_slots, sm_error *err)
{
    void *slots = NULL;
    SM_TRY(sm_alloc_zero(t->mem, n_slots * sizeof *t->slots, "aggregate", &slots, err));
    t->slots = slots;
    t->mask = n_slots - 1;
    return SM_OK;
}

sm_status sm_group_table_init(sm_group_table *t, const sm_group_layout *l, sm_mem *mem,
                              sm_error *err)
{
    *t = (sm_group_table){.layout = l, .mem = mem};
    sm_arena_init(&t->arena, mem, "aggregate");
    return allocate_slots(t, FIRST_SLOTS, err);
}

void sm_group_table_reset(sm_group_table *t)
{
    if (t->slots) sm_free(t->mem, t->slots, (t->mask + 1) * sizeof *t->slots);
    sm_free(t->mem, t->rows, t->rows_cap * sizeof *t->rows);
    if (t->mem) sm_arena_reset(&t->arena);
    *t = (sm_group_table){0};
}

static uint64_t slot_of(uint64_t hash, const void *row)
{
    return hash >> SALT_SHIFT << SALT_SHIFT | (uint64_t)(uintptr_t)row >> 4;
}

static void *row_of(uint64_t slot)
{
    return (void *)(uintptr_t)((slot & REF_MASK) << 4);
}

static void put_slot(sm_group_table *t, uint64_t hash, const void *row)
{
    uint64_t at = hash & t->mask;
    while (t->slots[at]) at = (at + 1) & t->mask;
    t->slots[at] = slot_of(hash, row);
}

/* At most half of the slots are taken: a slot is small beside a row, and a miss costs a branch. */
static sm_status grow_slots(sm_group_table *t, sm_error *err)
{
    uint64_t *old = t->slots, old_bytes = (t->mask + 1) * sizeof *old;
    SM_TRY(allocate_slots(t, (t->mask + 1) * 2, err));
    for (uint64_t i = 0; i < t->n_groups; i++)
        put_slot(t, *const_word_at(t->rows[i], SM_GROUP_HASH), t->rows[i]);
    sm_free(t->mem, old, old_bytes);
    return SM_OK;
}

static sm_status grow_rows(sm_group_table *t, sm_error *err)
{
    uint64_t cap = t->rows_cap ? t->rows_cap * 2 : FIRST_SLOTS / 2;
    void *rows = t->rows;
    SM_TRY(sm_realloc(t->mem, &rows, t->rows_cap * sizeof *t->rows, cap * sizeof *t->rows,
                      "aggregate", err));
    t->rows = rows;
    t->rows_cap = cap;
    return SM_OK;
}

/* Everything that can fail comes first, so a failed insert leaves the table as it was. */
static sm_status insert(sm_group_table *t, uint64_t hash, const sm_key *keys, uint64_t nulls,
                        uint64_t row_number, void **row, sm_error *err)
{
    const sm_group_layout *l = t->layout;
    sm_key *own;
    if (t->n_groups >= (t->mask + 1) / 2) SM_TRY(grow_slots(t, err));
    if (t->n_groups == t->rows_cap) SM_TRY(grow_rows(t, err));
    *row = sm_arena_alloc(&t->arena, l->row_bytes);
    if (!*row) return sm_arena_failed(&t->arena, err);
    sm_group_row_init(l, *row);
    own = (sm_key *)(void *)((char *)*row + SM_GROUP_HEADER);
    for (uint32_t i = 0; i < l->n_keys; i++) {
        own[i] = keys[i];
        if (nulls >> i & 1) continue;
        if (!sm_key_own(sm_type_phys(l->keys[i].type), &own[i], &t->arena))
            return sm_arena_failed(&t->arena, err);
    }
    *word_at(*row, SM_GROUP_FIRST_ROW) = row_number;
    *word_at(*row, SM_GROUP_HASH) = hash;
    if (l->n_keys) *word_at(*row, l->null_offset) = nulls;
    t->rows[t->n_groups++] = *row;
    put_slot(t, hash, *row);
    return SM_OK;
}

static void *find(const sm_group_table *t, uint64_t hash, const sm_key *keys, uint64_t nulls)
{
    for (uint64_t at = hash & t->mask; t->slots[at]; at = (at + 1) & t->mask) {
        void *row;
        if ((t->slots[at] ^ hash) >> SALT_SHIFT) continue;
        row = row_of(t->slots[at]);
        if (*const_word_at(row, SM_GROUP_HASH) != hash) continue;
        if (keys_equal(t->layout, row, keys, nulls)) return row;
    }
    return NULL;
}

static sm_status find_or_insert(sm_group_table *t, uint64_t hash, const sm_key *keys,
                                uint64_t nulls, uint64_t row_number, void **row, sm_error *err)
{
    *row = find(t, hash, keys, nulls);
    return *row ? SM_OK : insert(t, hash, keys, nulls, row_number, row, err);
}

sm_status sm_group_find(sm_group_table *t, uint64_t hash, const sm_value *keys, uint64_t row_number,
                        void **row, sm_error *err)
{
    probe p;
    probe_values(t->layout, keys, &p);
    return find_or_insert(t, hash, p.keys, p.nulls, row_number, row, err);
}

sm_status sm_group_find_batch(sm_group_table *t, uint64_t hash, const sm_vec *keys, uint32_t i,
                              uint64_t row_number, void **row, sm_error *err)
{
    probe p;
    probe_columns(t->layout, keys, i, &p);
    return find_or_insert(t, hash, p.keys, p.nulls, row_number, row, err);
}

/* ---- many rows at once ---- */

enum { STRIPE_ROWS = 64, CACHED_SLOTS = 1 << 14, AHEAD = 16 };

/* The rows that first slots point to where the salt fits, prefetched; only a guess. */
static void guess_rows(const sm_group_table *t, const uint64_t *hashes, const uint16_t *sel,
                       uint32_t from, uint32_t n, void **guesses)
{
    bool far = t->mask >= CACHED_SLOTS;
    for (uint32_t j = 0; j < n; j++) {
        uint64_t hash = hashes[sel ? sel[from + j] : from + j], slot;
        if (far && j + AHEAD < n) {
            uint64_t next = hashes[sel ? sel[from + j + AHEAD] : from + j + AHEAD];
            __builtin_prefetch(&t->slots[next & t->mask]);
        }
        slot = t->slots[hash & t->mask];
        guesses[j] = slot && (slot ^ hash) >> SALT_SHIFT == 0 ? row_of(slot) : NULL;
        if (far) __builtin_prefetch(guesses[j]);
    }
}

static bool is_one_integer(const sm_group_layout *l, const sm_vec *keys)
{
    return l->n_keys == 1 && !keys[0].valid && keys[0].phys >= SM_PHYS_I16 &&
           keys[0].phys <= SM_PHYS_I64;
}

/* Guesses are confirmed or looked up in row order, so groups are made in row order. */
sm_status sm_group_find_rows(sm_group_table *t, const uint64_t *hashes, const sm_vec *keys,
                             const uint16_t *sel, uint32_t n, uint64_t first_row,
                             const uint64_t *numbers, void **rows, sm_error *err)
{
    const sm_group_layout *l = t->layout;
    bool one_integer = is_one_integer(l, keys);
    void *guesses[STRIPE_ROWS];
    probe p;
    for (uint32_t from = 0; from < n; from += STRIPE_ROWS) {
        uint32_t stripe = n - from < STRIPE_ROWS ? n - from : STRIPE_ROWS;
        guess_rows(t, hashes, sel, from, stripe, guesses);
        for (uint32_t j = 0; j < stripe; j++) {
            uint32_t i = sel ? sel[from + j] : from + j;
            bool same;
            if (one_integer) {
                p.keys[0] = vec_key(&keys[0], i);
                p.nulls = 0;
                same = guesses[j] && nulls_of(l, guesses[j]) == 0 &&
                       keys_of(guesses[j])->w[0] == p.keys[0].w[0] &&
                       keys_of(guesses[j])->w[1] == p.keys[0].w[1];
            } else {
                probe_columns(l, keys, i, &p);
                same = guesses[j] && keys_equal(l, guesses[j], p.keys, p.nulls);
            }
            rows[i] = guesses[j];
            if (same) continue;
            SM_TRY(find_or_insert(t, hashes[i], p.keys, p.nulls,
                                  numbers ? numbers[i] : first_row + i, &rows[i], err));
        }
    }
    return SM_OK;
}

/* Equal intervals may differ in spelling: the group shows that of its first row, as if one thread
 * had run. */
static void take_first_row(sm_group_table *t, void *dst, const void *src)
{
    const sm_group_layout *l = t->layout;
    uint64_t *first = word_at(dst, SM_GROUP_FIRST_ROW);
    uint64_t other = *const_word_at(src, SM_GROUP_FIRST_ROW);
    if (other >= *first) return;
    *first = other;
    for (uint32_t i = 0; i < l->n_keys; i++)
        if (l->keys[i].type.id == SM_INTERVAL)
            memcpy((char *)dst + l->keys[i].offset, &keys_of(src)[i], KEY_BYTES);
}

sm_status sm_group_table_merge(sm_group_table *dst, const sm_group_table *src, sm_error *err)
{
    const sm_group_layout *l = dst->layout;
    for (uint64_t g = 0; g < src->n_groups; g++) {
        const char *from = src->rows[g];
        void *to;
        SM_TRY(find_or_insert(dst, *const_word_at(from, SM_GROUP_HASH), keys_of(from),
                              nulls_of(l, from), *const_word_at(from, SM_GROUP_FIRST_ROW), &to,
                              err));
        take_first_row(dst, to, from);
        for (uint32_t i = 0; i < l->n_accums; i++) {
            uint32_t at = l->accums[i].offset;
            SM_TRY(sm_acc_combine(&l->accums[i], (char *)to + at, from + at, &dst->arena, err));
        }
    }
    return SM_OK;
}

bool sm_group_table_validate(const sm_group_table *t)
{
    uint64_t used = 0;
    if ((t->mask & (t->mask + 1)) != 0 || t->n_groups > t->rows_cap) return false;
    for (uint64_t i = 0; i <= t->mask; i++) used += t->slots[i] != 0;
    if (used != t->n_groups || used > (t->mask + 1) / 2) return false;
    for (uint64_t g = 0; g < t->n_groups; g++) {
        const char *row = t->rows[g];
        uint64_t nulls = nulls_of(t->layout, row);
        if (find(t, *const_word_at(row, SM_GROUP_HASH), keys_of(row), nulls) != row) return false;
        for (uint32_t i = 0; i < t->layout->n_keys; i++)
            if ((nulls >> i & 1) && (keys_of(row)[i].w[0] || keys_of(row)[i].w[1])) return false;
    }
    return true;
}
