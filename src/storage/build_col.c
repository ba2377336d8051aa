/* The growable buffers of a builder's column: room, NULLs, text, and the way from dictionary to
 * plain. Sealing is in encode.c. Validity is made at the first NULL and then holds 1 for every row
 * that is not known to be NULL, so that appending values never touches it. */
#include "storage/build_col.h"

sm_status sm_build_col_reserve(sm_build_col *c, sm_mem *m, uint32_t rows, sm_error *err)
{
    void *p = c->data;
    if (rows <= c->cap) return SM_OK;
    SM_TRY(sm_realloc(m, &p, (size_t)c->cap * c->value_bytes, (size_t)rows * c->value_bytes,
                      "table rows", err));
    c->data = p;
    if (c->valid) {
        size_t old = sm_bit_words(c->cap), now = sm_bit_words(rows);
        p = c->valid;
        if (sm_realloc(m, &p, old * 8, now * 8, "table rows", err) != SM_OK) {
            /* the data grew; tell the truth about its size by shrinking it again, which cannot fail
             * to count */
            p = c->data;
            if (sm_realloc(m, &p, (size_t)rows * c->value_bytes, (size_t)c->cap * c->value_bytes,
                           "table rows", NULL) == SM_OK)
                c->data = p;
            return SM_ERR_OUT_OF_MEMORY;
        }
        c->valid = p;
        memset(c->valid + old, 0xFF, (now - old) * 8);
    }
    c->cap = rows;
    return SM_OK;
}

static sm_status make_valid(sm_build_col *c, sm_mem *m, sm_error *err)
{
    size_t bytes = sm_bit_words(c->cap) * 8;
    void *p = NULL;
    SM_TRY(sm_alloc(m, bytes, "table rows", &p, err));
    memset(p, 0xFF, bytes);
    c->valid = p;
    return SM_OK;
}

sm_status sm_build_col_null(sm_build_col *c, sm_mem *m, uint32_t row, sm_error *err)
{
    if (!c->valid) SM_TRY(make_valid(c, m, err));
    if (c->dict && !c->words.n && !c->words.base) {
        uint32_t code;
        SM_TRY(sm_dict_build_code(&c->words, m, sm_text_view("", 0), &code, err));
    }
    sm_bit_clear(c->valid, row);
    memset((char *)c->data + (size_t)row * c->value_bytes, 0, c->value_bytes);
    return SM_OK;
}

/* As PostgreSQL: blanks beyond the limit are cut off, anything else is an error. */
sm_status sm_build_fit_varchar(uint32_t max_chars, sm_text *t, sm_error *err)
{
    const char *s = sm_text_bytes(t);
    uint32_t chars = 0, end = 0;
    while (end < t->len) {
        if (((unsigned char)s[end] & 0xC0) != 0x80 && chars++ == max_chars) break;
        end++;
    }
    for (uint32_t i = end; i < t->len; i++)
        if (s[i] != ' ') return sm_raise(err, SM_ERR_VARCHAR_LENGTH, (int)max_chars);
    if (end < t->len) {
        sm_text cut = sm_text_view(s, end);
        *t = cut;
    }
    return SM_OK;
}

sm_status sm_build_col_to_plain(sm_build_col *c, sm_mem *m, uint32_t rows, sm_error *err)
{
    const sm_text *entries = sm_dict_build_entries(&c->words);
    const uint16_t *codes = c->data;
    sm_text_heap *parent = c->words.heap   ? c->words.heap
                           : c->words.base ? c->words.base->heap
                                           : NULL;
    sm_text *views;
    void *p = NULL;
    if (!c->heap) SM_TRY(sm_text_heap_new(m, parent, NULL, &c->heap, err));
    SM_TRY(sm_alloc(m, (size_t)c->cap * sizeof *views, "table rows", &p, err));
    views = p;
    for (uint32_t i = 0; i < rows; i++)
        views[i] = c->valid && !sm_bit_get(c->valid, i) ? (sm_text){0} : entries[codes[i]];
    sm_free(m, c->data, (size_t)c->cap * c->value_bytes);
    c->data = views;
    c->value_bytes = sizeof *views;
    c->dict = false;
    return SM_OK;
}

sm_status sm_build_col_text(sm_build_col *c, sm_mem *m, uint32_t row, sm_text t, sm_error *err)
{
    if (c->max_chars && t.len > c->max_chars) SM_TRY(sm_build_fit_varchar(c->max_chars, &t, err));
    if (c->dict) {
        uint32_t code;
        SM_TRY(sm_dict_build_code(&c->words, m, t, &code, err));
        if (code != SM_DICT_FULL) {
            ((uint16_t *)c->data)[row] = (uint16_t)code;
            return SM_OK;
        }
        SM_TRY(sm_build_col_to_plain(c, m, row, err));
    }
    if (t.len > SM_TEXT_INLINE) {
        if (!c->heap) SM_TRY(sm_text_heap_new(m, NULL, NULL, &c->heap, err));
        SM_TRY(sm_text_heap_copy(c->heap, &t, err));
    }
    ((sm_text *)c->data)[row] = t;
    return SM_OK;
}

void sm_build_col_truncate(sm_build_col *c, uint32_t rows)
{
    if (!c->valid || rows >= c->cap) return;
    c->valid[rows >> 6] |= ~(uint64_t)0 << (rows & 63);
    for (size_t w = (rows >> 6) + 1; w < sm_bit_words(c->cap); w++) c->valid[w] = ~(uint64_t)0;
}

void sm_build_col_reset(sm_build_col *c, sm_mem *m)
{
    sm_free(m, c->data, (size_t)c->cap * c->value_bytes);
    sm_free(m, c->valid, sm_bit_words(c->cap) * 8);
    sm_text_heap_unref(c->heap);
    sm_dict_build_reset(&c->words, m);
    *c = (sm_build_col){.data = NULL};
}
