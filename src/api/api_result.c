/* Results of smelt.h: row by row with conversions, batch by batch as typed columns. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"

void smelt_result_free(smelt_result *r)
{
    if (!r) return;
    if (r->outcome.rows) sm_version_unref(r->outcome.rows);
    sm_arena_reset(&r->scratch);
    sm_free(&r->db->engine.mem, r, sizeof *r);
}

const char *smelt_result_tag(const smelt_result *r) { return r && r->outcome.tag ? r->outcome.tag : ""; }

uint64_t smelt_result_n_rows(const smelt_result *r) { return r ? r->outcome.n_rows : 0; }

uint32_t smelt_result_n_columns(const smelt_result *r)
{
    return r && r->outcome.rows ? r->outcome.rows->n_cols : 0;
}

static const sm_table_col *column_of(const smelt_result *r, uint32_t column)
{
    return column < smelt_result_n_columns(r) ? &r->outcome.rows->cols[column] : NULL;
}

const char *smelt_result_name(const smelt_result *r, uint32_t column)
{
    const sm_table_col *c = column_of(r, column);
    return c && c->name ? c->name : "";
}

smelt_type smelt_result_type(const smelt_result *r, uint32_t column)
{
    const sm_table_col *c = column_of(r, column);
    return c ? sm_api_type(c->type) : (smelt_type){SMELT_TEXT, 0, 0};
}

/* ---- rows ---- */

bool smelt_result_step(smelt_result *r)
{
    if (!r || !r->outcome.rows || r->row >= r->outcome.rows->n_rows) return false;
    const sm_version *v = r->outcome.rows;
    if (r->row - v->first_row[r->chunk] >= v->chunks[r->chunk]->n_rows) r->chunk++;
    r->row++;
    return true;
}

/* The value of the current row; false when there is none, or it is NULL. */
static bool value_of(const smelt_result *r, uint32_t column, sm_value *out)
{
    const sm_table_col *c = column_of(r, column);
    if (!c || r->row == 0) return false;
    const sm_version *v = r->outcome.rows;
    uint32_t row = (uint32_t)(r->row - 1 - v->first_row[r->chunk]);
    sm_chunk_col_get(&v->chunks[r->chunk]->cols[column], c->type, row, out);
    return !out->is_null;
}

bool smelt_result_is_null(const smelt_result *r, uint32_t column)
{
    sm_value v;
    return !value_of(r, column, &v);
}

static double as_double(sm_type t, const sm_value *v)
{
    switch (t.id) {
    case SM_FLOAT32: return v->f32;
    case SM_FLOAT64: return v->f64;
    case SM_DECIMAL: return sm_dec_to_double(sm_value_int(v, sm_type_phys(t)), t.scale);
    case SM_INTERVAL:
    case SM_TEXT: return 0;
    default: return (double)sm_value_int(v, sm_type_phys(t));
    }
}

/* Text that spells a number reads as that number. */
static bool text_as(sm_type_id id, const sm_value *v, sm_value *out)
{
    return sm_parse_value(sm_type_of(id), sm_text_bytes(&v->text), v->text.len, out, NULL) == SM_OK;
}

bool smelt_result_bool(const smelt_result *r, uint32_t column)
{
    sm_value v, parsed;
    if (!value_of(r, column, &v)) return false;
    sm_type t = r->outcome.rows->cols[column].type;
    if (t.id == SM_TEXT) return text_as(SM_BOOL, &v, &parsed) && parsed.b;
    return as_double(t, &v) != 0;
}

static int64_t cut_to_int64(double d)
{
    if (d != d) return 0;
    if (d >= 9223372036854775808.0) return INT64_MAX;
    if (d < -9223372036854775808.0) return INT64_MIN;
    return (int64_t)d;
}

int64_t smelt_result_int64(const smelt_result *r, uint32_t column)
{
    sm_value v, parsed;
    if (!value_of(r, column, &v)) return 0;
    sm_type t = r->outcome.rows->cols[column].type;
    if (t.id == SM_TEXT) return text_as(SM_INT64, &v, &parsed) ? parsed.i64 : 0;
    if (t.id == SM_INTERVAL) return 0;
    if (t.id == SM_FLOAT32 || t.id == SM_FLOAT64) return cut_to_int64(as_double(t, &v));
    sm_i128 n = sm_value_int(&v, sm_type_phys(t)) / sm_pow10(t.scale);
    return n > INT64_MAX ? INT64_MAX : n < INT64_MIN ? INT64_MIN : (int64_t)n;
}

double smelt_result_double(const smelt_result *r, uint32_t column)
{
    sm_value v, parsed;
    if (!value_of(r, column, &v)) return 0;
    sm_type t = r->outcome.rows->cols[column].type;
    if (t.id == SM_TEXT) return text_as(SM_FLOAT64, &v, &parsed) ? parsed.f64 : 0;
    return as_double(t, &v);
}

smelt_text smelt_result_text(smelt_result *r, uint32_t column)
{
    sm_value v;
    if (!value_of(r, column, &v)) return (smelt_text){"", 0};
    sm_type t = r->outcome.rows->cols[column].type;
    if (t.id != SM_TEXT && t.id != SM_UNKNOWN) return (smelt_text){r->text, sm_format_value(t, &v, r->text)};
    if (v.text.len > SM_TEXT_INLINE) return (smelt_text){v.text.ptr, v.text.len};
    memcpy(r->text, sm_text_bytes(&v.text), v.text.len);
    return (smelt_text){r->text, v.text.len};
}

/* ---- batches ---- */

/* A column of rows [from, from + n) in its C form; NULL data when memory is out. */
static smelt_column column_out(smelt_result *r, uint32_t column, const sm_chunk *chunk, uint32_t from, uint32_t n)
{
    sm_arena *a = &r->scratch;
    sm_type t = r->outcome.rows->cols[column].type;
    const sm_chunk_col *col = &chunk->cols[column];
    size_t bytes = t.id == SM_TEXT ? sizeof(smelt_text) : sm_phys_bytes(sm_type_phys(t));
    char *values = sm_arena_vector(a, bytes * n);
    uint64_t *valid = col->valid ? sm_arena_vector(a, sm_bit_words(n) * 8) : NULL;
    if (!values || (col->valid && !valid)) return (smelt_column){NULL, NULL};
    for (uint32_t i = 0; i < n; i++) {
        sm_value v;
        sm_chunk_col_get(col, t, from + i, &v);
        if (v.is_null) continue;
        if (valid) sm_bit_set(valid, i);
        if (t.id != SM_TEXT) {
            memcpy(values + bytes * i, &v, bytes);
            continue;
        }
        smelt_text text = {v.text.ptr, v.text.len};
        if (v.text.len <= SM_TEXT_INLINE) {
            char *copy = sm_arena_alloc(a, SM_TEXT_INLINE);
            if (!copy) return (smelt_column){NULL, NULL};
            memcpy(copy, sm_text_bytes(&v.text), v.text.len);
            text.bytes = copy;
        }
        memcpy(values + bytes * i, &text, sizeof text);
    }
    return (smelt_column){values, (const uint8_t *)valid};
}

bool smelt_result_batch(smelt_result *r, smelt_batch *batch, bool *failed)
{
    const sm_version *v = r ? r->outcome.rows : NULL;
    if (failed) *failed = false;
    if (!v || !batch) return false;
    while (r->next_chunk < v->n_chunks && r->next_row >= v->chunks[r->next_chunk]->n_rows) {
        r->next_chunk++;
        r->next_row = 0;
    }
    if (r->next_chunk >= v->n_chunks) return false;
    const sm_chunk *chunk = v->chunks[r->next_chunk];
    uint32_t from = (uint32_t)r->next_row, n = chunk->n_rows - from;
    if (n > SM_BATCH_ROWS) n = SM_BATCH_ROWS;
    sm_arena_rewind(&r->scratch);
    r->columns = SM_NEW_N(&r->scratch, smelt_column, v->n_cols + 1);
    bool good = r->columns != NULL;
    for (uint32_t c = 0; good && c < v->n_cols; c++) {
        r->columns[c] = column_out(r, c, chunk, from, n);
        good = r->columns[c].values != NULL;
    }
    if (failed) *failed = !good;
    if (!good) return false;
    *batch = (smelt_batch){.n_rows = n, .n_columns = v->n_cols, .columns = r->columns};
    r->next_row += n;
    return true;
}

void smelt_result_rewind(smelt_result *r)
{
    if (!r) return;
    r->row = r->chunk = r->next_chunk = r->next_row = 0;
}

/* FNV-1a with 64 bits, over bytes. */
static uint64_t digest_bytes(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static uint64_t digest_value(uint64_t h, sm_type t, const sm_value *v)
{
    unsigned char null = v->is_null;
    h = digest_bytes(h, &null, 1);
    if (v->is_null) return h;
    if (t.id == SM_TEXT) {
        h = digest_bytes(h, &v->text.len, sizeof v->text.len);
        return digest_bytes(h, sm_text_bytes(&v->text), v->text.len);
    }
    sm_value copy = *v;
    if (t.id == SM_FLOAT64 && v->f64 != v->f64) copy.i64 = 0x7FF8000000000000;
    if (t.id == SM_FLOAT32 && v->f32 != v->f32) copy.i32 = 0x7FC00000;
    return digest_bytes(h, &copy, sm_phys_bytes(sm_type_phys(t)));
}

uint64_t smelt_result_digest(const smelt_result *r)
{
    uint64_t h = 0xcbf29ce484222325u;
    const sm_version *v = r ? r->outcome.rows : NULL;
    if (!v) return h;
    for (uint32_t c = 0; c < v->n_cols; c++) h = digest_bytes(h, &v->cols[c].type, 3);
    for (uint64_t k = 0; k < v->n_chunks; k++) {
        for (uint32_t i = 0; i < v->chunks[k]->n_rows; i++) {
            for (uint32_t c = 0; c < v->n_cols; c++) {
                sm_value x;
                sm_chunk_col_get(&v->chunks[k]->cols[c], v->cols[c].type, i, &x);
                h = digest_value(h, v->cols[c].type, &x);
            }
        }
    }
    return h;
}

void smelt_result_metrics(const smelt_result *r, smelt_metrics *m)
{
    if (!m) return;
    memset(m, 0, sizeof *m);
    if (!r) return;
    const sm_exec_metrics *x = &r->outcome.metrics;
    m->total_ms = r->total_ms;
    m->prepare_ms = r->bind_ms + (double)r->outcome.prepare_ns / 1e6;
    m->compile_ms = (double)x->compile_ns / 1e6;
    m->compiles = x->compiles;
    m->cache_hits = x->cache_hits;
    m->rows_scanned = x->rows_scanned;
    m->bytes_scanned = x->bytes_scanned;
    m->morsels_row = x->morsels[SM_TIER_ROW];
    m->morsels_batch = x->morsels[SM_TIER_BATCH];
    m->morsels_jit = x->morsels[SM_TIER_JIT];
    m->blocks_replayed = x->replayed;
    m->memory_peak = atomic_load(&r->db->engine.mem.peak_bytes);
}
