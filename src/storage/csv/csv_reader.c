/* Finding records and fields. All special bytes of a stretch (delimiter, quote, escape, line ends)
 * are found with SIMD first; the parser then only walks from one to the next and keeps whether it
 * is inside quotes. A quote toggles that anywhere in a field, as in PostgreSQL, and a doubled quote
 * toggles twice. The window is moved only when no record of the current call points into it. */
#include "storage/csv/csv_input.h"
#include "storage/kernels.h"

enum { FIRST_WINDOW_BYTES = 1 << 18, STRETCH_BYTES = 1 << 14, MAX_FIELD_BYTES = 1 << 30 };

/* ---- opening and closing ---- */

void sm_csv_options_init(sm_csv_options *o)
{
    *o = (sm_csv_options){.delimiter = ',', .quote = '"', .escape = '"', .null_text = ""};
}

void sm_csv_options_init_text(sm_csv_options *o)
{
    *o = (sm_csv_options){.delimiter = '\t', .null_text = "\\N", .text_format = true};
}

static sm_status check_options(const sm_csv_options *o, sm_error *err)
{
    const char *bad = NULL;
    if (o->delimiter == '\n' || o->delimiter == '\r' || !o->delimiter)
        bad = "COPY delimiter must be a single character other than newline or carriage return";
    else if (!o->text_format && o->delimiter == o->quote)
        bad = "COPY delimiter and quote must be different";
    else if (o->text_format && o->delimiter == '\\')
        bad = "COPY delimiter cannot be \"\\\"";
    else if (o->null_text && strchr(o->null_text, o->delimiter))
        bad = "COPY delimiter must not appear in the NULL specification";
    else if (o->null_text && strpbrk(o->null_text, "\r\n"))
        bad = "COPY null representation cannot use newline or carriage return";
    return bad ? sm_raise(err, SM_ERR_BAD_ARGUMENT, bad) : SM_OK;
}

static sm_status allocate(sm_csv_reader *r, sm_error *err)
{
    void *p = NULL;
    SM_TRY(sm_alloc(r->mem, FIRST_WINDOW_BYTES + SM_PAD_BYTES, "CSV", &p, err));
    r->buf = p;
    r->cap = FIRST_WINDOW_BYTES;
    p = NULL;
    SM_TRY(sm_alloc(r->mem, (STRETCH_BYTES + 64) * sizeof *r->specials, "CSV", &p, err));
    r->specials = p;
    p = NULL;
    SM_TRY(sm_alloc(r->mem, SM_CSV_BATCH_RECORDS * sizeof *r->records, "CSV", &p, err));
    r->records = p;
    r->cap_records = SM_CSV_BATCH_RECORDS;
    return SM_OK;
}

sm_status sm_csv_reader_open(sm_csv_reader *r, sm_mem *m, const char *path, const sm_csv_options *o,
                             sm_error *err)
{
    sm_status status;
    char special = o->text_format ? '\\' : o->quote, escape = o->text_format ? '\\' : o->escape;
    *r = (sm_csv_reader){.mem = m, .o = o, .path = path, .fd = -1, .line = 1};
    SM_TRY(check_options(o, err));
    r->null_len = o->null_text ? strlen(o->null_text) : 0;
    memcpy(r->special_bytes, (char[5]){o->delimiter, special, '\n', '\r', escape}, 5);
    sm_arena_init(&r->scratch, m, "CSV");
    status = allocate(r, err);
    if (status == SM_OK) status = sm_csv_input_open(r, err);
    if (status != SM_OK) sm_csv_reader_close(r);
    r->special_base = r->scanned = r->at;
    return status;
}

void sm_csv_reader_close(sm_csv_reader *r)
{
    if (!r->mem) return;
    sm_csv_input_close(r);
    if (r->buf) sm_free(r->mem, r->buf, r->cap + SM_PAD_BYTES);
    sm_free(r->mem, r->specials, (STRETCH_BYTES + 64) * sizeof *r->specials);
    sm_free(r->mem, r->records, r->cap_records * sizeof *r->records);
    sm_free(r->mem, r->fields, r->cap_fields * sizeof *r->fields);
    sm_arena_reset(&r->scratch);
    *r = (sm_csv_reader){.fd = -1};
}

/* ---- special bytes ---- */

/* Forgets what was found: the next special is looked for from r->at. */
static void restart_scan(sm_csv_reader *r)
{
    r->special_base = r->scanned = r->at;
    r->special = r->n_specials = 0;
}

static bool scan_stretch(sm_csv_reader *r)
{
    const sm_column_kernels *k = sm_column_kernels_get();
    r->special = r->n_specials = 0;
    while (!r->n_specials && r->scanned < r->end) {
        size_t left = r->end - r->scanned;
        uint32_t n = left < STRETCH_BYTES ? (uint32_t)left : STRETCH_BYTES;
        r->special_base = r->scanned;
        r->n_specials =
            k->find_bytes(r->buf + r->scanned, (n + 63) & ~63u, r->special_bytes, r->specials);
        while (r->n_specials && r->specials[r->n_specials - 1] >= n) r->n_specials--;
        r->scanned += n;
    }
    return r->n_specials != 0;
}

/* Position of the next special byte at or behind low; r->end if there is none. */
SM_INLINE size_t next_special(sm_csv_reader *r, size_t low)
{
    for (;;) {
        if (SM_UNLIKELY(r->special == r->n_specials) && !scan_stretch(r)) return r->end;
        size_t at = r->special_base + r->specials[r->special++];
        if (SM_LIKELY(at >= low)) return at;
    }
}

/* ---- fields ---- */

static sm_status grow_fields(sm_csv_reader *r, sm_error *err)
{
    uint32_t cap = r->cap_fields ? r->cap_fields * 2 : 1024;
    void *p = r->fields;
    SM_TRY(sm_realloc(r->mem, &p, r->cap_fields * sizeof *r->fields, cap * sizeof *r->fields, "CSV",
                      err));
    r->fields = p;
    r->cap_fields = cap;
    return SM_OK;
}

static size_t unquote(const sm_csv_options *o, const char *s, size_t len, char *to)
{
    bool inside = false;
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        char c = s[i];
        if (inside && c == o->escape && i + 1 < len &&
            (s[i + 1] == o->quote || s[i + 1] == o->escape))
            to[n++] = s[++i];
        else if (c == o->quote)
            inside = !inside;
        else
            to[n++] = c;
    }
    return n;
}

static bool octal(char c)
{
    return c >= '0' && c <= '7';
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte of a backslash sequence; *i is at the character behind the backslash and left at its
 * last. */
static char unescape_one(const char *s, size_t len, size_t *i)
{
    char c = s[*i];
    int value = 0;
    switch (c) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    case 'x':
        if (*i + 1 >= len || hex(s[*i + 1]) < 0) return c;
        for (int k = 0; k < 2 && *i + 1 < len && hex(s[*i + 1]) >= 0; k++)
            value = value * 16 + hex(s[++*i]);
        return (char)value;
    default:
        if (!octal(c)) return c;
        value = c - '0';
        for (int k = 0; k < 2 && *i + 1 < len && octal(s[*i + 1]); k++)
            value = value * 8 + (s[++*i] - '0');
        return (char)value;
    }
}

static size_t unescape(const char *s, size_t len, char *to)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '\\' && i + 1 < len) {
            i++;
            to[n++] = unescape_one(s, len, &i);
        } else {
            to[n++] = s[i];
        }
    }
    return n;
}

/* A field with quotes or escapes. Quoted as a whole, without escapes, it is a view of the inside. */
static SM_NOINLINE sm_status clean_field(sm_csv_reader *r, sm_csv_field *f, uint32_t n_quotes,
                                         bool escaped, sm_error *err)
{
    const sm_csv_options *o = r->o;
    char *to;
    if (!o->text_format && n_quotes == 2 && !escaped && f->s[0] == o->quote &&
        f->s[f->len - 1] == o->quote) {
        f->s++;
        f->len -= 2;
        return SM_OK;
    }
    to = sm_arena_alloc(&r->scratch, f->len);
    if (!to) return sm_arena_failed(&r->scratch, err);
    f->len = (uint32_t)(o->text_format ? unescape(f->s, f->len, to) : unquote(o, f->s, f->len, to));
    f->s = to;
    return SM_OK;
}

SM_INLINE sm_status push_field(sm_csv_reader *r, size_t from, size_t to, uint32_t n_quotes,
                               bool escaped, sm_error *err)
{
    const char *s = r->buf + from;
    size_t len = to - from;
    bool is_null;
    if (SM_UNLIKELY(r->n_fields == r->cap_fields)) SM_TRY(grow_fields(r, err));
    if (SM_UNLIKELY(len > MAX_FIELD_BYTES)) return sm_raise(err, SM_ERR_TEXT_TOO_LONG);
    is_null =
        len == r->null_len && !n_quotes && r->o->null_text && memcmp(s, r->o->null_text, len) == 0;
    r->fields[r->n_fields] = (sm_csv_field){s, (uint32_t)len, is_null};
    if (SM_UNLIKELY(n_quotes || escaped) && !is_null)
        SM_TRY(clean_field(r, &r->fields[r->n_fields], n_quotes, escaped, err));
    r->n_fields++;
    return SM_OK;
}

/* ---- records ---- */

typedef enum outcome { RECORD, NEED_MORE, NO_MORE, BAD } outcome;

static outcome bad(sm_csv_reader *r, const char *message)
{
    r->bad_record = message;
    return BAD;
}

/* The length of the line end at p (a \n or \r outside quotes), 0 if more bytes are needed to tell,
 * or -1. */
static int line_end(sm_csv_reader *r, size_t p)
{
    if (r->buf[p] == '\n') {
        if (r->eol == SM_EOL_CR) return 1;
        r->eol = SM_EOL_LF;
        return 1;
    }
    if (p + 1 == r->end && !r->eof) return 0;
    if (p + 1 < r->end && r->buf[p + 1] == '\n') {
        r->eol = SM_EOL_LF;
        return 2;
    }
    if (r->eol == SM_EOL_LF) return -1;
    r->eol = SM_EOL_CR;
    return 1;
}

static void close_record(sm_csv_reader *r, uint32_t first_field, size_t end, size_t next,
                         uint64_t more_lines)
{
    r->records[r->n_records++] = (sm_csv_record){r->line, first_field, r->n_fields - first_field,
                                                 r->buf + r->at, end - r->at};
    r->at = next;
    r->line += 1 + more_lines;
}

/* Parses the record at r->at. */
static sm_status parse_record(sm_csv_reader *r, outcome *out, sm_error *err)
{
    const sm_csv_options *o = r->o;
    const char delimiter = o->delimiter, quote = o->text_format ? 0 : o->quote;
    size_t from = r->at, low = r->at; /* of the field; specials below low are spent */
    uint32_t first_field = r->n_fields, n_quotes = 0;
    uint64_t lines = 0;
    bool inside = false, escaped = false;
    if (r->at == r->end) {
        *out = r->eof ? NO_MORE : NEED_MORE;
        return SM_OK;
    }
    for (;;) {
        size_t p = next_special(r, low);
        char c;
        int n;
        if (p == r->end) {
            if (!r->eof)
                *out = NEED_MORE;
            else if (inside)
                *out = bad(r, "unterminated CSV quoted field");
            else {
                SM_TRY(push_field(r, from, p, n_quotes, escaped, err));
                close_record(r, first_field, p, p, lines);
                *out = RECORD;
            }
            break;
        }
        c = r->buf[p];
        if (c == delimiter && !inside) {
            SM_TRY(push_field(r, from, p, n_quotes, escaped, err));
            from = p + 1;
            n_quotes = 0;
            escaped = false;
            continue;
        }
        if (c == quote && !o->text_format) {
            n_quotes++;
            inside = !inside;
            continue;
        }
        if (o->text_format ? c == '\\' : c == o->escape) {
            if (!o->text_format && !inside) continue;
            if (p + 1 == r->end && !r->eof) {
                *out = NEED_MORE;
                break;
            }
            escaped = true;
            /* the next byte is taken as it is; CSV does that for a quote or an escape only */
            if (o->text_format ||
                (p + 1 < r->end && (r->buf[p + 1] == quote || r->buf[p + 1] == o->escape))) {
                lines += r->buf[p + 1] == '\n';
                low = p + 2;
            }
            continue;
        }
        if (inside) {
            lines += c == '\n';
            continue;
        }
        if (c == delimiter) continue;
        n = line_end(r, p);
        if (n <= 0) {
            *out = n ? bad(r, "unquoted carriage return found in data") : NEED_MORE;
            break;
        }
        SM_TRY(push_field(r, from, p, n_quotes, escaped, err));
        close_record(r, first_field, p, p + (size_t)n, lines);
        *out = RECORD;
        return SM_OK;
    }
    if (*out != RECORD) {
        r->n_fields = first_field;
        restart_scan(r);
    }
    return SM_OK;
}

/* Moves the unread bytes to the front and reads more behind them, in a larger window if they fill
 * it. */
static sm_status refill(sm_csv_reader *r, sm_error *err)
{
    size_t left = r->end - r->at;
    if (r->at) memmove(r->buf, r->buf + r->at, left);
    r->at = 0;
    r->end = left;
    if (left == r->cap) {
        void *p = r->buf;
        SM_TRY(
            sm_realloc(r->mem, &p, r->cap + SM_PAD_BYTES, r->cap * 2 + SM_PAD_BYTES, "CSV", err));
        r->buf = p;
        r->cap *= 2;
    }
    SM_TRY(sm_csv_input_fill(r, err));
    memset(r->buf + r->end, 0, SM_ALIGN_BYTES);
    restart_scan(r);
    return SM_OK;
}

/* The text format ends at a line that is \. alone, if there is one. */
static bool is_end_mark(const sm_csv_reader *r)
{
    const sm_csv_record *last = &r->records[r->n_records - 1];
    return r->o->text_format && last->raw_len == 2 && memcmp(last->raw, "\\.", 2) == 0;
}

sm_status sm_csv_reader_next(sm_csv_reader *r, uint32_t max, sm_error *err)
{
    r->n_records = r->n_fields = 0;
    sm_arena_rewind(&r->scratch);
    if (r->bad_record) return SM_OK;
    while (r->n_records < max) {
        outcome got = NO_MORE;
        SM_TRY(parse_record(r, &got, err));
        if (got == NO_MORE || got == BAD) break;
        if (got == NEED_MORE) {
            if (r->n_records) break;
            SM_TRY(refill(r, err));
        } else if (is_end_mark(r)) {
            r->n_records--;
            r->at = r->end;
            r->eof = true;
            break;
        }
    }
    return SM_OK;
}

/* In a file of lines that end in \n a lone return may be what was bad: the line goes on to its \n. */
sm_status sm_csv_reader_skip_line(sm_csv_reader *r, sm_csv_record *line, sm_error *err)
{
    const char stop = r->eol == SM_EOL_CR ? '\r' : '\n';
    const char *found;
    size_t len;
    r->n_records = r->n_fields = 0;
    while (!(found = memchr(r->buf + r->at, stop, r->end - r->at)) && !r->eof)
        SM_TRY(refill(r, err));
    len = found ? (size_t)(found - r->buf) - r->at : r->end - r->at;
    *line = (sm_csv_record){.line = r->line, .raw = r->buf + r->at, .raw_len = len};
    r->at += len + (found != NULL);
    r->line++;
    r->bad_record = NULL;
    restart_scan(r);
    return SM_OK;
}
