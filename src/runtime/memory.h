/* The only place that calls malloc. Three things:
 *   sm_mem     an account: every allocation is counted against a limit (atomically; any thread)
 *   sm_arena   memory with one lifetime (query, pipeline, statement); freed as a whole; one thread
 * at a time sm_buffer  reference-counted, 64-byte aligned, zero-padded by SM_PAD_BYTES; shared by
 * chunks, results Allocation failures and a reached limit are statuses (SM_ERR_OUT_OF_MEMORY),
 * never aborts. */
#ifndef SM_MEMORY_H
#define SM_MEMORY_H

#include <stdatomic.h>

#include "error.h"

typedef struct sm_mem {
    _Atomic size_t used_bytes;
    _Atomic size_t peak_bytes;
    _Atomic size_t limit_bytes; /* SIZE_MAX = none */
    struct sm_mem *parent;      /* also charged; NULL at the top */
    _Atomic int64_t
        fail_after; /* tests: calls that still succeed before one fails; negative = all */
} sm_mem;

void sm_mem_init(sm_mem *m, sm_mem *parent, size_t limit_bytes);

/** size bytes, uninitialised; `what` names the operator in the error. NULL out on failure. */
SM_MUST_CHECK sm_status sm_alloc(sm_mem *m, size_t bytes, const char *what, void **out,
                                 sm_error *err);
SM_MUST_CHECK sm_status sm_alloc_zero(sm_mem *m, size_t bytes, const char *what, void **out,
                                      sm_error *err);
/** Grows or shrinks *p from old_bytes to new_bytes; on failure *p stays as it was. */
SM_MUST_CHECK sm_status sm_realloc(sm_mem *m, void **p, size_t old_bytes, size_t new_bytes,
                                   const char *what, sm_error *err);
/** bytes must be what was asked for; p may be NULL. */
void sm_free(sm_mem *m, void *p, size_t bytes);

typedef struct sm_arena_block sm_arena_block;
typedef struct sm_arena_cleanup sm_arena_cleanup;
typedef struct sm_arena {
    sm_mem *mem;
    const char *what;
    sm_arena_block *blocks; /* in use; at and end lie in the first */
    sm_arena_block *spare;  /* kept by a rewind */
    sm_arena_cleanup *cleanups;
    char *at, *end;
    size_t wanted_bytes; /* of the request that failed */
} sm_arena;

void sm_arena_init(sm_arena *a, sm_mem *mem, const char *what);
/** 16-byte aligned, uninitialised; NULL when memory is out. */
void *sm_arena_alloc(sm_arena *a, size_t bytes);
void *sm_arena_zero(sm_arena *a, size_t bytes);
/** 64-byte aligned, zeroed, padded by SM_PAD_BYTES. */
void *sm_arena_vector(sm_arena *a, size_t bytes);
char *sm_arena_strdup(sm_arena *a, const char *s);
char *sm_arena_strndup(sm_arena *a, const char *s, size_t n);
char *sm_arena_printf(sm_arena *a, const char *format, ...) SM_PRINTF(2, 3);
/** Runs fn(p) when the arena is reset, last added first. False when memory is out (fn was run at
 * once). */
bool sm_arena_on_reset(sm_arena *a, void (*fn)(void *p), void *p);
/** Forgets every allocation but keeps the memory for the next ones (clean-ups run): for per-batch
 * scratch. */
void sm_arena_rewind(sm_arena *a);
/** Frees everything; the arena can be used again. */
void sm_arena_reset(sm_arena *a);
/** The error for a NULL from the arena. */
sm_status sm_arena_failed(const sm_arena *a, sm_error *err);

#define SM_NEW(arena, type)      ((type *)sm_arena_zero((arena), sizeof(type)))
#define SM_NEW_N(arena, type, n) ((type *)sm_arena_zero((arena), sizeof(type) * (size_t)(n)))

typedef struct sm_buffer {
    _Atomic uint32_t refs;
    sm_mem *mem;  /* charged account; must outlive the buffer */
    size_t bytes; /* usable; SM_PAD_BYTES more are readable when own */
    char *data;
    void (*release)(void *arg); /* foreign data: called at the last unref; NULL = own */
    void *release_arg;
} sm_buffer;

/** New own buffer, zeroed, one reference. */
SM_MUST_CHECK sm_status sm_buffer_new(sm_mem *m, size_t bytes, const char *what, sm_buffer **out,
                                      sm_error *err);
/** Wraps foreign memory, which is only read, never past its end. */
SM_MUST_CHECK sm_status sm_buffer_wrap(sm_mem *m, const void *data, size_t bytes,
                                       void (*release)(void *), void *release_arg, sm_buffer **out,
                                       sm_error *err);
SM_INLINE sm_buffer *sm_buffer_ref(sm_buffer *b)
{
    if (b) atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}
void sm_buffer_unref(sm_buffer *b);

#endif
