/* Emit, optimise, generate, link. The path: our own short list of passes -> an object in memory, by
 * a target machine that is kept -> ORC, with one resource tracker per pipeline, so that code can be
 * dropped. Every module has a context of its own. Read compile.h first; what is emitted is in
 * emit_pipeline.c. */
#include "compile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "emit.h"

struct sm_machine {
    LLVMTargetMachineRef tm;
    char cpu[64];
    sm_machine *next;
};

/* instcombine and simplifycfg are what the emitters count on; mem2reg makes registers of their
 * variables. The larger standard pipelines cost three times as much and gain nothing here
 * (docs/performance.md). */
static const char passes[] = "function(mem2reg,instcombine<no-verify-fixpoint>,simplifycfg)";

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Takes LLVM's error over; true if there was one. */
static bool failed(const sm_llvm *v, LLVMErrorRef e, sm_error *err)
{
    if (!e) return false;
    char *m = LLVMGetErrorMessage(e);
    (void)v->host->raise(err, SM_ERR_INTERNAL, m);
    LLVMDisposeErrorMessage(m);
    return true;
}

static LLVMTargetMachineRef new_machine(const sm_llvm *v, const char *cpu)
{
    bool host = strcmp(cpu, v->host_cpu) == 0;
    return LLVMCreateTargetMachine(v->target, v->triple, cpu, host ? v->host_features : "",
                                   LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelJITDefault);
}

bool sm_llvm_init(sm_llvm *v, const sm_jit_host *host)
{
    *v = (sm_llvm){.host = host};
    if (LLVMInitializeNativeTarget() || LLVMInitializeNativeAsmPrinter()) return false;
    v->triple = LLVMGetDefaultTargetTriple();
    v->host_cpu = LLVMGetHostCPUName();
    v->host_features = LLVMGetHostCPUFeatures();
    char *message = NULL;
    if (LLVMGetTargetFromTriple(v->triple, &v->target, &message)) {
        LLVMDisposeMessage(message);
        return false;
    }
    LLVMTargetMachineRef tm = new_machine(v, v->host_cpu); /* the builder takes it over */
    if (!tm || pthread_mutex_init(&v->lock, NULL)) return false;
    LLVMOrcLLJITBuilderRef b = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
        b, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(tm));
    return !failed(v, LLVMOrcCreateLLJIT(&v->jit, b), NULL);
}

const char *sm_llvm_cpu(const sm_llvm *v, bool *mask_regs)
{
    static const char *const with_masks[] = {"x86-64-v4", "skylake-avx512", "icelake-server",
                                             "sapphirerapids", "znver4"};
    const char *cpu = getenv("SMELT_JIT_CPU");
    if (!cpu || !*cpu || strlen(cpu) >= sizeof(((sm_machine *)0)->cpu)) {
        *mask_regs = strstr(v->host_features, "+avx512vl") &&
                     strstr(v->host_features, "+avx512bw") && strstr(v->host_features, "+avx512dq");
        return v->host_cpu;
    }
    *mask_regs = false;
    for (size_t i = 0; i < SM_COUNT(with_masks); i++) *mask_regs |= strcmp(cpu, with_masks[i]) == 0;
    return cpu;
}

/* ---- target machines ---- */

static sm_machine *take_machine(sm_llvm *v, const char *cpu)
{
    pthread_mutex_lock(&v->lock);
    sm_machine **at = &v->machines;
    while (*at && strcmp((*at)->cpu, cpu) != 0) at = &(*at)->next;
    sm_machine *m = *at;
    if (m) *at = m->next;
    pthread_mutex_unlock(&v->lock);
    if (m) return m;
    m = v->host->alloc(sizeof *m);
    if (!m) return NULL;
    *m = (sm_machine){.tm = new_machine(v, cpu)};
    snprintf(m->cpu, sizeof m->cpu, "%s", cpu);
    return m;
}

static void give_machine(sm_llvm *v, sm_machine *m)
{
    pthread_mutex_lock(&v->lock);
    m->next = v->machines;
    v->machines = m;
    pthread_mutex_unlock(&v->lock);
}

/* ---- one module ---- */

typedef struct unit {
    LLVMContextRef ctx;
    LLVMModuleRef mod;
    char name[32];
} unit;

static sm_status emit(const sm_llvm *v, const sm_shape *s, unit *u, sm_error *err)
{
    u->ctx = LLVMContextCreate();
    LLVMContextSetDiscardValueNames(u->ctx, 1);
    u->mod = LLVMModuleCreateWithNameInContext("pipeline", u->ctx);
    LLVMSetTarget(u->mod, v->triple);
    LLVMSetDataLayout(u->mod, LLVMOrcLLJITGetDataLayoutStr(v->jit));
    sm_emit e = {.s = s, .p = s->p, .host = v->host, .pool = s->pool, .ctx = u->ctx, .mod = u->mod};
    e.b = LLVMCreateBuilderInContext(u->ctx);
    e.hoist = LLVMCreateBuilderInContext(u->ctx);
    bool ok = sm_emit_pipeline(&e, u->name);
    LLVMDisposeBuilder(e.b);
    LLVMDisposeBuilder(e.hoist);
    if (!ok) return v->host->raise(err, SM_ERR_OUT_OF_MEMORY, "compile", (size_t)0, (size_t)0);
#ifndef NDEBUG
    char *message = NULL;
    bool broken = LLVMVerifyModule(u->mod, LLVMReturnStatusAction, &message);
    sm_status st = broken ? v->host->raise(err, SM_ERR_INTERNAL, message) : SM_OK;
    LLVMDisposeMessage(message);
    return st;
#else
    return SM_OK;
#endif
}

static sm_status optimise(const sm_llvm *v, unit *u, LLVMTargetMachineRef tm, sm_error *err)
{
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e = LLVMRunPasses(u->mod, passes, tm, o);
    LLVMDisposePassBuilderOptions(o);
    return failed(v, e, err) ? SM_ERR_INTERNAL : SM_OK;
}

static char *assembly_of(LLVMModuleRef mod, LLVMTargetMachineRef tm)
{
    LLVMModuleRef copy = LLVMCloneModule(mod); /* generating code changes it */
    LLVMMemoryBufferRef text = NULL;
    char *message = NULL, *out = NULL;
    if (!LLVMTargetMachineEmitToMemoryBuffer(tm, copy, LLVMAssemblyFile, &message, &text)) {
        out = LLVMCreateMessage(LLVMGetBufferStart(text));
        LLVMDisposeMemoryBuffer(text);
    } else {
        LLVMDisposeMessage(message);
    }
    LLVMDisposeModule(copy);
    return out;
}

static sm_status generate(const sm_llvm *v, unit *u, LLVMTargetMachineRef tm,
                          LLVMMemoryBufferRef *object, sm_error *err)
{
    char *message = NULL;
    if (!LLVMTargetMachineEmitToMemoryBuffer(tm, u->mod, LLVMObjectFile, &message, object))
        return SM_OK;
    sm_status st = v->host->raise(err, SM_ERR_INTERNAL, message);
    LLVMDisposeMessage(message);
    return st;
}

/* A line of /tmp/perf-PID.map, by which perf names code that is in no file. */
static void write_perf_map(const char *name, uint64_t at, uint64_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    FILE *f = fopen(path, "a");
    if (!f) return;
    fprintf(f, "%" PRIx64 " %" PRIx64 " smelt_%s\n", at, bytes, name);
    fclose(f);
}

static sm_status link_object(sm_llvm *v, const unit *u, LLVMMemoryBufferRef object,
                             const sm_jit_options *o, sm_machine_code *out, sm_jit_code_info *info,
                             sm_error *err)
{
    info->object_bytes = LLVMGetBufferSize(object);
    out->tracker = LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(v->jit));
    LLVMOrcExecutorAddress at = 0;
    if (failed(v, LLVMOrcLLJITAddObjectFileWithRT(v->jit, out->tracker, object), err) ||
        failed(v, LLVMOrcLLJITLookup(v->jit, &at, u->name), err)) {
        sm_llvm_remove(v, out);
        return SM_ERR_INTERNAL;
    }
    info->run = (sm_jit_fn)(uintptr_t)at;
    if (o->perf_map) write_perf_map(u->name, at, info->object_bytes);
    return SM_OK;
}

static sm_status run(sm_llvm *v, unit *u, sm_machine *m, const sm_shape *s, const sm_jit_options *o,
                     sm_machine_code *out, sm_jit_code_info *info, sm_error *err)
{
    LLVMMemoryBufferRef object;
    double t0 = now_ms();
    SM_TRY(emit(v, s, u, err));
    double t1 = now_ms();
    SM_TRY(optimise(v, u, m->tm, err));
    double t2 = now_ms();
    if (o->keep_text) {
        out->ir = LLVMPrintModuleToString(u->mod);
        out->assembly = assembly_of(u->mod, m->tm);
    }
    double t3 = now_ms();
    SM_TRY(generate(v, u, m->tm, &object, err));
    double t4 = now_ms();
    SM_TRY(link_object(v, u, object, o, out, info, err));
    info->emit_ms = t1 - t0;
    info->passes_ms = t2 - t1;
    info->codegen_ms = t4 - t3;
    info->link_ms = now_ms() - t4;
    info->ir = out->ir;
    info->assembly = out->assembly;
    return SM_OK;
}

sm_status sm_llvm_compile(sm_llvm *v, const sm_shape *s, const sm_jit_options *o,
                          sm_machine_code *out, sm_jit_code_info *info, sm_error *err)
{
    bool masks;
    sm_machine *m = take_machine(v, sm_llvm_cpu(v, &masks));
    if (!m) return v->host->raise(err, SM_ERR_OUT_OF_MEMORY, "compile", sizeof *m, (size_t)0);
    unit u = {0};
    pthread_mutex_lock(&v->lock);
    snprintf(u.name, sizeof u.name, "pipeline_%" PRIu64, ++v->n_compiles);
    pthread_mutex_unlock(&v->lock);
    sm_status st = run(v, &u, m, s, o, out, info, err);
    LLVMDisposeModule(u.mod);
    LLVMContextDispose(u.ctx);
    give_machine(v, m);
    return st;
}

void sm_llvm_remove(sm_llvm *v, sm_machine_code *code)
{
    if (code->tracker) {
        (void)failed(v, LLVMOrcResourceTrackerRemove(code->tracker), NULL);
        LLVMOrcReleaseResourceTracker(code->tracker);
        /* Names are never used again; the pool would keep each. */
        LLVMOrcExecutionSessionRef es = LLVMOrcLLJITGetExecutionSession(v->jit);
        LLVMOrcSymbolStringPoolClearDeadEntries(LLVMOrcExecutionSessionGetSymbolStringPool(es));
    }
    if (code->ir) LLVMDisposeMessage(code->ir);
    if (code->assembly) LLVMDisposeMessage(code->assembly);
    *code = (sm_machine_code){0};
}
