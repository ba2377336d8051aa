/* State of sinks: one structure for all tiers, so that a tier can be changed between two morsels. A
 * tier's own sink function (row, batch, emitted) writes it; begin, end, merge and finish are here.
 */
#ifndef SM_SINK_H
#define SM_SINK_H

#include "plan/pipeline.h"

/* Aggregation state of one worker, or of one segment when order matters. */
typedef struct sm_agg_local {
    const sm_agg_sink *sink;
    sm_mem *mem;
    sm_arena arena; /* copied text, value sets */
    char *lanes;    /* NONE, TINY: n_codes rows in morsel form (layout.lanes_bytes each), of the
                       running morsel */
    char *direct;   /* NONE, TINY, DIRECT: n_codes rows in final form (layout.row_bytes each) */
    sm_group_table table; /* HASH */
} sm_agg_local;

sm_status sm_agg_local_init(sm_agg_local *l, const sm_agg_sink *sink, sm_mem *mem, sm_error *err);
void sm_agg_local_reset(sm_agg_local *l);
/** NONE, TINY: starts the morsel form afresh. */
void sm_agg_morsel_begin(sm_agg_local *l);
/** NONE, TINY: folds the morsel form into `partial` (n_codes rows in final form, initialised by the
 * callee), or into l->direct when partial is NULL (allowed when the sink is not order-sensitive).
 */
sm_status sm_agg_morsel_end(sm_agg_local *l, char *partial, sm_error *err);
/** Adds src (later in order) to dst. */
sm_status sm_agg_merge(sm_agg_local *dst, sm_agg_local *src, sm_error *err);
/** Adds a morsel's partial to dst. */
sm_status sm_agg_merge_partial(sm_agg_local *dst, const char *partial, sm_error *err);
/** Groups in order of their first row, as a chunk list with the pipeline's out_cols. */
sm_status sm_agg_finish(sm_agg_local *l, const sm_pipeline *p, sm_version **out, sm_error *err);

/** State rows of batch rows, DIRECT and HASH: rows[i] for every live row i; key columns are
 * cols[0..n_keys). errors  SM_ERR_OUT_OF_MEMORY */
sm_status sm_agg_find_rows(sm_agg_local *l, const sm_batch *b, void **rows, sm_error *err);
/** Group codes of the live rows, TINY and DIRECT. */
void sm_agg_codes(const sm_agg_sink *s, const sm_batch *b, uint16_t *codes);

/** Rows collected, in morsel order, to the output: sorted if asked, then offset and limit; those of
 * a BUILD sink as they come.
 *  parts  builder outputs by morsel, entries may be NULL */
sm_status sm_rows_finish(const sm_pipeline *p, sm_version *const *parts, uint64_t n_parts,
                         sm_mem *mem, sm_version **out, sm_error *err);

/** ORDER BY with LIMIT: leaves only those rows of a morsel's part that can be in the result, so that
 *  parts stay small. Does nothing where that would not gain much. */
sm_status sm_rows_trim(const sm_pipeline *p, sm_version **part, sm_mem *mem, sm_error *err);

#endif
