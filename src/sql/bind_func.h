/* Between bind_func.c and bind_special.c. */
#ifndef SM_SQL_BIND_FUNC_H
#define SM_SQL_BIND_FUNC_H

#include "sql/bind.h"

/** SM_ERR_UNDEFINED_FUNCTION with the argument types and a hint. */
sm_status sm_no_function(sm_binder *b, const char *name, sm_expr *const *args, uint32_t n,
                         int32_t location);
/** Binds the calls of functions.def. *done is false if the call is to be looked up in ops.def after
 * all, perhaps with a default argument added (args has room for one more). */
sm_status sm_bind_special(sm_ctx *cx, const char *name, sm_expr **args, uint32_t *n,
                          int32_t location, bool *done, sm_expr **out);

#endif
