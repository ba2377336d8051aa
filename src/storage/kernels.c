/* Chooses the column kernels once per call from the level that runtime/cpu.h reports. */
#include "storage/kernels.h"

#include "runtime/cpu.h"

#if defined(__x86_64__)
extern const sm_column_kernels sm_column_kernels_v2, sm_column_kernels_v3, sm_column_kernels_v4;

const sm_column_kernels *sm_column_kernels_get(void)
{
    switch (sm_cpu_isa()) {
    case SM_ISA_V4: return &sm_column_kernels_v4;
    case SM_ISA_V3: return &sm_column_kernels_v3;
    default: return &sm_column_kernels_v2;
    }
}
#else
extern const sm_column_kernels sm_column_kernels_base;

const sm_column_kernels *sm_column_kernels_get(void)
{
    return &sm_column_kernels_base;
}
#endif
