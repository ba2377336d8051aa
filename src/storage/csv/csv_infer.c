/* Types of a CSV file's columns, from every field of it: each column keeps the set of types that
 * all its fields so far could be, and takes the narrowest left at the end. A type is taken only if
 * nothing of the text is lost by it: digits with leading zeros or a plus sign stay text, and so do
 * numbers of more than 38 digits. */
#include "storage/csv/csv_parse.h"

#include <stdio.h>

enum {
    IS_INT = 1,
    IS_DECIMAL = 2,
    IS_FLOAT = 4,
    IS_DATE = 8,
    IS_TIMESTAMP = 16,
    IS_BOOL = 32,
    IS_ANY = 63
};

typedef struct guess {
    bool seen; /* a field that is not NULL */
    uint8_t may_be;
    unsigned int_digits, scale; /* most of any field */
} guess;

typedef struct number_shape {
    unsigned int_digits, fraction_digits;
    bool exponent;
} number_shape;

static const char *skip_digits(const char *s, const char *end)
{
    while (s < end && *s >= '0' && *s <= '9') s++;
    return s;
}

/* [-] digits [. digits] [e [+-] digits], without a leading zero that a number would lose. */
static bool number_of(const sm_csv_field *f, number_shape *out)
{
    const char *s = f->s, *end = s + f->len, *from;
    if (s < end && *s == '-') s++;
    from = s;
    s = skip_digits(s, end);
    *out = (number_shape){.int_digits = (unsigned)(s - from)};
    if (out->int_digits > 1 && *from == '0') return false;
    if (s < end && *s == '.') {
        from = ++s;
        s = skip_digits(s, end);
        out->fraction_digits = (unsigned)(s - from);
    }
    if (!out->int_digits && !out->fraction_digits) return false;
    if (s < end && (*s == 'e' || *s == 'E')) {
        out->exponent = true;
        if (++s < end && (*s == '-' || *s == '+')) s++;
        from = s;
        s = skip_digits(s, end);
        if (s == from) return false;
    }
    return s == end;
}

static bool is_word(const sm_csv_field *f, const char *word)
{
    for (uint32_t i = 0; i < f->len; i++) {
        char c = f->s[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c + ('a' - 'A'));
        if (c != word[i] || !c) return false;
    }
    return !word[f->len];
}

static bool is_float_word(const sm_csv_field *f)
{
    static const char *words[] = {"nan", "inf", "-inf", "infinity", "-infinity"};
    for (size_t i = 0; i < SM_COUNT(words); i++)
        if (is_word(f, words[i])) return true;
    return false;
}

static uint8_t number_types(guess *g, const sm_csv_field *f)
{
    number_shape n;
    sm_value v;
    uint8_t types = 0;
    if (!number_of(f, &n)) return is_float_word(f) ? IS_FLOAT : 0;
    if (sm_parse_value(sm_type_of(SM_FLOAT64), f->s, f->len, &v, NULL) == SM_OK) types |= IS_FLOAT;
    if (n.exponent) return types;
    if (n.int_digits > g->int_digits) g->int_digits = n.int_digits;
    if (n.fraction_digits > g->scale) g->scale = n.fraction_digits;
    types |= IS_DECIMAL;
    if (memchr(f->s, '.', f->len)) return types;
    if (sm_parse_value(sm_type_of(SM_INT64), f->s, f->len, &v, NULL) == SM_OK) types |= IS_INT;
    return types;
}

/* The usual field confirms what its column already is, which costs one short parse. */
static void look_at(guess *g, const sm_csv_field *f)
{
    uint8_t types = 0;
    int64_t at;
    int32_t day;
    if (f->is_null || (g->seen && !g->may_be)) return;
    if (g->may_be & (IS_INT | IS_DECIMAL | IS_FLOAT)) types |= number_types(g, f);
    if (g->may_be & (IS_DATE | IS_TIMESTAMP)) {
        if (sm_csv_fast_date(f->s, f->len, &day))
            types |= IS_DATE | IS_TIMESTAMP;
        else if (sm_csv_fast_timestamp(f, &at))
            types |= IS_TIMESTAMP;
    }
    if (g->may_be & IS_BOOL && (is_word(f, "true") || is_word(f, "false"))) types |= IS_BOOL;
    g->may_be &= types;
    g->seen = true;
}

static sm_type type_of(const guess *g)
{
    unsigned digits = g->int_digits + g->scale;
    if (!g->seen) return sm_type_of(SM_TEXT);
    if (g->may_be & IS_INT) return sm_type_of(SM_INT64);
    if (g->may_be & IS_DECIMAL && digits <= SM_DEC_MAX_DIGITS)
        return sm_decimal(digits <= SM_DEC64_DIGITS ? SM_DEC64_DIGITS : SM_DEC_MAX_DIGITS,
                          g->scale);
    /* decimals of more digits than that would lose some as a float; only an exponent says that a
     * float is meant */
    if (g->may_be == IS_FLOAT && digits <= SM_DEC_MAX_DIGITS) return sm_type_of(SM_FLOAT64);
    if (g->may_be & IS_DATE) return sm_type_of(SM_DATE);
    if (g->may_be & IS_TIMESTAMP) return sm_type_of(SM_TIMESTAMP);
    if (g->may_be & IS_BOOL) return sm_type_of(SM_BOOL);
    return sm_type_of(SM_TEXT);
}

/* ---- names ---- */

static bool is_taken(const sm_table_col *cols, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(cols[i].name, name) == 0) return true;
    return false;
}

/* The header's name; a made one where it has none, with a number where it is taken. */
static sm_status name_column(sm_mem *m, sm_table_col *cols, uint32_t i, const sm_csv_field *f,
                             sm_error *err)
{
    size_t len = f ? f->len : 0, bytes = len + 40;
    char *name;
    void *p = NULL, *own = NULL;
    SM_TRY(sm_alloc(m, bytes, "CSV", &p, err));
    name = p;
    if (len) memcpy(name, f->s, len);
    name[len] = 0;
    if (!len) snprintf(name, bytes, "column%u", i + 1);
    len = strlen(name);
    for (unsigned k = 1; is_taken(cols, i, name); k++) snprintf(name + len, bytes - len, "_%u", k);
    if (sm_alloc(m, strlen(name) + 1, "CSV", &own, err) == SM_OK) {
        memcpy(own, name, strlen(name) + 1);
        cols[i].name = own;
    }
    sm_free(m, name, bytes);
    return own ? SM_OK : SM_ERR_OUT_OF_MEMORY;
}

static sm_status name_columns(sm_mem *m, const sm_csv_reader *r, sm_table_col *cols, uint32_t n,
                              sm_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const sm_csv_field *f = r->o->header ? &r->fields[r->records[0].first_field + i] : NULL;
        sm_status status = SM_OK;
        if (f && !sm_csv_is_utf8(f->s, f->len)) status = sm_raise(err, SM_ERR_BAD_ENCODING);
        if (f && memchr(f->s, 0, f->len))
            status = sm_raise(err, SM_ERR_CSV, "column name with a zero byte");
        sm_csv_error_where(err, r->records[0].line, NULL, NULL);
        SM_TRY(status);
        SM_TRY(name_column(m, cols, i, f, err));
    }
    return SM_OK;
}

void sm_csv_schema_free(sm_mem *m, sm_table_col *cols, uint32_t n_cols)
{
    for (uint32_t i = 0; cols && i < n_cols; i++)
        if (cols[i].name) sm_free(m, cols[i].name, strlen(cols[i].name) + 1);
    sm_free(m, cols, n_cols * sizeof *cols);
}

/* ---- the file ---- */

static sm_status look_at_records(const sm_csv_reader *r, uint32_t from, const sm_table_col *cols,
                                 guess *g, uint32_t n_cols, sm_error *err)
{
    for (uint32_t i = from; i < r->n_records; i++) {
        const sm_csv_record *record = &r->records[i];
        char message[SM_MESSAGE_BYTES];
        bool wrong =
            record->n_fields > n_cols || (record->n_fields < n_cols && !r->o->pad_short_rows);
        if (wrong && r->o->rejects) continue;
        if (wrong) {
            if (record->n_fields > n_cols)
                snprintf(message, sizeof message, "extra data after last expected column");
            else
                snprintf(message, sizeof message, "missing data for column \"%s\"",
                         cols[record->n_fields].name);
            (void)sm_raise(err, SM_ERR_CSV, message);
            sm_csv_error_where(err, record->line, NULL, NULL);
            return SM_ERR_CSV;
        }
        for (uint32_t c = 0; c < record->n_fields; c++)
            look_at(&g[c], &r->fields[record->first_field + c]);
    }
    return SM_OK;
}

static sm_status read_all(sm_csv_reader *r, const sm_table_col *cols, guess *g, uint32_t n_cols,
                          sm_error *err)
{
    /* the first record is still at hand: names, or the first row */
    if (!r->o->header) SM_TRY(look_at_records(r, 0, cols, g, n_cols, err));
    do {
        sm_csv_record line;
        SM_TRY(sm_csv_reader_next(r, SM_CSV_BATCH_RECORDS, err));
        SM_TRY(look_at_records(r, 0, cols, g, n_cols, err));
        if (!r->bad_record) continue;
        if (!r->o->rejects) {
            (void)sm_raise(err, SM_ERR_CSV, r->bad_record);
            sm_csv_error_where(err, r->line, NULL, NULL);
            return SM_ERR_CSV;
        }
        SM_TRY(sm_csv_reader_skip_line(r, &line, err));
    } while (r->n_records || r->at < r->end || !r->eof);
    return SM_OK;
}

static sm_status infer(sm_mem *m, sm_csv_reader *r, sm_table_col **cols, uint32_t *n_cols,
                       sm_error *err)
{
    void *p = NULL;
    guess *g;
    uint32_t n;
    sm_status status;
    SM_TRY(sm_csv_reader_next(r, 1, err));
    if (!r->n_records) {
        (void)sm_raise(err, SM_ERR_CSV,
                       r->bad_record ? r->bad_record : "no columns: the file is empty");
        sm_csv_error_where(err, r->line, NULL, NULL);
        return SM_ERR_CSV;
    }
    n = r->records[0].n_fields;
    SM_TRY(sm_alloc_zero(m, n * sizeof **cols, "CSV", &p, err));
    *cols = p;
    *n_cols = n;
    SM_TRY(name_columns(m, r, *cols, n, err));
    p = NULL;
    SM_TRY(sm_alloc_zero(m, n * sizeof *g, "CSV", &p, err));
    g = p;
    for (uint32_t i = 0; i < n; i++) g[i].may_be = IS_ANY;
    status = read_all(r, *cols, g, n, err);
    for (uint32_t i = 0; i < n; i++) (*cols)[i].type = type_of(&g[i]);
    sm_free(m, g, n * sizeof *g);
    return status;
}

sm_status sm_csv_infer(sm_mem *m, const char *path, const sm_csv_options *o, sm_table_col **cols,
                       uint32_t *n_cols, sm_error *err)
{
    sm_csv_reader r;
    sm_status status;
    *cols = NULL;
    *n_cols = 0;
    status = sm_csv_reader_open(&r, m, path, o, err);
    if (status == SM_OK) status = infer(m, &r, cols, n_cols, err);
    sm_csv_reader_close(&r);
    if (status == SM_OK) return SM_OK;
    sm_csv_schema_free(m, *cols, *n_cols);
    *cols = NULL;
    *n_cols = 0;
    return status;
}
