/* Chooses the kernel tables of the instruction-set level that sm_cpu_isa() names. Read kernels.h
 * first. */
#include "interp/kernels.h"

#include "runtime/cpu.h"

#if defined(__x86_64__)
#define TABLES(type, name)                                                                         \
    extern const type name##_v2, name##_v3, name##_v4;                                             \
    const type *name##_get(void)                                                                   \
    {                                                                                              \
        switch (sm_cpu_isa()) {                                                                    \
        case SM_ISA_V4: return &name##_v4;                                                         \
        case SM_ISA_V3: return &name##_v3;                                                         \
        default: return &name##_v2;                                                                \
        }                                                                                          \
    }
#else
#define TABLES(type, name)                                                                         \
    extern const type name##_base;                                                                 \
    const type *name##_get(void)                                                                   \
    {                                                                                              \
        return &name##_base;                                                                       \
    }
#endif

TABLES(sm_agg_kernels, sm_agg_kernels)
TABLES(sm_select_kernels, sm_select_kernels)
TABLES(sm_nocheck_kernels, sm_nocheck_kernels)
TABLES(sm_compare_kernels, sm_compare_kernels)
