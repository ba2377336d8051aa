/* The short paths of csv_parse.h. Each takes only what it can convert exactly. */
#include "storage/csv/csv_parse.h"

static const int64_t DAY_MICROS = INT64_C(86400000000);

static bool digits(const char *s, unsigned n, unsigned *out)
{
    unsigned x = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned digit = (unsigned)(unsigned char)s[i] - '0';
        if (digit > 9) return false;
        x = x * 10 + digit;
    }
    *out = x;
    return true;
}

/* Sign, digits, point: the digits as one integer, and how many stood behind the point. At most 18. */
static bool split_number(const sm_csv_field *f, int64_t *out, unsigned *fraction)
{
    const char *s = f->s, *end = s + f->len, *point = NULL;
    bool minus = f->len && *s == '-';
    unsigned n = 0;
    int64_t x = 0;
    s += minus;
    for (; s < end; s++) {
        unsigned digit = (unsigned)(unsigned char)*s - '0';
        if (digit > 9) {
            if (*s != '.' || point) return false;
            point = s;
            continue;
        }
        if (++n > 18) return false;
        x = x * 10 + digit;
    }
    if (!n) return false;
    *fraction = point ? (unsigned)(end - point) - 1 : 0;
    *out = minus ? -x : x;
    return true;
}

bool sm_csv_fast_decimal(const sm_csv_field *f, unsigned scale, int64_t *out)
{
    int64_t x;
    unsigned fraction;
    if (!split_number(f, &x, &fraction) || fraction > scale) return false;
    for (; fraction < scale; fraction++)
        if (__builtin_mul_overflow(x, 10, &x)) return false;
    *out = x;
    return true;
}

bool sm_csv_fast_date(const char *s, uint32_t len, int32_t *out)
{
    static const uint8_t month_days[13] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    unsigned year, month, day;
    if (len != 10 || s[4] != '-' || s[7] != '-') return false;
    if (!digits(s, 4, &year) || !digits(s + 5, 2, &month) || !digits(s + 8, 2, &day)) return false;
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > month_days[month]) return false;
    if (month == 2 && day == 29 && (year % 4 || (year % 100 == 0 && year % 400))) return false;
    *out = (int32_t)sm_days_from_civil(year, month, day);
    return true;
}

bool sm_csv_fast_timestamp(const sm_csv_field *f, int64_t *out)
{
    const char *s = f->s;
    unsigned hour, minute, second, fraction = 0, n;
    int32_t days;
    if (f->len < 19 || f->len == 20 || f->len > 26 || (s[10] != ' ' && s[10] != 'T')) return false;
    if (!sm_csv_fast_date(s, 10, &days) || s[13] != ':' || s[16] != ':') return false;
    if (!digits(s + 11, 2, &hour) || !digits(s + 14, 2, &minute) || !digits(s + 17, 2, &second))
        return false;
    if (hour > 23 || minute > 59 || second > 59) return false;
    if (f->len > 19) {
        n = f->len - 20;
        if (s[19] != '.' || !digits(s + 20, n, &fraction)) return false;
        for (; n < 6; n++) fraction *= 10;
    }
    *out = days * DAY_MICROS + ((int64_t)(hour * 60 + minute) * 60 + second) * 1000000 + fraction;
    return true;
}

sm_status sm_csv_parse(sm_type type, const sm_csv_field *f, sm_value *out, sm_error *err)
{
    *out = (sm_value){.is_null = false};
    if (sm_type_phys(type) == SM_PHYS_TEXT) {
        out->text = sm_text_view(f->s, f->len);
        return SM_OK;
    }
    return sm_parse_value(type, f->s, f->len, out, err);
}
