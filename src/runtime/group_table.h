/* Hash table of groups: uint64 slots of 16-bit salt and 48-bit row reference, linear probing, state
 * rows in an arena. A row is {uint64 first_row; uint64 hash; keys; accumulator states}. Full keys
 * are always compared. The debug switch sm_hash_zero forces every hash to 0. */
#ifndef SM_GROUP_TABLE_H
#define SM_GROUP_TABLE_H

#include "agg.h"
#include "hash.h"

enum { SM_GROUP_MAX_KEYS = 64 };

typedef struct sm_group_key {
    sm_type type;
    uint32_t
        offset; /* of the 16-byte-aligned value in the row; text is owned by the table's arena */
} sm_group_key;

/* Where everything is in a group's state row; made once per aggregate node by sm_group_layout_init.
 */
typedef struct sm_group_layout {
    uint32_t n_keys, n_accums;
    sm_group_key *keys;
    sm_accum *accums;     /* offsets filled in */
    uint32_t null_offset; /* uint64_t: bit i = key i is NULL */
    uint32_t row_bytes;   /* final form, multiple of 16 */
    uint32_t lanes;       /* of the morsel form: 32, 8 or 1 */
    uint32_t lanes_bytes; /* bytes of a morsel-form row: {uint64 first_row, uint64 pad, states with
                             lanes} */
} sm_group_layout;

enum { SM_GROUP_FIRST_ROW = 0, SM_GROUP_HASH = 8, SM_GROUP_HEADER = 16 };
#define SM_NO_ROW UINT64_MAX /* first_row of a group that has no row yet */

/** Fills the offsets of keys and accums (types and kinds given); lanes as in agg.h. */
void sm_group_layout_init(sm_group_layout *l, unsigned lanes);
/** Initialises a state row in final (or morsel) form: first_row = SM_NO_ROW, empty accumulators,
 * keys zero. */
void sm_group_row_init(const sm_group_layout *l, void *row);
void sm_group_lanes_init(const sm_group_layout *l, void *row);

typedef struct sm_group_table {
    const sm_group_layout *layout;
    sm_mem *mem;
    sm_arena arena; /* rows and copied text */
    uint64_t *slots;
    uint64_t mask; /* slots - 1 */
    uint64_t n_groups;
    char **rows; /* n_groups, in order of creation */
    uint64_t rows_cap;
} sm_group_table;

sm_status sm_group_table_init(sm_group_table *t, const sm_group_layout *l, sm_mem *mem,
                              sm_error *err);
void sm_group_table_reset(sm_group_table *t);
/** Hash of a row of keys. NULLs hash alike; -0.0 as 0.0; NaNs alike. */
uint64_t sm_group_hash(const sm_group_layout *l, const sm_value *keys);
/** Hash of batch columns keys[0..n_keys) at the live rows; out has n_rows entries, same values as
 * sm_group_hash. */
void sm_group_hash_batch(const sm_group_layout *l, const sm_vec *keys, const uint16_t *sel,
                         uint32_t n, uint64_t *out);
/** Finds or makes the group; keys are copied. first_row is set when made. *row is the state row. */
sm_status sm_group_find(sm_group_table *t, uint64_t hash, const sm_value *keys, uint64_t row_number,
                        void **row, sm_error *err);
/** Same, keys taken from batch columns at row i. */
sm_status sm_group_find_batch(sm_group_table *t, uint64_t hash, const sm_vec *keys, uint32_t i,
                              uint64_t row_number, void **row, sm_error *err);
/** Same for rows sel[0..n) of a batch (sel NULL: rows 0..n), in order: rows[i] is the state row of
 * batch row i, whose number is numbers[i], or first_row + i where numbers is NULL; hashes[i] its
 * hash. Much faster than one call a row. */
sm_status sm_group_find_rows(sm_group_table *t, const uint64_t *hashes, const sm_vec *keys,
                             const uint16_t *sel, uint32_t n, uint64_t first_row,
                             const uint64_t *numbers, void **rows, sm_error *err);
/** Merges src's groups into dst in src's order of creation; first_row becomes the smaller. */
sm_status sm_group_table_merge(sm_group_table *dst, const sm_group_table *src, sm_error *err);
/** Reads key i of a state row. */
void sm_group_key_get(const sm_group_layout *l, const void *row, uint32_t i, sm_value *out);
bool sm_group_table_validate(const sm_group_table *t);

#endif
