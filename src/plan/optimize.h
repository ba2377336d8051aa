/* Rewriting a bound plan. Both work on the logical tree, in place or anew, in the statement's
 * arena. */
#ifndef SM_OPTIMIZE_H
#define SM_OPTIMIZE_H

#include "plan/node.h"

/** Turns subquery expressions, OUTER columns and lateral joins into joins and aggregates, at any
 * depth (Neumann and Kemper, Unnesting Arbitrary Queries). Afterwards no SM_EXPR_OUTER or
 * SM_EXPR_SUBQUERY is left. errors  SM_ERR_NOT_SUPPORTED where a correlation cannot be unnested */
sm_status sm_unnest(sm_arena *a, sm_node **plan, sm_error *err);

/** Pushes predicates down, orders joins by estimated size, chooses build sides, drops columns;
 * never moves an expression that can fail past a filter, join or LIMIT. A pipe plan is not
 * optimized. why  NULL, or gets the text of why the join orders were chosen */
sm_status sm_optimize(sm_arena *a, sm_node **plan, char **why, sm_error *err);

/** Estimated rows of a node, from its tables' statistics. */
double sm_estimate_rows(const sm_node *n);

#endif
