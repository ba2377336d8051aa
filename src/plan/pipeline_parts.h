/* What the files that build pipelines share, and nobody else needs. */
#ifndef SM_PIPELINE_PARTS_H
#define SM_PIPELINE_PARTS_H

#include "plan/pipeline.h"

typedef struct made {
    sm_pipeline *p;
    bool fixed;    /* it has several readers: the output stays as it is */
    bool *needed;  /* output columns that some later pipeline reads */
    uint32_t *now; /* their numbers once the others are gone; NULL: unchanged */
} made;

typedef struct build {
    sm_arena *a;
    sm_error *err;
    made *list;
    uint32_t n, cap;
    struct shared_plan *shared;
} build;

/** Folds constants, merges projections, computes common parts once, drops columns that nobody
 * reads, and fills used[]. */
sm_status sm_pipelines_tidy(build *b);

/** The dropping of columns: from the last pipeline to the first what is read is noted, from the
 * first to the last the rest is taken out. */
sm_status sm_pipelines_prune(build *b);

/** Columns of the rows that enter the first step, and of those that leave a step. */
uint32_t sm_pipeline_source_cols(const build *b, const sm_pipeline *p);
SM_INLINE uint32_t sm_step_cols(const sm_step *s, uint32_t n_in)
{
    return s->kind == SM_STEP_PROJECT ? s->n_exprs
           : s->kind == SM_STEP_PROBE ? s->probe->n_out
                                      : n_in;
}
#endif
