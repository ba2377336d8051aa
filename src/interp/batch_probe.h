/* The batch tier's probe from inside. The matches of a batch are found in two passes: candidates by
 * directory and tag, then their hashes and keys.
 *
 * A probe that leaves at most one row per row (unique build keys; SEMI, ANTI, MARK and SINGLE
 * without residual) only narrows the batch, and columns of the build side are gathered by row. Any
 * other makes batches of its own, several of one input batch, whose columns are gathered by the
 * input's rows and the build's; the list behind it and the sink run for each. Kinds for which pairs
 * alone do not tell (LEFT, SEMI ... with a residual) add to an input row's pairs one row without
 * build row, and FINISH, behind the residual, decides which of them stay. Nothing is gathered before
 * somebody asks for it. Read batch_state.h first. */
#ifndef SM_BATCH_PROBE_H
#define SM_BATCH_PROBE_H

#include "interp/batch_state.h"
#include "plan/join_table.h"

#define SM_NO_BUILD_ROW UINT32_MAX

typedef struct sm_batch_probe {
    const sm_probe *p;
    sm_join_table *t;
    uint32_t at; /* the instruction */
    sm_reg **keys;
    sm_vec *key_vecs;
    sm_type *key_types;
    sm_value *key_values;   /* room for one row's */
    bool by_hash;           /* equal hashes are equal keys */
    bool expands, finishes; /* makes batches of its own; FINISH follows */
    uint64_t *hashes;       /* by row */
    uint64_t *found;        /* bit i: row i's keys may match (none is NULL) */
    uint8_t *keep;          /* by row: 0 or 1 */
    sm_reg *mark;           /* MARK's column */
    /* candidates: positions [at, end) of the table's order for the k-th of n rows */
    uint32_t n;
    uint16_t *rows;
    uint32_t *begin, *end;
    /* where the next batch of its own goes on */
    bool more;
    uint32_t k, pos;
    bool any, unknown; /* the k-th row had a match, a comparison that was NULL */
    uint32_t n_in;     /* input rows */
    /* what leaves: build row by row; and the input row */
    uint32_t n_out;
    uint32_t *build_rows;
    uint16_t *input_rows;
    uint32_t n_indexes;
    sm_index **indexes; /* carried over by input_rows */
    sm_index *from;     /* to the scanned rows */
} sm_batch_probe;

/* ---- batch_match.c ---- */
/** Hashes the keys of the live rows and sets p->rows, begin, end: all live rows that may match, or
 * with `all` every live row. */
void sm_match_candidates(sm_batch_state *s, sm_batch_probe *p, sm_live *l, bool all);
/** First position of [pos, end) whose row matches input row i; end: none. */
uint32_t sm_match_next(const sm_batch_probe *p, uint32_t i, uint32_t pos, uint32_t end);
/** The first match of every candidate: keep and build_rows by input row. False: some row has two and
 * is `single`. */
bool sm_match_first(sm_batch_probe *p, bool single);
/** Whether row i compares to NULL with some build row. */
bool sm_match_unknown(sm_batch_probe *p, uint32_t i);

SM_INLINE uint32_t sm_match_build_row(const sm_batch_probe *p, uint32_t pos)
{
    return p->p->n_keys ? p->t->order[pos] : pos;
}

#endif
