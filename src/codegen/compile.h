/* From a shape to machine code in memory: LLVM's side of the module. */
#ifndef SM_JIT_COMPILE_H
#define SM_JIT_COMPILE_H

#include <pthread.h>

#include "compat.h"
#include "shape.h"

typedef struct sm_machine sm_machine; /* a target machine; one compile at a time uses it */

/* Made once, at smelt_jit_init. */
typedef struct sm_llvm {
    const sm_jit_host *host;
    LLVMOrcLLJITRef jit;
    LLVMTargetRef target;
    char *triple, *host_cpu, *host_features;
    pthread_mutex_t lock; /* of machines and numbers */
    sm_machine *machines; /* not in use */
    uint64_t n_compiles;
} sm_llvm;

bool sm_llvm_init(sm_llvm *v, const sm_jit_host *host);
/** CPU to compile for: the host's, or what SMELT_JIT_CPU says (for tests).  mask_regs  it has
 * AVX-512's mask registers */
const char *sm_llvm_cpu(const sm_llvm *v, bool *mask_regs);

typedef struct sm_machine_code {
    LLVMOrcResourceTrackerRef tracker;
    char *ir, *assembly; /* LLVMDisposeMessage */
} sm_machine_code;

/** Emits, optimises, generates and links. Any thread. */
sm_status sm_llvm_compile(sm_llvm *v, const sm_shape *s, const sm_jit_options *o,
                          sm_machine_code *out, sm_jit_code_info *info, sm_error *err);
void sm_llvm_remove(sm_llvm *v, sm_machine_code *code);

#endif
