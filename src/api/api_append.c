/* Columns and files into tables: smelt_append, smelt_append_borrowed, smelt_load_csv. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "storage/csv/csv.h"

/* ---- C arrays ---- */

/* Is every byte below 0x80? Eight at a time; the last eight overlap those before. */
static bool is_ascii(const char *s, size_t n)
{
    const uint64_t high = 0x8080808080808080u;
    uint64_t all = 0, w;
    if (n < sizeof w) {
        for (size_t i = 0; i < n; i++) all |= (unsigned char)s[i];
        return !(all & high);
    }
    for (size_t i = 0; i + sizeof w < n; i += sizeof w) {
        memcpy(&w, s + i, sizeof w);
        all |= w;
    }
    memcpy(&w, s + n - sizeof w, sizeof w);
    return !((all | w) & high);
}

static bool valid_utf8(const unsigned char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        unsigned c = s[i], more = c < 0x80 ? 0 : c < 0xC2 ? 9 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : c < 0xF5 ? 3 : 9;
        if (more > n - i - 1) return false;
        for (unsigned k = 1; k <= more; k++) {
            if ((s[i + k] & 0xC0) != 0x80) return false;
        }
        if ((c == 0xE0 && s[i + 1] < 0xA0) || (c == 0xED && s[i + 1] > 0x9F)) return false;
        if ((c == 0xF0 && s[i + 1] < 0x90) || (c == 0xF4 && s[i + 1] > 0x8F)) return false;
        i += 1 + more;
    }
    return true;
}

static bool is_null(const smelt_column *from, uint64_t i)
{
    return from->validity && !(from->validity[i / 8] >> (i % 8) & 1);
}

/* Decimals of rows [at, at + n) are within their precision. */
static sm_status check_decimals(const smelt_column *from, sm_type t, uint64_t at, uint64_t n, sm_error *err)
{
    sm_i128 bound = sm_pow10(t.precision);
    bool good = true;
    if (sm_type_phys(t) == SM_PHYS_I64) {
        const int64_t *v = (const int64_t *)from->values + at;
        int64_t least = (int64_t)bound;
        for (uint64_t i = 0; i < n; i++)
            good &= (v[i] < least && v[i] > -least) || is_null(from, at + i);
    } else {
        const char *v = (const char *)from->values + at * sizeof bound;
        for (uint64_t i = 0; i < n; i++) {
            sm_i128 x;
            memcpy(&x, v + i * sizeof x, sizeof x);
            good &= (x < bound && x > -bound) || is_null(from, at + i);
        }
    }
    return good ? SM_OK : sm_raise(err, SM_ERR_DECIMAL_RANGE);
}

static sm_status check_not_null(const smelt_column *from, const sm_table_col *col, const char *table, uint64_t n_rows,
                                sm_error *err)
{
    for (uint64_t i = 0; from->validity && i < n_rows; i++) {
        if (is_null(from, i)) return sm_raise(err, SM_ERR_NOT_NULL, col->name, table);
    }
    return SM_OK;
}

/* Rows go to the builder so many at a time; what the engine holds in another form is put into room first. */
enum { PART_ROWS = 4096 };

static sm_status views_of_text(const smelt_column *from, uint64_t at, uint32_t n, sm_text *to, sm_error *err)
{
    const smelt_text *t = (const smelt_text *)from->values + at;
    for (uint32_t i = 0; i < n; i++) {
        if (is_null(from, at + i)) {
            to[i] = (sm_text){0};
            continue;
        }
        if (t[i].length && !t[i].bytes) return sm_raise(err, SM_ERR_MISUSE, "a text has no bytes");
        if (t[i].length > UINT32_MAX / 4) return sm_raise(err, SM_ERR_TEXT_TOO_LONG);
        if (!is_ascii(t[i].bytes, t[i].length) && !valid_utf8((const unsigned char *)t[i].bytes, t[i].length))
            return sm_raise(err, SM_ERR_BAD_ENCODING);
        to[i] = sm_text_view(t[i].length ? t[i].bytes : "", (uint32_t)t[i].length);
    }
    return SM_OK;
}

/* Rows [at, at + n) of a column as a vector; at is a multiple of PART_ROWS. */
static sm_status part_of_column(const smelt_column *from, const sm_table_col *col, uint64_t at, uint32_t n,
                                sm_arena *a, sm_vec *to, sm_error *err)
{
    sm_phys phys = sm_type_phys(col->type);
    size_t bytes = sm_phys_bytes(phys);
    const char *values = (const char *)from->values + bytes * at;
    *to = (sm_vec){.data = (void *)(uintptr_t)values, .phys = phys};
    if (from->validity) {
        uint64_t *valid = sm_arena_vector(a, sm_bit_words(n) * sizeof *valid);
        if (!valid) return sm_arena_failed(a, err);
        memcpy(valid, from->validity + at / 8, (n + 7) / 8);
        to->valid = valid;
    }
    if (col->type.id == SM_DECIMAL) SM_TRY(check_decimals(from, col->type, at, n, err));
    if (phys != SM_PHYS_TEXT && phys != SM_PHYS_BOOL && phys != SM_PHYS_I128) return SM_OK;
    to->data = sm_arena_vector(a, n * bytes);
    if (!to->data) return sm_arena_failed(a, err);
    if (phys == SM_PHYS_TEXT) return views_of_text(from, at, n, to->data, err);
    if (phys == SM_PHYS_I128) { /* the caller's are aligned for 64 bits only */
        memcpy(to->data, values, n * bytes);
        return SM_OK;
    }
    for (uint32_t i = 0; i < n; i++) ((uint8_t *)to->data)[i] = values[i] != 0;
    return SM_OK;
}

static sm_status append_part(sm_builder *b, const sm_version *base, const smelt_column *columns, uint64_t at,
                             uint32_t n, sm_arena *a, sm_error *err)
{
    sm_batch batch = {.n_cols = base->n_cols, .n_rows = n, .n_sel = n};
    sm_arena_rewind(a);
    batch.cols = SM_NEW_N(a, sm_vec, base->n_cols);
    if (!batch.cols) return sm_arena_failed(a, err);
    for (uint32_t c = 0; c < base->n_cols; c++)
        SM_TRY(part_of_column(&columns[c], &base->cols[c], at, n, a, &batch.cols[c], err));
    return sm_builder_batch(b, &batch, err);
}

static sm_status append_copied(smelt_db *db, const char *table, const sm_version *base, const smelt_column *columns,
                               uint64_t n_rows, sm_version **out, sm_error *err)
{
    sm_builder *b = NULL;
    sm_arena a;
    sm_status s = SM_OK;
    SM_TRY(sm_builder_new(&db->engine.mem, base->cols, base->n_cols, base, &b, err));
    sm_builder_set_relation(b, table);
    sm_arena_init(&a, &db->engine.mem, "append");
    for (uint64_t at = 0; at < n_rows && s == SM_OK; at += PART_ROWS) {
        uint64_t left = n_rows - at;
        s = append_part(b, base, columns, at, left < PART_ROWS ? (uint32_t)left : PART_ROWS, &a, err);
    }
    sm_arena_reset(&a);
    if (s == SM_OK) return sm_builder_finish(b, out, err);
    sm_builder_free(b);
    return s;
}

/* Releases the caller's memory when every column of the append has been let go. */
typedef struct shared_release {
    _Atomic uint32_t columns;
    sm_mem *mem;
    void (*release)(void *arg);
    void *arg;
} shared_release;

static void release_one(void *p)
{
    shared_release *s = p;
    if (atomic_fetch_sub(&s->columns, 1) != 1) return;
    if (s->release) s->release(s->arg);
    sm_free(s->mem, s, sizeof *s);
}

static bool has_text(const sm_version *v)
{
    for (uint32_t c = 0; c < v->n_cols; c++) {
        if (v->cols[c].type.id == SM_TEXT) return true;
    }
    return false;
}

static sm_status check_borrowed(const sm_version *base, const char *table, const smelt_column *columns, uint64_t n_rows,
                                sm_error *err)
{
    for (uint32_t c = 0; c < base->n_cols; c++) {
        const sm_table_col *col = &base->cols[c];
        if (col->not_null) SM_TRY(check_not_null(&columns[c], col, table, n_rows, err));
        if (col->type.id == SM_DECIMAL) SM_TRY(check_decimals(&columns[c], col->type, 0, n_rows, err));
    }
    return SM_OK;
}

static sm_status append_views(smelt_db *db, const char *table, const sm_version *base, const smelt_column *columns,
                              uint64_t n_rows, void (*release)(void *), void *arg, sm_version **out, bool *taken,
                              sm_error *err)
{
    sm_mem *mem = &db->engine.mem;
    sm_arena a;
    void *p = NULL;
    SM_TRY(check_borrowed(base, table, columns, n_rows, err));
    SM_TRY(sm_alloc_zero(mem, sizeof(shared_release), "append", &p, err));
    shared_release *shared = p;
    *shared = (shared_release){.mem = mem, .release = release, .arg = arg};
    atomic_init(&shared->columns, base->n_cols);
    sm_arena_init(&a, mem, "append");
    sm_foreign_col *cols = SM_NEW_N(&a, sm_foreign_col, base->n_cols + 1);
    for (uint32_t c = 0; cols && c < base->n_cols; c++) {
        cols[c] = (sm_foreign_col){columns[c].values, columns[c].validity, 0, release_one, shared};
    }
    *taken = cols != NULL;
    if (!cols) sm_free(mem, shared, sizeof *shared);
    sm_status s = cols ? sm_version_from_foreign(mem, base->cols, base->n_cols, cols, n_rows, base, out, err)
                       : sm_arena_failed(&a, err);
    sm_arena_reset(&a);
    return s;
}

static smelt_status append(smelt_db *db, const char *table, const smelt_column *columns, uint32_t n_columns,
                           uint64_t n_rows, bool borrow, void (*release)(void *), void *arg, smelt_error *err)
{
    sm_catalog *catalog = &db->engine.catalog;
    sm_version *base = NULL, *next = NULL;
    sm_error e = {0};
    bool taken = false;
    pthread_mutex_lock(&catalog->write_lock);
    sm_status s = sm_catalog_snapshot(catalog, table, &base, &e);
    if (s == SM_OK && base->n_cols != n_columns) {
        s = sm_raise(&e, SM_ERR_MISUSE, "the table has another number of columns");
    }
    for (uint32_t c = 0; s == SM_OK && c < n_columns; c++) {
        if (!columns[c].values && n_rows) s = sm_raise(&e, SM_ERR_MISUSE, "a column's values are NULL");
    }
    if (s == SM_OK && n_rows && n_columns) {
        bool views = borrow && base->n_rows % SM_CHUNK_ROWS == 0 && !has_text(base);
        s = views ? append_views(db, table, base, columns, n_rows, release, arg, &next, &taken, &e)
                  : append_copied(db, table, base, columns, n_rows, &next, &e);
        if (s == SM_OK) s = sm_catalog_publish(catalog, table, next, &e);
    }
    if (base) sm_version_unref(base);
    pthread_mutex_unlock(&catalog->write_lock);
    if (borrow && !taken && release) release(arg);
    return sm_api_error(s, &e, err);
}

smelt_status smelt_append(smelt_db *db, const char *table, const smelt_column *columns, uint32_t n_columns,
                          uint64_t n_rows, smelt_error *err)
{
    if (!db || !table || (n_columns && !columns)) return sm_api_misuse(err, "smelt_append: an argument is NULL");
    return append(db, table, columns, n_columns, n_rows, false, NULL, NULL, err);
}

smelt_status smelt_append_borrowed(smelt_db *db, const char *table, const smelt_column *columns, uint32_t n_columns,
                                   uint64_t n_rows, void (*release)(void *arg), void *arg, smelt_error *err)
{
    if (!db || !table || (n_columns && !columns)) {
        if (release) release(arg);
        return sm_api_misuse(err, "smelt_append_borrowed: an argument is NULL");
    }
    return append(db, table, columns, n_columns, n_rows, true, release, arg, err);
}

smelt_status smelt_repeat(smelt_db *db, const char *table, uint64_t times, smelt_error *err)
{
    sm_version *base = NULL, *next = NULL;
    sm_error e = {0};
    if (!db || !table || !times) return sm_api_misuse(err, "smelt_repeat: an argument is NULL or 0");
    sm_catalog *catalog = &db->engine.catalog;
    pthread_mutex_lock(&catalog->write_lock);
    sm_status s = sm_catalog_snapshot(catalog, table, &base, &e);
    if (s == SM_OK) s = sm_version_repeat(base, times, &next, &e);
    if (s == SM_OK) s = sm_catalog_publish(catalog, table, next, &e);
    if (base) sm_version_unref(base);
    pthread_mutex_unlock(&catalog->write_lock);
    return sm_api_error(s, &e, err);
}

/* ---- CSV ---- */

static sm_status load_csv(sm_engine *e, const char *table, const char *path, sm_csv_options *o, const char *reject_table,
                          uint64_t *n_rows, sm_error *err)
{
    sm_version *base = NULL, *next = NULL, *rejects = NULL;
    bool create = sm_catalog_snapshot(&e->catalog, table, &base, NULL) != SM_OK;
    if (create) {
        sm_table_col *cols = NULL;
        uint32_t n = 0;
        SM_TRY(sm_csv_infer(&e->mem, path, o, &cols, &n, err));
        sm_status s = sm_version_new(&e->mem, cols, n, &base, err);
        sm_csv_schema_free(&e->mem, cols, n);
        SM_TRY(s);
    }
    if (reject_table) o->rejects = &rejects;
    sm_status s = sm_csv_load(&e->mem, path, o, base, NULL, base->n_cols, &next, n_rows, err);
    sm_version_unref(base);
    SM_TRY(s);
    if (rejects) s = sm_catalog_create(&e->catalog, reject_table, rejects, err);
    if (s != SM_OK) {
        sm_version_unref(next);
        return s;
    }
    return create ? sm_catalog_create(&e->catalog, table, next, err) : sm_catalog_publish(&e->catalog, table, next, err);
}

smelt_status smelt_load_csv(smelt_db *db, const char *table, const char *path, const smelt_csv *options,
                            uint64_t *n_rows, smelt_error *err)
{
    sm_csv_options o;
    sm_error e = {0};
    uint64_t n = 0;
    if (n_rows) *n_rows = 0;
    if (!db || !table || !path) return sm_api_misuse(err, "smelt_load_csv: an argument is NULL");
    sm_csv_options_init(&o);
    o.header = !(options && options->no_header);
    if (options && options->delimiter) o.delimiter = options->delimiter;
    if (options && options->quote) o.quote = o.escape = options->quote;
    if (options && options->null_text) o.null_text = options->null_text;
    pthread_mutex_lock(&db->engine.catalog.write_lock);
    sm_status s = load_csv(&db->engine, table, path, &o, options ? options->reject_table : NULL, &n, &e);
    pthread_mutex_unlock(&db->engine.catalog.write_lock);
    if (n_rows && s == SM_OK) *n_rows = n;
    return sm_api_error(s, &e, err);
}
