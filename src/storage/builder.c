/* Rows in, chunks out. A builder fills one chunk's worth of growable column buffers, seals them
 * when 65,536 rows are there, and at the end makes a version of base's chunks and its own. If base
 * ends in a partial chunk, that chunk alone is loaded and sealed again; nothing is loaded before
 * the first row comes. Columns: build_col.h. */
#include "storage/build_col.h"
#include "storage/kernels.h"

enum {
    FIRST_ROWS = 8,
    /* below this a dictionary costs nothing worth saving, whatever its cardinality */
    DICT_TRIAL_ROWS = 4096
};

static sm_status copy_defs(sm_builder *b, const sm_table_col *cols, sm_error *err)
{
    for (uint32_t i = 0; i < b->n_cols; i++) {
        size_t len = strlen(cols[i].name) + 1;
        void *p = NULL;
        SM_TRY(sm_alloc(b->mem, len, "table columns", &p, err));
        memcpy(p, cols[i].name, len);
        b->defs[i] = (sm_table_col){.name = p,
                                    .type = cols[i].type,
                                    .not_null = cols[i].not_null,
                                    .max_chars = cols[i].max_chars};
    }
    return SM_OK;
}

static uint32_t builder_value_bytes(const sm_build_col *c)
{
    if (c->phys >= SM_PHYS_I16 && c->phys <= SM_PHYS_I64) return sizeof(int64_t);
    return c->dict ? sizeof(uint16_t) : (uint32_t)sm_phys_bytes(c->phys);
}

static void open_col(sm_builder *b, uint32_t i)
{
    sm_build_col *c = &b->cols[i];
    const sm_version *base = b->base;
    bool empty = !base || !base->n_chunks;
    c->type = b->defs[i].type;
    c->phys = sm_type_phys(c->type);
    c->name = b->defs[i].name;
    c->not_null = b->defs[i].not_null;
    c->max_chars = c->phys == SM_PHYS_TEXT ? b->defs[i].max_chars : 0;
    c->dict = c->phys == SM_PHYS_TEXT && (empty || base->cols[i].dict);
    if (!empty) {
        const sm_chunk_col *last = &base->chunks[base->n_chunks - 1]->cols[i];
        c->words.base = c->dict ? base->cols[i].dict : NULL;
        c->has_hint = true;
        c->hint_enc = last->enc;
        c->hint_width = last->width;
    }
    c->value_bytes = builder_value_bytes(c);
}

sm_status sm_builder_new(sm_mem *m, const sm_table_col *cols, uint32_t n_cols,
                         const sm_version *base, sm_builder **out, sm_error *err)
{
    void *p = NULL;
    sm_builder *b;
    sm_status status;
    *out = NULL;
    SM_TRY(sm_alloc_zero(m, sizeof *b, "table builder", &p, err));
    b = p;
    b->mem = m;
    b->n_cols = n_cols;
    b->relation = "";
    b->base = base ? sm_version_ref((sm_version *)(uintptr_t)base) : NULL;
    b->tail_pending =
        base && base->n_chunks && base->chunks[base->n_chunks - 1]->n_rows < SM_CHUNK_ROWS;
    p = NULL;
    status = sm_alloc_zero(m, n_cols * sizeof *b->cols, "table builder", &p, err);
    b->cols = p;
    p = NULL;
    if (status == SM_OK)
        status = sm_alloc_zero(m, n_cols * sizeof *b->defs, "table builder", &p, err);
    b->defs = p;
    if (status == SM_OK) status = copy_defs(b, cols, err);
    if (status != SM_OK) {
        sm_builder_free(b);
        return status;
    }
    for (uint32_t i = 0; i < n_cols; i++) open_col(b, i);
    *out = b;
    return SM_OK;
}

void sm_builder_set_relation(sm_builder *b, const char *name)
{
    b->relation = name;
}

void sm_builder_free(sm_builder *b)
{
    if (!b) return;
    for (uint32_t i = 0; i < b->n_cols; i++) {
        if (b->cols) sm_build_col_reset(&b->cols[i], b->mem);
        if (b->defs && b->defs[i].name)
            sm_free(b->mem, b->defs[i].name, strlen(b->defs[i].name) + 1);
    }
    for (uint64_t i = 0; i < b->n_chunks; i++) sm_chunk_unref(b->chunks[i]);
    sm_free(b->mem, b->chunks, b->cap_chunks * sizeof *b->chunks);
    sm_free(b->mem, b->cols, b->n_cols * sizeof *b->cols);
    sm_free(b->mem, b->defs, b->n_cols * sizeof *b->defs);
    if (b->base) sm_version_unref(b->base);
    sm_free(b->mem, b, sizeof *b);
}

uint64_t sm_builder_rows(const sm_builder *b)
{
    return b->added_rows;
}

sm_status sm_builder_raise_null(const sm_builder *b, uint32_t col, sm_error *err)
{
    return sm_raise(err, SM_ERR_NOT_NULL, b->defs[col].name, b->relation);
}

/* ---- room and commit ---- */

static sm_status reserve_all(sm_builder *b, uint32_t rows, sm_error *err)
{
    for (uint32_t i = 0; i < b->n_cols; i++) {
        sm_build_col *c = &b->cols[i];
        uint32_t cap = c->cap ? c->cap : FIRST_ROWS;
        if (rows <= c->cap) continue;
        while (cap < rows) cap *= 2;
        SM_TRY(sm_build_col_reserve(c, b->mem, cap < SM_CHUNK_ROWS ? cap : SM_CHUNK_ROWS, err));
    }
    return SM_OK;
}

/* Text of a partial chunk: codes stay codes; views stay views of the old heap, unless that chain is
 * long or the bytes are foreign. */
static sm_status load_text(sm_builder *b, sm_build_col *c, const sm_chunk_col *from, uint32_t n,
                           sm_error *err)
{
    sm_text *views;
    if (c->dict) {
        if (from->width == 1)
            sm_column_kernels_get()->widen_codes(from->data, n, c->data);
        else
            memcpy(c->data, from->data, n * sizeof(uint16_t));
        return SM_OK;
    }
    views = c->data;
    if (from->enc == SM_ENC_PLAIN && from->heap && from->heap->depth < SM_TEXT_HEAP_MAX_DEPTH) {
        memcpy(views, from->data, n * sizeof *views);
        return sm_text_heap_new(b->mem, from->heap, NULL, &c->heap, err);
    }
    SM_TRY(sm_text_heap_new(b->mem, NULL, NULL, &c->heap, err));
    for (uint32_t i = 0; i < n; i++) {
        sm_value v;
        sm_chunk_col_get(from, c->type, i, &v);
        views[i] = v.is_null ? (sm_text){0} : v.text;
        SM_TRY(sm_text_heap_own(c->heap, &views[i], err));
    }
    return SM_OK;
}

static void load_ints(sm_build_col *c, const sm_chunk_col *from, uint32_t n)
{
    int64_t *to = c->data;
    if (from->enc == SM_ENC_NARROW) {
        sm_column_kernels_get()->widen[__builtin_ctz(from->width)][2](from->data, from->base, n,
                                                                      to);
        return;
    }
    switch (c->phys) {
    case SM_PHYS_I16:
        for (uint32_t i = 0; i < n; i++) to[i] = ((const int16_t *)from->data)[i];
        break;
    case SM_PHYS_I32:
        for (uint32_t i = 0; i < n; i++) to[i] = ((const int32_t *)from->data)[i];
        break;
    default: memcpy(to, from->data, n * sizeof *to); break;
    }
}

static sm_status load_col(sm_builder *b, uint32_t i, const sm_chunk *chunk, sm_error *err)
{
    sm_build_col *c = &b->cols[i];
    const sm_chunk_col *from = &chunk->cols[i];
    uint32_t n = chunk->n_rows;
    switch (c->phys) {
    case SM_PHYS_TEXT: SM_TRY(load_text(b, c, from, n, err)); break;
    case SM_PHYS_BOOL: sm_column_kernels_get()->unpack_bits(from->data, 0, n, c->data); break;
    case SM_PHYS_I16:
    case SM_PHYS_I32:
    case SM_PHYS_I64: load_ints(c, from, n); break;
    default:
        if (from->enc == SM_ENC_NARROW)
            sm_column_kernels_get()->widen[__builtin_ctz(from->width)][3](from->data, from->base, n,
                                                                          c->data);
        else
            memcpy(c->data, from->data, (size_t)n * c->value_bytes);
    }
    for (uint32_t r = 0; from->valid && r < n; r++)
        if (!sm_bit_get(from->valid, r)) SM_TRY(sm_build_col_null(c, b->mem, r, err));
    return SM_OK;
}

static sm_status load_tail(sm_builder *b, sm_error *err)
{
    const sm_chunk *tail = b->base->chunks[b->base->n_chunks - 1];
    b->tail_pending = false;
    b->tail_taken = true;
    SM_TRY(reserve_all(b, tail->n_rows, err));
    for (uint32_t i = 0; i < b->n_cols; i++) SM_TRY(load_col(b, i, tail, err));
    b->n_rows = tail->n_rows;
    return SM_OK;
}

sm_status sm_builder_room(sm_builder *b, uint32_t want, uint32_t *room, sm_error *err)
{
    uint32_t left;
    if (b->tail_pending) SM_TRY(load_tail(b, err));
    left = SM_CHUNK_ROWS - b->n_rows;
    *room = want < left ? want : left;
    return reserve_all(b, b->n_rows + *room, err);
}

static sm_status push_chunk(sm_builder *b, sm_chunk *chunk, sm_error *err)
{
    if (b->n_chunks == b->cap_chunks) {
        uint64_t cap = b->cap_chunks ? b->cap_chunks * 2 : 4;
        void *p = b->chunks;
        sm_status status = sm_realloc(b->mem, &p, b->cap_chunks * sizeof *b->chunks,
                                      cap * sizeof *b->chunks, "table builder", err);
        if (status != SM_OK) {
            sm_chunk_unref(chunk);
            return status;
        }
        b->chunks = p;
        b->cap_chunks = cap;
    }
    b->chunks[b->n_chunks++] = chunk;
    return SM_OK;
}

static sm_status seal(sm_builder *b, sm_error *err)
{
    sm_chunk *chunk;
    SM_TRY(sm_chunk_new(b->mem, b->n_rows, b->n_cols, &chunk, err));
    for (uint32_t i = 0; i < b->n_cols; i++) {
        sm_status status = sm_build_col_seal(&b->cols[i], b->mem, b->n_rows, &chunk->cols[i], err);
        if (status != SM_OK) {
            sm_chunk_unref(chunk);
            return status;
        }
    }
    b->n_rows = 0;
    return push_chunk(b, chunk, err);
}

/* In the first chunk a column shows whether a dictionary pays. */
static sm_status leave_dictionaries(sm_builder *b, sm_error *err)
{
    uint64_t before = b->base ? b->base->n_chunks - b->tail_taken : 0;
    if (before || b->n_chunks) return SM_OK;
    for (uint32_t i = 0; i < b->n_cols; i++) {
        sm_build_col *c = &b->cols[i];
        if (c->dict && c->words.n > b->n_rows / 2)
            SM_TRY(sm_build_col_to_plain(c, b->mem, b->n_rows, err));
    }
    return SM_OK;
}

sm_status sm_builder_commit(sm_builder *b, uint32_t n, sm_error *err)
{
    uint32_t before = b->n_rows;
    b->n_rows += n;
    b->added_rows += n;
    if (before / DICT_TRIAL_ROWS != b->n_rows / DICT_TRIAL_ROWS) SM_TRY(leave_dictionaries(b, err));
    return b->n_rows == SM_CHUNK_ROWS ? seal(b, err) : SM_OK;
}

/* ---- rows ---- */

static sm_status put_value(sm_builder *b, sm_build_col *c, const sm_value *v, sm_error *err)
{
    uint32_t row = b->n_rows;
    if (v->is_null) return sm_build_col_null(c, b->mem, row, err);
    switch (c->phys) {
    case SM_PHYS_BOOL: ((uint8_t *)c->data)[row] = v->b; break;
    case SM_PHYS_I16: ((int64_t *)c->data)[row] = v->i16; break;
    case SM_PHYS_I32: ((int64_t *)c->data)[row] = v->i32; break;
    case SM_PHYS_I64: ((int64_t *)c->data)[row] = v->i64; break;
    case SM_PHYS_I128: ((sm_i128 *)c->data)[row] = v->i128; break;
    case SM_PHYS_F32: ((float *)c->data)[row] = v->f32; break;
    case SM_PHYS_F64: ((double *)c->data)[row] = v->f64; break;
    case SM_PHYS_IV: ((sm_interval *)c->data)[row] = v->iv; break;
    default: return sm_build_col_text(c, b->mem, row, v->text, err);
    }
    return SM_OK;
}

sm_status sm_builder_row(sm_builder *b, const sm_value *row, sm_error *err)
{
    uint32_t room;
    for (uint32_t i = 0; i < b->n_cols; i++)
        if (row[i].is_null && b->cols[i].not_null) return sm_builder_raise_null(b, i, err);
    SM_TRY(sm_builder_room(b, 1, &room, err));
    for (uint32_t i = 0; i < b->n_cols; i++) {
        sm_status status = put_value(b, &b->cols[i], &row[i], err);
        if (status != SM_OK) {
            for (uint32_t k = 0; k <= i; k++) sm_build_col_truncate(&b->cols[k], b->n_rows);
            return status;
        }
    }
    return sm_builder_commit(b, 1, err);
}

/* ---- batches: n live rows from the batch's at'th on, to rows [b->n_rows, + n) ---- */

#define GATHER(to_type, from_type)                                                                 \
    do {                                                                                           \
        const from_type *from_ = v->data;                                                          \
        to_type *to_ = (to_type *)c->data + b->n_rows;                                             \
        if (sel)                                                                                   \
            for (uint32_t i_ = 0; i_ < n; i_++) to_[i_] = from_[sel[at + i_]];                     \
        else                                                                                       \
            for (uint32_t i_ = 0; i_ < n; i_++) to_[i_] = from_[at + i_];                          \
    } while (0)

static sm_status gather_text(sm_builder *b, sm_build_col *c, const sm_vec *v, const uint16_t *sel,
                             uint32_t at, uint32_t n, sm_error *err)
{
    const sm_text *from = v->data;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel ? sel[at + i] : at + i;
        if (v->valid && !sm_bit_get(v->valid, row)) continue;
        SM_TRY(sm_build_col_text(c, b->mem, b->n_rows + i, from[row], err));
    }
    return SM_OK;
}

static sm_status gather_nulls(sm_builder *b, uint32_t col, const sm_vec *v, const uint16_t *sel,
                              uint32_t at, uint32_t n, sm_error *err)
{
    sm_build_col *c = &b->cols[col];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = sel ? sel[at + i] : at + i;
        if (sm_bit_get(v->valid, row)) continue;
        if (c->not_null) return sm_builder_raise_null(b, col, err);
        SM_TRY(sm_build_col_null(c, b->mem, b->n_rows + i, err));
    }
    return SM_OK;
}

static sm_status gather_col(sm_builder *b, uint32_t col, const sm_vec *v, const uint16_t *sel,
                            uint32_t at, uint32_t n, sm_error *err)
{
    sm_build_col *c = &b->cols[col];
    switch (c->phys) {
    case SM_PHYS_BOOL: GATHER(uint8_t, uint8_t); break;
    case SM_PHYS_I16: GATHER(int64_t, int16_t); break;
    case SM_PHYS_I32: GATHER(int64_t, int32_t); break;
    case SM_PHYS_I64: GATHER(int64_t, int64_t); break;
    case SM_PHYS_I128:
        if (v->phys == SM_PHYS_I64)
            GATHER(sm_i128, int64_t);
        else
            GATHER(sm_i128, sm_i128);
        break;
    case SM_PHYS_F32: GATHER(float, float); break;
    case SM_PHYS_F64: GATHER(double, double); break;
    case SM_PHYS_IV: GATHER(sm_interval, sm_interval); break;
    default: SM_TRY(gather_text(b, c, v, sel, at, n, err)); break;
    }
    return v->valid ? gather_nulls(b, col, v, sel, at, n, err) : SM_OK;
}

sm_status sm_builder_batch(sm_builder *b, const sm_batch *batch, sm_error *err)
{
    for (uint32_t at = 0, n; at < batch->n_sel; at += n) {
        SM_TRY(sm_builder_room(b, batch->n_sel - at, &n, err));
        for (uint32_t i = 0; i < b->n_cols; i++)
            SM_TRY(gather_col(b, i, &batch->cols[i], batch->sel, at, n, err));
        SM_TRY(sm_builder_commit(b, n, err));
    }
    return SM_OK;
}

/* ---- chunks ---- */

static bool may_share(const sm_builder *b, const sm_chunk *chunk)
{
    if (b->tail_pending || b->n_rows || chunk->n_rows < SM_CHUNK_ROWS) return false;
    for (uint32_t i = 0; i < b->n_cols; i++) {
        const sm_build_col *c = &b->cols[i];
        const sm_chunk_col *from = &chunk->cols[i];
        if ((c->not_null && from->null_count) || c->max_chars) return false;
        if (from->enc != SM_ENC_DICT) continue;
        if (!c->dict || c->words.entries) return false;
        if (c->words.base && c->words.base != from->dict) return false;
    }
    return true;
}

static sm_status share_chunk(sm_builder *b, const sm_chunk *chunk, sm_error *err)
{
    for (uint32_t i = 0; i < b->n_cols; i++) {
        sm_build_col *c = &b->cols[i];
        const sm_chunk_col *from = &chunk->cols[i];
        if (from->enc == SM_ENC_DICT)
            c->words.base = from->dict; /* kept alive by the chunk */
        else if (c->dict)
            SM_TRY(sm_build_col_to_plain(c, b->mem, 0, err));
        c->has_hint = true;
        c->hint_enc = from->enc;
        c->hint_width = from->width;
    }
    b->added_rows += chunk->n_rows;
    return push_chunk(b, sm_chunk_ref((sm_chunk *)(uintptr_t)chunk), err);
}

/* One batch of chunk rows, decoded into an arena that is rewound. */
static sm_status copy_rows(sm_builder *b, const sm_chunk *chunk, uint32_t from, uint32_t n,
                           sm_arena *a, sm_error *err)
{
    sm_batch batch = {.n_cols = b->n_cols, .n_rows = n, .n_sel = n};
    sm_arena_rewind(a);
    batch.cols = SM_NEW_N(a, sm_vec, b->n_cols);
    if (!batch.cols) return sm_arena_failed(a, err);
    for (uint32_t i = 0; i < b->n_cols; i++) {
        sm_decode_room room = {.data =
                                   sm_arena_vector(a, (size_t)n * sm_phys_bytes(b->cols[i].phys)),
                               .valid = sm_arena_vector(a, (sm_bit_words(n) + 1) * 8)};
        if (!room.data || !room.valid) return sm_arena_failed(a, err);
        sm_chunk_col_decode(&chunk->cols[i], b->cols[i].phys, from, n, &room, &batch.cols[i]);
    }
    return sm_builder_batch(b, &batch, err);
}

sm_status sm_builder_chunk(sm_builder *b, const sm_chunk *chunk, sm_error *err)
{
    sm_arena a;
    sm_status status = SM_OK;
    if (may_share(b, chunk)) return share_chunk(b, chunk, err);
    sm_arena_init(&a, b->mem, "table builder");
    for (uint32_t from = 0; status == SM_OK && from < chunk->n_rows; from += SM_BATCH_ROWS) {
        uint32_t left = chunk->n_rows - from;
        status = copy_rows(b, chunk, from, left < SM_BATCH_ROWS ? left : SM_BATCH_ROWS, &a, err);
    }
    sm_arena_reset(&a);
    return status;
}

/* ---- the end ---- */

/* A column whose range grew on the way has narrower chunks at its beginning. If doubling those
 * gives all chunks one signature, that is worth the bytes; more than doubling is not. */
static sm_status even_out_widths(sm_builder *b, sm_error *err)
{
    for (uint32_t i = 0; i < b->n_cols; i++) {
        const sm_chunk_col *last = b->n_chunks ? &b->chunks[b->n_chunks - 1]->cols[i] : NULL;
        for (uint64_t k = 0; last && last->enc != SM_ENC_PLAIN && k < b->n_chunks; k++) {
            sm_chunk *chunk = b->chunks[k];
            sm_chunk_col *c = &chunk->cols[i];
            if (c->enc != last->enc || c->width * 2 != last->width) continue;
            if (atomic_load_explicit(&chunk->refs, memory_order_acquire) > 1) continue; /* shared */
            SM_TRY(sm_chunk_col_widen(c, b->mem, chunk->n_rows, err));
        }
    }
    return SM_OK;
}

/* All chunks made here get the dictionary as it is now; it begins with what their codes need. */
static sm_status share_dictionaries(sm_builder *b, sm_error *err)
{
    for (uint32_t i = 0; i < b->n_cols; i++) {
        sm_dict *dict = NULL;
        for (uint64_t k = 0; k < b->n_chunks; k++) {
            sm_chunk_col *c = &b->chunks[k]->cols[i];
            if (c->enc != SM_ENC_DICT || c->dict) continue;
            if (!dict) SM_TRY(sm_dict_build_share(&b->cols[i].words, b->mem, &dict, err));
            c->dict = sm_dict_ref(dict);
        }
        sm_dict_unref(dict);
    }
    return SM_OK;
}

static sm_status finish(sm_builder *b, sm_version **out, sm_error *err)
{
    uint64_t n, keep = b->base ? b->base->n_chunks - b->tail_taken : 0;
    if (b->base && !b->n_rows && !b->n_chunks) {
        *out = sm_version_ref(b->base);
        return SM_OK;
    }
    if (b->n_rows) SM_TRY(seal(b, err));
    SM_TRY(even_out_widths(b, err));
    SM_TRY(share_dictionaries(b, err));
    n = b->n_chunks;
    b->n_chunks = 0; /* assembling takes the references */
    return sm_version_assemble(b->mem, b->defs, b->n_cols, b->base, keep, b->chunks, n, out, err);
}

sm_status sm_builder_finish(sm_builder *b, sm_version **out, sm_error *err)
{
    sm_status status;
    *out = NULL;
    status = finish(b, out, err);
    sm_builder_free(b);
    return status;
}
