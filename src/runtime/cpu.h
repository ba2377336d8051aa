/* The instruction-set level that batch kernels are taken for: x86-64-v2, v3 or v4 (one level elsewhere).
 * Chosen once from CPUID; SMELT_ISA=v2|v3|v4 in the environment lowers it, for tests. */
#ifndef SM_CPU_H
#define SM_CPU_H

typedef enum sm_isa { SM_ISA_V2, SM_ISA_V3, SM_ISA_V4, SM_N_ISA } sm_isa;

sm_isa sm_cpu_isa(void);
const char *sm_isa_name(sm_isa isa);

#endif
