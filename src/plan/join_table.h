/* Hash table of a join's build side ("unchained"): the rows in flat columns, one array of row
 * numbers sorted by hash prefix (stable, so duplicates keep build order), and a directory of 48-bit
 * offset and 16-bit Bloom tag per prefix. A miss costs one load and one test. Immutable once built;
 * all tiers probe it.
 *
 *   slot   = hash >> shift
 *   entry  = directory[slot]; rows of the slot: order[entry >> 16 .. directory[slot + 1] >> 16)
 *   tag    = sm_join_tag(hash) must be contained in entry's low 16 bits, or there is no match
 * Candidates are compared by their full hash, then by their full keys. */
#ifndef SM_JOIN_TABLE_H
#define SM_JOIN_TABLE_H

#include "plan/pipeline.h"
#include "runtime/hash.h"

/* A build column, flat, in its type's physical form. */
typedef struct sm_flat_col {
    sm_phys phys;
    void *data;      /* n_rows values, aligned and padded */
    uint64_t *valid; /* NULL = no nulls */
    sm_buffer *data_buf, *valid_buf;
} sm_flat_col;

typedef struct sm_join_table {
    _Atomic uint32_t refs;
    sm_mem *mem;
    sm_version *rows; /* the build rows; owns text; statistics for sm_prove */
    uint64_t n_rows;  /* below 2^32 */
    uint32_t n_cols, n_keys;
    sm_flat_col *cols;
    uint32_t shift;      /* 64 - log2(slots); slots is a power of two of at least n_rows */
    uint64_t *directory; /* slots + 1 */
    uint32_t
        *order; /* row numbers by slot; rows with a NULL key (unless null-safe) are not in it */
    uint64_t *hashes;  /* of order[i] */
    bool unique;       /* no two rows have equal keys */
    bool has_null_key; /* some row has a NULL key (not null-safe) */
    uint64_t n_null_rows;
    uint32_t *null_rows;      /* those rows, in build order */
    _Atomic uint8_t *matched; /* a byte a row; RIGHT, FULL: set by probes; NULL = not wanted */
} sm_join_table;

sm_status sm_join_table_build(const sm_pipeline *p, sm_version *rows, sm_mem *mem,
                              sm_join_table **out, sm_error *err);
void sm_join_table_unref(sm_join_table *t);
bool sm_join_table_validate(const sm_join_table *t);

/** 16-bit Bloom tag of a hash: four bits, from bits that the slot does not use. */
SM_INLINE uint64_t sm_join_tag(uint64_t hash)
{
    return (uint64_t)1 << (hash & 15) | (uint64_t)1 << (hash >> 4 & 15) |
           (uint64_t)1 << (hash >> 8 & 15) | (uint64_t)1 << (hash >> 12 & 15);
}
/** Hash of keys in their types' physical forms, the same for probe and build side, for values and
 * vectors. NULL keys hash as SM_HASH_NULL. No keys: 0. */
uint64_t sm_join_hash(const sm_value *keys, const sm_type *types, uint32_t n_keys);
/** out[i] for every live row i. */
void sm_join_hash_batch(const sm_vec *keys, uint32_t n_keys, const uint16_t *sel, uint32_t n,
                        uint64_t *out);
/** Positions [*at, *end) of order that a hash leads to; empty when slot or tag say there is no
 * match. */
SM_INLINE void sm_join_find(const sm_join_table *t, uint64_t hash, uint64_t *at, uint64_t *end)
{
    const uint64_t *entry = &t->directory[hash >> t->shift];
    uint64_t tag = sm_join_tag(hash);
    bool hit = (entry[0] & tag) == tag;
    *at = entry[0] >> 16;
    *end = hit ? entry[1] >> 16 : *at;
}
/** Next build row equal to the keys at or behind position *at of [*at, end) of order, *at then lies
 * behind it; UINT32_MAX when there is none. Keys in their types' own physical forms. Without keys
 * every row is equal. */
uint32_t sm_join_next(const sm_join_table *t, uint64_t hash, const sm_value *keys,
                      const bool *null_safe, uint64_t *at, uint64_t end);
/** Next build row, in build order from position *at (start with 0), whose comparison with the keys
 * is NULL: no pair of keys differs, some has a NULL. UINT32_MAX when there is none. For MARK and
 * NULL_ANTI. */
uint32_t sm_join_next_unknown(const sm_join_table *t, const sm_value *keys, const bool *null_safe,
                              uint64_t *at);
/** Build rows that no probe has matched, as a version of the table's columns. */
sm_status sm_join_unmatched(const sm_join_table *t, sm_version **out, sm_error *err);

#endif
