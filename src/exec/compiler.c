/* The compiler as seen from outside: finding and loading libsmelt_jit.so, and the one thread that compiles beside
 * running queries. The module is never unloaded. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec/engine.h"

struct sm_compile_request {
    const sm_pipeline *p;
    sm_jit_sig_col *sig;
    uint32_t n_sig;
    sm_jit_options options;
    sm_lease *leases[2];
    sm_compile_result *result;
    sm_mem *mem;
    sm_compile_request *next;
};

/* ---- what the module may call ---- */

/* The module lives as long as the process and serves all databases, so its memory is nobody's. */
static sm_mem module_mem = {.limit_bytes = SIZE_MAX, .fail_after = -1};

static void *host_alloc(size_t bytes)
{
    void *p = NULL;
    return sm_alloc(&module_mem, bytes, "compiler", &p, NULL) == SM_OK ? p : NULL;
}

static void host_free(void *p, size_t bytes) { sm_free(&module_mem, p, bytes); }

static uint32_t mask_rows(uint32_t mask, uint16_t *sel)
{
    uint32_t n = 0;
    for (; mask; mask &= mask - 1) sel[n++] = (uint16_t)__builtin_ctz(mask);
    return n;
}

static int32_t host_find_rows(sm_agg_local *l, const sm_vec *keys, uint32_t mask, uint64_t first_row,
                              void **rows)
{
    uint16_t sel[SM_BLOCK_ROWS];
    sm_vec cols[SM_GROUP_MAX_KEYS];
    memcpy(cols, keys, sizeof(sm_vec) * l->sink->layout.n_keys);
    sm_batch b = {.cols = cols,
                  .n_cols = l->sink->layout.n_keys,
                  .n_rows = SM_BLOCK_ROWS,
                  .sel = sel,
                  .n_sel = mask_rows(mask, sel),
                  .first_row = first_row};
    return (int32_t)sm_agg_find_rows(l, &b, rows, NULL);
}

static void vec_value(const sm_vec *v, unsigned lane, sm_value *out)
{
    size_t bytes = sm_phys_bytes(v->phys);
    out->is_null = false;
    memcpy(out, (const char *)v->data + lane * bytes, bytes);
}

static int32_t host_acc_add(sm_agg_local *l, uint32_t accum, const sm_vec *v, uint32_t mask,
                            uint32_t lane_mask, void **states)
{
    const sm_accum *acc = &l->sink->layout.accums[accum];
    sm_phys full = sm_type_phys(acc->type);
    for (; mask; mask &= mask - 1) {
        unsigned lane = (unsigned)__builtin_ctz(mask);
        sm_value x = {.is_null = false};
        if (v && v->valid && !(v->valid[0] >> lane & 1)) continue;
        if (v) vec_value(v, lane, &x);
        if (v && full == SM_PHYS_I128 && v->phys == SM_PHYS_I64) x.i128 = x.i64;
        sm_status s = sm_acc_add(acc, states[lane], lane & lane_mask, &x, &l->arena, NULL);
        if (s != SM_OK) return (int32_t)s;
    }
    return SM_OK;
}

static const sm_jit_host host = {.abi = SM_JIT_ABI,
                                 .ops = sm_ops,
                                 .alloc = host_alloc,
                                 .free = host_free,
                                 .raise = sm_raise,
                                 .eval = sm_expr_eval,
                                 .find_rows = host_find_rows,
                                 .acc_add = host_acc_add};

/* ---- loading ---- */

static void *open_beside(const char *file)
{
    char path[PATH_MAX];
    const char *slash = strrchr(file, '/');
    if (!slash || (size_t)(slash - file) + sizeof "/libsmelt_jit.so" > sizeof path) return NULL;
    snprintf(path, sizeof path, "%.*s/libsmelt_jit.so", (int)(slash - file), file);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static void *open_module(const char *asked)
{
    char exe[PATH_MAX];
    Dl_info self;
    void *so = NULL;
    if (asked[0]) return dlopen(asked, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (dladdr((const void *)&host, &self) && self.dli_fname) so = open_beside(self.dli_fname);
    if (!so) {
        ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
        if (n > 0) {
            exe[n] = 0;
            so = open_beside(exe);
        }
    }
    return so ? so : dlopen("libsmelt_jit.so", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static void load(sm_compiler *c)
{
    typedef const sm_jit_module *(*init_fn)(const sm_jit_host *);
    c->tried = true;
    void *so = open_module(c->path);
    if (!so) {
        const char *why = dlerror();
        snprintf(c->why, sizeof c->why, "libsmelt_jit.so was not loaded: %s", why ? why : "not found");
        return;
    }
    void *symbol = dlsym(so, "smelt_jit_init");
    init_fn init;
    memcpy(&init, &symbol, sizeof init);
    c->module = init ? init(&host) : NULL;
    if (!c->module) snprintf(c->why, sizeof c->why, "libsmelt_jit.so is of another version");
    atomic_store(&c->loaded, c->module);
}

const sm_jit_module *sm_compiler_module(sm_compiler *c, char *why, size_t why_bytes)
{
    const sm_jit_module *m = atomic_load_explicit(&c->loaded, memory_order_acquire);
    if (m) return m;
    pthread_mutex_lock(&c->lock);
    if (!c->tried) load(c);
    m = c->module;
    if (!m && why_bytes) snprintf(why, why_bytes, "%s", c->why);
    pthread_mutex_unlock(&c->lock);
    return m;
}

/* ---- the compile thread ---- */

void sm_compile_result_unref(sm_compile_result *r)
{
    if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    if (r->code) r->module->release(r->code);
    sm_free(r->mem, r, sizeof *r);
}

static void free_request(sm_compile_request *q)
{
    sm_compile_result_unref(q->result);
    for (unsigned i = 0; i < SM_COUNT(q->leases); i++) sm_lease_unref(q->leases[i]);
    sm_free(q->mem, q->sig, sizeof(sm_jit_sig_col) * q->n_sig);
    sm_free(q->mem, q, sizeof *q);
}

static void compile(sm_compiler *c, sm_compile_request *q)
{
    sm_compile_result *r = q->result;
    const sm_jit_module *m = sm_compiler_module(c, r->why, sizeof r->why);
    if (m && m->can(q->p, r->why, sizeof r->why)) {
        sm_error err = {0};
        int64_t t = sm_now_ns();
        r->module = m;
        if (m->compile(q->p, q->sig, &q->options, &r->code, &err) != SM_OK) {
            r->code = NULL;
            snprintf(r->why, sizeof r->why, "%.255s", err.message);
        } else {
            int64_t old = atomic_load(&c->estimate_ns);
            atomic_store(&c->estimate_ns, old + (sm_now_ns() - t - old) / 4);
        }
    }
    atomic_store_explicit(&r->done, true, memory_order_release);
}

static void *compile_main(void *arg)
{
    sm_compiler *c = arg;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        sm_compile_request *q = c->first;
        if (q) {
            c->first = q->next;
            bool stop = c->stop;
            pthread_mutex_unlock(&c->lock);
            if (!stop) compile(c, q);
            free_request(q);
            pthread_mutex_lock(&c->lock);
        } else if (c->stop) {
            break;
        } else {
            pthread_cond_wait(&c->work, &c->lock);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static sm_compile_request *new_request(sm_engine *e, uint32_t n_sig)
{
    void *q = NULL, *r = NULL, *sig = NULL;
    if (sm_alloc_zero(&e->mem, sizeof(sm_compile_request), "compile", &q, NULL) != SM_OK) return NULL;
    if (sm_alloc_zero(&e->mem, sizeof(sm_compile_result), "compile", &r, NULL) != SM_OK ||
        sm_alloc_zero(&e->mem, sizeof(sm_jit_sig_col) * n_sig, "compile", &sig, NULL) != SM_OK) {
        sm_free(&e->mem, r, sizeof(sm_compile_result));
        sm_free(&e->mem, q, sizeof(sm_compile_request));
        return NULL;
    }
    sm_compile_request *request = q;
    request->result = r;
    request->sig = sig;
    request->n_sig = n_sig;
    request->mem = request->result->mem = &e->mem;
    atomic_init(&request->result->refs, 2);
    return request;
}

sm_compile_result *sm_compiler_post(sm_engine *e, const sm_pipeline *p, const sm_jit_sig_col *sig,
                                    const sm_jit_options *o, sm_lease *const leases[2])
{
    sm_compiler *c = &e->compiler;
    sm_compile_request *q = new_request(e, p->source.n_cols);
    if (!q) return NULL;
    sm_compile_result *result = q->result;
    memcpy(q->sig, sig, sizeof(sm_jit_sig_col) * q->n_sig);
    q->p = p;
    q->options = *o;
    for (unsigned i = 0; i < SM_COUNT(q->leases); i++) q->leases[i] = sm_lease_ref(leases[i]);
    pthread_mutex_lock(&c->lock);
    if (!c->started) c->started = pthread_create(&c->thread, NULL, compile_main, c) == 0;
    bool posted = c->started;
    if (posted) {
        sm_compile_request **tail = &c->first;
        while (*tail) tail = &(*tail)->next;
        *tail = q;
        pthread_cond_signal(&c->work);
    }
    pthread_mutex_unlock(&c->lock);
    if (!posted) {
        sm_compile_result_unref(result);
        free_request(q);
        return NULL;
    }
    return result;
}
