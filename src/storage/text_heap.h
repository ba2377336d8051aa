/* Where the bytes of long texts live: blocks that only grow and never move, so that a view stays
 * good as long as the heap. Short texts (up to 12 bytes) live in their view and never come here. */
#ifndef SM_TEXT_HEAP_H
#define SM_TEXT_HEAP_H

#include "runtime/memory.h"
#include "runtime/value.h"

typedef struct sm_text_block sm_text_block;

typedef struct sm_text_heap {
    _Atomic uint32_t refs;
    uint32_t depth; /* parents in a row: a chain that gets long is worth one copy */
    sm_mem *mem;
    sm_text_block *blocks;
    char *at, *end;
    struct sm_text_heap *parent; /* kept alive, because views of this heap's column point into it */
    sm_buffer *held;             /* likewise, foreign bytes */
} sm_text_heap;

enum { SM_TEXT_HEAP_MAX_DEPTH = 16 };

/** New empty heap, one reference. parent and held (each may be NULL) get a reference more. */
SM_MUST_CHECK sm_status sm_text_heap_new(sm_mem *m, sm_text_heap *parent, sm_buffer *held,
                                         sm_text_heap **out, sm_error *err);
sm_text_heap *sm_text_heap_ref(sm_text_heap *h);
void sm_text_heap_unref(sm_text_heap *h);

SM_MUST_CHECK sm_status sm_text_heap_copy(sm_text_heap *h, sm_text *t, sm_error *err);

/** Makes *t independent of whoever owned its bytes. One thread, and only before the heap is shared. */
SM_MUST_CHECK SM_INLINE sm_status sm_text_heap_own(sm_text_heap *h, sm_text *t, sm_error *err)
{
    return t->len <= SM_TEXT_INLINE ? SM_OK : sm_text_heap_copy(h, t, err);
}

#endif
