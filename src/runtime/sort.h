/* Sorting rows by typed columns. The result is a list of row numbers, so that payload columns move
 * once. The sort is stable, so equal rows keep their order; callers that sort parts on several
 * threads merge them with sm_sort_compare, ties to the lower part. */
#ifndef SM_SORT_H
#define SM_SORT_H

#include "memory.h"
#include "value.h"

/* One ORDER BY column, all rows of it in one array. Floats: NaN above all, -0.0 equals 0.0; text by
 * bytes; intervals by their total. */
typedef struct sm_sort_key {
    sm_phys phys;
    const void *data;
    const uint64_t *valid; /* NULL = no nulls */
    bool desc, nulls_first;
} sm_sort_key;

/** Writes the numbers of rows [0, n_rows) in sorted order; equal rows by number.
 *  errors  SM_ERR_OUT_OF_MEMORY: 32 bytes a row are needed for the time of the call */
SM_MUST_CHECK sm_status sm_sort_rows(const sm_sort_key *keys, uint32_t n_keys, uint64_t n_rows,
                                     uint64_t *order, sm_mem *mem, sm_error *err);
/** <0, 0, >0: row a of keys against row b of other (the same columns of another array; may be
 * keys). */
int sm_sort_compare(const sm_sort_key *keys, const sm_sort_key *other, uint32_t n_keys, uint64_t a,
                    uint64_t b);

#endif
