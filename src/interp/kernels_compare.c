/* Comparisons of a column's stored values with one value, into bytes: narrow columns are compared
 * as they lie in the chunk, 64 at a time, without being widened first. Compiled once per
 * instruction-set level; read kernels.h first. */
#include "interp/kernels.h"

#define COMPARE(name, T, OP)                                                                       \
    static void name(const void *stored, const void *with, uint32_t n, uint8_t flip, uint8_t *out) \
    {                                                                                              \
        const T *v = stored;                                                                       \
        uint8_t *restrict to = out;                                                                \
        T k;                                                                                       \
        memcpy(&k, with, sizeof k);                                                                \
        for (uint32_t i = 0; i < n; i++) to[i] = (uint8_t)(v[i] OP k) ^ flip;                      \
    }
#define COMPARE_ALL(T)                                                                             \
    COMPARE(eq_##T, T, ==)                                                                         \
    COMPARE(lt_##T, T, <)                                                                          \
    COMPARE(le_##T, T, <=)
COMPARE_ALL(uint8_t)
COMPARE_ALL(uint16_t)
COMPARE_ALL(uint32_t)
COMPARE_ALL(uint64_t)
COMPARE_ALL(int16_t)
COMPARE_ALL(int32_t)
COMPARE_ALL(int64_t)
COMPARE_ALL(float)
COMPARE_ALL(double)

#define ROW(relation)                                                                              \
    {                                                                                              \
        [SM_STORED_U8] = relation##_uint8_t, [SM_STORED_U16] = relation##_uint16_t,                \
        [SM_STORED_U32] = relation##_uint32_t, [SM_STORED_U64] = relation##_uint64_t,              \
        [SM_STORED_I16] = relation##_int16_t, [SM_STORED_I32] = relation##_int32_t,                \
        [SM_STORED_I64] = relation##_int64_t, [SM_STORED_F32] = relation##_float,                  \
        [SM_STORED_F64] = relation##_double,                                                       \
    }

extern const sm_compare_kernels SM_KERNEL_TABLE(sm_compare_kernels);
const sm_compare_kernels SM_KERNEL_TABLE(sm_compare_kernels) = {ROW(eq), ROW(lt), ROW(le)};
