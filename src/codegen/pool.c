/* Memory of one compile: blocks from the host's allocator, freed together. A failure is remembered
 * instead of reported at every call; whoever owns the pool asks once at the end. Read shape.h
 * first. */
#include "shape.h"

typedef struct sm_jit_pool_block {
    struct sm_jit_pool_block *next;
    size_t bytes;
} sm_jit_pool_block;

enum { BLOCK_BYTES = 32 * 1024, HEADER_BYTES = 16 };
static_assert(sizeof(sm_jit_pool_block) <= HEADER_BYTES, "blocks stay 16-byte aligned");

void *sm_jit_pool_get(sm_jit_pool *m, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if ((size_t)(m->end - m->at) < bytes || !m->blocks) {
        size_t want = bytes + HEADER_BYTES > BLOCK_BYTES ? bytes + HEADER_BYTES : BLOCK_BYTES;
        sm_jit_pool_block *b = m->host->alloc(want);
        if (!b) {
            m->failed = true;
            return NULL;
        }
        b->next = m->blocks;
        b->bytes = want;
        m->blocks = b;
        m->at = (char *)b + HEADER_BYTES;
        m->end = (char *)b + want;
    }
    void *p = m->at;
    m->at += bytes;
    memset(p, 0, bytes);
    return p;
}

void sm_jit_pool_reset(sm_jit_pool *m)
{
    for (sm_jit_pool_block *b = m->blocks, *next; b; b = next) {
        next = b->next;
        m->host->free(b, b->bytes);
    }
    m->blocks = NULL;
    m->at = m->end = NULL;
    m->failed = false;
}
