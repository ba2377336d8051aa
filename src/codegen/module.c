/* The module's function table and its code cache. The cache maps a shape's key to code, compares
 * whole keys, and holds one reference to each entry; beyond CACHE_ENTRIES the entry that was used
 * longest ago goes. Code is removed from memory when nobody runs it any more. Read jit.h, shape.h
 * and compile.h first. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "compile.h"

enum { CACHE_ENTRIES = 1000, CACHE_BUCKETS = 1024 };

/* Machine code and its key, shared. */
typedef struct entry entry;
struct entry {
    _Atomic uint32_t refs;
    entry *next; /* in the bucket */
    uint64_t hash, used;
    uint32_t key_bytes, n_cols, step;
    uint8_t *key;
    sm_jit_sig_col *sig;
    sm_machine_code machine;
    sm_jit_code_info info;
};

/* What a caller holds: one reference to an entry, and its own answer to "was it in the cache?". */
struct sm_jit_code {
    entry *e;
    sm_jit_code_info info;
};

/* A key that some thread is compiling: others that want it wait. */
typedef struct in_work {
    const uint8_t *key;
    uint32_t key_bytes;
    struct in_work *next;
} in_work;

/* Built once, at the first smelt_jit_init. */
typedef struct module_state {
    sm_llvm llvm;
    bool ready;
    pthread_mutex_t lock; /* of everything below */
    entry *buckets[CACHE_BUCKETS];
    struct in_work *in_work;
    pthread_cond_t finished; /* something has left in_work */
    uint64_t clock, entries, code_bytes;
} module_state;

static module_state state = {.lock = PTHREAD_MUTEX_INITIALIZER,
                             .finished = PTHREAD_COND_INITIALIZER};

static uint64_t hash_key(const uint8_t *key, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a; whole keys are compared */
    for (size_t i = 0; i < n; i++) h = (h ^ key[i]) * 0x100000001b3u;
    return h;
}

/* ---- entries ---- */

static size_t entry_bytes(uint32_t key_bytes, uint32_t n_cols)
{
    return sizeof(entry) + (n_cols + 1) * sizeof(sm_jit_sig_col) + key_bytes;
}

static entry *new_entry(const sm_shape *s, const sm_jit_sig_col *sig, uint32_t step)
{
    char *p = state.llvm.host->alloc(entry_bytes(s->key_bytes, s->n_cols));
    if (!p) return NULL;
    entry *c = (entry *)(void *)p;
    memset(c, 0, sizeof *c);
    atomic_init(&c->refs, 1);
    c->sig = (sm_jit_sig_col *)(void *)(p + sizeof *c);
    c->key = (uint8_t *)(c->sig + s->n_cols + 1);
    c->key_bytes = s->key_bytes;
    c->n_cols = s->n_cols;
    c->step = step;
    for (uint32_t i = 0; i < s->n_cols; i++) c->sig[i] = sig ? sig[i] : (sm_jit_sig_col){0, 0};
    memcpy(c->key, s->key, s->key_bytes);
    c->hash = hash_key(c->key, c->key_bytes);
    return c;
}

static void unref(entry *c)
{
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    sm_llvm_remove(&state.llvm, &c->machine);
    state.llvm.host->free(c, entry_bytes(c->key_bytes, c->n_cols));
}

/* ---- the cache; the lock is held ---- */

static entry *find(const uint8_t *key, uint32_t n, uint64_t hash)
{
    entry *c = state.buckets[hash % CACHE_BUCKETS];
    while (c && (c->hash != hash || c->key_bytes != n || memcmp(c->key, key, n) != 0)) c = c->next;
    return c;
}

static entry *take_oldest(void)
{
    entry **oldest = NULL;
    for (uint32_t b = 0; b < CACHE_BUCKETS; b++)
        for (entry **at = &state.buckets[b]; *at; at = &(*at)->next)
            if (!oldest || (*at)->used < (*oldest)->used) oldest = at;
    if (!oldest) return NULL;
    entry *c = *oldest;
    *oldest = c->next;
    state.entries--;
    state.code_bytes -= c->info.object_bytes;
    return c;
}

/* Puts c in, unless it is there; returns what is in the cache, with a reference for the caller. */
static entry *insert(entry *c)
{
    entry *gone = NULL;
    pthread_mutex_lock(&state.lock);
    entry *had = find(c->key, c->key_bytes, c->hash), *kept = had ? had : c;
    if (!had) {
        if (state.entries >= CACHE_ENTRIES) gone = take_oldest();
        c->next = state.buckets[c->hash % CACHE_BUCKETS];
        state.buckets[c->hash % CACHE_BUCKETS] = c;
        state.entries++;
        state.code_bytes += c->info.object_bytes;
    }
    kept->used = ++state.clock;
    atomic_fetch_add_explicit(&kept->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&state.lock);
    if (had) unref(c);
    if (gone) unref(gone);
    return kept;
}

static bool being_compiled(const sm_shape *s)
{
    const in_work *w = state.in_work;
    while (w && (w->key_bytes != s->key_bytes || memcmp(w->key, s->key, s->key_bytes) != 0))
        w = w->next;
    return w != NULL;
}

/* The entry, after waiting for a thread that makes it; or NULL, and then the caller makes it:
 * `mine` is in the list. */
static entry *lookup_or_claim(const sm_shape *s, in_work *mine)
{
    uint64_t hash = hash_key(s->key, s->key_bytes);
    pthread_mutex_lock(&state.lock);
    entry *c;
    while (!(c = find(s->key, s->key_bytes, hash)) && being_compiled(s))
        pthread_cond_wait(&state.finished, &state.lock);
    if (c) {
        c->used = ++state.clock;
        atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    } else {
        *mine = (in_work){s->key, s->key_bytes, state.in_work};
        state.in_work = mine;
    }
    pthread_mutex_unlock(&state.lock);
    return c;
}

static void unclaim(in_work *mine)
{
    pthread_mutex_lock(&state.lock);
    in_work **at = &state.in_work;
    while (*at != mine) at = &(*at)->next;
    *at = mine->next;
    pthread_cond_broadcast(&state.finished);
    pthread_mutex_unlock(&state.lock);
}

static bool in_cache(const sm_shape *s)
{
    pthread_mutex_lock(&state.lock);
    bool yes = find(s->key, s->key_bytes, hash_key(s->key, s->key_bytes)) != NULL;
    pthread_mutex_unlock(&state.lock);
    return yes;
}

/* ---- the function table ---- */

static bool shape_of(sm_shape *s, const sm_pipeline *p, const sm_jit_sig_col *sig, uint32_t step,
                     sm_jit_pool *pool, char *why, size_t why_bytes)
{
    bool masks;
    const char *cpu = sm_llvm_cpu(&state.llvm, &masks);
    return sm_shape_make(s, p, sig, step, cpu, masks, pool, why, why_bytes);
}

static sm_status shape_failed(const sm_jit_pool *pool, const char *why, sm_error *err)
{
    const sm_jit_host *host = pool->host;
    if (pool->failed)
        return host->raise(err, SM_ERR_OUT_OF_MEMORY, "compile", (size_t)0, (size_t)0);
    return host->raise(err, SM_ERR_NOT_SUPPORTED, why);
}

static bool only_copies(const sm_expr *e)
{
    if (e->kind == SM_EXPR_OP && e->op == SM_OP_i64_to_d128) e = e->args[0];
    return e->kind == SM_EXPR_COLUMN;
}

/* Rows that only pass through are copied faster than any code for it is made. */
static bool computes(const sm_pipeline *p)
{
    if (p->sink == SM_SINK_AGG) return true;
    for (uint32_t k = 0; k < p->n_steps; k++) {
        if (p->steps[k].kind != SM_STEP_PROJECT) return true;
        for (uint32_t i = 0; i < p->steps[k].n_exprs; i++)
            if (!only_copies(p->steps[k].proved[i])) return true;
    }
    return false;
}

static bool can(const sm_pipeline *p, char *why, size_t why_bytes)
{
    sm_jit_pool pool = {.host = state.llvm.host};
    sm_shape s;
    if (why_bytes) why[0] = 0;
    bool ok = computes(p) && shape_of(&s, p, NULL, 0, &pool, why, why_bytes);
    if (!ok && why_bytes && !why[0]) snprintf(why, why_bytes, "nothing to compute");
    sm_jit_pool_reset(&pool);
    return ok;
}

/* The caller's handle; takes the reference to e over. */
static sm_status hand_out(entry *e, bool hit, sm_jit_code **out, sm_error *err)
{
    sm_jit_code *c = state.llvm.host->alloc(sizeof *c);
    if (!c) {
        unref(e);
        return state.llvm.host->raise(err, SM_ERR_OUT_OF_MEMORY, "compile", sizeof *c, (size_t)0);
    }
    *c = (sm_jit_code){e, e->info};
    c->info.cache_hit = hit;
    *out = c;
    return SM_OK;
}

static sm_status compile_shape(const sm_shape *s, const sm_jit_sig_col *sig,
                               const sm_jit_options *o, sm_jit_code **out, sm_error *err)
{
    entry *e = new_entry(s, sig, o->step);
    if (!e)
        return state.llvm.host->raise(err, SM_ERR_OUT_OF_MEMORY, "compile", (size_t)s->key_bytes,
                                      (size_t)0);
    sm_status st = sm_llvm_compile(&state.llvm, s, o, &e->machine, &e->info, err);
    if (st != SM_OK) {
        unref(e);
        return st;
    }
    return hand_out(o->keep_text ? e : insert(e), false, out, err);
}

static sm_status compile(const sm_pipeline *p, const sm_jit_sig_col *sig, const sm_jit_options *o,
                         sm_jit_code **out, sm_error *err)
{
    sm_jit_pool pool = {.host = state.llvm.host};
    sm_shape s;
    char why[256] = "this pipeline";
    sm_status st;
    if (!shape_of(&s, p, sig, o->step, &pool, why, sizeof why)) {
        st = shape_failed(&pool, why, err);
    } else {
        in_work mine;
        entry *e = o->keep_text ? NULL : lookup_or_claim(&s, &mine);
        st = e ? hand_out(e, true, out, err) : compile_shape(&s, sig, o, out, err);
        if (!e && !o->keep_text) unclaim(&mine);
    }
    sm_jit_pool_reset(&pool);
    return st;
}

static void release(sm_jit_code *c)
{
    unref(c->e);
    state.llvm.host->free(c, sizeof *c);
}

static bool cached(const sm_pipeline *p, const sm_jit_sig_col *sig, const sm_jit_options *o)
{
    sm_jit_pool pool = {.host = state.llvm.host};
    sm_shape s;
    bool yes = shape_of(&s, p, sig, o->step, &pool, NULL, 0) && in_cache(&s);
    sm_jit_pool_reset(&pool);
    return yes;
}

static sm_status bind(const sm_jit_code *c, const sm_pipeline *p, sm_arena *a,
                      void *(*vector)(sm_arena *, size_t), void **consts, sm_error *err)
{
    sm_jit_pool pool = {.host = state.llvm.host};
    sm_shape s;
    char why[256] = "this pipeline";
    sm_status st;
    if (!shape_of(&s, p, c->e->sig, c->e->step, &pool, why, sizeof why)) {
        st = shape_failed(&pool, why, err);
    } else if (s.key_bytes != c->e->key_bytes || memcmp(s.key, c->e->key, s.key_bytes) != 0) {
        st = state.llvm.host->raise(err, SM_ERR_INTERNAL, "code of another shape");
    } else {
        st = sm_shape_bind(&s, a, vector, consts, err);
    }
    sm_jit_pool_reset(&pool);
    return st;
}

static const sm_jit_code_info *info(const sm_jit_code *c)
{
    return &c->info;
}

static void counters(uint64_t *entries, uint64_t *bytes, uint64_t *compiles)
{
    pthread_mutex_lock(&state.lock);
    *entries = state.entries;
    *bytes = state.code_bytes;
    pthread_mutex_unlock(&state.lock);
    pthread_mutex_lock(&state.llvm.lock);
    *compiles = state.llvm.n_compiles;
    pthread_mutex_unlock(&state.llvm.lock);
}

__attribute__((visibility("default"))) const sm_jit_module *smelt_jit_init(const sm_jit_host *host)
{
    static sm_jit_module module = {
        .abi = SM_JIT_ABI,
        .llvm_version = SM_LLVM_VERSION,
        .can = can,
        .compile = compile,
        .cached = cached,
        .bind = bind,
        .info = info,
        .release = release,
        .counters = counters,
    };
    if (host->abi != SM_JIT_ABI) return NULL;
    pthread_mutex_lock(&state.lock);
    if (!state.ready) {
        state.ready = sm_llvm_init(&state.llvm, host);
        module.cpu = state.llvm.host_cpu;
    }
    bool ready = state.ready;
    pthread_mutex_unlock(&state.lock);
    return ready ? &module : NULL;
}
