/* What errors of CSV files have in common: where they happened, and whether text is text. */
#include "storage/csv/csv_reader.h"

#include <stdio.h>

bool sm_csv_is_utf8(const char *s, size_t len)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + len;
    while (p < end) {
        unsigned c = *p++;
        unsigned more, low = 0x80, high = 0xBF; /* of the second byte */
        if (c < 0x80) continue;
        if (c < 0xC2 || c > 0xF4) return false;
        more = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
        if (c == 0xE0)
            low = 0xA0; /* overlong */
        else if (c == 0xED)
            high = 0x9F; /* surrogates */
        else if (c == 0xF0)
            low = 0x90; /* overlong */
        else if (c == 0xF4)
            high = 0x8F; /* beyond U+10FFFF */
        if ((size_t)(end - p) < more || *p < low || *p > high) return false;
        for (p++; --more; p++)
            if ((*p & 0xC0) != 0x80) return false;
    }
    return true;
}

enum { SHOWN_BYTES = 100 };

/* A field as it can stand in a message: cut, without control characters, never broken UTF-8. */
static void show(const sm_csv_field *f, char out[SHOWN_BYTES + 8])
{
    uint32_t n = f->len < SHOWN_BYTES ? f->len : SHOWN_BYTES;
    bool text;
    while (n && n < f->len && ((unsigned char)f->s[n] & 0xC0) == 0x80) n--;
    text = sm_csv_is_utf8(f->s, n);
    for (uint32_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)f->s[i];
        out[i] = c < 0x20 || c == 0x7F || (c >= 0x80 && !text) ? '?' : (char)c;
    }
    memcpy(out + n, n < f->len ? "..." : "", n < f->len ? 4 : 1);
}

void sm_csv_error_where(sm_error *err, uint64_t line, const char *column, const sm_csv_field *field)
{
    char text[SHOWN_BYTES + 8], where[SHOWN_BYTES + 200];
    size_t used, len;
    int n;
    if (!err || err->status == SM_OK) return;
    if (column && field) {
        show(field, text);
        n = snprintf(where, sizeof where, " (line %llu, column %.64s: \"%s\")",
                     (unsigned long long)line, column, text);
    } else if (column) {
        n = snprintf(where, sizeof where, " (line %llu, column %.64s)", (unsigned long long)line,
                     column);
    } else {
        n = snprintf(where, sizeof where, " (line %llu)", (unsigned long long)line);
    }
    len = (size_t)n < sizeof where ? (size_t)n : sizeof where - 1;
    used = strlen(err->message);
    /* a long message gives way: the place must be readable */
    if (used + len >= sizeof err->message) used = sizeof err->message - 1 - len;
    memcpy(err->message + used, where, len + 1);
}
