/* Columns of a batch: views into a chunk until something must be computed. */
#ifndef SM_BATCH_H
#define SM_BATCH_H

#include "value.h"

/* n values of one physical form. Bits of valid beyond the batch are undefined. */
typedef struct sm_vec {
    void *data;            /* n_rows values; NULL for a column nobody asked to decode (see codes) */
    const uint64_t *valid; /* 1 bit a row; NULL = no nulls */
    const uint16_t *codes; /* dictionary codes of a text column that comes straight from the scan; else NULL */
    sm_phys phys;
} sm_vec;

typedef struct sm_batch {
    sm_vec *cols;
    uint32_t n_cols;
    uint32_t n_rows;
    const uint16_t *sel; /* live rows in ascending order; NULL = all n_rows */
    uint32_t n_sel;      /* live rows, also when sel is NULL */
    uint32_t lane0;      /* the first row's number in its chunk; lane of row i is (lane0 + i) mod 32 */
    uint64_t first_row;  /* the first row's number in its table */
    /* After a probe: row i comes from the source's row number first_row + from[i], lane (lane0 + from[i]) mod 32, in
     * ascending order of from; NULL = from[i] is i. */
    const uint16_t *from;
    /* What orders groups, as row i's number; NULL = first_row + i. Set where from may be. */
    const uint64_t *numbers;
} sm_batch;

#endif
