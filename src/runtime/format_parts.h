/* What the files behind format.h share: format.c (entry points), format_number.c, parse_number.c,
 * format_datetime.c, parse_datetime.c, parse_interval.c. Nobody else includes it. */
#ifndef SM_FORMAT_PARTS_H
#define SM_FORMAT_PARTS_H

#include "format.h"

/* Bytes not yet read. */
typedef struct sm_cursor {
    const char *at, *end;
} sm_cursor;

SM_INLINE bool sm_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
SM_INLINE bool sm_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
SM_INLINE bool sm_is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}
SM_INLINE char sm_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

SM_INLINE sm_cursor sm_trim(const char *s, size_t len)
{
    sm_cursor c = {s, s + len};
    while (c.at < c.end && sm_is_space(*c.at)) c.at++;
    while (c.at < c.end && sm_is_space(c.end[-1])) c.end--;
    return c;
}

/** Raises an error whose message names a type and quotes the text, or (DATETIME_FIELD) only quotes
 * it. */
sm_status sm_raise_text(sm_error *err, sm_status status, const char *type, const char *s,
                        size_t len);
/** True if the cursor's bytes are this lower-case word, in any case. */
bool sm_cursor_is(sm_cursor c, const char *word);

/** Shortest digits that read back, laid out as PostgreSQL does; return the length, no final NUL. */
size_t sm_print_f64(double v, char *out);
size_t sm_print_f32(float v, char *out);
size_t sm_print_u64(uint64_t v, char *out);
size_t sm_print_decimal(sm_i128 v, unsigned scale, char *out);
size_t sm_print_date(int64_t days, char *out);
size_t sm_print_timestamp(int64_t micros, char *out);
size_t sm_print_interval(sm_interval v, char *out);

sm_status sm_parse_int(sm_type t, const char *s, size_t len, int64_t *out, sm_error *err);
sm_status sm_parse_f64(const char *s, size_t len, double *out, sm_error *err);
sm_status sm_parse_f32(const char *s, size_t len, float *out, sm_error *err);
sm_status sm_parse_date(const char *s, size_t len, int32_t *out, sm_error *err);
sm_status sm_parse_timestamp(const char *s, size_t len, int64_t *out, sm_error *err);
sm_status sm_parse_interval(const char *s, size_t len, sm_interval *out, sm_error *err);

/* A point in time as fields; year 0 is 1 BC. */
typedef struct sm_civil {
    int64_t year;
    unsigned month, day;
} sm_civil;

unsigned sm_days_in_month(int64_t year, unsigned month);

#endif
