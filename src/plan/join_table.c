/* The build side of a join as a table. Its rows stay in the version that owns them, flattened to
 * one array a column; a stable counting sort by the hash's top bits, in two levels, puts their
 * numbers into one array, and the directory says where each slot begins and which Bloom tags its
 * rows have. Nothing is chained, so a probe reads a directory entry and then neighbours. Read
 * join_table.h first; looking up is in join_probe.c. source  Birler, Schmidt, Fent, Neumann:
 * Simple, Efficient, and Robust Hash Tables for Join Processing (2024) */
#include "plan/join_table.h"

static const char *const what = "hash join";

enum { MOST_PARTITION_BITS = 9 };

typedef struct maker {
    sm_join_table *t;
    const sm_pipeline *p;
    const bool *null_safe;
    uint64_t n_slots;
    uint64_t *row_hashes; /* by row number; they lie where the directory will be */
    uint64_t *hashes;     /* of one partition's rows, and the rows */
    uint32_t *rows;
    uint64_t most_rows;                             /* of a partition */
    uint64_t begin[(1 << MOST_PARTITION_BITS) + 1]; /* of the partitions */
    uint64_t *no_key; /* bit a row: a NULL key that is not null-safe; NULL = none */
    sm_error *err;
} maker;

/* ---- columns
 * ---------------------------------------------------------------------------------------------- */

static void put_valid(uint64_t *to, uint64_t at, const uint64_t *valid, uint32_t n)
{
    if (at % 64 == 0 && valid) {
        memcpy(to + at / 64, valid, n / 64 * 8);
        for (uint32_t i = n & ~63u; i < n; i++)
            if (sm_bit_get(valid, i)) sm_bit_set(to, at + i);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!valid || sm_bit_get(valid, i)) sm_bit_set(to, at + i);
}

static sm_status flatten(maker *m, uint32_t column, sm_buffer *room)
{
    sm_join_table *t = m->t;
    sm_flat_col *to = &t->cols[column];
    to->phys = sm_type_phys(t->rows->cols[column].type);
    size_t bytes = sm_phys_bytes(to->phys);
    SM_TRY(sm_buffer_new(t->mem, t->n_rows * bytes, what, &to->data_buf, m->err));
    to->data = to->data_buf->data;
    if (t->rows->cols[column].null_count) {
        SM_TRY(sm_buffer_new(t->mem, sm_bit_words(t->n_rows) * 8, what, &to->valid_buf, m->err));
        to->valid = (uint64_t *)(void *)to->valid_buf->data;
    }
    for (uint64_t c = 0; c < t->rows->n_chunks; c++) {
        const sm_chunk *chunk = t->rows->chunks[c];
        uint64_t at = t->rows->first_row[c];
        char *there = to->data_buf->data + at * bytes;
        bool aligned = (uintptr_t)there % SM_ALIGN_BYTES == 0;
        sm_decode_room decode = {aligned ? there : room->data, NULL,
                                 (uint64_t *)(void *)(room->data + SM_CHUNK_ROWS * 16)};
        sm_vec v;
        sm_chunk_col_decode(&chunk->cols[column], to->phys, 0, chunk->n_rows, &decode, &v);
        if (v.data != there) memcpy(there, v.data, chunk->n_rows * bytes);
        if (to->valid) put_valid(to->valid, at, v.valid, chunk->n_rows);
    }
    return SM_OK;
}

static sm_status flatten_all(maker *m)
{
    sm_buffer *room;
    sm_status s = sm_buffer_new(m->t->mem, SM_CHUNK_ROWS * 16 + SM_CHUNK_ROWS / 8 + SM_PAD_BYTES,
                                what, &room, m->err);
    for (uint32_t c = 0; c < m->t->n_cols && s == SM_OK; c++) s = flatten(m, c, room);
    sm_buffer_unref(room);
    return s;
}

/* ---- hashes and slots
 * ------------------------------------------------------------------------------------- */

static sm_status hash_rows(maker *m, sm_vec *keys)
{
    sm_join_table *t = m->t;
    for (uint64_t at = 0; at < t->n_rows; at += SM_BATCH_ROWS) {
        uint64_t left = t->n_rows - at;
        uint32_t n = left < SM_BATCH_ROWS ? (uint32_t)left : SM_BATCH_ROWS;
        for (uint32_t k = 0; k < t->n_keys; k++) {
            const sm_flat_col *c = &t->cols[k];
            keys[k] = (sm_vec){.data = (char *)c->data + at * sm_phys_bytes(c->phys),
                               .valid = c->valid ? c->valid + at / 64 : NULL,
                               .phys = c->phys};
        }
        sm_join_hash_batch(keys, t->n_keys, NULL, n, m->row_hashes + at);
    }
    return SM_OK;
}

static bool has_no_key(const maker *m, uint64_t row)
{
    return m->no_key && sm_bit_get(m->no_key, row);
}

static sm_status find_null_keys(maker *m)
{
    sm_join_table *t = m->t;
    void *p = NULL;
    bool some = false;
    for (uint32_t k = 0; k < t->n_keys; k++) some |= t->cols[k].valid && !m->null_safe[k];
    if (!some) return SM_OK;
    size_t words = sm_bit_words(t->n_rows);
    SM_TRY(sm_alloc_zero(t->mem, words * 8, what, &p, m->err));
    m->no_key = p;
    for (uint32_t k = 0; k < t->n_keys; k++) {
        const uint64_t *valid = t->cols[k].valid;
        if (!valid || m->null_safe[k]) continue;
        for (size_t w = 0; w < words; w++) m->no_key[w] |= ~valid[w];
    }
    if (t->n_rows % 64) m->no_key[words - 1] &= ((uint64_t)1 << t->n_rows % 64) - 1;
    for (size_t w = 0; w < words; w++)
        t->n_null_rows += (uint64_t)__builtin_popcountll(m->no_key[w]);
    t->has_null_key = t->n_null_rows > 0;
    SM_TRY(sm_alloc(t->mem, t->n_null_rows * sizeof *t->null_rows, what, &p, m->err));
    t->null_rows = p;
    uint64_t n = 0;
    for (uint64_t r = 0; n < t->n_null_rows; r++)
        if (sm_bit_get(m->no_key, r)) t->null_rows[n++] = (uint32_t)r;
    return SM_OK;
}

/* Rows with a key, by the top bits of their hash, so that what follows stays within a cache. */
static void partition(maker *m, unsigned bits)
{
    const sm_join_table *t = m->t;
    uint64_t next[(1 << MOST_PARTITION_BITS) + 1] = {0};
    for (uint64_t r = 0; r < t->n_rows; r++)
        if (!has_no_key(m, r)) next[(m->row_hashes[r] >> (64 - bits)) + 1]++;
    for (uint32_t i = 0; i < 1u << bits; i++) {
        if (next[i + 1] > m->most_rows) m->most_rows = next[i + 1];
        next[i + 1] += next[i];
    }
    memcpy(m->begin, next, sizeof next);
    for (uint64_t r = 0; r < t->n_rows; r++) {
        if (has_no_key(m, r)) continue;
        uint64_t at = next[m->row_hashes[r] >> (64 - bits)]++;
        t->hashes[at] = m->row_hashes[r];
        t->order[at] = (uint32_t)r;
    }
}

/* Puts the rows [from, to) of order into its slots [first, end). A directory entry first counts its
 * slot's rows, then says where the next of them goes, and is set back at last to where they begin.
 */
static void place(const maker *m, uint64_t from, uint64_t to, uint64_t first, uint64_t end)
{
    const sm_join_table *t = m->t;
    uint64_t *d = t->directory, at = from, n_rows = to - from;
    memcpy(m->hashes, t->hashes + from, n_rows * sizeof *m->hashes);
    memcpy(m->rows, t->order + from, n_rows * sizeof *m->rows);
    memset(d + first, 0, (end - first) * sizeof *d);
    for (uint64_t i = 0; i < n_rows; i++) d[m->hashes[i] >> t->shift] += (uint64_t)1 << 16;
    for (uint64_t s = first; s < end; s++) {
        uint64_t n = d[s] >> 16;
        d[s] = at << 16;
        at += n;
    }
    for (uint64_t i = 0; i < n_rows; i++) {
        uint64_t *entry = &d[m->hashes[i] >> t->shift], k = *entry >> 16;
        *entry = (*entry + ((uint64_t)1 << 16)) | sm_join_tag(m->hashes[i]);
        t->order[k] = m->rows[i];
        t->hashes[k] = m->hashes[i];
    }
    for (uint64_t s = end; s-- > first;) { /* where the slot before ends is where it begins */
        uint64_t begin = s > first ? d[s - 1] >> 16 : from;
        d[s] = begin << 16 | (d[s] & 0xFFFF);
    }
}

static sm_status sort_by_slot(maker *m)
{
    enum { SLOT_BITS_IN_CACHE = 13 };
    const sm_join_table *t = m->t;
    unsigned slot_bits = 64 - t->shift, bits = 1;
    void *p = NULL;
    if (slot_bits > SLOT_BITS_IN_CACHE + 1) bits = slot_bits - SLOT_BITS_IN_CACHE;
    if (bits > MOST_PARTITION_BITS) bits = MOST_PARTITION_BITS;
    partition(m, bits);
    SM_TRY(sm_alloc(t->mem, m->most_rows * sizeof *m->hashes, what, &p, m->err));
    m->hashes = p;
    SM_TRY(sm_alloc(t->mem, m->most_rows * sizeof *m->rows, what, &p, m->err));
    m->rows = p;
    for (uint64_t i = 0; i < 1u << bits; i++)
        place(m, m->begin[i], m->begin[i + 1], i << (slot_bits - bits),
              (i + 1) << (slot_bits - bits));
    t->directory[m->n_slots] = m->begin[1u << bits] << 16;
    return SM_OK;
}

static bool rows_equal(const sm_join_table *t, uint32_t a, uint32_t b)
{
    for (uint32_t k = 0; k < t->n_keys; k++) {
        const sm_flat_col *c = &t->cols[k];
        size_t bytes = sm_phys_bytes(c->phys);
        bool null_a = c->valid && !sm_bit_get(c->valid, a);
        bool null_b = c->valid && !sm_bit_get(c->valid, b);
        if (null_a != null_b) return false;
        if (null_a) continue;
        if (!sm_key_eq(c->phys, sm_key_load(c->phys, (const char *)c->data + a * bytes),
                       sm_key_load(c->phys, (const char *)c->data + b * bytes)))
            return false;
    }
    return true;
}

/* Slots that are too full to compare all pairs count as not unique: it is only an optimisation. */
static bool all_unique(const maker *m)
{
    enum { MOST_ROWS = 64 };
    const sm_join_table *t = m->t;
    for (uint64_t s = 0; s < m->n_slots; s++) {
        uint64_t from = t->directory[s] >> 16, to = t->directory[s + 1] >> 16;
        if (to - from > MOST_ROWS) return false;
        for (uint64_t i = from + 1; i < to; i++)
            for (uint64_t j = from; j < i; j++)
                if (t->hashes[i] == t->hashes[j] && rows_equal(t, t->order[i], t->order[j]))
                    return false;
    }
    return true;
}

/* ---- the whole
 * -------------------------------------------------------------------------------------------- */

static sm_status allocate(maker *m)
{
    sm_join_table *t = m->t;
    void *p = NULL;
    unsigned bits = 1;
    while (((uint64_t)1 << bits) < t->n_rows) bits++;
    m->n_slots = (uint64_t)1 << bits;
    t->shift = 64 - bits;
    SM_TRY(sm_alloc(t->mem, (m->n_slots + 1) * sizeof *t->directory, what, &p, m->err));
    t->directory = p;
    SM_TRY(sm_alloc(t->mem, t->n_rows * sizeof *t->order, what, &p, m->err));
    t->order = p;
    SM_TRY(sm_alloc(t->mem, t->n_rows * sizeof *t->hashes, what, &p, m->err));
    t->hashes = p;
    m->row_hashes = t->directory;
    if (!m->p->build.marks_matches) return SM_OK;
    SM_TRY(sm_alloc_zero(t->mem, t->n_rows, what, &p, m->err));
    t->matched = p;
    return SM_OK;
}

static sm_status make(maker *m)
{
    sm_join_table *t = m->t;
    void *p = NULL;
    if (t->n_rows > UINT32_MAX - 1)
        return sm_raise(m->err, SM_ERR_TOO_COMPLEX, "a join's build side has too many rows");
    SM_TRY(sm_alloc_zero(t->mem, t->n_cols * sizeof *t->cols, what, &p, m->err));
    t->cols = p;
    SM_TRY(flatten_all(m));
    SM_TRY(allocate(m));
    SM_TRY(find_null_keys(m));
    size_t bytes = (t->n_keys + 1) * sizeof(sm_vec);
    SM_TRY(sm_alloc(t->mem, bytes, what, &p, m->err));
    sm_status s = hash_rows(m, p);
    sm_free(t->mem, p, bytes);
    SM_TRY(s);
    SM_TRY(sort_by_slot(m));
    t->unique = all_unique(m);
    return SM_OK;
}

sm_status sm_join_table_build(const sm_pipeline *p, sm_version *rows, sm_mem *mem,
                              sm_join_table **out, sm_error *err)
{
    void *mine = NULL;
    *out = NULL;
    SM_TRY(sm_alloc_zero(mem, sizeof(sm_join_table), what, &mine, err));
    sm_join_table *t = mine;
    atomic_init(&t->refs, 1);
    t->mem = mem;
    t->rows = sm_version_ref(rows);
    t->n_rows = rows->n_rows;
    t->n_cols = rows->n_cols;
    t->n_keys = p->build.n_keys;
    maker m = {.t = t, .p = p, .null_safe = p->build.null_safe, .err = err};
    sm_status s = make(&m);
    sm_free(mem, m.hashes, m.most_rows * sizeof *m.hashes);
    sm_free(mem, m.rows, m.most_rows * sizeof *m.rows);
    sm_free(mem, m.no_key, sm_bit_words(t->n_rows) * 8);
    if (s == SM_OK) {
        *out = t;
    } else {
        sm_join_table_unref(t);
    }
    return s;
}

void sm_join_table_unref(sm_join_table *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) return;
    for (uint32_t c = 0; t->cols && c < t->n_cols; c++) {
        sm_buffer_unref(t->cols[c].data_buf);
        sm_buffer_unref(t->cols[c].valid_buf);
    }
    sm_free(t->mem, t->cols, t->n_cols * sizeof *t->cols);
    uint64_t n_slots = t->shift ? (uint64_t)1 << (64 - t->shift) : 0;
    sm_free(t->mem, t->directory, (n_slots + 1) * sizeof *t->directory);
    sm_free(t->mem, t->order, t->n_rows * sizeof *t->order);
    sm_free(t->mem, t->hashes, t->n_rows * sizeof *t->hashes);
    sm_free(t->mem, t->null_rows, t->n_null_rows * sizeof *t->null_rows);
    sm_free(t->mem, t->matched, t->n_rows);
    sm_version_unref(t->rows);
    sm_free(t->mem, t, sizeof *t);
}
