/* Which instruction-set level the batch kernels run at. The CPU is asked once (CPUID is a trap into
 * the hypervisor on virtual machines); GCC's and Clang's __builtin_cpu_supports also checks that
 * the operating system saves the wide registers. SMELT_ISA can only lower the level. Read cpu.h
 * first. */
#include "cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

static sm_isa detect(void)
{
    sm_isa isa = SM_ISA_V2;
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
    if (v3) isa = SM_ISA_V3;
    if (v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        isa = SM_ISA_V4;
    }
#endif
    const char *wanted = getenv("SMELT_ISA");
    for (int i = 0; wanted && i < (int)isa; i++) {
        if (strcmp(wanted, sm_isa_name((sm_isa)i)) == 0) isa = (sm_isa)i;
    }
    return isa;
}

sm_isa sm_cpu_isa(void)
{
    static _Atomic int known; /* 0 = not asked yet, else level + 1; racing threads store the same */
    int k = atomic_load_explicit(&known, memory_order_relaxed);
    if (k == 0) {
        k = (int)detect() + 1;
        atomic_store_explicit(&known, k, memory_order_relaxed);
    }
    return (sm_isa)(k - 1);
}

const char *sm_isa_name(sm_isa isa)
{
    static const char names[SM_N_ISA][4] = {"v2", "v3", "v4"};
    return names[isa];
}

#if defined(__x86_64__)
extern const sm_op_kernels sm_op_kernels_v2, sm_op_kernels_v3, sm_op_kernels_v4;

const sm_op_kernels *sm_op_kernels_get(void)
{
    switch (sm_cpu_isa()) {
    case SM_ISA_V4: return &sm_op_kernels_v4;
    case SM_ISA_V3: return &sm_op_kernels_v3;
    default: return &sm_op_kernels_v2;
    }
}
#else
extern const sm_op_kernels sm_op_kernels_base;

const sm_op_kernels *sm_op_kernels_get(void)
{
    return &sm_op_kernels_base;
}
#endif
