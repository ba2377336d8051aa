/* The two interpreting tiers. Both run rows [from, to) of a pinned morsel into a sink's state.
 *
 * The row tier is the reference: it evaluates the bound expressions row by row and raises errors.
 * The batch tier runs the proved expressions over up to 1,024 rows; where any live row would fail
 * it commits nothing of that batch and says where: the caller replays those rows in the row tier.
 */
#ifndef SM_INTERP_H
#define SM_INTERP_H

#include "plan/sink.h"

enum { SM_MAX_STEPS = 64 };

/* What EXPLAIN ANALYZE shows of a step or sink; ns only when timing is on. */
typedef struct sm_step_stats {
    uint64_t rows_out;
    uint64_t ns;
} sm_step_stats;

/* One worker's side of a running pipeline; everything a tier writes. */
typedef struct sm_worker {
    const sm_pipeline *p;
    sm_mem *mem;
    sm_arena arena;     /* as long as the pipeline runs */
    sm_arena scratch;   /* rewound per batch or row */
    sm_agg_local *agg;  /* SM_SINK_AGG: where rows go now */
    sm_builder *rows;   /* SM_SINK_ROWS: where rows go now */
    uint64_t rows_left; /* SM_SINK_ROWS with LIMIT and no order: the morsel may stop after so many
                           rows; else UINT64_MAX */
    /* Row tier: so many rows that reach the sink are not handed to it, being committed already. */
    uint64_t drop_rows;
    /* Batch tier: rows committed of the batch that was refused, which the replay must drop. */
    uint64_t rows_out;
    uint32_t batch_rows; /* 1..SM_BATCH_ROWS */
    bool timing;
    sm_step_stats *stats; /* [0] source, then steps, then the sink */
    struct sm_row_state *row;
    struct sm_batch_state *batch;
    sm_error err;
} sm_worker;

/** Whether one source row may become several rows: a property of plan and data, the same in all
 * tiers. */
bool sm_expands(const sm_pipeline *p);
/** What orders groups then, as their first_row: the source row's number, and which of the rows this
 * is that it became. */
SM_INLINE uint64_t sm_row_number(uint64_t source_row, uint32_t ordinal)
{
    return source_row << 20 | (ordinal < (1u << 20) ? ordinal : (1u << 20) - 1);
}

/** Prepares a worker's row and batch state; the worker's arena owns it. */
sm_status sm_row_open(sm_worker *w);
sm_status sm_batch_open(sm_worker *w);

/** Runs rows [from, to) of the morsel.  returns  the status of the first failing row; detail in
 * w->err */
sm_status sm_row_run(sm_worker *w, const sm_pin *pin, uint32_t from, uint32_t to);
/** Runs rows [from, to) in batches.
 *  stop  = to when all went well; else the first row of a refused batch, [*stop, *end), of which
 * nothing was committed returns  SM_OK, or a resource error */
sm_status sm_batch_run(sm_worker *w, const sm_pin *pin, uint32_t from, uint32_t to, uint32_t *stop,
                       uint32_t *end);

#endif
