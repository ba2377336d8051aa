/* Columns and files into tables: smelt_append, smelt_append_borrowed, smelt_load_csv. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "storage/csv/csv.h"

/* ---- C arrays ---- */

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

static sm_status check_decimal(const sm_value *v, sm_type t, sm_error *err)
{
    sm_i128 n = sm_value_int(v, sm_type_phys(t)), bound = sm_pow10(t.precision);
    return n < bound && n > -bound ? SM_OK : sm_raise(err, SM_ERR_DECIMAL_RANGE);
}

static sm_status value_in(const smelt_column *from, const sm_table_col *col, const char *table, uint64_t i,
                          sm_value *out, sm_error *err)
{
    size_t bytes = sm_phys_bytes(sm_type_phys(col->type));
    out->is_null = from->validity && !(from->validity[i / 8] >> (i % 8) & 1);
    if (out->is_null) return col->not_null ? sm_raise(err, SM_ERR_NOT_NULL, col->name, table) : SM_OK;
    if (col->type.id == SM_TEXT) {
        const smelt_text *t = (const smelt_text *)from->values + i;
        if (t->length > UINT32_MAX / 4) return sm_raise(err, SM_ERR_TEXT_TOO_LONG);
        if (!valid_utf8((const unsigned char *)t->bytes, t->length)) return sm_raise(err, SM_ERR_BAD_ENCODING);
        out->text = sm_text_view(t->bytes, (uint32_t)t->length);
        return SM_OK;
    }
    memcpy(out, (const char *)from->values + bytes * i, bytes);
    if (col->type.id == SM_BOOL) out->b = out->b != 0;
    return col->type.id == SM_DECIMAL ? check_decimal(out, col->type, err) : SM_OK;
}

static sm_status append_copied(smelt_db *db, const char *table, const sm_version *base, const smelt_column *columns,
                               uint64_t n_rows, sm_version **out, sm_error *err)
{
    sm_builder *b = NULL;
    sm_arena a;
    SM_TRY(sm_builder_new(&db->engine.mem, base->cols, base->n_cols, base, &b, err));
    sm_arena_init(&a, &db->engine.mem, "append");
    sm_value *row = SM_NEW_N(&a, sm_value, base->n_cols + 1);
    sm_status s = row ? SM_OK : sm_arena_failed(&a, err);
    for (uint64_t i = 0; i < n_rows && s == SM_OK; i++) {
        for (uint32_t c = 0; c < base->n_cols && s == SM_OK; c++) {
            s = value_in(&columns[c], &base->cols[c], table, i, &row[c], err);
        }
        if (s == SM_OK) s = sm_builder_row(b, row, err);
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
        if (col->type.id != SM_DECIMAL && !(col->not_null && columns[c].validity)) continue;
        for (uint64_t i = 0; i < n_rows; i++) {
            sm_value v;
            SM_TRY(value_in(&columns[c], col, table, i, &v, err));
        }
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
