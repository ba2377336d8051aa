/* Accounts, arenas and shared buffers: the only file that calls malloc. An account is charged
 * before the memory is asked for, upwards to the top, and is given back all of it if any level
 * refuses; so the sum of what is charged never passes a limit, whatever the threads do. Read
 * memory.h first. */
#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK_BYTES = 4096, LAST_BLOCK_BYTES = 1 << 20 };

struct sm_arena_block {
    sm_arena_block *next;
    size_t bytes; /* all of it, header included */
};

struct sm_arena_cleanup {
    sm_arena_cleanup *next;
    void (*fn)(void *p);
    void *p;
};

static_assert(sizeof(sm_arena_block) == 16, "keeps what follows it 16-byte aligned");

/* ---- accounts ---- */

void sm_mem_init(sm_mem *m, sm_mem *parent, size_t limit_bytes)
{
    atomic_init(&m->used_bytes, 0);
    atomic_init(&m->peak_bytes, 0);
    atomic_init(&m->limit_bytes, limit_bytes);
    atomic_init(&m->fail_after, -1);
    m->parent = parent;
}

static void give_back(sm_mem *m, const sm_mem *end, size_t bytes)
{
    for (; m != end; m = m->parent)
        atomic_fetch_sub_explicit(&m->used_bytes, bytes, memory_order_relaxed);
}

static bool made_to_fail(sm_mem *m)
{
    if (atomic_load_explicit(&m->fail_after, memory_order_relaxed) < 0) return false;
    return atomic_fetch_sub_explicit(&m->fail_after, 1, memory_order_relaxed) == 0;
}

static bool charge_one(sm_mem *m, size_t bytes)
{
    size_t used = atomic_load_explicit(&m->used_bytes, memory_order_relaxed);
    size_t limit = atomic_load_explicit(&m->limit_bytes, memory_order_relaxed);
    size_t peak;
    do {
        if (used > limit || bytes > limit - used) return false;
    } while (!atomic_compare_exchange_weak_explicit(&m->used_bytes, &used, used + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    peak = atomic_load_explicit(&m->peak_bytes, memory_order_relaxed);
    while (peak < used + bytes &&
           !atomic_compare_exchange_weak_explicit(&m->peak_bytes, &peak, used + bytes,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return true;
}

/* NULL, or the account that refused; then nothing is charged. */
static const sm_mem *charge(sm_mem *m, size_t bytes)
{
    for (sm_mem *at = m; at; at = at->parent) {
        if (made_to_fail(at) || !charge_one(at, bytes)) {
            give_back(m, at, bytes);
            return at;
        }
    }
    return NULL;
}

static sm_status out_of_memory(const sm_mem *m, size_t bytes, const char *what, sm_error *err)
{
    size_t limit = SIZE_MAX;
    for (; m; m = m->parent) {
        size_t own = atomic_load_explicit(&m->limit_bytes, memory_order_relaxed);
        if (own < limit) limit = own;
    }
    return sm_raise(err, SM_ERR_OUT_OF_MEMORY, what, bytes, limit);
}

/* malloc may answer a request of 0 with NULL; an empty allocation is still an allocation here. */
static size_t at_least_one(size_t bytes)
{
    return bytes ? bytes : 1;
}

static sm_status allocate(sm_mem *m, size_t bytes, const char *what, void **out, sm_error *err,
                          bool zero)
{
    *out = NULL;
    if (charge(m, bytes)) return out_of_memory(m, bytes, what, err);
    *out = zero ? calloc(1, at_least_one(bytes)) : malloc(at_least_one(bytes));
    if (*out) return SM_OK;
    give_back(m, NULL, bytes);
    return out_of_memory(m, bytes, what, err);
}

sm_status sm_alloc(sm_mem *m, size_t bytes, const char *what, void **out, sm_error *err)
{
    return allocate(m, bytes, what, out, err, false);
}

sm_status sm_alloc_zero(sm_mem *m, size_t bytes, const char *what, void **out, sm_error *err)
{
    return allocate(m, bytes, what, out, err, true);
}

/* Both old and new may exist for a moment, but only the larger is charged: the libc resizes big
 * ones in place. */
sm_status sm_realloc(sm_mem *m, void **p, size_t old_bytes, size_t new_bytes, const char *what,
                     sm_error *err)
{
    void *moved;
    if (!*p) return sm_alloc(m, new_bytes, what, p, err);
    if (new_bytes > old_bytes && charge(m, new_bytes - old_bytes))
        return out_of_memory(m, new_bytes, what, err);
    moved = realloc(*p, at_least_one(new_bytes));
    if (!moved) {
        if (new_bytes > old_bytes) give_back(m, NULL, new_bytes - old_bytes);
        return out_of_memory(m, new_bytes, what, err);
    }
    if (new_bytes < old_bytes) give_back(m, NULL, old_bytes - new_bytes);
    *p = moved;
    return SM_OK;
}

void sm_free(sm_mem *m, void *p, size_t bytes)
{
    if (!p) return;
    free(p);
    give_back(m, NULL, bytes);
}

/* ---- arenas ---- */

void sm_arena_init(sm_arena *a, sm_mem *mem, const char *what)
{
    *a = (sm_arena){.mem = mem, .what = what};
}

static void use_block(sm_arena *a, sm_arena_block *b)
{
    b->next = a->blocks;
    a->blocks = b;
    a->at = (char *)(b + 1);
    a->end = (char *)b + b->bytes;
}

static bool use_spare(sm_arena *a, size_t bytes)
{
    for (sm_arena_block **link = &a->spare; *link; link = &(*link)->next) {
        sm_arena_block *b = *link;
        if (b->bytes < bytes) continue;
        *link = b->next;
        use_block(a, b);
        return true;
    }
    return false;
}

/* Blocks double, so that n bytes cost O(log n) calls; the step is capped so that little is left
 * over. */
static size_t next_block_bytes(const sm_arena *a, size_t bytes)
{
    size_t next = a->blocks ? a->blocks->bytes * 2 : FIRST_BLOCK_BYTES;
    if (next > LAST_BLOCK_BYTES) next = LAST_BLOCK_BYTES;
    return next > bytes ? next : bytes;
}

/* Makes room for bytes and the worst alignment; false with wanted_bytes set when memory is out. */
static bool grow(sm_arena *a, size_t bytes)
{
    size_t need = bytes + sizeof(sm_arena_block) + SM_ALIGN_BYTES;
    void *p = NULL;
    a->wanted_bytes = bytes;
    if (need < bytes) return false;
    if (use_spare(a, need)) return true;
    need = next_block_bytes(a, need);
    if (sm_alloc(a->mem, need, a->what, &p, NULL) != SM_OK) return false;
    ((sm_arena_block *)p)->bytes = need;
    use_block(a, p);
    return true;
}

static void *take(sm_arena *a, size_t bytes, size_t align)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        uintptr_t at = ((uintptr_t)a->at + align - 1) & ~(uintptr_t)(align - 1);
        uintptr_t end = (uintptr_t)a->end;
        if (a->at && at <= end && bytes <= end - at) {
            a->at = (char *)at + bytes;
            return (char *)at;
        }
        if (!grow(a, bytes)) return NULL;
    }
    return NULL;
}

void *sm_arena_alloc(sm_arena *a, size_t bytes)
{
    return take(a, bytes, 16);
}

void *sm_arena_zero(sm_arena *a, size_t bytes)
{
    void *p = take(a, bytes, 16);
    return p ? memset(p, 0, bytes) : NULL;
}

void *sm_arena_vector(sm_arena *a, size_t bytes)
{
    void *p;
    if (bytes > SIZE_MAX - SM_PAD_BYTES) {
        a->wanted_bytes = bytes;
        return NULL;
    }
    p = take(a, bytes + SM_PAD_BYTES, SM_ALIGN_BYTES);
    return p ? memset(p, 0, bytes + SM_PAD_BYTES) : NULL;
}

char *sm_arena_strdup(sm_arena *a, const char *s)
{
    return sm_arena_strndup(a, s, strlen(s));
}

char *sm_arena_strndup(sm_arena *a, const char *s, size_t n)
{
    char *p = take(a, n + 1, 1);
    if (!p) return NULL;
    if (n) memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *sm_arena_printf(sm_arena *a, const char *format, ...)
{
    va_list args, again;
    char *p = NULL;
    int n;
    va_start(args, format);
    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, args);
    if (n >= 0) p = take(a, (size_t)n + 1, 1);
    if (p) vsnprintf(p, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return p;
}

bool sm_arena_on_reset(sm_arena *a, void (*fn)(void *p), void *p)
{
    sm_arena_cleanup *c = take(a, sizeof *c, 16);
    if (!c) {
        fn(p);
        return false;
    }
    *c = (sm_arena_cleanup){a->cleanups, fn, p};
    a->cleanups = c;
    return true;
}

/* A clean-up may add another one; the list is read anew each time. */
static void clean_up(sm_arena *a)
{
    while (a->cleanups) {
        sm_arena_cleanup *c = a->cleanups;
        a->cleanups = c->next;
        c->fn(c->p);
    }
}

void sm_arena_rewind(sm_arena *a)
{
    clean_up(a);
    while (a->blocks) {
        sm_arena_block *b = a->blocks;
        a->blocks = b->next;
        b->next = a->spare;
        a->spare = b;
    }
    a->at = a->end = NULL;
}

void sm_arena_reset(sm_arena *a)
{
    sm_arena_rewind(a);
    while (a->spare) {
        sm_arena_block *b = a->spare;
        a->spare = b->next;
        sm_free(a->mem, b, b->bytes);
    }
}

sm_status sm_arena_failed(const sm_arena *a, sm_error *err)
{
    return out_of_memory(a->mem, a->wanted_bytes, a->what, err);
}

/* ---- shared buffers ---- */

/* An own buffer lies in one zeroed allocation: header, then data at the next multiple of 64. Fresh
 * zero pages of the kernel are not written again, which halves the cost of large buffers. */
typedef struct own_buffer {
    sm_buffer buffer;
    void *raw;
    size_t raw_bytes;
} own_buffer;
static_assert(sizeof(own_buffer) <= SM_ALIGN_BYTES, "header fits the line before the data");

/* Columns of a table are buffers of equal size that loops read side by side. If they all began at
 * the same offset in a page they would share the few lines of one L1 set; so each begins some lines
 * further on. */
static size_t page_offset(const sm_mem *m)
{
    size_t used = atomic_load_explicit(&m->used_bytes, memory_order_relaxed);
    return ((used >> 6) * 13 & 31) * SM_ALIGN_BYTES;
}

sm_status sm_buffer_new(sm_mem *m, size_t bytes, const char *what, sm_buffer **out, sm_error *err)
{
    size_t skip = page_offset(m);
    size_t raw_bytes = bytes + SM_PAD_BYTES + 2 * SM_ALIGN_BYTES + skip;
    own_buffer *b;
    uintptr_t data;
    void *raw = NULL;
    *out = NULL;
    if (raw_bytes < bytes) return out_of_memory(m, bytes, what, err);
    SM_TRY(sm_alloc_zero(m, raw_bytes, what, &raw, err));
    data = ((uintptr_t)raw + skip + 2 * SM_ALIGN_BYTES - 1) & ~(uintptr_t)(SM_ALIGN_BYTES - 1);
    b = (own_buffer *)(data - SM_ALIGN_BYTES);
    b->raw = raw;
    b->raw_bytes = raw_bytes;
    b->buffer.mem = m;
    b->buffer.bytes = bytes;
    b->buffer.data = (char *)data;
    atomic_init(&b->buffer.refs, 1);
    *out = &b->buffer;
    return SM_OK;
}

sm_status sm_buffer_wrap(sm_mem *m, const void *data, size_t bytes, void (*release)(void *),
                         void *release_arg, sm_buffer **out, sm_error *err)
{
    own_buffer *b;
    void *raw = NULL;
    *out = NULL;
    SM_TRY(sm_alloc_zero(m, sizeof *b, "buffer", &raw, err));
    b = raw;
    b->raw = raw;
    b->raw_bytes = sizeof *b;
    b->buffer.mem = m;
    b->buffer.bytes = bytes;
    b->buffer.data = (char *)(uintptr_t)data;
    b->buffer.release = release;
    b->buffer.release_arg = release_arg;
    atomic_init(&b->buffer.refs, 1);
    *out = &b->buffer;
    return SM_OK;
}

void sm_buffer_unref(sm_buffer *b)
{
    own_buffer *own = (own_buffer *)b;
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
    if (b->release) b->release(b->release_arg);
    sm_free(b->mem, own->raw, own->raw_bytes);
}
