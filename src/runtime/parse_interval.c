/* Intervals from text: PostgreSQL's words ("1 year 2 mons -3 days 04:05:06.7 ago"), SQL's "1-2" for
 * years and months, and ISO 8601 ("P1Y2M3DT4H5M6.7S"). Every field adds to months, days or
 * microseconds; the fraction of a field goes on to the next smaller ones (half a month is 15 days).
 */
#include "format_parts.h"

#include <math.h>
#include <string.h>

typedef enum verdict { GOOD, NOT_AN_INTERVAL, TOO_LARGE } verdict;

/* One signed number: (whole + fraction), both with the number's sign. */
typedef struct amount {
    int64_t whole;
    double fraction;
} amount;

typedef struct sums {
    int64_t months, days, micros;
    unsigned seen; /* bit per sm_date_field: each may come once */
} sums;

#define BIT(field) (1u << SM_FIELD_##field)
#define SECONDS    (BIT(SECOND) | BIT(MILLISECOND) | BIT(MICROSECOND))

static verdict add(int64_t *sum, int64_t v, int64_t unit)
{
    int64_t product;
    if (__builtin_mul_overflow(v, unit, &product)) return TOO_LARGE;
    return __builtin_add_overflow(*sum, product, sum) ? TOO_LARGE : GOOD;
}

static verdict add_micros(sums *s, amount a, int64_t unit)
{
    verdict v = add(&s->micros, a.whole, unit);
    return v == GOOD ? add(&s->micros, (int64_t)nearbyint(a.fraction * (double)unit), 1) : v;
}

/* whole * unit days; the fraction of it in whole days, and the rest of that as time. */
static verdict add_days(sums *s, amount a, int64_t unit)
{
    double days = a.fraction * (double)unit;
    int64_t whole = (int64_t)days;
    verdict v = add(&s->days, a.whole, unit);
    if (v == GOOD) v = add(&s->days, whole, 1);
    return v == GOOD ? add_micros(s, (amount){0, days - (double)whole}, SM_DAY_US) : v;
}

static verdict add_years(sums *s, amount a, int64_t years)
{
    int64_t unit = years * 12;
    verdict v = add(&s->months, a.whole, unit);
    return v == GOOD ? add(&s->months, (int64_t)nearbyint(a.fraction * (double)unit), 1) : v;
}

static bool see(sums *s, unsigned bits)
{
    bool once = !(s->seen & bits);
    s->seen |= bits;
    return once;
}

/* Seconds with a fraction are milliseconds and microseconds, too. */
static verdict add_field(sums *s, amount a, sm_date_field field)
{
    bool all_seconds = field == SM_FIELD_SECOND && a.fraction != 0;
    verdict v;
    if (!see(s, all_seconds ? SECONDS : 1u << field)) return NOT_AN_INTERVAL;
    switch (field) {
    case SM_FIELD_MICROSECOND: return add_micros(s, a, 1);
    case SM_FIELD_MILLISECOND: return add_micros(s, a, 1000);
    case SM_FIELD_SECOND: return add_micros(s, a, 1000000);
    case SM_FIELD_MINUTE: return add_micros(s, a, 60000000);
    case SM_FIELD_HOUR: return add_micros(s, a, 3600000000);
    case SM_FIELD_DAY: return add_days(s, a, 1);
    case SM_FIELD_WEEK: return add_days(s, a, 7);
    case SM_FIELD_MONTH:
        v = add(&s->months, a.whole, 1);
        return v == GOOD ? add_days(s, (amount){0, a.fraction}, 30) : v;
    case SM_FIELD_YEAR: return add_years(s, a, 1);
    case SM_FIELD_DECADE: return add_years(s, a, 10);
    case SM_FIELD_CENTURY: return add_years(s, a, 100);
    case SM_FIELD_MILLENNIUM: return add_years(s, a, 1000);
    default: return NOT_AN_INTERVAL;
    }
}

/* ---- reading ---- */

static bool next_is(const sm_cursor *c, char wanted)
{
    return c->at < c->end && *c->at == wanted;
}

/* Commas say nothing either. */
static void skip_spaces(sm_cursor *c)
{
    while (c->at < c->end && (sm_is_space(*c->at) || *c->at == ',')) c->at++;
}

static verdict read_whole(sm_cursor *c, int64_t *out)
{
    bool any = false;
    *out = 0;
    for (; c->at < c->end && sm_is_digit(*c->at); c->at++, any = true)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, *c->at - '0', out))
            return TOO_LARGE;
    return any ? GOOD : NOT_AN_INTERVAL;
}

/* .5 and the like; up to 18 digits count. */
static double read_fraction(sm_cursor *c)
{
    double value = 0, unit = 1;
    c->at++;
    for (int n = 0; c->at < c->end && sm_is_digit(*c->at); c->at++, n++) {
        if (n >= 15) continue;
        value = value * 10 + (*c->at - '0');
        unit *= 10;
    }
    return value / unit;
}

static bool read_sign(sm_cursor *c)
{
    bool negative = next_is(c, '-');
    if (negative || next_is(c, '+')) c->at++;
    return negative;
}

static amount negated(amount a, bool negative)
{
    return negative ? (amount){-a.whole, -a.fraction} : a;
}

static verdict read_amount(sm_cursor *c, amount *a)
{
    verdict v = GOOD;
    *a = (amount){0, 0};
    if (!next_is(c, '.'))
        v = read_whole(c, &a->whole);
    else if (c->at + 1 == c->end || !sm_is_digit(c->at[1]))
        return NOT_AN_INTERVAL;
    if (v == GOOD && next_is(c, '.')) a->fraction = read_fraction(c);
    return v;
}

/* hh:mm, hh:mm:ss[.f], mm:ss.f; c is at the first colon. */
static verdict read_time(sm_cursor *c, int64_t first, bool negative, sums *s)
{
    amount part[3] = {{first, 0}, {0, 0}, {0, 0}};
    int n = 1;
    for (; n < 3 && next_is(c, ':'); n++) {
        verdict v;
        c->at++;
        v = read_amount(c, &part[n]);
        if (v != GOOD) return v;
        if (part[n].fraction != 0) {
            n++;
            break;
        }
    }
    if (n == 2 && part[1].fraction != 0) {
        part[2] = part[1];
        part[1] = part[0];
        part[0] = (amount){0, 0};
    }
    if (part[1].whole > 59 || part[2].whole > 60) return TOO_LARGE;
    if (!see(s, BIT(HOUR) | BIT(MINUTE) | SECONDS)) return NOT_AN_INTERVAL;
    {
        verdict v = add_micros(s, negated(part[0], negative), 3600000000);
        if (v == GOOD) v = add_micros(s, negated(part[1], negative), 60000000);
        if (v == GOOD) v = add_micros(s, negated(part[2], negative), 1000000);
        return v;
    }
}

/* y-m; c is at the minus. */
static verdict read_year_month(sm_cursor *c, int64_t years, bool negative, sums *s)
{
    amount a = {0, 0};
    verdict v;
    c->at++;
    v = read_whole(c, &a.whole);
    if (v == GOOD && a.whole > 11) return TOO_LARGE;
    if (v == GOOD) v = add_years(s, negated((amount){years, 0}, negative), 1);
    return v == GOOD ? add_field(s, negated(a, negative), SM_FIELD_MONTH) : v;
}

static bool read_unit(sm_cursor *c, sm_date_field *field)
{
    char name[24];
    size_t n = 0;
    while (c->at < c->end && sm_is_letter(*c->at)) {
        if (n + 1 < sizeof name) name[n++] = *c->at;
        c->at++;
    }
    name[n] = 0;
    return n > 0 && sm_date_field_find(name, field);
}

/* A number without a unit: days if a time follows, seconds if nothing does. */
static verdict bare_number(const sm_cursor *c, amount a, sums *s)
{
    sm_cursor rest = *c;
    if (rest.at == rest.end) return add_field(s, a, SM_FIELD_SECOND);
    read_sign(&rest);
    while (rest.at < rest.end && sm_is_digit(*rest.at)) rest.at++;
    return next_is(&rest, ':') ? add_field(s, a, SM_FIELD_DAY) : NOT_AN_INTERVAL;
}

static verdict read_field(sm_cursor *c, sums *s)
{
    bool negative = read_sign(c);
    sm_date_field field;
    amount a;
    verdict v;
    skip_spaces(c);
    v = read_amount(c, &a);
    if (v != GOOD) return v;
    if (next_is(c, ':')) return read_time(c, a.whole, negative, s);
    if (next_is(c, '-') && c->at + 1 < c->end && sm_is_digit(c->at[1]))
        return read_year_month(c, a.whole, negative, s);
    skip_spaces(c);
    a = negated(a, negative);
    if (c->at == c->end || !sm_is_letter(*c->at)) return bare_number(c, a, s);
    if (!read_unit(c, &field)) return NOT_AN_INTERVAL;
    return add_field(s, a, field);
}

static verdict negate_all(sums *s)
{
    if (s->micros == INT64_MIN || s->days == INT64_MIN || s->months == INT64_MIN) return TOO_LARGE;
    *s = (sums){-s->months, -s->days, -s->micros, s->seen};
    return GOOD;
}

static verdict read_words(sm_cursor c, sums *s)
{
    if (next_is(&c, '@')) c.at++;
    skip_spaces(&c);
    if (c.at == c.end) return NOT_AN_INTERVAL;
    while (c.at < c.end) {
        verdict v;
        if (sm_cursor_is(c, "ago")) return negate_all(s);
        v = read_field(&c, s);
        if (v != GOOD) return v;
        skip_spaces(&c);
    }
    return GOOD;
}

static verdict iso_field(char letter, bool time, sm_date_field *field)
{
    static const struct {
        char letter;
        bool time;
        uint8_t field;
    } letters[] = {{'Y', false, SM_FIELD_YEAR}, {'M', false, SM_FIELD_MONTH},
                   {'W', false, SM_FIELD_WEEK}, {'D', false, SM_FIELD_DAY},
                   {'H', true, SM_FIELD_HOUR},  {'M', true, SM_FIELD_MINUTE},
                   {'S', true, SM_FIELD_SECOND}};
    for (size_t i = 0; i < SM_COUNT(letters); i++) {
        if (letters[i].letter != letter || letters[i].time != time) continue;
        *field = (sm_date_field)letters[i].field;
        return GOOD;
    }
    return NOT_AN_INTERVAL;
}

/* After the P. */
static verdict read_iso(sm_cursor c, sums *s)
{
    bool time = false, any = false;
    while (c.at < c.end) {
        bool negative;
        sm_date_field field;
        amount a;
        verdict v;
        if (*c.at == 'T' && !time) {
            time = any = true;
            c.at++;
            continue;
        }
        negative = read_sign(&c);
        v = read_amount(&c, &a);
        if (v != GOOD) return v;
        if (c.at == c.end) return NOT_AN_INTERVAL;
        v = iso_field(*c.at++, time, &field);
        if (v == GOOD) v = add_field(s, negated(a, negative), field);
        if (v != GOOD) return v;
        any = true;
    }
    return any ? GOOD : NOT_AN_INTERVAL;
}

sm_status sm_parse_interval(const char *s, size_t len, sm_interval *out, sm_error *err)
{
    sm_cursor c = sm_trim(s, len);
    sums total = {0, 0, 0, 0};
    verdict v;
    if (next_is(&c, 'P')) {
        c.at++;
        v = read_iso(c, &total);
    } else {
        v = read_words(c, &total);
    }
    if (v == GOOD &&
        (total.months / 12 != (int32_t)(total.months / 12) || total.days != (int32_t)total.days))
        v = TOO_LARGE;
    if (v == GOOD && total.months != (int32_t)total.months)
        return sm_raise(err, SM_ERR_INTERVAL_RANGE);
    if (v == TOO_LARGE) return sm_raise_text(err, SM_ERR_INTERVAL_FIELD, "interval", s, len);
    if (v != GOOD) return sm_raise_text(err, SM_ERR_BAD_DATETIME, "interval", s, len);
    *out = (sm_interval){(int32_t)total.months, (int32_t)total.days, total.micros};
    return SM_OK;
}
