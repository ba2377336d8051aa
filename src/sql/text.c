/* A statement's text before it is parsed: where tokens begin and end, whether it is sound, and
 * which character a byte belongs to. The grammar is libpg_query's; this lexer knows only what may
 * hide a semicolon, a pipe or a bracket: quotes, comments and dollar quotes. Read text.h first. */
#include "sql/text.h"

#include <string.h>
#include <strings.h>
#include <utf8proc.h>

enum { NAME_BYTES = 63, MARK_BYTES = 256 };

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_word_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}
static bool is_word(char c)
{
    return is_word_start(c) || is_digit(c) || c == '$';
}

/* Behind a (nestable) block comment that starts at i. */
static size_t skip_block_comment(const char *s, size_t n, size_t i)
{
    unsigned depth = 0;
    while (i < n) {
        if (s[i] == '/' && i + 1 < n && s[i + 1] == '*') {
            depth++, i += 2;
        } else if (s[i] == '*' && i + 1 < n && s[i + 1] == '/') {
            i += 2;
            if (--depth == 0) return i;
        } else {
            i++;
        }
    }
    return n;
}

static size_t skip_blank(const char *s, size_t n, size_t i)
{
    for (;;) {
        while (i < n && is_space(s[i])) i++;
        if (i + 1 < n && s[i] == '-' && s[i + 1] == '-') {
            while (i < n && s[i] != '\n' && s[i] != '\r') i++;
        } else if (i + 1 < n && s[i] == '/' && s[i + 1] == '*') {
            i = skip_block_comment(s, n, i);
        } else {
            return i;
        }
    }
}

/* Behind the quote that opens at i; a doubled quote, or with `escapes` a backslashed one, does not
 * close it. */
static size_t skip_quote(const char *s, size_t n, size_t i, bool escapes)
{
    char q = s[i++];
    while (i < n) {
        if (escapes && s[i] == '\\') {
            i += 2;
        } else if (s[i] != q) {
            i++;
        } else if (i + 1 < n && s[i + 1] == q) {
            i += 2;
        } else {
            return i + 1;
        }
    }
    return n;
}

/* Behind a dollar quote or parameter that starts at i; *kind says which. */
static size_t skip_dollar(const char *s, size_t n, size_t i, sm_tok_kind *kind)
{
    size_t tag = i + 1, at = tag;
    *kind = SM_TOK_OTHER;
    if (at < n && is_digit(s[at])) {
        *kind = SM_TOK_PARAM;
        while (at < n && is_digit(s[at])) at++;
        return at;
    }
    if (at < n && is_word_start(s[at]))
        while (at < n && is_word(s[at]) && s[at] != '$') at++;
    if (at >= n || s[at] != '$') return tag;
    *kind = SM_TOK_STRING;
    size_t tag_bytes = at + 1 - i;
    for (at++; at + tag_bytes <= n; at++)
        if (s[at] == '$' && memcmp(s + at, s + i, tag_bytes) == 0) return at + tag_bytes;
    return n;
}

static size_t skip_number(const char *s, size_t n, size_t i)
{
    while (i < n && (is_digit(s[i]) || s[i] == '.')) {
        if (s[i] == '.' && i + 1 < n && s[i + 1] == '.') break;
        i++;
    }
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        size_t e = i + 1;
        if (e < n && (s[e] == '+' || s[e] == '-')) e++;
        if (e < n && is_digit(s[e])) {
            for (i = e; i < n && is_digit(s[i]);) i++;
        }
    }
    return i;
}

/* A word, or the string or quoted identifier that it is the prefix of. */
static size_t skip_word(const char *s, size_t n, size_t i, sm_tok_kind *kind)
{
    size_t start = i;
    while (i < n && is_word(s[i])) i++;
    *kind = SM_TOK_WORD;
    if (i - start == 1 && i < n && s[i] == '\'' && strchr("eEbBxXnN", s[start])) {
        *kind = SM_TOK_STRING;
        return skip_quote(s, n, i, s[start] == 'e' || s[start] == 'E');
    }
    if (i - start == 1 && (s[start] == 'u' || s[start] == 'U') && i + 1 < n && s[i] == '&' &&
        (s[i + 1] == '\'' || s[i + 1] == '"')) {
        *kind = s[i + 1] == '"' ? SM_TOK_QUOTED : SM_TOK_STRING;
        return skip_quote(s, n, i + 1, false);
    }
    return i;
}

sm_tok sm_tok_next(const char *text, size_t bytes, size_t *at)
{
    size_t i = skip_blank(text, bytes, *at);
    sm_tok t = {SM_TOK_END, i, i};
    if (i < bytes) {
        char c = text[i], next = i + 1 < bytes ? text[i + 1] : 0;
        t.kind = SM_TOK_OTHER;
        if (is_word_start(c)) {
            t.end = skip_word(text, bytes, i, &t.kind);
        } else if (is_digit(c) || (c == '.' && is_digit(next))) {
            t.kind = SM_TOK_NUMBER, t.end = skip_number(text, bytes, i);
        } else if (c == '\'' || c == '"') {
            t.kind = c == '"' ? SM_TOK_QUOTED : SM_TOK_STRING,
            t.end = skip_quote(text, bytes, i, false);
        } else if (c == '$') {
            t.end = skip_dollar(text, bytes, i, &t.kind);
        } else if (c == '|' && next == '>' && !(i + 2 < bytes && text[i + 2] == '>')) {
            t.kind = SM_TOK_PIPE, t.end = i + 2;
        } else {
            t.end = i + (c == '|' && next == '|' ? 2 : 1);
        }
        if (t.end > bytes) t.end = bytes;
    }
    *at = t.end;
    return t;
}

bool sm_tok_is(const char *text, sm_tok t, const char *word)
{
    size_t n = strlen(word);
    return t.kind == SM_TOK_WORD && t.end - t.start == n &&
           strncasecmp(text + t.start, word, n) == 0;
}

/* Counts characters and finds the first byte that is no UTF-8 (or NUL). */
static bool mark_characters(sm_chars *c, size_t *bad)
{
    const utf8proc_uint8_t *s = (const utf8proc_uint8_t *)c->text;
    uint32_t n_chars = 0;
    size_t next_mark = 0;
    for (size_t i = 0; i < c->bytes;) {
        while (next_mark <= i) c->before[next_mark / MARK_BYTES] = n_chars, next_mark += MARK_BYTES;
        utf8proc_int32_t code;
        utf8proc_ssize_t n = 1;
        if (s[i] >= 0x80) n = utf8proc_iterate(s + i, (utf8proc_ssize_t)(c->bytes - i), &code);
        if (n < 1) {
            *bad = i;
            return false;
        }
        i += (size_t)n;
        n_chars++;
    }
    for (; next_mark <= c->bytes; next_mark += MARK_BYTES)
        c->before[next_mark / MARK_BYTES] = n_chars;
    return true;
}

static size_t name_bytes(const char *text, sm_tok t)
{
    if (t.kind == SM_TOK_WORD) return t.end - t.start;
    if (t.kind != SM_TOK_QUOTED || t.end - t.start < 2) return 0;
    size_t n = t.end - t.start - 2;
    for (size_t i = t.start + 1; i + 2 < t.end; i++)
        if (text[i] == '"' && text[i + 1] == '"') n--, i++;
    return n;
}

sm_status sm_chars_init(sm_chars *c, sm_arena *a, const char *text, size_t bytes, sm_error *err)
{
    *c = (sm_chars){.text = text, .bytes = bytes, .ascii = true};
    if (bytes > INT32_MAX / 2) return sm_raise(err, SM_ERR_TOO_COMPLEX, "text of more than 1 GiB");
    const char *nul = memchr(text, 0, bytes);
    for (size_t i = 0; i < bytes && c->ascii; i++) c->ascii = (unsigned char)text[i] < 0x80;
    if (!c->ascii) {
        size_t bad = 0;
        c->before = SM_NEW_N(a, uint32_t, bytes / MARK_BYTES + 2);
        if (!c->before) return sm_arena_failed(a, err);
        if (!mark_characters(c, &bad)) {
            c->bytes = bad;
            return sm_raise_at(err, sm_chars_at(c, bad), SM_ERR_BAD_ENCODING);
        }
    }
    if (nul)
        return sm_raise_at(err, sm_chars_at(c, (size_t)(nul - text)), SM_ERR_SYNTAX,
                           "syntax error: the text has a NUL character");
    size_t at = 0;
    for (sm_tok t = sm_tok_next(text, bytes, &at); t.kind != SM_TOK_END;
         t = sm_tok_next(text, bytes, &at))
        if (name_bytes(text, t) > NAME_BYTES)
            return sm_raise_at(err, sm_chars_at(c, t.start), SM_ERR_NAME_TOO_LONG, NAME_BYTES);
    return SM_OK;
}

int32_t sm_chars_at(const sm_chars *c, size_t byte)
{
    if (byte > c->bytes) byte = c->bytes;
    if (c->ascii) return (int32_t)byte + 1;
    uint32_t n = c->before[byte / MARK_BYTES];
    size_t i = byte / MARK_BYTES * MARK_BYTES;
    /* a mark counts the character that straddles it as before it, so its tail bytes are not counted
     * again */
    for (; i < byte; i++)
        if (((unsigned char)c->text[i] & 0xC0) != 0x80) n++;
    return (int32_t)n + 1;
}

size_t sm_chars_byte(const sm_chars *c, int32_t position)
{
    size_t i = 0;
    if (position < 1) return 0;
    if (c->ascii) return (size_t)position - 1 < c->bytes ? (size_t)position - 1 : c->bytes;
    for (int32_t n = 1; i < c->bytes && n < position; n++) do
            i++;
        while (i < c->bytes && ((unsigned char)c->text[i] & 0xC0) == 0x80);
    return i;
}
