/* Chunks and versions: reference counts, the statistics of a version, and its invariants. A version
 * never changes after it was made, so readers need no lock. */
#include "storage/build_col.h"

sm_status sm_chunk_new(sm_mem *m, uint32_t n_rows, uint32_t n_cols, sm_chunk **out, sm_error *err)
{
    void *p = NULL;
    sm_chunk *c;
    *out = NULL;
    SM_TRY(sm_alloc_zero(m, sizeof *c + n_cols * sizeof c->cols[0], "table chunk", &p, err));
    c = p;
    atomic_init(&c->refs, 1);
    c->n_rows = n_rows;
    c->n_cols = n_cols;
    c->mem = m;
    *out = c;
    return SM_OK;
}

void sm_chunk_unref(sm_chunk *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    for (uint32_t i = 0; i < c->n_cols; i++) {
        sm_chunk_col *col = &c->cols[i];
        sm_buffer_unref(col->data_buf);
        sm_buffer_unref(col->valid_buf);
        sm_text_heap_unref(col->heap);
        sm_dict_unref((sm_dict *)(uintptr_t)col->dict);
    }
    sm_free(c->mem, c, sizeof *c + c->n_cols * sizeof c->cols[0]);
}

void sm_version_unref(sm_version *v)
{
    if (!v || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1) return;
    for (uint64_t i = 0; i < v->n_chunks; i++) sm_chunk_unref(v->chunks[i]);
    for (uint32_t i = 0; v->cols && i < v->n_cols; i++) {
        if (v->cols[i].name) sm_free(v->mem, v->cols[i].name, strlen(v->cols[i].name) + 1);
        sm_dict_unref(v->cols[i].dict);
    }
    sm_free(v->mem, v->cols, v->n_cols * sizeof *v->cols);
    sm_free(v->mem, v->chunks, v->n_chunks * sizeof *v->chunks);
    sm_free(v->mem, v->first_row, v->n_chunks * sizeof *v->first_row);
    sm_free(v->mem, v, sizeof *v);
}

/* ---- statistics of a version ---- */

static bool value_less(sm_phys p, const sm_value *a, const sm_value *b)
{
    switch (p) {
    case SM_PHYS_F32: return a->f32 < b->f32;
    case SM_PHYS_F64: return a->f64 < b->f64;
    case SM_PHYS_TEXT: return sm_text_cmp(a->text, b->text) < 0;
    default: return sm_value_int(a, p) < sm_value_int(b, p);
    }
}

static bool is_prefix(const sm_dict *small, const sm_dict *large)
{
    if (small->n > large->n) return false;
    for (uint32_t i = 0; i < small->n; i++) {
        if (memcmp(&small->entries[i], &large->entries[i], sizeof(sm_text)) == 0) continue;
        if (!sm_text_eq(small->entries[i], large->entries[i])) return false;
    }
    return true;
}

/* The dictionary that holds both; NULL if neither begins with the other. */
static const sm_dict *wider_dict(const sm_dict *a, const sm_dict *b)
{
    if (a == b) return a;
    if (a->n <= b->n) return is_prefix(a, b) ? b : NULL;
    return is_prefix(b, a) ? a : NULL;
}

static void sum_up_column(sm_version *v, uint32_t i)
{
    sm_table_col *col = &v->cols[i];
    sm_phys phys = sm_type_phys(col->type);
    const sm_dict *dict = v->n_chunks ? v->chunks[0]->cols[i].dict : NULL;
    bool unknown = false;
    col->has_minmax = false;
    col->same_enc = true;
    col->null_count = 0;
    for (uint64_t k = 0; k < v->n_chunks; k++) {
        const sm_chunk_col *c = &v->chunks[k]->cols[i], *first = &v->chunks[0]->cols[i];
        col->null_count += c->null_count;
        if (c->enc != first->enc || c->width != first->width) col->same_enc = false;
        dict = dict && c->dict ? wider_dict(dict, c->dict) : NULL;
        if (!c->has_minmax) {
            unknown |= c->null_count < v->chunks[k]->n_rows;
            continue;
        }
        if (!col->has_minmax || value_less(phys, &c->min, &col->min)) col->min = c->min;
        if (!col->has_minmax || value_less(phys, &col->max, &c->max)) col->max = c->max;
        col->has_minmax = true;
    }
    if (unknown) col->has_minmax = false;
    col->dict = sm_dict_ref(dict);
}

/* ---- making versions ---- */

static sm_status copy_cols(sm_version *v, const sm_table_col *cols, sm_error *err)
{
    void *p = NULL;
    SM_TRY(sm_alloc_zero(v->mem, v->n_cols * sizeof *v->cols, "table columns", &p, err));
    v->cols = p;
    for (uint32_t i = 0; i < v->n_cols; i++) {
        size_t len = strlen(cols[i].name) + 1;
        p = NULL;
        SM_TRY(sm_alloc(v->mem, len, "table columns", &p, err));
        memcpy(p, cols[i].name, len);
        v->cols[i] = (sm_table_col){.name = p,
                                    .type = cols[i].type,
                                    .not_null = cols[i].not_null,
                                    .max_chars = cols[i].max_chars};
    }
    return SM_OK;
}

/* Takes over no reference; chunks are counted in as they are stored. */
static sm_status fill(sm_version *v, const sm_version *base, uint64_t keep, sm_chunk **chunks,
                      uint64_t n, sm_error *err)
{
    void *p = NULL;
    if (keep + n) {
        SM_TRY(sm_alloc(v->mem, (keep + n) * sizeof *v->first_row, "table chunks", &p, err));
        v->first_row = p;
        p = NULL;
        if (sm_alloc(v->mem, (keep + n) * sizeof *v->chunks, "table chunks", &p, err) != SM_OK) {
            sm_free(v->mem, v->first_row, (keep + n) * sizeof *v->first_row);
            v->first_row = NULL;
            return SM_ERR_OUT_OF_MEMORY;
        }
        v->chunks = p;
    }
    for (uint64_t i = 0; i < keep + n; i++) {
        v->chunks[i] = sm_chunk_ref(i < keep ? base->chunks[i] : chunks[i - keep]);
        v->first_row[i] = v->n_rows;
        v->n_rows += v->chunks[i]->n_rows;
    }
    v->n_chunks = keep + n;
    for (uint32_t i = 0; i < v->n_cols; i++) sum_up_column(v, i);
    return SM_OK;
}

sm_status sm_version_assemble(sm_mem *m, const sm_table_col *cols, uint32_t n_cols,
                              const sm_version *base, uint64_t keep, sm_chunk **chunks, uint64_t n,
                              sm_version **out, sm_error *err)
{
    void *p = NULL;
    sm_version *v = NULL;
    sm_status status;
    *out = NULL;
    status = sm_alloc_zero(m, sizeof *v, "table version", &p, err);
    if (status == SM_OK) {
        v = p;
        atomic_init(&v->refs, 1);
        v->mem = m;
        v->n_cols = n_cols;
        status = copy_cols(v, cols, err);
        if (status == SM_OK) status = fill(v, base, keep, chunks, n, err);
    }
    for (uint64_t i = 0; i < n; i++) sm_chunk_unref(chunks[i]);
    if (status != SM_OK)
        sm_version_unref(v);
    else
        *out = v;
    return status;
}

sm_status sm_version_new(sm_mem *m, const sm_table_col *cols, uint32_t n_cols, sm_version **out,
                         sm_error *err)
{
    return sm_version_assemble(m, cols, n_cols, NULL, 0, NULL, 0, out, err);
}

sm_status sm_version_extend(const sm_version *base, sm_chunk **chunks, uint64_t n, sm_version **out,
                            sm_error *err)
{
    return sm_version_assemble(base->mem, base->cols, base->n_cols, base, base->n_chunks, chunks, n,
                               out, err);
}

sm_status sm_version_repeat(const sm_version *base, uint64_t times, sm_version **out, sm_error *err)
{
    uint64_t n = base->n_chunks * times;
    size_t bytes = n * sizeof(sm_chunk *);
    void *p = NULL;
    sm_chunk **chunks;
    sm_status status;
    *out = NULL;
    if (base->n_chunks && (n / base->n_chunks != times || n > SIZE_MAX / sizeof(sm_chunk *)))
        return sm_raise(err, SM_ERR_BAD_ARGUMENT, "too many repetitions of a table");
    SM_TRY(sm_alloc(base->mem, bytes, "table chunks", &p, err));
    chunks = p;
    for (uint64_t i = 0; i < n; i++) chunks[i] = sm_chunk_ref(base->chunks[i % base->n_chunks]);
    status = sm_version_assemble(base->mem, base->cols, base->n_cols, NULL, 0, chunks, n, out, err);
    sm_free(base->mem, chunks, bytes);
    return status;
}
