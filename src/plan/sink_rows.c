/* The rows sink: morsels' rows become the output, sorted if asked, then cut by offset and limit.
 * Only the keys are laid out for sorting; the other columns move once, when the order is known.
 * With a LIMIT a heap keeps the first rows instead of a full sort. Equal rows stay in the order in
 * which they came. Read sink.h and runtime/sort.h first. */
#include "plan/sink.h"
#include "runtime/sort.h"

typedef struct rows {
    const sm_pipeline *p;
    const sm_chunk **chunks;
    uint64_t *first; /* number of each chunk's first row among all; n_chunks + 1 */
    uint64_t n_chunks, n_rows;
    uint32_t most_rows; /* of a chunk */
    sm_arena scratch;
    sm_builder *b;
    sm_error *err;
    sm_rows_sink sink;
} rows;

/* ---- sorting ---- */

/* One ORDER BY column of all chunks in one array. */
static sm_status load_key(rows *r, const sm_order *o, sm_sort_key *key)
{
    uint32_t col = o->expr->column;
    sm_phys phys = sm_type_phys(r->p->in_cols[col].type);
    size_t bytes = sm_phys_bytes(phys);
    char *data = sm_arena_vector(&r->scratch, r->n_rows * bytes);
    uint64_t *valid = sm_arena_vector(&r->scratch, sm_bit_words(r->n_rows) * 8);
    sm_decode_room room = {sm_arena_vector(&r->scratch, r->most_rows * bytes), NULL,
                           sm_arena_vector(&r->scratch, r->most_rows / 8 + 16)};
    if (!data || !valid || !room.data || !room.valid) return sm_arena_failed(&r->scratch, r->err);
    bool nulls = false;
    for (uint64_t c = 0; c < r->n_chunks; c++) {
        uint32_t n = r->chunks[c]->n_rows;
        uint64_t at = r->first[c];
        sm_vec v;
        sm_chunk_col_decode(&r->chunks[c]->cols[col], phys, 0, n, &room, &v);
        memcpy(data + at * bytes, v.data, n * bytes);
        nulls |= v.valid != NULL;
        for (uint32_t i = 0; i < n; i++)
            if (!v.valid || sm_bit_get(v.valid, i)) sm_bit_set(valid, at + i);
    }
    *key = (sm_sort_key){phys, data, nulls ? valid : NULL, o->desc, o->nulls_first};
    return SM_OK;
}

typedef struct heap {
    const sm_sort_key *keys;
    uint32_t n_keys;
    uint64_t *rows, n; /* rows[0] is the last of those kept */
} heap;

static bool before(const heap *h, uint64_t a, uint64_t b)
{
    int c = sm_sort_compare(h->keys, h->keys, h->n_keys, a, b);
    return c ? c < 0 : a < b;
}

static void sift_down(heap *h, uint64_t i)
{
    uint64_t row = h->rows[i];
    for (;;) {
        uint64_t child = 2 * i + 1;
        if (child >= h->n) break;
        if (child + 1 < h->n && before(h, h->rows[child], h->rows[child + 1])) child++;
        if (!before(h, row, h->rows[child])) break;
        h->rows[i] = h->rows[child];
        i = child;
    }
    h->rows[i] = row;
}

/* The first h->n rows in order, by a heap of as many. */
static void take_first(heap *h, uint64_t n_rows)
{
    uint64_t keep = h->n;
    for (uint64_t i = 0; i < keep; i++) h->rows[i] = i;
    for (uint64_t i = keep / 2; i-- > 0;) sift_down(h, i);
    for (uint64_t i = keep; i < n_rows; i++) {
        if (!before(h, i, h->rows[0])) continue;
        h->rows[0] = i;
        sift_down(h, 0);
    }
    while (h->n > 1) {
        uint64_t last = h->rows[0];
        h->rows[0] = h->rows[--h->n];
        sift_down(h, 0);
        h->rows[h->n] = last;
    }
    h->n = keep;
}

/* Numbers of the first `most` rows in order; a list from the arena. */
static sm_status sorted_rows(rows *r, uint64_t most, uint64_t **out, uint64_t *n_out)
{
    const sm_rows_sink *s = &r->sink;
    uint64_t keep = most < r->n_rows ? most : r->n_rows;
    bool few = keep < r->n_rows / 4;
    sm_sort_key *keys = SM_NEW_N(&r->scratch, sm_sort_key, s->n_orders);
    *out = SM_NEW_N(&r->scratch, uint64_t, (few ? keep : r->n_rows) + 1);
    *n_out = keep;
    if (!keys || !*out) return sm_arena_failed(&r->scratch, r->err);
    if (!keep) return SM_OK;
    for (uint32_t i = 0; i < s->n_orders; i++) SM_TRY(load_key(r, &s->orders[i], &keys[i]));
    if (!few) return sm_sort_rows(keys, s->n_orders, r->n_rows, *out, r->scratch.mem, r->err);
    heap h = {keys, s->n_orders, *out, keep};
    take_first(&h, r->n_rows);
    return SM_OK;
}

/* ---- output ---- */

/* The chunk of a row. */
static uint64_t chunk_of(const rows *r, uint64_t row)
{
    uint64_t lo = 0, hi = r->n_chunks;
    while (hi - lo > 1) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (r->first[mid] <= row) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return lo;
}

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
        g->cols[c] =
            (sm_vec){.data = sm_arena_vector(&r->scratch, SM_BATCH_ROWS * sm_phys_bytes(p)),
                     .valid = g->valid[c],
                     .phys = p};
        if (!g->cols[c].data || !g->valid[c]) return sm_arena_failed(&r->scratch, r->err);
    }
    return SM_OK;
}

static sm_status gather_batch(gather *g, const uint64_t *row, uint32_t n)
{
    rows *r = g->r;
    uint64_t chunk[SM_BATCH_ROWS];
    for (uint32_t i = 0; i < n; i++) chunk[i] = chunk_of(r, row[i]);
    for (uint32_t c = 0; c < r->p->n_out; c++) {
        sm_type type = r->p->in_cols[c].type;
        size_t bytes = sm_phys_bytes(g->cols[c].phys);
        char *data = g->cols[c].data;
        memset(g->valid[c], 0, SM_BATCH_ROWS / 8);
        for (uint32_t i = 0; i < n; i++) {
            sm_value v;
            sm_chunk_col_get(&r->chunks[chunk[i]]->cols[c], type,
                             (uint32_t)(row[i] - r->first[chunk[i]]), &v);
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
    const sm_rows_sink *s = &r->sink;
    uint64_t most = s->limit_rows + s->offset_rows, n = 0, row[SM_BATCH_ROWS];
    uint32_t n_row = 0;
    uint64_t *list = NULL;
    gather g;
    if (most < s->limit_rows) most = UINT64_MAX;
    SM_TRY(sorted_rows(r, most, &list, &n));
    SM_TRY(gather_init(&g, r));
    for (uint64_t i = s->offset_rows; i < n; i++) {
        row[n_row++] = list[i];
        if (n_row < SM_BATCH_ROWS && i + 1 < n) continue;
        SM_TRY(gather_batch(&g, row, n_row));
        n_row = 0;
    }
    return SM_OK;
}

static sm_status put_in_order(rows *r)
{
    const sm_rows_sink *s = &r->sink;
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
            for (; k < SM_BATCH_ROWS && i < n; i++) row[k++] = r->first[c] + from + i;
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
    r->first = SM_NEW_N(&r->scratch, uint64_t, n + 1);
    if (!r->chunks || !r->first) return sm_arena_failed(&r->scratch, r->err);
    for (uint64_t i = 0; i < n_parts; i++) {
        for (uint64_t c = 0; parts[i] && c < parts[i]->n_chunks; c++) {
            r->chunks[r->n_chunks++] = parts[i]->chunks[c];
            uint32_t n_rows = parts[i]->chunks[c]->n_rows;
            r->n_rows += n_rows;
            if (n_rows > r->most_rows) r->most_rows = n_rows;
            r->first[r->n_chunks] = r->n_rows;
        }
    }
    return SM_OK;
}

/* The build side of a join needs no full chunks: the table makes flat columns of them. */
static sm_status all_chunks(rows *r, sm_mem *mem, sm_version **out)
{
    sm_chunk **chunks = SM_NEW_N(&r->scratch, sm_chunk *, r->n_chunks + 1);
    sm_version *none;
    if (!chunks) return sm_arena_failed(&r->scratch, r->err);
    SM_TRY(sm_version_new(mem, r->p->out_cols, r->p->n_out, &none, r->err));
    for (uint64_t i = 0; i < r->n_chunks; i++)
        chunks[i] = sm_chunk_ref((sm_chunk *)(uintptr_t)r->chunks[i]);
    sm_status status = sm_version_extend(none, chunks, r->n_chunks, out, r->err);
    sm_version_unref(none);
    return status;
}

sm_status sm_rows_finish(const sm_pipeline *p, sm_version *const *parts, uint64_t n_parts,
                         sm_mem *mem, sm_version **out, sm_error *err)
{
    rows r = {.p = p, .err = err, .sink = {.limit_rows = UINT64_MAX}};
    if (p->sink == SM_SINK_ROWS) r.sink = p->rows;
    sm_arena_init(&r.scratch, mem, "sort");
    sm_status status = list_chunks(&r, parts, n_parts);
    if (status == SM_OK && p->sink == SM_SINK_BUILD) {
        status = all_chunks(&r, mem, out);
        sm_arena_reset(&r.scratch);
        return status;
    }
    if (status == SM_OK) status = sm_builder_new(mem, p->out_cols, p->n_out, NULL, &r.b, err);
    if (status == SM_OK) {
        status = r.sink.n_orders ? put_sorted(&r) : put_in_order(&r);
        if (status == SM_OK) {
            status = sm_builder_finish(r.b, out, err);
        } else {
            sm_builder_free(r.b);
        }
    }
    sm_arena_reset(&r.scratch);
    return status;
}

sm_status sm_rows_trim(const sm_pipeline *p, sm_version **part, sm_mem *mem, sm_error *err)
{
    const sm_rows_sink *s = &p->rows;
    if (p->sink != SM_SINK_ROWS) return SM_OK;
    uint64_t most = s->limit_rows + s->offset_rows;
    if (!s->n_orders || most < s->limit_rows || most > (*part)->n_rows / 2) return SM_OK;
    sm_pipeline first = *p;
    first.rows.limit_rows = most;
    first.rows.offset_rows = 0;
    first.n_out = p->n_in;
    first.out_cols = p->in_cols;
    sm_version *trimmed;
    SM_TRY(sm_rows_finish(&first, part, 1, mem, &trimmed, err));
    sm_version_unref(*part);
    *part = trimmed;
    return SM_OK;
}
