/* What the files that build pipelines share, and nobody else needs. */
#ifndef SM_PIPELINE_PARTS_H
#define SM_PIPELINE_PARTS_H

#include "plan/pipeline.h"

typedef struct build {
    sm_arena *a;
    sm_error *err;
    sm_pipeline **list;
    uint32_t n, cap;
} build;

/** Folds constants, merges projections, drops columns that nobody reads, and fills used[]. */
sm_status sm_pipeline_tidy(build *b, sm_pipeline *p);

#endif
