/* Operations whose range check the planner proved away: plain wrap-around loops, which the compiler
 * vectorises. Only the rows with garbage under them (dead, NULL) can wrap. Compiled once per
 * instruction-set level; read kernels.h first. */
#include "interp/kernels.h"

#define LOOP2(id, T, U, expr)                                                                      \
    static void id(const void *const *args, void *out, uint32_t n)                                 \
    {                                                                                              \
        const T *a = args[0], *b = args[1];                                                        \
        T *restrict r = out;                                                                       \
        for (uint32_t i = 0; i < n; i++) r[i] = (T)(expr);                                         \
    }
#define LOOP1(id, T, U, expr)                                                                      \
    static void id(const void *const *args, void *out, uint32_t n)                                 \
    {                                                                                              \
        const T *a = args[0];                                                                      \
        T *restrict r = out;                                                                       \
        for (uint32_t i = 0; i < n; i++) r[i] = (T)(expr);                                         \
    }
/* The product of two uint16_t would be computed in (signed) int. */
#define ARITH(n, T, U, W)                                                                          \
    LOOP2(add_##n, T, U, (U)a[i] + (U)b[i])                                                        \
    LOOP2(sub_##n, T, U, (U)a[i] - (U)b[i])                                                        \
    LOOP2(mul_##n, T, U, (W)a[i] * (W)b[i])                                                        \
    LOOP1(neg_##n, T, U, 0 - (U)a[i])                                                              \
    LOOP1(abs_##n, T, U, a[i] < 0 ? 0 - (U)a[i] : (U)a[i])
ARITH(i16, int16_t, uint16_t, uint32_t)
ARITH(i32, int32_t, uint32_t, uint32_t)
ARITH(i64, int64_t, uint64_t, uint64_t)
LOOP2(add_d128, sm_i128, sm_u128, (sm_u128)a[i] + (sm_u128)b[i])
LOOP2(sub_d128, sm_i128, sm_u128, (sm_u128)a[i] - (sm_u128)b[i])
LOOP2(mul_d128, sm_i128, sm_u128, (sm_u128)a[i] * (sm_u128)b[i])

#define CAST(id, FROM, TO)                                                                         \
    static void id(const void *const *args, void *out, uint32_t n)                                 \
    {                                                                                              \
        const FROM *a = args[0];                                                                   \
        TO *restrict r = out;                                                                      \
        for (uint32_t i = 0; i < n; i++) r[i] = (TO)a[i];                                          \
    }
CAST(i32_to_i16, int32_t, int16_t)
CAST(i64_to_i16, int64_t, int16_t)
CAST(i64_to_i32, int64_t, int32_t)
CAST(d128_to_i64, sm_i128, int64_t)

#define ROW(id)       .op[SM_OP_##id] = id
#define ARITH_ROWS(n) ROW(add_##n), ROW(sub_##n), ROW(mul_##n), ROW(neg_##n), ROW(abs_##n)

extern const sm_nocheck_kernels SM_KERNEL_TABLE(sm_nocheck_kernels);
const sm_nocheck_kernels SM_KERNEL_TABLE(sm_nocheck_kernels) = {
    ARITH_ROWS(i16), ARITH_ROWS(i32), ARITH_ROWS(i64), ROW(add_d128),   ROW(sub_d128),
    ROW(mul_d128),   ROW(i32_to_i16), ROW(i64_to_i16), ROW(i64_to_i32), ROW(d128_to_i64),
};
