/* The dense batch form of every EMIT operation: a loop around the body over all rows, dead ones
 * included, made by one macro from ops.def. Compiled once per instruction-set level, each time into
 * a table named by the level (cpu.c chooses). The loops must vectorise: they hand the body a
 * context that has no error structure, so that "failed" is a select, and or the statuses together.
 * Read ops.h first. */
#include "ops_loop.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)

/* A result may be written over an argument of the same width: no reason to give up vectors. */
#if defined(__clang__)
#define EACH_ROW _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH_ROW _Pragma("GCC ivdep")
#endif

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

extern const sm_op_selected sm_op_selected_forms[SM_N_OPS];

#define TABLE_EMIT(id) dense_##id,
#define TABLE_CALL(id) NULL,
#define KERNELS        JOIN(sm_op_kernels_, SM_ISA)
extern const sm_op_kernels KERNELS;
const sm_op_kernels KERNELS = {
    .dense =
        {
#define SM_OP(id, sql, result, args, fails, lanes, doc, examples) TABLE_##lanes(id)
#include "ops.def"
#undef SM_OP
        },
    .selected = sm_op_selected_forms,
};
