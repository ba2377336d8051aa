/* Databases: set up and torn down in order, the list of running statements, leases. */
#include "exec/engine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t sm_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

sm_status sm_lease_new(sm_mem *mem, const char *what, sm_lease **out, sm_error *err)
{
    void *p = NULL;
    *out = NULL;
    SM_TRY(sm_alloc_zero(mem, sizeof(sm_lease), what, &p, err));
    sm_lease *l = p;
    atomic_init(&l->refs, 1);
    l->mem = mem;
    sm_arena_init(&l->arena, mem, what);
    *out = l;
    return SM_OK;
}

void sm_lease_unref(sm_lease *l)
{
    if (!l || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1) return;
    sm_arena_reset(&l->arena);
    sm_free(l->mem, l, sizeof *l);
}

static sm_status compiler_init(sm_compiler *c, const char *path, sm_error *err)
{
    *c = (sm_compiler){0};
    if (path) snprintf(c->path, sizeof c->path, "%s", path);
    atomic_init(&c->estimate_ns, 10 * 1000 * 1000);
    atomic_init(&c->speedup_percent, 250);
    if (pthread_mutex_init(&c->lock, NULL) || pthread_cond_init(&c->work, NULL)) {
        return sm_raise(err, SM_ERR_INTERNAL, "no thread primitives");
    }
    return SM_OK;
}

static void compiler_reset(sm_compiler *c)
{
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    if (c->started) pthread_join(c->thread, NULL);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->work);
}

sm_status sm_engine_init(sm_engine *e, const char *jit_path, sm_error *err)
{
    memset(e, 0, sizeof *e);
    sm_mem_init(&e->mem, NULL, SIZE_MAX);
    sm_settings_init(&e->settings);
    SM_TRY(sm_pool_init(&e->pool, err));
    SM_TRY(compiler_init(&e->compiler, jit_path, err));
    if (pthread_mutex_init(&e->running_lock, NULL)) {
        return sm_raise(err, SM_ERR_INTERNAL, "no thread primitives");
    }
    return sm_catalog_init(&e->catalog, &e->mem, err);
}

void sm_engine_reset(sm_engine *e)
{
    compiler_reset(&e->compiler);
    sm_pool_reset(&e->pool);
    sm_catalog_reset(&e->catalog);
    pthread_mutex_destroy(&e->running_lock);
}

sm_status sm_engine_set(sm_engine *e, const char *name, const char *value, sm_error *err)
{
    sm_setting which;
    SM_TRY(sm_settings_set(&e->settings, name, value, &which, err));
    int64_t v = sm_setting_get(&e->settings, which);
    if (which == SM_SETTING_memory_limit) {
        atomic_store(&e->mem.limit_bytes, v ? (size_t)v : SIZE_MAX);
    } else if (which == SM_SETTING_hash_zero) {
        sm_hash_zero_set(v != 0);
    }
    return SM_OK;
}

void sm_engine_enter(sm_engine *e, sm_control *c)
{
    pthread_mutex_lock(&e->running_lock);
    c->next = e->running;
    e->running = c;
    pthread_mutex_unlock(&e->running_lock);
}

void sm_engine_leave(sm_engine *e, sm_control *c)
{
    pthread_mutex_lock(&e->running_lock);
    for (sm_control **at = &e->running; *at; at = &(*at)->next) {
        if (*at == c) {
            *at = c->next;
            break;
        }
    }
    pthread_mutex_unlock(&e->running_lock);
}

void sm_engine_cancel_all(sm_engine *e)
{
    pthread_mutex_lock(&e->running_lock);
    for (sm_control *c = e->running; c; c = c->next) atomic_store(&c->cancel, true);
    pthread_mutex_unlock(&e->running_lock);
}
