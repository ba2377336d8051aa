/* Batch forms of every operation: a dense loop (EMIT operations: all rows, dead ones included) and
 * a selected loop around the body, made by one macro from ops.def. Compiled once per
 * instruction-set level, each time into a table named by the level (cpu.c chooses). Dense loops
 * must vectorise: they hand the body a context that has no error structure, so that "failed" is a
 * select, and or the statuses together. Read ops.h first. */
#include "ops_datetime.h"
#include "ops_decimal.h"
#include "ops_number.h"
#include "ops_text.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)

/* Results may be written over an argument of the same width, which is no reason to give up vectors.
 */
#if defined(__clang__)
#define EACH_ROW _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH_ROW _Pragma("GCC ivdep")
#endif

/* An args column of ops.def becomes (count, code, ...): the argument list of the two macros below.
 */
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

/* ---- dense ---- */

#define DENSE_CALL(id, R, takes)
#define DENSE_EMIT(id, R, takes)                                                                   \
    static bool dense_##id(sm_opctx *cx, const void *const *args, void *out, uint32_t n)           \
    {                                                                                              \
        POINTERS takes;                                                                            \
        sm_c_##R *r = out;                                                                         \
        sm_opctx quiet = {{cx->imm[0], cx->imm[1]}, NULL, NULL};                                   \
        unsigned failed = 0;                                                                       \
        EACH_ROW                                                                                   \
        for (uint32_t i = 0; i < n; i++) failed |= (unsigned)op_##id(&quiet, VALUES takes, &r[i]); \
        return failed == 0;                                                                        \
    }
#define SM_OP(id, sql, result, args, fails, lanes, doc, examples) DENSE_##lanes(id, result, args)
#include "ops.def"
#undef SM_OP

/* ---- selected ---- */

/* An operation that cannot fail and may see any row needs no look at the validity. */
#define BLIND_EMIT(fails) (sizeof(fails) == 1)
#define BLIND_CALL(fails) false
#define ALL_ROWS_EMIT(id) dense_##id
#define ALL_ROWS_CALL(id) ((sm_op_dense)NULL)

#define ROW(id, takes)                                                                             \
    {                                                                                              \
        sm_status status = op_##id(&own, VALUES takes, &r[i]);                                     \
        if (SM_UNLIKELY(status != SM_OK)) {                                                        \
            *failed_row = i;                                                                       \
            return status;                                                                         \
        }                                                                                          \
    }

#define SELECTED(id, R, takes, blind, all_rows)                                                    \
    static sm_status selected_##id(sm_opctx *cx, const void *const *args, void *out,               \
                                   const uint16_t *sel, uint32_t n, const uint64_t *valid,         \
                                   uint32_t *failed_row)                                           \
    {                                                                                              \
        POINTERS takes;                                                                            \
        sm_c_##R *r = out;                                                                         \
        sm_opctx own = *cx;                                                                        \
        (void)failed_row;                                                                          \
        if (blind) {                                                                               \
            own.err = NULL;                                                                        \
            if (!sel) {                                                                            \
                all_rows(cx, args, out, n);                                                        \
                return SM_OK;                                                                      \
            }                                                                                      \
            valid = NULL;                                                                          \
        }                                                                                          \
        if (!valid && sel) {                                                                       \
            for (uint32_t k = 0; k < n; k++) {                                                     \
                uint32_t i = sel[k];                                                               \
                ROW(id, takes)                                                                     \
            }                                                                                      \
            return SM_OK;                                                                          \
        }                                                                                          \
        for (uint32_t k = 0; k < n; k++) {                                                         \
            uint32_t i = sel ? sel[k] : k;                                                         \
            if (valid && !sm_bit_get(valid, i)) continue;                                          \
            ROW(id, takes)                                                                         \
        }                                                                                          \
        return SM_OK;                                                                              \
    }
#define SM_OP(id, sql, result, args, fails, lanes, doc, examples)                                  \
    SELECTED(id, result, args, BLIND_##lanes(fails), (ALL_ROWS_##lanes(id)))
#include "ops.def"
#undef SM_OP

/* ---- the table ---- */

#define KERNELS JOIN(sm_op_kernels_, SM_ISA)
extern const sm_op_kernels KERNELS;
const sm_op_kernels KERNELS = {
    .dense =
        {
#define SM_OP(id, sql, result, args, fails, lanes, doc, examples) ALL_ROWS_##lanes(id),
#include "ops.def"
#undef SM_OP
        },
    .selected =
        {
#define SM_OP(id, sql, result, args, fails, lanes, doc, examples) selected_##id,
#include "ops.def"
#undef SM_OP
        },
};
