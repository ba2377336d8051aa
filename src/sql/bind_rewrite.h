/* Constructs that are defined by simpler ones (bind_rewrite.c). */
#ifndef SM_SQL_BIND_REWRITE_H
#define SM_SQL_BIND_REWRITE_H

#include "sql/bind.h"

sm_status sm_make_not(sm_binder *b, sm_expr *e, int32_t position, sm_expr **out);
/** NULLIF: CASE WHEN l = r THEN NULL ELSE l END. */
sm_status sm_make_nullif(sm_binder *b, sm_expr *l, sm_expr *r, int32_t location, sm_expr **out);
/** l IS [NOT] DISTINCT FROM r. */
sm_status sm_make_distinct(sm_binder *b, bool distinct, sm_expr *l, sm_expr *r, int32_t location,
                           sm_expr **out);
/** GREATEST or LEAST; args are unified in place. */
sm_status sm_make_extreme(sm_binder *b, bool greatest, sm_expr **args, uint32_t n, int32_t location,
                          sm_expr **out);
/** [NOT] LIKE, ILIKE. */
sm_status sm_bind_like(sm_ctx *cx, const PgQuery__AExpr *e, bool fold_case, sm_expr **out);
/** CURRENT_DATE and its relatives: the time of binding, in UTC. */
sm_status sm_bind_clock(sm_ctx *cx, const PgQuery__SQLValueFunction *f, sm_expr **out);
sm_status sm_make_now(sm_binder *b, sm_type_id type, int32_t position, sm_expr **out);

#endif
