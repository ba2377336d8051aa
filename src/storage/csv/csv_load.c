/* CSV into a table. A few hundred records are split into fields, then converted column by column
 * straight into the builder's buffers; the loops do not raise errors, they only say at which row
 * they stopped. The first bad row is then converted again, field by field, which gives the error
 * that a plain row-by-row loader would have given; with a reject table the rest of the call's
 * records goes row by row. */
#include "storage/build_col.h"
#include "storage/csv/csv_parse.h"
#include "storage/kernels.h"

#include <stdio.h>

typedef struct loader {
    sm_mem *mem;
    const sm_csv_options *o;
    sm_csv_reader reader;
    sm_builder *rows, *rejects;
    uint32_t n_file_cols;
    const uint32_t *map;          /* file column to table column; NULL = the same */
    uint32_t *source;             /* table column to file column; UINT32_MAX = none */
    sm_value *values;             /* one row, for the slow way */
    bool ascii;                   /* every byte of the records at hand */
    const sm_csv_record *records; /* those being loaded */
} loader;

/* Fields of a short record are NULL where padding was asked for. */
static const sm_csv_field absent = {"", 0, true};

static const sm_csv_field *field_at(const loader *l, const sm_csv_record *r, uint32_t file_col)
{
    return SM_LIKELY(file_col < r->n_fields) ? &l->reader.fields[r->first_field + file_col]
                                             : &absent;
}

/* ---- a column of many rows; each stops at the first row that it cannot take and gives its number
 * ---- */

typedef struct run {
    const loader *l;
    sm_build_col *col;
    uint32_t file_col;
    uint32_t first, n; /* builder rows */
    uint32_t done;     /* rows that went well */
    sm_error *err;     /* for lack of memory alone */
} run;

/* For each row: `value` where the field (f) has one, NULL where it may. Statements must leave the
 * loop on failure. */
#define FOR_FIELDS(x, value)                                                                       \
    do {                                                                                           \
        for (uint32_t i = 0; i < (x)->n; i++) {                                                    \
            const sm_csv_field *f = field_at((x)->l, &(x)->l->records[i], (x)->file_col);          \
            uint32_t at = (x)->first + i;                                                          \
            (x)->done = i;                                                                         \
            if (f->is_null) {                                                                      \
                if ((x)->col->not_null) return SM_OK;                                              \
                SM_TRY(sm_build_col_null((x)->col, (x)->l->mem, at, (x)->err));                    \
                continue;                                                                          \
            }                                                                                      \
            value;                                                                                 \
        }                                                                                          \
        (x)->done = (x)->n;                                                                        \
        return SM_OK;                                                                              \
    } while (0)

static bool parse_slow(const run *x, const sm_csv_field *f, sm_value *v)
{
    return sm_csv_parse(x->col->type, f, v, NULL) == SM_OK;
}

/* int64 of a value of any physical form up to 64 bits. */
static int64_t as_int64(const run *x, const sm_value *v)
{
    return (int64_t)sm_value_int(v, x->col->phys);
}

static sm_status load_ints(run *x)
{
    int64_t *to = x->col->data;
    int64_t low = x->col->phys == SM_PHYS_I16   ? INT16_MIN
                  : x->col->phys == SM_PHYS_I32 ? INT32_MIN
                                                : INT64_MIN;
    int64_t high = ~low;
    FOR_FIELDS(x, {
        int64_t v;
        sm_value slow;
        if (SM_LIKELY(sm_csv_fast_int(f, &v) && v >= low && v <= high)) {
            to[at] = v;
        } else {
            if (!parse_slow(x, f, &slow)) return SM_OK;
            to[at] = as_int64(x, &slow);
        }
    });
}

static sm_status load_decimals(run *x)
{
    int64_t *to = x->col->data;
    sm_i128 *wide = x->col->data;
    bool is_wide = x->col->phys == SM_PHYS_I128;
    unsigned scale = x->col->type.scale;
    sm_i128 limit = sm_pow10(x->col->type.precision);
    FOR_FIELDS(x, {
        int64_t v;
        sm_value slow;
        if (SM_LIKELY(sm_csv_fast_decimal(f, scale, &v) && v < limit && v > -limit)) {
            if (is_wide)
                wide[at] = v;
            else
                to[at] = v;
        } else {
            if (!parse_slow(x, f, &slow)) return SM_OK;
            if (is_wide)
                wide[at] = slow.i128;
            else
                to[at] = slow.i64;
        }
    });
}

static sm_status load_dates(run *x)
{
    int64_t *to = x->col->data;
    FOR_FIELDS(x, {
        int32_t v;
        sm_value slow;
        if (SM_LIKELY(sm_csv_fast_date(f->s, f->len, &v))) {
            to[at] = v;
        } else {
            if (!parse_slow(x, f, &slow)) return SM_OK;
            to[at] = slow.i32;
        }
    });
}

static sm_status load_timestamps(run *x)
{
    int64_t *to = x->col->data;
    FOR_FIELDS(x, {
        sm_value slow;
        if (SM_UNLIKELY(!sm_csv_fast_timestamp(f, &to[at]))) {
            if (!parse_slow(x, f, &slow)) return SM_OK;
            to[at] = slow.i64;
        }
    });
}

static sm_status load_texts(run *x)
{
    bool ascii = x->l->ascii;
    FOR_FIELDS(x, {
        sm_status status;
        if (!ascii && !sm_csv_is_utf8(f->s, f->len)) return SM_OK;
        status = sm_build_col_text(x->col, x->l->mem, at, sm_text_view(f->s, f->len), NULL);
        if (status == SM_ERR_VARCHAR_LENGTH) return SM_OK;
        if (status != SM_OK)
            return sm_raise(x->err, SM_ERR_OUT_OF_MEMORY, "CSV", (size_t)f->len,
                            (size_t)atomic_load(&x->l->mem->limit_bytes));
    });
}

static sm_status load_others(run *x)
{
    FOR_FIELDS(x, {
        sm_value v;
        if (!parse_slow(x, f, &v)) return SM_OK;
        switch (x->col->phys) {
        case SM_PHYS_BOOL: ((uint8_t *)x->col->data)[at] = v.b; break;
        case SM_PHYS_F32: ((float *)x->col->data)[at] = v.f32; break;
        case SM_PHYS_F64: ((double *)x->col->data)[at] = v.f64; break;
        default: ((sm_interval *)x->col->data)[at] = v.iv; break;
        }
    });
}

static sm_status load_column(run *x)
{
    switch (x->col->type.id) {
    case SM_INT16:
    case SM_INT32:
    case SM_INT64: return load_ints(x);
    case SM_DECIMAL: return load_decimals(x);
    case SM_DATE: return load_dates(x);
    case SM_TIMESTAMP: return load_timestamps(x);
    case SM_TEXT: return load_texts(x);
    default: return load_others(x);
    }
}

/* ---- errors of one record ---- */

static uint32_t table_col(const loader *l, uint32_t file_col)
{
    return l->map ? l->map[file_col] : file_col;
}

static sm_status check_count(const loader *l, const sm_csv_record *r, sm_error *err)
{
    char message[SM_MESSAGE_BYTES];
    if (r->n_fields > l->n_file_cols) {
        (void)sm_raise(err, SM_ERR_CSV, "extra data after last expected column");
    } else if (r->n_fields < l->n_file_cols && !l->o->pad_short_rows) {
        snprintf(message, sizeof message, "missing data for column \"%s\"",
                 l->rows->defs[table_col(l, r->n_fields)].name);
        (void)sm_raise(err, SM_ERR_CSV, message);
    } else {
        return SM_OK;
    }
    sm_csv_error_where(err, r->line, NULL, NULL);
    return SM_ERR_CSV;
}

/* All but the place of the error. */
static sm_status convert_field(const sm_build_col *c, const sm_csv_field *f, sm_value *out,
                               sm_error *err)
{
    if (c->phys == SM_PHYS_TEXT && !sm_csv_is_utf8(f->s, f->len))
        return sm_raise(err, SM_ERR_BAD_ENCODING);
    SM_TRY(sm_csv_parse(c->type, f, out, err));
    if (c->max_chars && out->text.len > c->max_chars)
        return sm_build_fit_varchar(c->max_chars, &out->text, err);
    return SM_OK;
}

/* A record as a row of l->values; *bad_col is the table column of the error, if it has one. */
static sm_status convert_record(loader *l, const sm_csv_record *r, const char **bad_col,
                                sm_error *err)
{
    SM_TRY(check_count(l, r, err));
    for (uint32_t c = 0; c < l->rows->n_cols; c++) {
        const sm_csv_field *f = l->source[c] == UINT32_MAX ? &absent : field_at(l, r, l->source[c]);
        sm_status status;
        *bad_col = l->rows->defs[c].name;
        l->values[c] = (sm_value){.is_null = true};
        if (f->is_null) {
            if (!l->rows->defs[c].not_null) continue;
            status = sm_builder_raise_null(l->rows, c, err);
            sm_csv_error_where(err, r->line, *bad_col, NULL);
            return status;
        }
        status = convert_field(&l->rows->cols[c], f, &l->values[c], err);
        if (status == SM_OK) continue;
        sm_csv_error_where(err, r->line, *bad_col, f);
        return status;
    }
    *bad_col = NULL;
    return SM_OK;
}

/* ---- rejects ---- */

static sm_status open_rejects(loader *l, sm_error *err)
{
    static const char *names[4] = {"line", "column", "message", "row"};
    sm_table_col cols[4] = {{.type = sm_type_of(SM_INT64)}};
    if (!l->o->rejects) return SM_OK;
    for (int i = 0; i < 4; i++) {
        cols[i].name = (char *)(uintptr_t)names[i];
        if (i) cols[i].type = sm_type_of(SM_TEXT);
    }
    return sm_builder_new(l->mem, cols, 4, NULL, &l->rejects, err);
}

static sm_text text_of(const char *s, size_t len)
{
    return sm_text_view(s, len > UINT32_MAX / 4 ? UINT32_MAX / 4 : (uint32_t)len);
}

static sm_status reject(loader *l, const sm_csv_record *r, const char *column, const char *message,
                        sm_error *err)
{
    sm_value row[4] = {
        {.i64 = (int64_t)r->line}, {.is_null = !column}, {.is_null = false}, {.is_null = false}};
    char *clean = NULL;
    if (column) row[1].text = text_of(column, strlen(column));
    row[2].text = text_of(message, strlen(message));
    row[3].text = text_of(r->raw, r->raw_len);
    if (!sm_csv_is_utf8(r->raw, row[3].text.len)) { /* a table holds UTF-8 alone */
        clean = sm_arena_alloc(&l->reader.scratch, r->raw_len + 1);
        if (!clean) return sm_arena_failed(&l->reader.scratch, err);
        for (uint32_t i = 0; i < row[3].text.len; i++)
            clean[i] = (unsigned char)r->raw[i] < 0x80 ? r->raw[i] : '?';
        row[3].text = text_of(clean, row[3].text.len);
    }
    return sm_builder_row(l->rejects, row, err);
}

static bool is_resource_error(sm_status s)
{
    return s == SM_ERR_OUT_OF_MEMORY || s == SM_ERR_INTERNAL;
}

/* One record after the other, bad ones to the rejects. */
static sm_status load_slowly(loader *l, const sm_csv_record *records, uint32_t n, sm_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *column = NULL;
        sm_error bad = {.status = SM_OK};
        sm_status status = convert_record(l, &records[i], &column, &bad);
        if (status == SM_OK) {
            SM_TRY(sm_builder_row(l->rows, l->values, err));
        } else if (is_resource_error(status) || !l->rejects) {
            if (err && err->status == SM_OK) *err = bad;
            return status;
        } else {
            SM_TRY(reject(l, &records[i], column, bad.message, err));
        }
    }
    return SM_OK;
}

/* ---- many records ---- */

/* How many of the n records are good, converted to builder rows [first, ...) but not committed. */
static sm_status load_columns(loader *l, uint32_t n, uint32_t *good, sm_error *err)
{
    uint32_t first = l->rows->n_rows;
    for (uint32_t c = 0; c < l->rows->n_cols; c++) {
        run x = {l, &l->rows->cols[c], l->source[c], first, n, 0, err};
        SM_TRY(load_column(&x));
        n = x.done;
    }
    *good = n;
    return SM_OK;
}

static sm_status load_records(loader *l, const sm_csv_record *records, uint32_t n, sm_error *err)
{
    while (n) {
        uint32_t room, counted = 0, good;
        while (counted < n && check_count(l, &records[counted], NULL) == SM_OK) counted++;
        if (!counted) return load_slowly(l, records, n, err);
        SM_TRY(sm_builder_room(l->rows, counted, &room, err));
        l->records = records;
        SM_TRY(load_columns(l, room, &good, err));
        for (uint32_t c = 0; good < room && c < l->rows->n_cols; c++)
            sm_build_col_truncate(&l->rows->cols[c], l->rows->n_rows + good);
        SM_TRY(sm_builder_commit(l->rows, good, err));
        records += good;
        n -= good;
        if (good < room) return load_slowly(l, records, n, err);
    }
    return SM_OK;
}

static sm_status handle_bad_record(loader *l, sm_error *err)
{
    const char *message = l->reader.bad_record;
    sm_csv_record line;
    if (!l->rejects) {
        sm_status status = sm_raise(err, SM_ERR_CSV, message);
        sm_csv_error_where(err, l->reader.line, NULL, NULL);
        return status;
    }
    SM_TRY(sm_csv_reader_skip_line(&l->reader, &line, err));
    return reject(l, &line, NULL, message, err);
}

static sm_status load_all(loader *l, sm_error *err)
{
    sm_csv_reader *r = &l->reader;
    const sm_column_kernels *k = sm_column_kernels_get();
    if (l->o->header) SM_TRY(sm_csv_reader_next(r, 1, err));
    for (;;) {
        const sm_csv_record *last;
        SM_TRY(sm_csv_reader_next(r, SM_CSV_BATCH_RECORDS, err));
        if (!r->n_records && !r->bad_record) return SM_OK;
        if (r->n_records) {
            last = &r->records[r->n_records - 1];
            l->ascii = !l->o->text_format &&
                       k->is_ascii(r->records[0].raw,
                                   (size_t)(last->raw - r->records[0].raw) + last->raw_len);
            SM_TRY(load_records(l, r->records, r->n_records, err));
        }
        if (r->bad_record) SM_TRY(handle_bad_record(l, err));
    }
}

/* ---- opening ---- */

static sm_status open_columns(loader *l, const sm_version *base, uint32_t n_map, sm_arena *a,
                              sm_error *err)
{
    l->n_file_cols = l->map ? n_map : base->n_cols;
    l->source = SM_NEW_N(a, uint32_t, base->n_cols + 1);
    l->values = SM_NEW_N(a, sm_value, base->n_cols + 1);
    if (!l->source || !l->values) return sm_arena_failed(a, err);
    for (uint32_t c = 0; c < base->n_cols; c++) l->source[c] = UINT32_MAX;
    for (uint32_t i = 0; i < l->n_file_cols; i++) {
        if (table_col(l, i) >= base->n_cols)
            return sm_raise(err, SM_ERR_INTERNAL, "CSV column beyond the table's");
        l->source[table_col(l, i)] = i;
    }
    return SM_OK;
}

static sm_status finish(loader *l, sm_version **out, sm_error *err)
{
    sm_builder *rows = l->rows, *rejects = l->rejects;
    l->rows = l->rejects = NULL; /* finishing frees them in any case */
    if (rejects) {
        sm_status status = sm_builder_finish(rejects, l->o->rejects, err);
        if (status != SM_OK) {
            sm_builder_free(rows);
            return status;
        }
    }
    return sm_builder_finish(rows, out, err);
}

sm_status sm_csv_load(sm_mem *m, const char *path, const sm_csv_options *o, const sm_version *base,
                      const uint32_t *map, uint32_t n_map, sm_version **out, uint64_t *n_rows,
                      sm_error *err)
{
    loader l = {.mem = m, .o = o, .map = map};
    sm_arena a;
    sm_status status;
    uint64_t loaded = 0;
    *out = NULL;
    if (o->rejects) *o->rejects = NULL;
    sm_arena_init(&a, m, "CSV");
    status = sm_builder_new(m, base->cols, base->n_cols, base, &l.rows, err);
    if (status == SM_OK) status = open_columns(&l, base, n_map, &a, err);
    if (status == SM_OK) status = open_rejects(&l, err);
    if (status == SM_OK) status = sm_csv_reader_open(&l.reader, m, path, o, err);
    if (status == SM_OK) {
        if (o->relation) sm_builder_set_relation(l.rows, o->relation);
        status = load_all(&l, err);
    }
    if (status == SM_OK) {
        loaded = sm_builder_rows(l.rows);
        status = finish(&l, out, err);
    }
    if (status != SM_OK && o->rejects && *o->rejects) {
        sm_version_unref(*o->rejects);
        *o->rejects = NULL;
    }
    sm_csv_reader_close(&l.reader);
    sm_builder_free(l.rows);
    sm_builder_free(l.rejects);
    sm_arena_reset(&a);
    if (status == SM_OK && n_rows) *n_rows = loaded;
    return status;
}
