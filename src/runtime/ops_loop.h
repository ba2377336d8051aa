/* What the loops around a body have in common: columns as typed pointers, and the body's arguments
 * at row i. Included by kernels_ops.c (dense loops) and ops_selected.c only. */
#ifndef SM_OPS_LOOP_H
#define SM_OPS_LOOP_H

#include "ops_datetime.h"
#include "ops_decimal.h"
#include "ops_number.h"
#include "ops_text.h"

/* An args column of ops.def becomes (count, code, ...), the argument list of the macros below. */
#define A1(t)       (1, t)
#define A2(t, u)    (2, t, u)
#define A3(t, u, v) (3, t, u, v)

#define POINTERS(n, ...) POINTERS_##n(__VA_ARGS__)
#define POINTERS_1(t)    const sm_c_##t *a0 = args[0]
#define POINTERS_2(t, u)                                                                           \
    POINTERS_1(t);                                                                                 \
    const sm_c_##u *a1 = args[1]
#define POINTERS_3(t, u, v)                                                                        \
    POINTERS_2(t, u);                                                                              \
    const sm_c_##v *a2 = args[2]

#define VALUES(n, ...) VALUES_##n
#define VALUES_1       a0[i]
#define VALUES_2       a0[i], a1[i]
#define VALUES_3       a0[i], a1[i], a2[i]

#endif
