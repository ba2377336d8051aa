/* LIKE and ILIKE. One pass over the pattern with one point to return to, the last %: if what
 * follows it does not match where it was tried, it is tried further right; an earlier % never
 * helps. The literal run behind a % is searched for, not tried byte by byte, and a run that ends
 * the pattern is compared with the text's end. An escape character that ends the pattern is an
 * error only if the match gets there, as in PostgreSQL (like_match.c). Read ops_text.h first. */
#include <utf8proc.h>

#include "ops_text.h"

typedef struct like {
    const char *p, *end; /* pattern not matched yet */
    char escape[4];
    size_t escape_len; /* 0: no escape character */
} like;

static bool at_escape(const like *l, const char *p)
{
    return l->escape_len != 0 && (size_t)(l->end - p) >= l->escape_len &&
           memcmp(p, l->escape, l->escape_len) == 0;
}

/* End of the bytes from p that stand for themselves. */
static const char *run_end(const like *l, const char *p)
{
    char first = l->escape_len ? l->escape[0] : '%';
    while (p < l->end && *p != '%' && *p != '_' && (*p != first || !at_escape(l, p))) p++;
    return p;
}

/* The literal run at p, which is not at a wildcard; an escaped character begins one. False: ends in
 * escape. */
static bool literal_run(const like *l, const char *p, const char **run, const char **end)
{
    const char *rest = p;
    if (at_escape(l, p)) {
        p += l->escape_len;
        if (p == l->end) return false;
        rest = sm_utf8_skip(p, l->end, 1);
    }
    *run = p;
    *end = run_end(l, rest);
    return true;
}

static bool at_wildcard(const like *l, char c)
{
    return l->p < l->end && *l->p == c && !at_escape(l, l->p);
}

/* Past % and any % and _ behind it; characters that _ stands for are taken from *t. False: too few.
 */
static bool skip_wildcards(like *l, const char **t, const char *t_end)
{
    for (;; l->p++) {
        if (at_wildcard(l, '%')) continue;
        if (!at_wildcard(l, '_')) return true;
        if (*t == t_end) return false;
        *t = sm_utf8_skip(*t, t_end, 1);
    }
}

static sm_status match(sm_opctx *cx, like *l, const char *t, const char *t_end, uint8_t *out)
{
    const char *run = NULL, *after_run = NULL; /* literal run behind the last % */
    const char *retry = NULL;                  /* where in the text to look for it next */
    *out = 0;
    while (t < t_end) {
        bool same = false;
        if (at_wildcard(l, '%')) {
            if (!skip_wildcards(l, &t, t_end)) return SM_OK;
            if (l->p == l->end) {
                *out = 1;
                return SM_OK;
            }
            if (!literal_run(l, l->p, &run, &after_run))
                return op_check(cx, true, SM_ERR_LIKE_ESCAPE);
            if (after_run == l->end) {
                size_t len = (size_t)(after_run - run);
                *out = (size_t)(t_end - t) >= len && memcmp(t_end - len, run, len) == 0;
                return SM_OK;
            }
            retry = t;
        } else if (at_wildcard(l, '_')) {
            l->p++;
            t = sm_utf8_skip(t, t_end, 1);
            same = true;
        } else if (l->p < l->end) {
            const char *s, *s_end;
            if (!literal_run(l, l->p, &s, &s_end)) return op_check(cx, true, SM_ERR_LIKE_ESCAPE);
            size_t len = (size_t)(s_end - s);
            same = (size_t)(t_end - t) >= len && memcmp(t, s, len) == 0;
            t += same ? len : 0;
            l->p = s_end;
        }
        if (same) continue;
        if (!retry) return SM_OK;
        const char *found =
            sm_bytes_find(retry, (size_t)(t_end - retry), run, (size_t)(after_run - run));
        if (!found) return SM_OK;
        retry = found + 1;
        t = found + (after_run - run);
        l->p = after_run;
    }
    while (at_wildcard(l, '%')) l->p++;
    *out = l->p == l->end;
    return SM_OK;
}

/* The pattern in lower case, its escape character written as a backslash: folding could change it.
 */
static sm_status fold_pattern(sm_opctx *cx, const like *l, sm_text *out)
{
    const size_t len = (size_t)(l->end - l->p);
    sm_text plain;
    char *to;
    SM_TRY(sm_text_new(cx, 2 * len, &plain, &to)); /* at worst every byte is a backslash */
    size_t n = 0;
    for (const char *p = l->p; p < l->end;) {
        if (at_escape(l, p)) {
            to[n++] = '\\';
            p += l->escape_len;
            if (p == l->end) break;
        } else if (*p == '\\') {
            to[n++] = '\\';
        }
        const char *next = sm_utf8_skip(p, l->end, 1);
        memcpy(to + n, p, (size_t)(next - p));
        n += (size_t)(next - p);
        p = next;
    }
    return sm_text_case(cx, sm_text_view(to, (uint32_t)n), false, out);
}

sm_status sm_text_like(sm_opctx *cx, const sm_text *a, const sm_text *pattern, int32_t escape,
                       bool fold, uint8_t *out)
{
    like l = {.p = sm_text_bytes(pattern)};
    l.end = l.p + pattern->len;
    if (escape >= 0x80) {
        utf8proc_uint8_t bytes[4] = {0};
        l.escape_len = (size_t)utf8proc_encode_char(escape, bytes);
        memcpy(l.escape, bytes, sizeof bytes);
    } else if (escape >= 0) {
        l.escape[0] = (char)escape;
        l.escape_len = 1;
    }
    if (!fold) return match(cx, &l, sm_text_bytes(a), sm_text_bytes(a) + a->len, out);

    sm_text low, low_pattern;
    *out = 0;
    SM_TRY(sm_text_case(cx, *a, false, &low));
    SM_TRY(fold_pattern(cx, &l, &low_pattern));
    like folded = {.p = sm_text_bytes(&low_pattern), .escape = "\\", .escape_len = 1};
    folded.end = folded.p + low_pattern.len;
    return match(cx, &folded, sm_text_bytes(&low), sm_text_bytes(&low) + low.len, out);
}
