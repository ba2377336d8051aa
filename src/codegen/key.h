/* The cache key, written during the walk of shape.c: everything that the emitters branch on, and
 * nothing that is only data. */
#ifndef SM_JIT_KEY_H
#define SM_JIT_KEY_H

#include "shape.h"

void sm_key_u32(sm_shape *s, uint32_t v);
/** Step width, CPU, LLVM version. */
void sm_key_begin(sm_shape *s, const char *cpu);
void sm_key_source(sm_shape *s, const sm_src_col *c);
/** One node, without its arguments. */
void sm_key_expr(sm_shape *s, const sm_expr *e);
void sm_key_table(sm_shape *s, const sm_dict_table *t);
void sm_key_agg(sm_shape *s, const sm_agg_sink *g);
void sm_key_rows(sm_shape *s, const sm_pipeline *p);

#endif
