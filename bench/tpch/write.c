/* Rows as text. As dbgen writes them: | behind every field, no quotes, quantities without a point.
 * As CSV: a line of names, commas, quotes around text that holds one; quantities with their point,
 * so that a reader that guesses types finds decimals. */
#include "gen.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_ROOM = 1024 }; /* more than any row's text, quoted */

static char *put_number(char *to, uint64_t v)
{
    char digits[20];
    uint32_t n = 0;
    do digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n) *to++ = digits[--n];
    return to;
}

static char *put_integer(char *to, int64_t v)
{
    if (v < 0) *to++ = '-';
    return put_number(to, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

static char *put_two(char *to, uint32_t v)
{
    to[0] = (char)('0' + v / 10);
    to[1] = (char)('0' + v % 10);
    return to + 2;
}

static char *put_hundredths(char *to, int64_t v)
{
    uint64_t n = v < 0 ? -(uint64_t)v : (uint64_t)v;
    if (v < 0) *to++ = '-';
    to = put_number(to, n / 100);
    *to++ = '.';
    return put_two(to, (uint32_t)(n % 100));
}

/* All days are in 1992 to 1998. */
static char *put_date(char *to, int32_t day)
{
    static const uint8_t months[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    uint32_t d = (uint32_t)(day - TPCH_FIRST_DAY), year = 1992, month = 0;
    while (d >= 365u + (year % 4 == 0)) d -= 365u + (year++ % 4 == 0);
    for (;; month++) {
        uint32_t n = months[month] + (uint32_t)(month == 1 && year % 4 == 0);
        if (d < n) break;
        d -= n;
    }
    to = put_number(to, year);
    *to++ = '-';
    to = put_two(to, month + 1);
    *to++ = '-';
    return put_two(to, d + 1);
}

static char *put_text(char *to, smelt_text t, bool csv)
{
    bool quoted = csv && memchr(t.bytes, ',', t.length); /* no text holds a quote */
    if (quoted) *to++ = '"';
    memcpy(to, t.bytes, t.length);
    to += t.length;
    if (quoted) *to++ = '"';
    return to;
}

static char *put_value(char *to, tpch_kind kind, const void *values, uint32_t row, bool csv)
{
    switch (kind) {
    case TPCH_KEY: return put_integer(to, ((const int64_t *)values)[row]);
    case TPCH_INT: return put_integer(to, ((const int32_t *)values)[row]);
    case TPCH_MONEY: return put_hundredths(to, ((const int64_t *)values)[row]);
    case TPCH_QUANTITY:
        return csv ? put_hundredths(to, ((const int64_t *)values)[row])
                   : put_integer(to, ((const int64_t *)values)[row] / 100);
    case TPCH_DATE: return put_date(to, ((const int32_t *)values)[row]);
    default: return put_text(to, ((const smelt_text *)values)[row], csv);
    }
}

static char *put_row(char *to, const tpch_piece *p, uint32_t row, bool csv)
{
    uint32_t n = p->table->n_columns;
    for (uint32_t i = 0; i < n; i++) {
        to = put_value(to, p->table->columns[i].kind, p->columns[i], row, csv);
        if (!csv)
            *to++ = '|';
        else if (i + 1 < n)
            *to++ = ',';
    }
    *to++ = '\n';
    return to;
}

static char *put_header(char *to, const tpch_table *t)
{
    for (uint32_t i = 0; i < t->n_columns; i++) {
        size_t n = strlen(t->columns[i].name);
        memcpy(to, t->columns[i].name, n);
        to += n;
        *to++ = i + 1 < t->n_columns ? ',' : '\n';
    }
    return to;
}

static bool reserve(tpch_writer *w, size_t bytes)
{
    if (w->room - w->n >= bytes) return true;
    size_t room = w->room ? w->room * 2 : (size_t)TPCH_PIECE_ROWS * 64;
    char *more = realloc(w->bytes, room);
    if (!more) return false;
    w->bytes = more;
    w->room = room;
    return true;
}

bool tpch_write(tpch_writer *w, const tpch_piece *p, tpch_format format, bool header)
{
    w->n = 0;
    if (!reserve(w, ROW_ROOM)) return false;
    if (header && format == TPCH_CSV) w->n = (size_t)(put_header(w->bytes, p->table) - w->bytes);
    for (uint32_t row = 0; row < p->n_rows; row++) {
        if (!reserve(w, ROW_ROOM)) return false;
        w->n = (size_t)(put_row(w->bytes + w->n, p, row, format == TPCH_CSV) - w->bytes);
    }
    return true;
}
