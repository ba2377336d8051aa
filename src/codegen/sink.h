/* What the aggregate sinks share: arguments and masks of accumulators, and the update of one state
 * row. */
#ifndef SM_JIT_SINK_H
#define SM_JIT_SINK_H

#include "emit.h"

/** Rows of vector sub that accumulator a counts: live, argument not NULL, filter true. */
sm_ir sm_sink_mask(sm_emit *e, const sm_accum *a, uint32_t sub);
/** The argument as a number to compare for MIN and MAX: integers as they are, floats by key. */
sm_lanes sm_sink_order_key(sm_emit *e, sm_lanes v);
/** The argument of accumulator k as a double; decimals are rounded once. */
sm_lanes sm_sink_double(sm_emit *e, uint32_t k, sm_lanes v, uint32_t sub);
/** Group codes (i32) of TINY and DIRECT. */
sm_ir sm_sink_codes(sm_emit *e, uint32_t sub);
/** Calls host->acc_add for accumulator k; rows: array of 32 state rows, offset: of its state in
 * them. */
void sm_sink_host_add(sm_emit *e, uint32_t k, sm_ir rows, uint32_t offset, uint32_t lane_mask);
/** Writes the addresses base + code * bytes of a block's state rows to an array. */
void sm_sink_row_addresses(sm_emit *e, sm_ir base, uint32_t bytes, sm_ir rows);

/* Updates per row. rows: array of 32 addresses; or NULL and `row`: all rows go there. */
typedef struct sm_sink_update {
    sm_ir rows, row;
    bool lanes_form;    /* offsets of the morsel form */
    uint32_t lane_mask; /* of float accumulators */
    bool set_first_row;
    bool (*want)(const sm_emit *e, uint32_t k); /* accumulators to update */
} sm_sink_update;
void sm_sink_update_rows(sm_emit *e, const sm_sink_update *u);

/** A host function's address. */
sm_ir sm_sink_host_fn(sm_emit *e, size_t offset);

#endif
