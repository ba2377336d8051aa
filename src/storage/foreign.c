/* Columns of caller memory as chunks: values stay where they are and are cut every 65,536 rows, so
 * that each chunk's pointer stays aligned for its element. Bitmaps are copied (to begin at bit 0,
 * padded), bools packed. What must be checked or joined to a partial chunk goes through a builder
 * instead. */
#include "storage/build_col.h"
#include "storage/kernels.h"

typedef struct import {
    sm_mem *mem;
    const sm_table_col *cols;
    const sm_foreign_col *data;
    uint32_t n_cols;
    uint64_t n_rows;
    sm_buffer **bufs; /* one per column; released with the last chunk */
} import;

/* Bits [from, from + n) of an Arrow bitmap to words; never reads past the bitmap's last byte. */
static void copy_bits(const uint8_t *bits, uint64_t from, uint32_t n, uint64_t *words)
{
    const uint8_t *at = bits + from / 8;
    unsigned shift = from % 8;
    size_t last = (shift + n - 1) / 8;
    uint8_t *to = (uint8_t *)words;
    for (size_t i = 0; i * 8 < n; i++) {
        unsigned low = at[i] >> shift;
        unsigned high = shift && i + 1 <= last ? (unsigned)at[i + 1] << (8 - shift) : 0;
        to[i] = (uint8_t)(low | high);
    }
    if (n % 64) words[n / 64] &= ~(uint64_t)0 >> (64 - n % 64);
}

static sm_status import_valid(const import *im, uint32_t i, uint64_t from, uint32_t n,
                              sm_chunk_col *out, sm_error *err)
{
    const sm_foreign_col *f = &im->data[i];
    uint64_t *words;
    uint32_t set = 0;
    if (!f->valid) return SM_OK;
    SM_TRY(sm_buffer_new(im->mem, sm_bit_words(n) * 8, "imported column", &out->valid_buf, err));
    words = (uint64_t *)(void *)out->valid_buf->data;
    copy_bits(f->valid, f->valid_offset + from, n, words);
    for (size_t w = 0; w < sm_bit_words(n); w++) set += (uint32_t)__builtin_popcountll(words[w]);
    out->null_count = n - set;
    if (out->null_count) {
        out->valid = words;
    } else {
        sm_buffer_unref(out->valid_buf);
        out->valid_buf = NULL;
    }
    return SM_OK;
}

/* Numbers without NULLs: whole loops. */
static void minmax_dense(sm_chunk_col *c, sm_phys p, uint32_t n)
{
    const sm_column_kernels *k = sm_column_kernels_get();
    int64_t lo = 0, hi = 0;
    c->has_minmax = true;
    switch (p) {
    case SM_PHYS_I16:
        k->minmax_i16(c->data, n, &lo, &hi);
        c->min.i16 = (int16_t)lo;
        c->max.i16 = (int16_t)hi;
        break;
    case SM_PHYS_I32:
        k->minmax_i32(c->data, n, &lo, &hi);
        c->min.i32 = (int32_t)lo;
        c->max.i32 = (int32_t)hi;
        break;
    case SM_PHYS_I64: k->minmax_i64(c->data, n, &c->min.i64, &c->max.i64); break;
    case SM_PHYS_F32: c->has_minmax = k->minmax_f32(c->data, n, &c->min.f32, &c->max.f32); break;
    default: c->has_minmax = k->minmax_f64(c->data, n, &c->min.f64, &c->max.f64); break;
    }
}

static bool value_precedes(sm_phys p, const sm_value *a, const sm_value *b)
{
    switch (p) {
    case SM_PHYS_F32: return a->f32 < b->f32;
    case SM_PHYS_F64: return a->f64 < b->f64;
    case SM_PHYS_TEXT: return sm_text_cmp(a->text, b->text) < 0;
    default: return sm_value_int(a, p) < sm_value_int(b, p);
    }
}

static void minmax_slow(sm_chunk_col *c, sm_type type, uint32_t n)
{
    sm_phys p = sm_type_phys(type);
    c->has_minmax = false;
    if (p == SM_PHYS_IV) return;
    for (uint32_t i = 0; i < n; i++) {
        sm_value v;
        sm_chunk_col_get(c, type, i, &v);
        if (v.is_null) continue;
        if ((p == SM_PHYS_F32 && v.f32 != v.f32) || (p == SM_PHYS_F64 && v.f64 != v.f64)) {
            c->has_minmax = false;
            return;
        }
        if (!c->has_minmax || value_precedes(p, &v, &c->min)) c->min = v;
        if (!c->has_minmax || value_precedes(p, &c->max, &v)) c->max = v;
        c->has_minmax = true;
    }
}

static sm_status import_bools(const import *im, uint32_t i, uint64_t from, uint32_t n,
                              sm_chunk_col *c, sm_error *err)
{
    uint64_t *bits;
    SM_TRY(sm_buffer_new(im->mem, sm_bit_words(n) * 8, "imported column", &c->data_buf, err));
    bits = (uint64_t *)(void *)c->data_buf->data;
    sm_column_kernels_get()->pack_bits((const uint8_t *)im->data[i].data + from, n, bits);
    c->data = bits;
    c->padded = true;
    return SM_OK;
}

/* A view under a NULL may point anywhere; so views of a column with NULLs are copied, without
 * those. */
static sm_status import_views(const import *im, uint32_t i, uint32_t n, sm_chunk_col *c,
                              sm_error *err)
{
    const sm_text *from = c->data;
    sm_text *to;
    sm_buffer *held = c->data_buf;
    c->data_buf = NULL;
    sm_status status = sm_text_heap_new(im->mem, NULL, im->bufs[i], &c->heap, err);
    sm_buffer_unref(held);
    SM_TRY(status);
    SM_TRY(sm_buffer_new(im->mem, (size_t)n * sizeof *to, "imported column", &c->data_buf, err));
    to = (sm_text *)(void *)c->data_buf->data;
    for (uint32_t r = 0; r < n; r++)
        if (sm_bit_get(c->valid, r)) to[r] = from[r];
    c->data = to;
    c->padded = true;
    return SM_OK;
}

static sm_status import_col(const import *im, uint32_t i, uint64_t from, uint32_t n,
                            sm_chunk_col *c, sm_error *err)
{
    sm_type type = im->cols[i].type;
    sm_phys p = sm_type_phys(type);
    SM_TRY(import_valid(im, i, from, n, c, err));
    c->enc = SM_ENC_PLAIN;
    if (p == SM_PHYS_BOOL) {
        SM_TRY(import_bools(im, i, from, n, c, err));
    } else {
        c->width = (uint8_t)sm_phys_bytes(p);
        c->data = (const char *)im->data[i].data + from * c->width;
        c->data_buf = sm_buffer_ref(im->bufs[i]);
        if (p == SM_PHYS_TEXT && c->valid) SM_TRY(import_views(im, i, n, c, err));
    }
    if (c->valid || p == SM_PHYS_BOOL || p == SM_PHYS_I128 || p == SM_PHYS_IV || p == SM_PHYS_TEXT)
        minmax_slow(c, type, n);
    else
        minmax_dense(c, p, n);
    return SM_OK;
}

static sm_status import_chunks(const import *im, sm_chunk **chunks, sm_error *err)
{
    for (uint64_t k = 0, from = 0; from < im->n_rows; k++, from += SM_CHUNK_ROWS) {
        uint64_t left = im->n_rows - from;
        uint32_t n = left < SM_CHUNK_ROWS ? (uint32_t)left : SM_CHUNK_ROWS;
        SM_TRY(sm_chunk_new(im->mem, n, im->n_cols, &chunks[k], err));
        for (uint32_t i = 0; i < im->n_cols; i++)
            SM_TRY(import_col(im, i, from, n, &chunks[k]->cols[i], err));
    }
    return SM_OK;
}

/* ---- the copying way ---- */

static bool violates(const import *im, uint32_t i)
{
    const sm_foreign_col *f = &im->data[i];
    uint32_t max_chars = im->cols[i].max_chars;
    bool text = sm_type_phys(im->cols[i].type) == SM_PHYS_TEXT;
    for (uint64_t r = 0; r < im->n_rows && (f->valid || (text && max_chars)); r++) {
        uint64_t bit = f->valid_offset + r;
        bool present = !f->valid || f->valid[bit / 8] >> (bit % 8) & 1;
        if (!present && im->cols[i].not_null) return true;
        if (present && text && max_chars && ((const sm_text *)f->data)[r].len > max_chars)
            return true;
    }
    return false;
}

static bool must_copy(const import *im, const sm_version *base)
{
    if (base && base->n_chunks && base->chunks[base->n_chunks - 1]->n_rows < SM_CHUNK_ROWS)
        return true;
    for (uint32_t i = 0; i < im->n_cols; i++) {
        bool checked = im->cols[i].not_null || im->cols[i].max_chars;
        if (checked && violates(im, i)) return true;
    }
    return false;
}

static sm_status copy_batch(const import *im, sm_builder *b, uint64_t from, uint32_t n,
                            sm_vec *vecs, uint64_t *words, sm_error *err)
{
    sm_batch batch = {.cols = vecs, .n_cols = im->n_cols, .n_rows = n, .n_sel = n};
    for (uint32_t i = 0; i < im->n_cols; i++) {
        const sm_foreign_col *f = &im->data[i];
        sm_phys p = sm_type_phys(im->cols[i].type);
        uint64_t *valid = words + (size_t)i * sm_bit_words(SM_BATCH_ROWS);
        const char *at = (const char *)f->data + from * sm_phys_bytes(p);
        vecs[i] = (sm_vec){.data = (void *)(uintptr_t)at, .phys = p};
        if (!f->valid) continue;
        copy_bits(f->valid, f->valid_offset + from, n, valid);
        vecs[i].valid = valid;
    }
    return sm_builder_batch(b, &batch, err);
}

static sm_status copy_all(const import *im, const sm_version *base, sm_version **out, sm_error *err)
{
    sm_builder *b = NULL;
    sm_arena a;
    sm_status status;
    sm_vec *vecs;
    uint64_t *words;
    SM_TRY(sm_builder_new(im->mem, im->cols, im->n_cols, base, &b, err));
    sm_arena_init(&a, im->mem, "imported column");
    vecs = SM_NEW_N(&a, sm_vec, im->n_cols);
    words = SM_NEW_N(&a, uint64_t, im->n_cols * sm_bit_words(SM_BATCH_ROWS));
    status = vecs && words ? SM_OK : sm_arena_failed(&a, err);
    for (uint64_t from = 0; status == SM_OK && from < im->n_rows; from += SM_BATCH_ROWS) {
        uint64_t left = im->n_rows - from;
        uint32_t n = left < SM_BATCH_ROWS ? (uint32_t)left : SM_BATCH_ROWS;
        status = copy_batch(im, b, from, n, vecs, words, err);
    }
    sm_arena_reset(&a);
    if (status != SM_OK) {
        sm_builder_free(b);
        return status;
    }
    return sm_builder_finish(b, out, err);
}

/* ---- both ---- */

/* Buffers get their release function only when nothing can fail any more. */
static sm_status wrap_all(const import *im, sm_error *err)
{
    for (uint32_t i = 0; i < im->n_cols; i++) {
        const sm_foreign_col *f = &im->data[i];
        size_t bytes = im->n_rows * sm_phys_bytes(sm_type_phys(im->cols[i].type));
        SM_TRY(sm_buffer_wrap(im->mem, f->data, bytes, NULL, NULL, &im->bufs[i], err));
    }
    return SM_OK;
}

static sm_status share_all(import *im, const sm_version *base, sm_arena *a, sm_version **out,
                           sm_error *err)
{
    uint64_t n = (im->n_rows + SM_CHUNK_ROWS - 1) / SM_CHUNK_ROWS;
    sm_chunk **chunks = SM_NEW_N(a, sm_chunk *, n + 1);
    sm_status status;
    im->bufs = SM_NEW_N(a, sm_buffer *, im->n_cols + 1);
    if (!chunks || !im->bufs) return sm_arena_failed(a, err);
    status = wrap_all(im, err);
    if (status == SM_OK) status = import_chunks(im, chunks, err);
    if (status == SM_OK) {
        status = sm_version_assemble(im->mem, im->cols, im->n_cols, base, base ? base->n_chunks : 0,
                                     chunks, n, out, err);
    } else {
        for (uint64_t k = 0; k < n; k++) sm_chunk_unref(chunks[k]);
    }
    for (uint32_t i = 0; i < im->n_cols; i++) {
        if (im->bufs[i] && status == SM_OK) {
            im->bufs[i]->release_arg = im->data[i].release_arg;
            im->bufs[i]->release = im->data[i].release;
        }
        sm_buffer_unref(im->bufs[i]);
    }
    return status;
}

sm_status sm_version_from_foreign(sm_mem *m, const sm_table_col *cols, uint32_t n_cols,
                                  const sm_foreign_col *data, uint64_t n_rows,
                                  const sm_version *base, sm_version **out, sm_error *err)
{
import im = {m, cols, data, n_cols, n_rows, NULL };
    sm_arena a;
    sm_status status;
    *out = NULL;
    if (must_copy(&im, base)) {
        SM_TRY(copy_all(&im, base, out, err));
        for (uint32_t i = 0; i < n_cols; i++)
            if (data[i].release) data[i].release(data[i].release_arg);
        return SM_OK;
    }
    sm_arena_init(&a, m, "imported column");
    status = share_all(&im, base, &a, out, err);
    sm_arena_reset(&a);
    return status;
}
