/* Bodies of the operations on text, and of the casts from and to it. Text is UTF-8; a character
 * begins at every byte that is not 10xxxxxx, so broken input is never read past its end. A result
 * that is a part of an argument borrows its bytes; new bytes come from cx->scratch, or lie inline.
 * The longer bodies are in ops_text.c, LIKE in ops_like.c. Read ops_number.h and value.h first. */
#ifndef SM_OPS_TEXT_H
#define SM_OPS_TEXT_H

#include "format.h"
#include "ops_number.h"

/** Characters of len bytes. */
size_t sm_utf8_length(const char *s, size_t len);
/** s moved on by n characters, at most to end. */
const char *sm_utf8_skip(const char *s, const char *end, int64_t n);

/** A text of len bytes that the caller fills through *bytes and then closes with sm_text_close.
 *  errors  54000, 53200 */
sm_status sm_text_new(sm_opctx *cx, size_t len, sm_text *out, char **bytes);
SM_INLINE void sm_text_close(sm_text *t)
{
    if (t->len > SM_TEXT_INLINE) memcpy(t->prefix, t->ptr, 4);
}

/** Lower or upper case by Unicode's simple mappings. */
sm_status sm_text_case(sm_opctx *cx, sm_text a, bool upper, sm_text *out);
/** Characters [first, first + count) counted from 0; either may lie outside. */
sm_text sm_text_slice(const sm_text *a, int64_t first, int64_t count);
/** Without the characters of set at the start and/or end. */
sm_text sm_text_trim(const sm_text *a, const sm_text *set, bool start, bool end);
/** First occurrence of part in len bytes, or NULL; an empty part is found at once. */
const char *sm_bytes_find(const char *s, size_t len, const char *part, size_t part_len);
sm_status sm_text_replace(sm_opctx *cx, sm_text a, sm_text from, sm_text to, sm_text *out);
sm_status sm_text_reverse(sm_opctx *cx, sm_text a, sm_text *out);
sm_status sm_text_repeat(sm_opctx *cx, sm_text a, int32_t n, sm_text *out);
sm_status sm_text_pad(sm_opctx *cx, sm_text a, int32_t n, sm_text fill, bool left, sm_text *out);
sm_text sm_text_split(const sm_text *a, const sm_text *delimiter, int32_t n);
/** LIKE, or ILIKE if fold; escape is a code point or -1.
 *  errors  22025 when the match reaches an escape character that ends the pattern */
sm_status sm_text_like(sm_opctx *cx, const sm_text *a, const sm_text *pattern, int32_t escape,
                       bool fold, uint8_t *out);
/** Copy of printed bytes as a text. */
sm_status sm_text_copy(sm_opctx *cx, const char *s, size_t len, sm_text *out);

/* ---- comparison ---- */

OP_TOTAL(eq_txt, uint8_t, (sm_text a, sm_text b), sm_text_eq(a, b))
OP_TOTAL(ne_txt, uint8_t, (sm_text a, sm_text b), !sm_text_eq(a, b))
OP_TOTAL(lt_txt, uint8_t, (sm_text a, sm_text b), sm_text_cmp(a, b) < 0)
OP_TOTAL(le_txt, uint8_t, (sm_text a, sm_text b), sm_text_cmp(a, b) <= 0)
OP_TOTAL(gt_txt, uint8_t, (sm_text a, sm_text b), sm_text_cmp(a, b) > 0)
OP_TOTAL(ge_txt, uint8_t, (sm_text a, sm_text b), sm_text_cmp(a, b) >= 0)

static inline sm_status op_like_txt(sm_opctx *cx, sm_text a, sm_text b, uint8_t *out)
{
    return sm_text_like(cx, &a, &b, cx->imm[0], false, out);
}

static inline sm_status op_ilike_txt(sm_opctx *cx, sm_text a, sm_text b, uint8_t *out)
{
    return sm_text_like(cx, &a, &b, cx->imm[0], true, out);
}

static inline sm_status op_starts_with_txt(sm_opctx *cx, sm_text a, sm_text b, uint8_t *out)
{
    (void)cx;
    *out = b.len <= a.len && memcmp(sm_text_bytes(&a), sm_text_bytes(&b), b.len) == 0;
    return SM_OK;
}

/* ---- parts and lengths ---- */

OP_TOTAL(length_txt, int32_t, (sm_text a), sm_utf8_length(sm_text_bytes(&a), a.len))
OP_TOTAL(octet_length_txt, int32_t, (sm_text a), a.len)

/* A body whose result is a part of its argument. */
#define OP_PART(id, params, value)                                                                 \
    static inline sm_status op_##id(sm_opctx *cx, OP_UNPACK params, sm_text *out)                  \
    {                                                                                              \
        (void)cx;                                                                                  \
        *out = value;                                                                              \
        return SM_OK;                                                                              \
    }
OP_PART(substr_txt, (sm_text a, int32_t start),
        sm_text_slice(&a, start > 1 ? (int64_t)start - 1 : 0, a.len))
OP_PART(btrim_txt, (sm_text a, sm_text set), sm_text_trim(&a, &set, true, true))
OP_PART(ltrim_txt, (sm_text a, sm_text set), sm_text_trim(&a, &set, true, false))
OP_PART(rtrim_txt, (sm_text a, sm_text set), sm_text_trim(&a, &set, false, true))
OP_PART(varchar_txt, (sm_text a), sm_text_slice(&a, 0, cx->imm[0]))

static inline sm_status op_substr3_txt(sm_opctx *cx, sm_text a, int32_t start, int32_t count,
                                       sm_text *out)
{
    *out = sm_text_slice(&a, (int64_t)start - 1, count);
    return op_check(cx, count < 0, SM_ERR_NEGATIVE_SUBSTRING);
}

static inline sm_status op_left_txt(sm_opctx *cx, sm_text a, int32_t n, sm_text *out)
{
    (void)cx;
    int64_t count = n >= 0 ? n : (int64_t)sm_utf8_length(sm_text_bytes(&a), a.len) + n;
    *out = sm_text_slice(&a, 0, count);
    return SM_OK;
}

static inline sm_status op_right_txt(sm_opctx *cx, sm_text a, int32_t n, sm_text *out)
{
    (void)cx;
    int64_t first = n < 0 ? -(int64_t)n : (int64_t)sm_utf8_length(sm_text_bytes(&a), a.len) - n;
    *out = sm_text_slice(&a, first > 0 ? first : 0, a.len);
    return SM_OK;
}

static inline sm_status op_strpos_txt(sm_opctx *cx, sm_text a, sm_text b, int32_t *out)
{
    (void)cx;
    const char *s = sm_text_bytes(&a), *at = sm_bytes_find(s, a.len, sm_text_bytes(&b), b.len);
    *out = at ? (int32_t)sm_utf8_length(s, (size_t)(at - s)) + 1 : 0;
    return SM_OK;
}

static inline sm_status op_split_part_txt(sm_opctx *cx, sm_text a, sm_text delimiter, int32_t n,
                                          sm_text *out)
{
    *out = sm_text_split(&a, &delimiter, n);
    if (n != 0) return SM_OK;
    return sm_raise(cx->err, SM_ERR_BAD_ARGUMENT, "field position must not be zero");
}

static inline sm_status op_fit_txt(sm_opctx *cx, sm_text a, sm_text *out)
{
    *out = sm_text_slice(&a, 0, cx->imm[0]);
    const char *s = sm_text_bytes(&a);
    for (uint32_t i = out->len; i < a.len; i++) {
        if (s[i] != ' ') return sm_raise(cx->err, SM_ERR_VARCHAR_LENGTH, cx->imm[0]);
    }
    return SM_OK;
}

static inline sm_status op_char_txt(sm_opctx *cx, sm_text a, sm_text *out)
{
    sm_text cut = sm_text_slice(&a, 0, cx->imm[0]), space = sm_text_view(" ", 1);
    *out = sm_text_trim(&cut, &space, false, true);
    return SM_OK;
}

/* ---- new texts ---- */

static inline sm_status op_concat_txt(sm_opctx *cx, sm_text a, sm_text b, sm_text *out)
{
    char *to;
    SM_TRY(sm_text_new(cx, (size_t)a.len + b.len, out, &to));
    memcpy(to, sm_text_bytes(&a), a.len);
    memcpy(to + a.len, sm_text_bytes(&b), b.len);
    sm_text_close(out);
    return SM_OK;
}

static inline sm_status op_lower_txt(sm_opctx *cx, sm_text a, sm_text *out)
{
    return sm_text_case(cx, a, false, out);
}

static inline sm_status op_upper_txt(sm_opctx *cx, sm_text a, sm_text *out)
{
    return sm_text_case(cx, a, true, out);
}

static inline sm_status op_replace_txt(sm_opctx *cx, sm_text a, sm_text from, sm_text to,
                                       sm_text *out)
{
    return sm_text_replace(cx, a, from, to, out);
}

static inline sm_status op_reverse_txt(sm_opctx *cx, sm_text a, sm_text *out)
{
    return sm_text_reverse(cx, a, out);
}

static inline sm_status op_repeat_txt(sm_opctx *cx, sm_text a, int32_t n, sm_text *out)
{
    return sm_text_repeat(cx, a, n, out);
}

static inline sm_status op_lpad_txt(sm_opctx *cx, sm_text a, int32_t n, sm_text fill, sm_text *out)
{
    return sm_text_pad(cx, a, n, fill, true, out);
}

static inline sm_status op_rpad_txt(sm_opctx *cx, sm_text a, int32_t n, sm_text fill, sm_text *out)
{
    return sm_text_pad(cx, a, n, fill, false, out);
}

/* ---- casts ---- */

#define OP_PARSE(id, R, type, field)                                                               \
    static inline sm_status op_##id(sm_opctx *cx, sm_text a, R *out)                               \
    {                                                                                              \
        sm_value v = {.i128 = 0};                                                                  \
        sm_status status =                                                                         \
            sm_parse_value(sm_type_of(type), sm_text_bytes(&a), a.len, &v, cx->err);               \
        *out = v.field;                                                                            \
        return status;                                                                             \
    }
OP_PARSE(txt_to_b, uint8_t, SM_BOOL, b)
OP_PARSE(txt_to_i16, int16_t, SM_INT16, i16)
OP_PARSE(txt_to_i32, int32_t, SM_INT32, i32)
OP_PARSE(txt_to_i64, int64_t, SM_INT64, i64)
OP_PARSE(txt_to_f32, float, SM_FLOAT32, f32)
OP_PARSE(txt_to_f64, double, SM_FLOAT64, f64)
OP_PARSE(txt_to_date, int32_t, SM_DATE, i32)
OP_PARSE(txt_to_ts, int64_t, SM_TIMESTAMP, i64)
OP_PARSE(txt_to_iv, sm_interval, SM_INTERVAL, iv)
#undef OP_PARSE

static inline sm_status op_txt_to_d128(sm_opctx *cx, sm_text a, sm_i128 *out)
{
    *out = 0;
    return sm_parse_decimal(sm_text_bytes(&a), a.len, (unsigned)cx->imm[1], (unsigned)cx->imm[0],
                            out, cx->err);
}

#define OP_FORMAT(id, T, type, field)                                                              \
    static inline sm_status op_##id(sm_opctx *cx, T a, sm_text *out)                               \
    {                                                                                              \
        char text[SM_FORMAT_BYTES];                                                                \
        sm_value v = {.field = a};                                                                 \
        return sm_text_copy(cx, text, sm_format_value(type, &v, text), out);                       \
    }
OP_FORMAT(i64_to_txt, int64_t, sm_type_of(SM_INT64), i64)
OP_FORMAT(f32_to_txt, float, sm_type_of(SM_FLOAT32), f32)
OP_FORMAT(f64_to_txt, double, sm_type_of(SM_FLOAT64), f64)
OP_FORMAT(d128_to_txt, sm_i128, sm_decimal(SM_DEC_MAX_DIGITS, (unsigned)cx->imm[0]), i128)
OP_FORMAT(date_to_txt, int32_t, sm_type_of(SM_DATE), i32)
OP_FORMAT(ts_to_txt, int64_t, sm_type_of(SM_TIMESTAMP), i64)
OP_FORMAT(iv_to_txt, sm_interval, sm_type_of(SM_INTERVAL), iv)
#undef OP_FORMAT

OP_TOTAL(b_to_txt, sm_text, (uint8_t a), a ? sm_text_view("true", 4) : sm_text_view("false", 5))

#endif
