/* A version as CSV or text format, so that reading it back gives the same values: a field is quoted
 * when it holds a special byte or would be taken for NULL. */
#include "runtime/format.h"
#include "storage/csv/csv.h"

#include <errno.h>

enum { OUT_BYTES = 1 << 16 };

typedef struct writer {
    const sm_csv_options *o;
    const char *null_text;
    size_t null_len;
    FILE *to;
    sm_mem *mem;
    char *buf;
    size_t used;
    bool failed;
} writer;

static void flush(writer *w)
{
    if (w->used && fwrite(w->buf, 1, w->used, w->to) != w->used) w->failed = true;
    w->used = 0;
}

static void put(writer *w, char c)
{
    if (w->used == OUT_BYTES) flush(w);
    w->buf[w->used++] = c;
}

static void put_all(writer *w, const char *s, size_t len)
{
    if (len > OUT_BYTES - w->used) flush(w);
    if (len > OUT_BYTES) {
        if (fwrite(s, 1, len, w->to) != len) w->failed = true;
        return;
    }
    if (len) memcpy(w->buf + w->used, s, len);
    w->used += len;
}

static bool needs_quotes(const writer *w, const char *s, size_t len, bool alone)
{
    if (len == w->null_len && memcmp(s, w->null_text, len) == 0) return true;
    if (alone && len == 2 && memcmp(s, "\\.", 2) == 0) return true; /* PostgreSQL's end of data */
    for (size_t i = 0; i < len; i++)
        if (s[i] == w->o->delimiter || s[i] == w->o->quote || s[i] == '\n' || s[i] == '\r')
            return true;
    return false;
}

static void put_csv(writer *w, const char *s, size_t len, bool alone)
{
    if (!needs_quotes(w, s, len, alone)) {
        put_all(w, s, len);
        return;
    }
    put(w, w->o->quote);
    for (size_t i = 0; i < len; i++) {
        if (s[i] == w->o->quote || s[i] == w->o->escape) put(w, w->o->escape);
        put(w, s[i]);
    }
    put(w, w->o->quote);
}

static void put_text(writer *w, const char *s, size_t len)
{
    static const char from[] = "\b\f\n\r\t\v\\", to[] = "bfnrtv\\";
    for (size_t i = 0; i < len; i++) {
        const char *special = s[i] ? strchr(from, s[i]) : NULL;
        if (special || s[i] == w->o->delimiter) put(w, '\\');
        put(w, special ? to[special - from] : s[i]);
    }
}

static void put_field(writer *w, const char *s, size_t len, bool alone)
{
    if (w->o->text_format)
        put_text(w, s, len);
    else
        put_csv(w, s, len, alone);
}

static void put_value(writer *w, sm_type type, const sm_value *v, bool alone)
{
    char text[SM_FORMAT_BYTES];
    if (v->is_null)
        put_all(w, w->null_text, w->null_len);
    else if (sm_type_phys(type) == SM_PHYS_TEXT)
        put_field(w, sm_text_bytes(&v->text), v->text.len, alone);
    else
        put_field(w, text, sm_format_value(type, v, text), alone);
}

static void put_chunk(writer *w, const sm_version *v, const sm_chunk *chunk)
{
    for (uint32_t r = 0; r < chunk->n_rows; r++) {
        for (uint32_t i = 0; i < v->n_cols; i++) {
            sm_value value;
            sm_chunk_col_get(&chunk->cols[i], v->cols[i].type, r, &value);
            if (i) put(w, w->o->delimiter);
            put_value(w, v->cols[i].type, &value, v->n_cols == 1);
        }
        put(w, '\n');
    }
}

sm_status sm_csv_write(const sm_version *v, const sm_csv_options *o, FILE *to, sm_error *err)
{
    writer w = {.o = o, .null_text = o->null_text ? o->null_text : "", .to = to, .mem = v->mem};
    void *p = NULL;
    SM_TRY(sm_alloc(v->mem, OUT_BYTES, "CSV", &p, err));
    w.buf = p;
    w.null_len = strlen(w.null_text);
    for (uint32_t i = 0; o->header && i < v->n_cols; i++) {
        if (i) put(&w, o->delimiter);
        put_field(&w, v->cols[i].name, strlen(v->cols[i].name), v->n_cols == 1);
    }
    if (o->header) put(&w, '\n');
    for (uint64_t k = 0; k < v->n_chunks && !w.failed; k++) put_chunk(&w, v, v->chunks[k]);
    flush(&w);
    sm_free(v->mem, w.buf, OUT_BYTES);
    if (w.failed || fflush(to)) return sm_raise(err, SM_ERR_IO, "output", strerror(errno));
    return SM_OK;
}
