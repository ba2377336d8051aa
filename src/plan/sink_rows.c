/* The rows sink: morsels' rows become the output, sorted if asked, then cut by offset and limit. Sorting is by an
 * order-preserving 64-bit prefix of the first key, in most cases without a look at the rows; ties are decided by the
 * remaining keys and at last by the rows' order, so the sort is stable. With a LIMIT a heap keeps the best rows only.
 * Read sink.h first. */
#include "plan/sink.h"

/* A row among all parts, with what is needed to place it. */
typedef struct entry {
    uint64_t prefix;
    uint64_t row; /* chunk * SM_CHUNK_ROWS + row in the chunk: the order in which rows came */
    uint8_t rank; /* NULLs before (0) or behind (2) values (1) */
} entry;

typedef struct rows {
    const sm_pipeline *p;
    const sm_chunk **chunks;
    uint64_t n_chunks, n_rows;
    sm_arena scratch;
    sm_builder *b;
    sm_error *err;
} rows;

static const sm_chunk *chunk_of(const rows *r, uint64_t row)
{
    return r->chunks[row / SM_CHUNK_ROWS];
}

/* ---- keys ------------------------------------------------------------------------------------------------ */

static const uint64_t sign_bit = (uint64_t)1 << 63;

static sm_i128 span(sm_interval v)
{
    enum { MONTH_DAYS = 30 };
    const int64_t day_us = 86400000000;
    return ((sm_i128)v.months * MONTH_DAYS + v.days) * day_us + v.micros;
}

/* Order-preserving: smaller prefix, smaller value. */
static uint64_t prefix_of(sm_phys p, const sm_value *v)
{
    switch (p) {
    case SM_PHYS_F32: return (uint64_t)sm_float_key(v->f32) ^ sign_bit;
    case SM_PHYS_F64: return (uint64_t)sm_float_key(v->f64) ^ sign_bit;
    case SM_PHYS_I128: return (uint64_t)(v->i128 >> 64) ^ sign_bit;
    case SM_PHYS_IV: return (uint64_t)(span(v->iv) >> 64) ^ sign_bit;
    case SM_PHYS_TEXT: {
        const char *s = sm_text_bytes(&v->text);
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < 8; i++) bytes = bytes << 8 | (i < v->text.len ? (unsigned char)s[i] : 0u);
        return bytes;
    }
    default: return (uint64_t)(int64_t)sm_value_int(v, p) ^ sign_bit;
    }
}

static bool prefix_is_all(sm_phys p)
{
    return p != SM_PHYS_I128 && p != SM_PHYS_IV && p != SM_PHYS_TEXT;
}

static int compare_values(sm_phys p, const sm_value *a, const sm_value *b)
{
    sm_i128 x, y;
    switch (p) {
    case SM_PHYS_TEXT: return sm_text_cmp(a->text, b->text);
    case SM_PHYS_F32:
        x = sm_float_key(a->f32);
        y = sm_float_key(b->f32);
        break;
    case SM_PHYS_F64:
        x = sm_float_key(a->f64);
        y = sm_float_key(b->f64);
        break;
    case SM_PHYS_IV:
        x = span(a->iv);
        y = span(b->iv);
        break;
    default:
        x = sm_value_int(a, p);
        y = sm_value_int(b, p);
        break;
    }
    return x < y ? -1 : x > y;
}

static int compare_key(const rows *r, const sm_order *o, uint64_t a, uint64_t b)
{
    uint32_t col = o->expr->column;
    sm_type type = r->p->in_cols[col].type;
    sm_value x, y;
    sm_chunk_col_get(&chunk_of(r, a)->cols[col], type, (uint32_t)(a % SM_CHUNK_ROWS), &x);
    sm_chunk_col_get(&chunk_of(r, b)->cols[col], type, (uint32_t)(b % SM_CHUNK_ROWS), &y);
    if (x.is_null || y.is_null) {
        if (x.is_null && y.is_null) return 0;
        return x.is_null == o->nulls_first ? -1 : 1;
    }
    int c = compare_values(sm_type_phys(type), &x, &y);
    return o->desc ? -c : c;
}

static bool before(const rows *r, const entry *a, const entry *b)
{
    const sm_rows_sink *s = &r->p->rows;
    if (a->rank != b->rank) return a->rank < b->rank;
    if (a->prefix != b->prefix) return a->prefix < b->prefix;
    sm_phys first = sm_type_phys(r->p->in_cols[s->orders[0].expr->column].type);
    for (uint32_t i = prefix_is_all(first) || a->rank != 1 ? 1 : 0; i < s->n_orders; i++) {
        int c = compare_key(r, &s->orders[i], a->row, b->row);
        if (c) return c < 0;
    }
    return a->row < b->row;
}

static entry entry_of(const rows *r, uint64_t chunk, uint32_t row)
{
    const sm_order *o = &r->p->rows.orders[0];
    uint32_t col = o->expr->column;
    sm_type type = r->p->in_cols[col].type;
    sm_value v;
    sm_chunk_col_get(&r->chunks[chunk]->cols[col], type, row, &v);
    entry e = {0, chunk * SM_CHUNK_ROWS + row, 1};
    if (v.is_null) {
        e.rank = o->nulls_first ? 0 : 2;
    } else {
        e.prefix = prefix_of(sm_type_phys(type), &v);
        if (o->desc) e.prefix = ~e.prefix;
    }
    return e;
}

/* ---- sorting --------------------------------------------------------------------------------------------- */

static void merge_sort(const rows *r, entry *list, entry *room, uint64_t n)
{
    entry *from = list, *to = room;
    for (uint64_t width = 1; width < n; width *= 2) {
        for (uint64_t lo = 0; lo < n; lo += 2 * width) {
            uint64_t mid = lo + width < n ? lo + width : n, hi = lo + 2 * width < n ? lo + 2 * width : n;
            uint64_t a = lo, b = mid;
            if (mid == hi || before(r, &from[mid - 1], &from[mid])) { /* in order already */
                memcpy(to + lo, from + lo, (hi - lo) * sizeof *to);
                continue;
            }
            for (uint64_t k = lo; k < hi; k++) {
                bool left = a < mid && (b == hi || before(r, &from[a], &from[b]));
                to[k] = left ? from[a++] : from[b++];
            }
        }
        entry *swap = from;
        from = to;
        to = swap;
    }
    if (from != list) memcpy(list, from, n * sizeof *list);
}

/* heap[0] is the last of the rows kept. */
static void sift_down(const rows *r, entry *heap, uint64_t n)
{
    entry e = heap[0];
    uint64_t i = 0;
    for (;;) {
        uint64_t child = 2 * i + 1;
        if (child >= n) break;
        if (child + 1 < n && before(r, &heap[child], &heap[child + 1])) child++;
        if (!before(r, &e, &heap[child])) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = e;
}

static void sift_up(const rows *r, entry *heap, uint64_t i)
{
    entry e = heap[i];
    while (i && before(r, &heap[(i - 1) / 2], &e)) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = e;
}

/* The first `most` rows in order, in a list from the arena. */
static sm_status sorted_rows(rows *r, uint64_t most, entry **out, uint64_t *n_out)
{
    uint64_t n = 0, keep = most < r->n_rows ? most : r->n_rows;
    entry *list = SM_NEW_N(&r->scratch, entry, keep + 1), *room = SM_NEW_N(&r->scratch, entry, keep + 1);
    if (!list || !room) return sm_arena_failed(&r->scratch, r->err);
    for (uint64_t c = 0; c < r->n_chunks && keep; c++) {
        for (uint32_t i = 0; i < r->chunks[c]->n_rows; i++) {
            entry e = entry_of(r, c, i);
            if (n < keep) {
                list[n++] = e;
                if (keep < r->n_rows) sift_up(r, list, n - 1);
            } else if (before(r, &e, &list[0])) {
                list[0] = e;
                sift_down(r, list, n);
            }
        }
    }
    merge_sort(r, list, room, n);
    *out = list;
    *n_out = n;
    return SM_OK;
}

/* ---- output ---------------------------------------------------------------------------------------------- */

/* Copies rows, named by number, to the builder through batches. */
typedef struct gather {
    rows *r;
    sm_vec *cols;
    uint64_t **valid;
} gather;

static sm_status gather_init(gather *g, rows *r)
{
    uint32_t n = r->p->n_out;
    *g = (gather){.r = r};
    g->cols = SM_NEW_N(&r->scratch, sm_vec, n + 1);
    g->valid = SM_NEW_N(&r->scratch, uint64_t *, n + 1);
    if (!g->cols || !g->valid) return sm_arena_failed(&r->scratch, r->err);
    for (uint32_t c = 0; c < n; c++) {
        sm_phys p = sm_type_phys(r->p->in_cols[c].type);
        g->valid[c] = sm_arena_vector(&r->scratch, SM_BATCH_ROWS / 8);
        g->cols[c] = (sm_vec){.data = sm_arena_vector(&r->scratch, SM_BATCH_ROWS * sm_phys_bytes(p)),
                              .valid = g->valid[c],
                              .phys = p};
        if (!g->cols[c].data || !g->valid[c]) return sm_arena_failed(&r->scratch, r->err);
    }
    return SM_OK;
}

static sm_status gather_batch(gather *g, const uint64_t *row, uint32_t n)
{
    rows *r = g->r;
    for (uint32_t c = 0; c < r->p->n_out; c++) {
        sm_type type = r->p->in_cols[c].type;
        size_t bytes = sm_phys_bytes(g->cols[c].phys);
        char *data = g->cols[c].data;
        memset(g->valid[c], 0, SM_BATCH_ROWS / 8);
        for (uint32_t i = 0; i < n; i++) {
            sm_value v;
            sm_chunk_col_get(&chunk_of(r, row[i])->cols[c], type, (uint32_t)(row[i] % SM_CHUNK_ROWS), &v);
            if (v.is_null) {
                memset(data + i * bytes, 0, bytes);
                continue;
            }
            sm_bit_set(g->valid[c], i);
            memcpy(data + i * bytes, &v, bytes);
        }
    }
    sm_batch b = {.cols = g->cols, .n_cols = r->p->n_out, .n_rows = n, .n_sel = n};
    return sm_builder_batch(r->b, &b, r->err);
}

static sm_status put_sorted(rows *r)
{
    const sm_rows_sink *s = &r->p->rows;
    uint64_t most = s->limit_rows + s->offset_rows, n = 0, row[SM_BATCH_ROWS];
    uint32_t n_row = 0;
    entry *list = NULL;
    gather g;
    if (most < s->limit_rows) most = UINT64_MAX;
    SM_TRY(sorted_rows(r, most, &list, &n));
    SM_TRY(gather_init(&g, r));
    for (uint64_t i = s->offset_rows; i < n; i++) {
        row[n_row++] = list[i].row;
        if (n_row < SM_BATCH_ROWS && i + 1 < n) continue;
        SM_TRY(gather_batch(&g, row, n_row));
        n_row = 0;
    }
    return SM_OK;
}

static sm_status put_in_order(rows *r)
{
    const sm_rows_sink *s = &r->p->rows;
    uint64_t skip = s->offset_rows, left = s->limit_rows, row[SM_BATCH_ROWS];
    gather g = {.r = NULL};
    for (uint64_t c = 0; c < r->n_chunks && left; c++) {
        const sm_chunk *chunk = r->chunks[c];
        uint64_t from = skip < chunk->n_rows ? skip : chunk->n_rows;
        uint64_t n = chunk->n_rows - from < left ? chunk->n_rows - from : left;
        skip -= from;
        left -= left == UINT64_MAX ? 0 : n;
        if (n == chunk->n_rows && r->p->n_out == r->p->n_in) {
            SM_TRY(sm_builder_chunk(r->b, chunk, r->err));
            continue;
        }
        if (n && !g.r) SM_TRY(gather_init(&g, r));
        for (uint64_t i = 0; i < n;) {
            uint32_t k = 0;
            for (; k < SM_BATCH_ROWS && i < n; i++) row[k++] = c * SM_CHUNK_ROWS + from + i;
            SM_TRY(gather_batch(&g, row, k));
        }
    }
    return SM_OK;
}

static sm_status list_chunks(rows *r, sm_version *const *parts, uint64_t n_parts)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < n_parts; i++) n += parts[i] ? parts[i]->n_chunks : 0;
    r->chunks = SM_NEW_N(&r->scratch, const sm_chunk *, n + 1);
    if (!r->chunks) return sm_arena_failed(&r->scratch, r->err);
    for (uint64_t i = 0; i < n_parts; i++) {
        for (uint64_t c = 0; parts[i] && c < parts[i]->n_chunks; c++) {
            r->chunks[r->n_chunks++] = parts[i]->chunks[c];
            r->n_rows += parts[i]->chunks[c]->n_rows;
        }
    }
    return SM_OK;
}

sm_status sm_rows_finish(const sm_pipeline *p, sm_version *const *parts, uint64_t n_parts, sm_mem *mem,
                         sm_version **out, sm_error *err)
{
    rows r = {.p = p, .err = err};
    sm_arena_init(&r.scratch, mem, "sort");
    sm_status status = list_chunks(&r, parts, n_parts);
    if (status == SM_OK) status = sm_builder_new(mem, p->out_cols, p->n_out, NULL, &r.b, err);
    if (status == SM_OK) {
        status = p->rows.n_orders ? put_sorted(&r) : put_in_order(&r);
        if (status == SM_OK) {
            status = sm_builder_finish(r.b, out, err);
        } else {
            sm_builder_free(r.b);
        }
    }
    sm_arena_reset(&r.scratch);
    return status;
}
