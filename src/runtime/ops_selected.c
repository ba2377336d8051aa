/* The selected batch form of every operation: a loop around the body over the live rows, made by
 * one macro from ops.def. It picks rows one by one, which wide registers do not help, so it is
 * compiled once, not once per instruction-set level. Read ops.h and ops_loop.h first. */
#include "ops_loop.h"

/* An operation that cannot fail and may see any row needs no look at the validity. */
#define BLIND_EMIT(fails) (sizeof(fails) == 1)
#define BLIND_CALL(fails) false

/* Row i; err is NULL where the operation is known not to fail. */
#define ROW(id, takes)                                                                             \
    {                                                                                              \
        sm_status status = op_##id(&own, VALUES takes, &r[i]);                                     \
        if (SM_UNLIKELY(status != SM_OK)) {                                                        \
            *failed_row = i;                                                                       \
            return status;                                                                         \
        }                                                                                          \
    }

#define SELECTED(id, R, takes, blind)                                                              \
    static sm_status selected_##id(sm_opctx *cx, const void *const *args, void *out,               \
                                   const uint16_t *sel, uint32_t n, const uint64_t *valid,         \
                                   uint32_t *failed_row)                                           \
    {                                                                                              \
        POINTERS takes;                                                                            \
        sm_c_##R *r = out;                                                                         \
        sm_opctx own = *cx;                                                                        \
        (void)failed_row;                                                                          \
        if (blind) own.err = NULL;                                                                 \
        if (blind || !valid) {                                                                     \
            if (!sel) {                                                                            \
                for (uint32_t i = 0; i < n; i++) ROW(id, takes)                                    \
            } else {                                                                               \
                for (uint32_t k = 0; k < n; k++) {                                                 \
                    uint32_t i = sel[k];                                                           \
                    ROW(id, takes)                                                                 \
                }                                                                                  \
            }                                                                                      \
            return SM_OK;                                                                          \
        }                                                                                          \
        for (uint32_t k = 0; k < n; k++) {                                                         \
            uint32_t i = sel ? sel[k] : k;                                                         \
            if (sm_bit_get(valid, i)) ROW(id, takes)                                               \
        }                                                                                          \
        return SM_OK;                                                                              \
    }
#define SM_OP(id, sql, result, args, fails, lanes, doc, examples)                                  \
    SELECTED(id, result, args, BLIND_##lanes(fails))
#include "ops.def"
#undef SM_OP

extern const sm_op_selected sm_op_selected_forms[SM_N_OPS];
const sm_op_selected sm_op_selected_forms[SM_N_OPS] = {
#define SM_OP(id, sql, result, args, fails, lanes, doc, examples) selected_##id,
#include "ops.def"
#undef SM_OP
};
