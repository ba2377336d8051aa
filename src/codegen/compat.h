/* LLVM's C headers, and the one place for differences between the versions that build (19 to 22).
 * Everything that this folder uses exists in both under the same name; what does not is wrapped
 * here. */
#ifndef SM_JIT_COMPAT_H
#define SM_JIT_COMPAT_H

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Object.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>

#if LLVM_VERSION_MAJOR < 19
#error "LLVM 19 or later"
#endif

#define SM_LLVM_VERSION LLVM_VERSION_STRING

#endif
