/* Bump allocation of text bytes in blocks that double up to 1 MiB. A heap is written by one builder
 * and then only read, so it needs a reference count and no lock. */
#include "storage/text_heap.h"

struct sm_text_block {
    sm_text_block *next;
    size_t bytes; /* all of it */
};

enum { FIRST_BLOCK_BYTES = 2048, LAST_BLOCK_BYTES = 1 << 20 };

sm_status sm_text_heap_new(sm_mem *m, sm_text_heap *parent, sm_buffer *held, sm_text_heap **out,
                           sm_error *err)
{
    void *p = NULL;
    sm_text_heap *h;
    *out = NULL;
    SM_TRY(sm_alloc_zero(m, sizeof *h, "text column", &p, err));
    h = p;
    atomic_init(&h->refs, 1);
    h->mem = m;
    h->parent = sm_text_heap_ref(parent);
    h->held = sm_buffer_ref(held);
    h->depth = parent ? parent->depth + 1 : 0;
    *out = h;
    return SM_OK;
}

sm_text_heap *sm_text_heap_ref(sm_text_heap *h)
{
    if (h) atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    return h;
}

void sm_text_heap_unref(sm_text_heap *h)
{
    while (h && atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) == 1) {
        sm_text_heap *parent = h->parent;
        while (h->blocks) {
            sm_text_block *b = h->blocks;
            h->blocks = b->next;
            sm_free(h->mem, b, b->bytes);
        }
        sm_buffer_unref(h->held);
        sm_free(h->mem, h, sizeof *h);
        h = parent;
    }
}

/* The pad lets comparisons load whole words past the last text. */
static sm_status add_block(sm_text_heap *h, size_t len, sm_error *err)
{
    size_t bytes = h->blocks ? h->blocks->bytes * 2 : FIRST_BLOCK_BYTES;
    size_t need = sizeof(sm_text_block) + len + SM_ALIGN_BYTES;
    void *p = NULL;
    sm_text_block *b;
    if (bytes > LAST_BLOCK_BYTES) bytes = LAST_BLOCK_BYTES;
    if (bytes < need) bytes = need;
    SM_TRY(sm_alloc(h->mem, bytes, "text column", &p, err));
    b = p;
    b->next = h->blocks;
    b->bytes = bytes;
    h->blocks = b;
    h->at = (char *)(b + 1);
    h->end = (char *)b + bytes - SM_ALIGN_BYTES;
    memset(h->end, 0, SM_ALIGN_BYTES);
    return SM_OK;
}

sm_status sm_text_heap_copy(sm_text_heap *h, sm_text *t, sm_error *err)
{
    char *to;
    if (!h->at || (size_t)(h->end - h->at) < t->len) SM_TRY(add_block(h, t->len, err));
    to = h->at;
    memcpy(to, t->ptr, t->len);
    h->at += t->len;
    t->ptr = to;
    return SM_OK;
}
