/* What a pipeline scans: morsels that are pinned, read and unpinned. A table version pins its
 * chunks; a generated series makes each chunk when it is pinned. Column pointers are valid from pin
 * to unpin. Any thread may pin. */
#ifndef SM_SOURCE_H
#define SM_SOURCE_H

#include "storage/table.h"

typedef struct sm_pin {
    const sm_chunk *chunk;
    uint64_t first_row; /* number of the chunk's first row in the source */
    void *scratch;      /* the source's own; NULL or reused by the next pin of the same sm_pin */
} sm_pin;

typedef enum sm_source_kind { SM_SOURCE_VERSION, SM_SOURCE_SERIES } sm_source_kind;

typedef struct sm_source {
    sm_source_kind kind;
    uint64_t n_morsels, n_rows;
    uint32_t n_cols;
    const sm_table_col *cols; /* names, types and statistics over all rows */
    sm_version *version;      /* SM_SOURCE_VERSION: referenced */
    struct { /* SM_SOURCE_SERIES: start, start + step, ...; column type is cols[0].type */
        sm_value start, step; /* a timestamp's step without months is microseconds in i64 */
        sm_table_col col;
        int64_t *month_steps; /* steps with months: the first value of every morsel; else NULL */
        uint64_t cap_month_steps;
    } series;
    sm_mem *mem;
} sm_source;

/** Takes a reference of v. */
void sm_source_of_version(sm_source *s, sm_version *v);
/** Inclusive bounds; type is int16, int32, int64, decimal or timestamp (step: interval). Empty if
 * stop lies on the wrong side of start or anything is NULL. Values end where the type ends.  errors
 * SM_ERR_STEP_ZERO */
SM_MUST_CHECK sm_status sm_source_of_series(sm_source *s, sm_mem *m, sm_type type,
                                            const sm_value *start, const sm_value *stop,
                                            const sm_value *step, sm_error *err);
void sm_source_reset(sm_source *s);
/** Gives the chunk of a morsel. pin must be zeroed before the first use, and reset with
 * sm_pin_reset at last. */
SM_MUST_CHECK sm_status sm_source_pin(const sm_source *s, uint64_t morsel, sm_pin *pin,
                                      sm_error *err);
void sm_source_unpin(const sm_source *s, sm_pin *pin);
void sm_pin_reset(const sm_source *s, sm_pin *pin);

#endif
