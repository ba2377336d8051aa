/* The longer bodies of text operations: characters, slices, trimming, building. Positions count
 * characters, but all work is on bytes: in UTF-8 a part that begins with a whole character can only
 * be found at the beginning of one. Read ops_text.h first. */
#include "ops_text.h"

#include <utf8proc.h>

/* ---- characters ---- */

static bool continues(char c)
{
    return (c & 0xC0) == 0x80;
}

size_t sm_utf8_length(const char *s, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) n += !continues(s[i]);
    return n;
}

const char *sm_utf8_skip(const char *s, const char *end, int64_t n)
{
    if (n >= end - s) return end;
    for (; n > 0 && s < end; n--) {
        do s++;
        while (s < end && continues(*s));
    }
    return s;
}

static bool is_ascii(const char *s, size_t len)
{
    unsigned char all = 0;
    for (size_t i = 0; i < len; i++) all |= (unsigned char)s[i];
    return all < 0x80;
}

const char *sm_bytes_find(const char *s, size_t len, const char *part, size_t part_len)
{
    /* memchr is fast and memmem linear: short parts, which repeat little, are better off with the
     * first. */
    if (part_len == 0) return s;
    if (part_len > len) return NULL;
    if (part_len > 16) return memmem(s, len, part, part_len);
    const char *last = s + (len - part_len);
    while (s <= last) {
        s = memchr(s, part[0], (size_t)(last - s) + 1);
        if (!s || memcmp(s, part, part_len) == 0) return s;
        s++;
    }
    return NULL;
}

/* ---- new texts ---- */

sm_status sm_text_new(sm_opctx *cx, size_t len, sm_text *out, char **bytes)
{
    *out = (sm_text){0, {0}, NULL};
    *bytes = (char *)out + offsetof(sm_text, prefix);
    if (len > SM_TEXT_MAX_BYTES) return op_check(cx, true, SM_ERR_TEXT_TOO_LONG);
    if (len > SM_TEXT_INLINE) {
        *bytes = sm_arena_alloc(cx->scratch, len);
        if (!*bytes) return sm_arena_failed(cx->scratch, cx->err);
        out->ptr = *bytes;
    }
    out->len = (uint32_t)len;
    return SM_OK;
}

sm_status sm_text_copy(sm_opctx *cx, const char *s, size_t len, sm_text *out)
{
    char *to;
    SM_TRY(sm_text_new(cx, len, out, &to));
    memcpy(to, s, len);
    sm_text_close(out);
    return SM_OK;
}

static int32_t map_case(int32_t c, bool upper)
{
    if (!upper) return utf8proc_tolower(c);
    return c == 0xDF ? c : utf8proc_toupper(c); /* the capital sharp s is no simple mapping */
}

/* Writes the mapped text (to NULL: only measures it) and returns its length. Broken bytes stay. */
static size_t write_case(const char *s, size_t len, bool upper, char *to)
{
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        utf8proc_int32_t c;
        utf8proc_uint8_t mapped[4] = {(utf8proc_uint8_t)s[i]};
        utf8proc_ssize_t used =
            utf8proc_iterate((const utf8proc_uint8_t *)s + i, (utf8proc_ssize_t)(len - i), &c);
        size_t size = used > 0 ? (size_t)utf8proc_encode_char(map_case(c, upper), mapped) : 1;
        if (to) memcpy(to + n, mapped, size);
        n += size;
        i += used > 0 ? (size_t)used : 1;
    }
    return n;
}

sm_status sm_text_case(sm_opctx *cx, sm_text a, bool upper, sm_text *out)
{
    const char *s = sm_text_bytes(&a);
    char *to;
    if (!is_ascii(s, a.len)) {
        SM_TRY(sm_text_new(cx, write_case(s, a.len, upper, NULL), out, &to));
        write_case(s, a.len, upper, to);
    } else {
        char first = upper ? 'a' : 'A';
        SM_TRY(sm_text_new(cx, a.len, out, &to));
        for (uint32_t i = 0; i < a.len; i++)
            to[i] = (char)(s[i] ^ ((uint8_t)(s[i] - first) < 26 ? 0x20 : 0));
    }
    sm_text_close(out);
    return SM_OK;
}

sm_status sm_text_replace(sm_opctx *cx, sm_text a, sm_text from, sm_text to, sm_text *out)
{
    const char *s = sm_text_bytes(&a), *end = s + a.len, *part = sm_text_bytes(&from);
    size_t n = 0;
    *out = a;
    if (from.len == 0) return SM_OK;
    for (const char *at = s; (at = sm_bytes_find(at, (size_t)(end - at), part, from.len));
         at += from.len)
        n++;
    if (n == 0) return SM_OK;
    char *w;
    SM_TRY(sm_text_new(cx, a.len - n * from.len + n * to.len, out, &w));
    for (const char *at; (at = sm_bytes_find(s, (size_t)(end - s), part, from.len));
         s = at + from.len) {
        memcpy(w, s, (size_t)(at - s));
        w += at - s;
        memcpy(w, sm_text_bytes(&to), to.len);
        w += to.len;
    }
    memcpy(w, s, (size_t)(end - s));
    sm_text_close(out);
    return SM_OK;
}

sm_status sm_text_reverse(sm_opctx *cx, sm_text a, sm_text *out)
{
    const char *s = sm_text_bytes(&a), *end = s + a.len;
    char *to;
    SM_TRY(sm_text_new(cx, a.len, out, &to));
    for (char *w = to + a.len; s < end;) {
        const char *next = sm_utf8_skip(s, end, 1);
        w -= next - s;
        memcpy(w, s, (size_t)(next - s));
        s = next;
    }
    sm_text_close(out);
    return SM_OK;
}

sm_status sm_text_repeat(sm_opctx *cx, sm_text a, int32_t n, sm_text *out)
{
    size_t times = n > 0 ? (size_t)n : 0;
    char *to;
    SM_TRY(sm_text_new(cx, a.len * times, out, &to));
    for (size_t i = 0; a.len != 0 && i < times; i++)
        memcpy(to + i * a.len, sm_text_bytes(&a), a.len);
    sm_text_close(out);
    return SM_OK;
}

sm_status sm_text_pad(sm_opctx *cx, sm_text a, int32_t n, sm_text fill, bool left, sm_text *out)
{
    int64_t have = (int64_t)sm_utf8_length(sm_text_bytes(&a), a.len);
    int64_t fill_chars = (int64_t)sm_utf8_length(sm_text_bytes(&fill), fill.len),
            missing = n - have;
    if (missing <= 0 || fill_chars == 0) {
        *out = sm_text_slice(&a, 0, n);
        return SM_OK;
    }
    const char *f = sm_text_bytes(&fill);
    size_t whole =
        (size_t)(missing / fill_chars) * fill.len; /* bytes of whole fills, then of the last one */
    size_t rest = (size_t)(sm_utf8_skip(f, f + fill.len, missing % fill_chars) - f);
    char *to;
    SM_TRY(sm_text_new(cx, a.len + whole + rest, out, &to));
    memcpy(left ? to + whole + rest : to, sm_text_bytes(&a), a.len);
    if (!left) to += a.len;
    for (size_t i = 0; i < whole; i += fill.len) memcpy(to + i, f, fill.len);
    memcpy(to + whole, f, rest);
    sm_text_close(out);
    return SM_OK;
}

/* ---- parts ---- */

sm_text sm_text_slice(const sm_text *a, int64_t first, int64_t count)
{
    const char *s = sm_text_bytes(a), *end = s + a->len;
    if (first < 0) {
        count += first;
        first = 0;
    }
    if (count <= 0) return sm_text_view(s, 0);
    const char *from = sm_utf8_skip(s, end, first);
    return sm_text_view(from, (uint32_t)(sm_utf8_skip(from, end, count) - from));
}

static bool has_char(const char *set, size_t set_len, const char *c, size_t len)
{
    if (len == 1) return memchr(set, *c, set_len) != NULL;
    return sm_bytes_find(set, set_len, c, len) != NULL;
}

sm_text sm_text_trim(const sm_text *a, const sm_text *set, bool start, bool end)
{
    const char *s = sm_text_bytes(a), *e = s + a->len, *chars = sm_text_bytes(set);
    while (start && s < e) {
        const char *next = sm_utf8_skip(s, e, 1);
        if (!has_char(chars, set->len, s, (size_t)(next - s))) break;
        s = next;
    }
    while (end && s < e) {
        const char *last = e - 1;
        while (last > s && continues(*last)) last--;
        if (!has_char(chars, set->len, last, (size_t)(e - last))) break;
        e = last;
    }
    return sm_text_view(s, (uint32_t)(e - s));
}

sm_text sm_text_split(const sm_text *a, const sm_text *delimiter, int32_t n)
{
    const char *s = sm_text_bytes(a), *end = s + a->len, *d = sm_text_bytes(delimiter), *at;
    int64_t wanted = n;
    if (delimiter->len == 0) return n == 1 || n == -1 ? *a : sm_text_view(s, 0);
    if (n < 0) { /* counted from the last part */
        int64_t parts = 1;
        for (const char *p = s; (at = sm_bytes_find(p, (size_t)(end - p), d, delimiter->len));) {
            parts++;
            p = at + delimiter->len;
        }
        wanted = parts + 1 + n;
    }
    if (wanted <= 0) return sm_text_view(s, 0);
    for (; (at = sm_bytes_find(s, (size_t)(end - s), d, delimiter->len)) && wanted > 1; wanted--) {
        s = at + delimiter->len;
    }
    if (wanted > 1) return sm_text_view(s, 0);
    return sm_text_view(s, (uint32_t)((at ? at : end) - s));
}
