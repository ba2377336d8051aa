/* Between prove.c (the walk, sources) and prove_ops.c (what each operation does to ranges). */
#ifndef SM_PROVE_PARTS_H
#define SM_PROVE_PARTS_H

#include "plan/pipeline.h"
#include "plan/range.h"

/** e, proved, as an I128 value: a constant is rewritten, anything else of phys I64 is wrapped in
 * i64_to_d128. NULL when memory is out. */
sm_expr *sm_prove_widen(sm_arena *a, sm_expr *e);
/** Finishes a copied operation whose arguments are proved: range, phys, no_check, can_fail, perhaps
 * another op. returns  e, or what takes its place; NULL when memory is out */
sm_expr *sm_prove_op(sm_arena *a, sm_expr *e);

#endif
