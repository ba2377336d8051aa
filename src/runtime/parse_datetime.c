/* Dates and timestamps from text, as PostgreSQL reads them with DateStyle ISO, MDY. Words and
 * numbers may come in many orders, so the text is cut into fields, each field says what it is
 * (date, time, year, month, era, zone), and only then is the whole checked. What CSV files are full
 * of, YYYY-MM-DD, goes a short way.
 *
 * 22007 means "this is not a date"; 22008 "it is one, of a day that does not exist". */
#include "format_parts.h"

#include <math.h>
#include <string.h>

typedef enum seen {
    SEEN_YEAR = 1,
    SEEN_MONTH = 2,
    SEEN_DAY = 4,
    SEEN_DATE = SEEN_YEAR | SEEN_MONTH | SEEN_DAY,
    SEEN_TIME = 8,
    SEEN_ERA = 16,
    SEEN_NOON = 32, /* AM or PM */
    SEEN_ZONE = 64,
    SEEN_JULIAN = 128 /* a day number, J2451545 or year.day: the date is complete */
} seen;

typedef struct fields {
    unsigned seen;
    int64_t year, month, day;
    int64_t julian;
    int year_digits;
    int64_t hour, minute, second, micros;
    bool bc, pm;
} fields;

typedef enum verdict { GOOD, NOT_A_DATE, NO_SUCH_DATE } verdict;

static const char month_names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
static const char *const month_rest[] = {"uary", "ruary", "ch",     "il",   "",      "e",
                                         "y",    "ust",   "tember", "ober", "ember", "ember"};
static const char day_names[] = "sunmontuewedthufrisat";

/* ---- words ---- */

static sm_cursor word(sm_cursor *c)
{
    sm_cursor w = {c->at, c->at};
    while (w.end < c->end && sm_is_letter(*w.end)) w.end++;
    c->at = w.end;
    return w;
}

static bool starts_with(sm_cursor w, const char *three)
{
    return w.end - w.at >= 3 && sm_lower(w.at[0]) == three[0] && sm_lower(w.at[1]) == three[1] &&
           sm_lower(w.at[2]) == three[2];
}

/* 1..12, or 0: three letters, the whole name, or sept. */
static int month_of(sm_cursor w)
{
    for (int m = 0; m < 12; m++) {
        sm_cursor rest = {w.at + 3, w.end};
        if (!starts_with(w, month_names + 3 * m)) continue;
        if (rest.at == rest.end || sm_cursor_is(rest, month_rest[m])) return m + 1;
        if (m == 8 && sm_cursor_is(rest, "t")) return m + 1;
    }
    return 0;
}

static bool is_day_name(sm_cursor w)
{
    for (int d = 0; d < 7; d++)
        if (starts_with(w, day_names + 3 * d)) return true;
    return false;
}

/* ---- numbers ---- */

static int64_t number(sm_cursor *c, int *n_digits)
{
    int64_t v = 0;
    *n_digits = 0;
    for (; c->at < c->end && sm_is_digit(*c->at); c->at++) {
        if (v < 1000000000000) v = v * 10 + (*c->at - '0');
        ++*n_digits;
    }
    return v;
}

static bool next_is(const sm_cursor *c, char wanted)
{
    return c->at < c->end && *c->at == wanted;
}

static bool digit_follows(const sm_cursor *c)
{
    return c->at + 1 < c->end && sm_is_digit(c->at[1]);
}

/* .ffffff, rounded to microseconds; 1000000 is possible. */
static int64_t fraction(sm_cursor *c)
{
    double v = 0, unit = 0.1;
    int64_t micros = 0;
    int digits = 0;
    c->at++;
    for (; c->at < c->end && sm_is_digit(*c->at); c->at++, digits++) {
        if (digits < 6)
            micros = micros * 10 + (*c->at - '0');
        else if (digits < 18) {
            v += (*c->at - '0') * unit;
            unit /= 10;
        }
    }
    for (; digits < 6; digits++) micros *= 10;
    return (int64_t)nearbyint((double)micros + v);
}

static bool see(fields *f, unsigned what)
{
    if (f->seen & what) return false;
    f->seen |= what;
    return true;
}

/* hh:mm, hh:mm:ss, hh:mm:ss.ffffff; the hours are read already. */
static verdict read_time(sm_cursor *c, int64_t hours, fields *f)
{
    int digits;
    if (!see(f, SEEN_TIME)) return NOT_A_DATE;
    f->hour = hours;
    c->at++;
    f->minute = number(c, &digits);
    if (digits == 0) return NOT_A_DATE;
    if (next_is(c, ':')) {
        c->at++;
        f->second = number(c, &digits);
        if (next_is(c, '.')) f->micros = fraction(c);
    }
    return GOOD;
}

/* hhmmss or hhmm after T. */
static verdict packed_time(sm_cursor *c, int64_t v, int digits, fields *f)
{
    if (!see(f, SEEN_TIME)) return NOT_A_DATE;
    if (digits == 6) {
        f->second = v % 100;
        v /= 100;
    } else if (digits != 4) {
        return NOT_A_DATE;
    }
    f->minute = v % 100;
    f->hour = v / 100;
    if (digits == 6 && next_is(c, '.')) f->micros = fraction(c);
    return GOOD;
}

/* ±hh, ±hh:mm, ±hhmm, ±hh:mm:ss: checked and dropped, since these types have no zone. */
static verdict read_zone(sm_cursor *c, fields *f)
{
    int digits;
    int64_t hours;
    if (!(f->seen & SEEN_TIME) || (f->seen & SEEN_ZONE)) return NOT_A_DATE;
    f->seen |= SEEN_ZONE;
    c->at++;
    hours = number(c, &digits);
    if (digits == 0 || digits > 4) return NOT_A_DATE;
    if (digits > 2) hours /= 100;
    for (int i = 0; i < 2 && next_is(c, ':'); i++) {
        c->at++;
        if (number(c, &digits) > 59) return NO_SUCH_DATE;
        if (digits == 0) return NOT_A_DATE;
    }
    return hours > 15 ? NO_SUCH_DATE : GOOD;
}

static bool set_year(fields *f, int64_t v, int digits)
{
    f->year = v;
    f->year_digits = digits;
    return see(f, SEEN_YEAR);
}

static bool set_month(fields *f, int64_t v)
{
    f->month = v;
    return see(f, SEEN_MONTH);
}

static bool set_day(fields *f, int64_t v)
{
    f->day = v;
    return see(f, SEEN_DAY);
}

/* One part of a-b-c: a number or a month's name. */
typedef struct part {
    int64_t v;
    int digits; /* 0: a month's name */
} part;

static bool read_part(sm_cursor *c, part *p)
{
    if (c->at < c->end && sm_is_letter(*c->at)) {
        p->digits = 0;
        p->v = month_of(word(c));
        return p->v != 0;
    }
    p->v = number(c, &p->digits);
    return p->digits > 0;
}

/* a-b-c with one separator: year first if it has three digits or more, else month, day, year. */
static verdict read_date(sm_cursor *c, part first, fields *f)
{
    char separator = *c->at;
    part p[3] = {first};
    bool fits;
    for (int i = 1; i < 3; i++) {
        if (!next_is(c, separator)) return NOT_A_DATE;
        c->at++;
        if (!read_part(c, &p[i])) return NOT_A_DATE;
    }
    if (p[0].digits > 2) { /* 2024-05-06, 2024-May-06 */
        fits = set_year(f, p[0].v, p[0].digits) && set_month(f, p[1].v) && set_day(f, p[2].v);
        if (p[2].digits == 0) return NOT_A_DATE;
        if (p[2].digits > 2) return NO_SUCH_DATE;
    } else if (p[1].digits == 0) { /* 06-May-2024 */
        fits = set_day(f, p[0].v) && set_month(f, p[1].v) && set_year(f, p[2].v, p[2].digits);
    } else { /* 05/06/2024, May-06-2024 */
        fits = set_month(f, p[0].v) && set_day(f, p[1].v) && set_year(f, p[2].v, p[2].digits);
    }
    return fits ? GOOD : NOT_A_DATE;
}

/* A number that stands alone. */
static verdict take_number(sm_cursor *c, int64_t v, int digits, bool after_t, fields *f)
{
    bool dated = (f->seen & SEEN_DATE) == SEEN_DATE || (f->seen & SEEN_JULIAN);
    if (after_t || (dated && (digits == 4 || digits == 6))) return packed_time(c, v, digits, f);
    if (dated) return NOT_A_DATE;
    if ((f->seen & SEEN_DATE) == 0 && (digits == 8 || digits == 6)) { /* 20240506, 240506 */
        bool fits = set_year(f, v / 10000, digits - 4) && set_month(f, v / 100 % 100);
        return fits && set_day(f, v % 100) ? GOOD : NOT_A_DATE;
    }
    if ((f->seen & SEEN_DATE) == 0 && digits > 2 && next_is(c, '.') &&
        digit_follows(c)) { /* 2024.127 */
        int n;
        c->at++;
        f->julian = sm_days_from_civil(v, 1, 1) + number(c, &n) - 1;
        return n == 3 && see(f, SEEN_JULIAN) ? GOOD : NOT_A_DATE;
    }
    if (digits > 2) return set_year(f, v, digits) ? GOOD : NOT_A_DATE;
    if ((f->seen & SEEN_MONTH) && !(f->seen & SEEN_DAY)) return set_day(f, v) ? GOOD : NOT_A_DATE;
    if (!(f->seen & SEEN_MONTH) && !(f->seen & SEEN_DAY)) /* "8 January 1999" */
        return set_day(f, v) ? GOOD : NOT_A_DATE;
    return set_year(f, v, digits) ? GOOD : NOT_A_DATE;
}

/* 2024.05.06, and not 2024.127 */
static bool two_dots_follow(sm_cursor c)
{
    int digits;
    c.at++;
    number(&c, &digits);
    return next_is(&c, '.');
}

static verdict read_number(sm_cursor *c, bool after_t, fields *f)
{
    part p;
    bool date_can_come = (f->seen & (SEEN_DATE | SEEN_JULIAN)) == 0 && !after_t;
    p.v = number(c, &p.digits);
    if (next_is(c, ':')) return p.digits > 2 ? NOT_A_DATE : read_time(c, p.v, f);
    if (date_can_come && c->at < c->end) {
        bool part_follows = c->at + 1 < c->end && (sm_is_digit(c->at[1]) || sm_is_letter(c->at[1]));
        bool dotted = *c->at == '.' && (p.digits <= 2 || two_dots_follow(*c));
        if (part_follows && (*c->at == '-' || *c->at == '/' || dotted)) return read_date(c, p, f);
    }
    return take_number(c, p.v, p.digits, after_t, f);
}

static verdict take_word(sm_cursor *c, sm_cursor w, bool *after_t, fields *f)
{
    int month = month_of(w);
    if (month && next_is(c, '-') && !(f->seen & SEEN_DATE))
        return read_date(c, (part){month, 0}, f);
    if (month) return set_month(f, month) ? GOOD : NOT_A_DATE;
    if (sm_cursor_is(w, "t") && (f->seen & (SEEN_DATE | SEEN_JULIAN))) {
        *after_t = true;
        return c->at < c->end && sm_is_digit(*c->at) ? GOOD : NOT_A_DATE;
    }
    if (sm_cursor_is(w, "bc") || sm_cursor_is(w, "ad")) {
        f->bc = sm_cursor_is(w, "bc");
        return see(f, SEEN_ERA) ? GOOD : NOT_A_DATE;
    }
    if (sm_cursor_is(w, "am") || sm_cursor_is(w, "pm")) {
        f->pm = sm_cursor_is(w, "pm");
        return (f->seen & SEEN_TIME) && see(f, SEEN_NOON) ? GOOD : NOT_A_DATE;
    }
    if (sm_cursor_is(w, "z") || sm_cursor_is(w, "utc") || sm_cursor_is(w, "gmt"))
        return (f->seen & SEEN_TIME) && see(f, SEEN_ZONE) ? GOOD : NOT_A_DATE;
    if (sm_cursor_is(w, "j") && c->at < c->end && sm_is_digit(*c->at)) {
        int digits;
        f->julian = number(c, &digits) + SM_DATE_MIN_DAYS;
        return see(f, SEEN_JULIAN) ? GOOD : NOT_A_DATE;
    }
    if (sm_cursor_is(w, "epoch")) return see(f, SEEN_JULIAN | SEEN_TIME) ? GOOD : NOT_A_DATE;
    return is_day_name(w) ? GOOD : NOT_A_DATE;
}

static verdict read_fields(sm_cursor c, fields *f)
{
    bool after_t = false;
    while (c.at < c.end) {
        verdict v;
        if (sm_is_space(*c.at) || *c.at == ',') {
            c.at++;
            continue;
        }
        if (sm_is_digit(*c.at)) {
            v = read_number(&c, after_t, f);
            after_t = false;
        } else if (sm_is_letter(*c.at)) {
            sm_cursor w = word(&c);
            v = take_word(&c, w, &after_t, f);
        } else if (*c.at == '+' || *c.at == '-') {
            v = read_zone(&c, f);
        } else {
            v = NOT_A_DATE;
        }
        if (v != GOOD) return v;
    }
    return GOOD;
}

/* ---- what the fields amount to ---- */

static verdict day_of_fields(const fields *f, int64_t *days)
{
    int64_t year = f->year;
    if (f->seen & SEEN_JULIAN) {
        *days = f->julian;
        return GOOD;
    }
    if ((f->seen & SEEN_DATE) != SEEN_DATE) return NOT_A_DATE;
    if (f->bc) {
        if (year <= 0) return NO_SUCH_DATE;
        year = 1 - year;
    } else if (f->year_digits <= 2 && !(f->seen & SEEN_ERA)) {
        year += year < 70 ? 2000 : 1900;
    } else if (year == 0) {
        return NO_SUCH_DATE;
    }
    if (f->month < 1 || f->month > 12 || f->day < 1 || year > 6000000) return NO_SUCH_DATE;
    if (f->day > sm_days_in_month(year, (unsigned)f->month)) return NO_SUCH_DATE;
    *days = sm_days_from_civil(year, (unsigned)f->month, (unsigned)f->day);
    return GOOD;
}

static verdict time_of_fields(const fields *f, int64_t *micros)
{
    int64_t hour = f->hour;
    if (f->seen & SEEN_NOON) {
        if (hour > 12) return NO_SUCH_DATE;
        hour = hour % 12 + (f->pm ? 12 : 0);
    }
    if (hour > 24 || f->minute > 59 || f->second > 60) return NO_SUCH_DATE;
    *micros = ((hour * 60 + f->minute) * 60 + f->second) * 1000000 + f->micros;
    return *micros > SM_DAY_US ? NO_SUCH_DATE : GOOD;
}

static sm_status refuse(verdict v, const char *type, const char *s, size_t len, sm_error *err)
{
    return sm_raise_text(err, v == NO_SUCH_DATE ? SM_ERR_DATETIME_FIELD : SM_ERR_BAD_DATETIME, type,
                         s, len);
}

/* YYYY-MM-DD and nothing else. */
static bool plain_date(const char *s, size_t len, int32_t *out)
{
    static const char shape[] = "dddd-dd-dd";
    int64_t year;
    unsigned month, day;
    if (len != 10) return false;
    for (int i = 0; i < 10; i++)
        if (shape[i] == 'd' ? !sm_is_digit(s[i]) : s[i] != '-') return false;
    year = (s[0] - '0') * 1000 + (s[1] - '0') * 100 + (s[2] - '0') * 10 + (s[3] - '0');
    month = (unsigned)((s[5] - '0') * 10 + (s[6] - '0'));
    day = (unsigned)((s[8] - '0') * 10 + (s[9] - '0'));
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > sm_days_in_month(year, month))
        return false;
    *out = (int32_t)sm_days_from_civil(year, month, day);
    return true;
}

sm_status sm_parse_date(const char *s, size_t len, int32_t *out, sm_error *err)
{
    fields f = {0};
    int64_t days = 0, micros = 0;
    verdict v;
    if (plain_date(s, len, out)) return SM_OK;
    v = read_fields(sm_trim(s, len), &f);
    if (v == GOOD) v = day_of_fields(&f, &days);
    if (v == GOOD) v = time_of_fields(&f, &micros);
    if (v != GOOD) return refuse(v, "date", s, len, err);
    if (days < SM_DATE_MIN_DAYS || days > SM_DATE_MAX_DAYS) return sm_raise(err, SM_ERR_DATE_RANGE);
    *out = (int32_t)days;
    return SM_OK;
}

sm_status sm_parse_timestamp(const char *s, size_t len, int64_t *out, sm_error *err)
{
    fields f = {0};
    int64_t days = 0, micros = 0;
    int32_t plain;
    verdict v;
    if (plain_date(s, len, &plain)) {
        *out = plain * SM_DAY_US;
        return SM_OK;
    }
    v = read_fields(sm_trim(s, len), &f);
    if (v == GOOD) v = day_of_fields(&f, &days);
    if (v == GOOD) v = time_of_fields(&f, &micros);
    if (v != GOOD) return refuse(v, "timestamp", s, len, err);
    if (days < SM_DATE_MIN_DAYS || __builtin_mul_overflow(days, SM_DAY_US, out) ||
        __builtin_add_overflow(*out, micros, out))
        return sm_raise(err, SM_ERR_TIMESTAMP_RANGE);
    return SM_OK;
}
