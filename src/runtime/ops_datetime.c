/* Calendar arithmetic behind the bodies of ops_datetime.h. Every timestamp is taken apart into a
 * day number and microseconds of the day, with floor division, so times before 1970 need no cases
 * of their own. Years are astronomical inside (0 is 1 BC); only what is shown to the user has no
 * year 0. Read ops_datetime.h first. */
#include "ops_datetime.h"

#include <stdio.h>

#define HOUR_US   INT64_C(3600000000)
#define MINUTE_US INT64_C(60000000)
#define SECOND_US INT64_C(1000000)

typedef struct civil {
    int64_t days, year, time; /* time: microseconds of the day */
    unsigned month, day;
} civil;

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t r = a % b;
    return r < 0 ? r + b : r;
}

static civil civil_of_days(int64_t days)
{
    civil c = {.days = days};
    sm_civil_from_days(days, &c.year, &c.month, &c.day);
    return c;
}

static civil civil_of(int64_t ts)
{
    civil c = civil_of_days(floor_div(ts, SM_DAY_US));
    c.time = floor_mod(ts, SM_DAY_US);
    return c;
}

static unsigned days_of_month(int64_t year, unsigned month)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* A day and a time of any size; false outside the timestamps. */
static bool timestamp_of(int64_t days, sm_i128 time, int64_t *out)
{
    sm_i128 ts = (sm_i128)days * SM_DAY_US + time;
    *out = (int64_t)ts;
    return ts >= SM_TIMESTAMP_MIN_US && ts <= INT64_MAX;
}

sm_status sm_ts_shift(sm_opctx *cx, int64_t ts, int64_t months, int64_t days, sm_i128 micros,
                      int64_t *out)
{
    bool fits = true;
    *out = ts;
    if (months != 0) {
        civil c = civil_of(ts);
        int64_t month = c.year * 12 + (c.month - 1) + months;
        int64_t year = floor_div(month, 12);
        unsigned m = (unsigned)floor_mod(month, 12) + 1, last = days_of_month(year, m);
        fits = timestamp_of(sm_days_from_civil(year, m, c.day < last ? c.day : last), c.time, out);
    }
    if (fits && days != 0) fits = timestamp_of(days, *out, out);
    if (fits) fits = timestamp_of(0, *out + micros, out);
    return op_check(cx, !fits, SM_ERR_TIMESTAMP_RANGE);
}

sm_status sm_ts_age(sm_opctx *cx, int64_t a, int64_t b, sm_interval *out)
{
    /* The months are counted from the earlier moment; days are borrowed from the month it lies in.
     */
    bool negative = a < b;
    civil late = civil_of(negative ? b : a), early = civil_of(negative ? a : b);
    int64_t time = late.time - early.time, days = (int64_t)late.day - early.day;
    int64_t months = (late.year - early.year) * 12 + (int64_t)late.month - early.month;
    if (time < 0) {
        time += SM_DAY_US;
        days--;
    }
    while (days < 0) {
        days += days_of_month(early.year, early.month);
        months--;
    }
    int sign = negative ? -1 : 1;
    *out = (sm_interval){(int32_t)(sign * months), (int32_t)(sign * days), sign * time};
    return op_check(cx, months > INT32_MAX, SM_ERR_INTERVAL_RANGE);
}

/* ---- fields ---- */

static int64_t iso_weekday(int64_t days)
{
    return floor_mod(days + 3, 7) + 1; /* 1970-01-01 was a Thursday; Monday is 1 */
}

/* The ISO year that a day belongs to is the year of its week's Thursday. */
static int64_t iso_year(int64_t days, int64_t *week)
{
    civil thursday = civil_of_days(days - iso_weekday(days) + 4);
    *week = (thursday.days - sm_days_from_civil(thursday.year, 1, 1)) / 7 + 1;
    return thursday.year;
}

static int64_t without_year_0(int64_t year)
{
    return year > 0 ? year : year - 1;
}

/* Centuries and millennia begin with their year 1, BC ones end with it. */
static int64_t span_of_year(int64_t year, int64_t years)
{
    return year > 0 ? (year + years - 1) / years : -((years - 1 - (year - 1)) / years);
}

static int64_t decade(int64_t year)
{
    return year >= 0 ? year / 10 : -((8 - (year - 1)) / 10);
}

static sm_status unsupported(const sm_opctx *cx, const char *what)
{
    return sm_raise(cx->err, SM_ERR_NOT_SUPPORTED, what);
}

static sm_status epoch(const sm_opctx *cx, sm_i128 micros, int64_t *out)
{
    const int64_t limit = INT64_C(1000000000000000000);
    *out = (int64_t)micros;
    return op_check(cx, micros >= limit || micros <= -limit, SM_ERR_DECIMAL_RANGE);
}

/* The fields that a date has too. */
static bool day_field(const civil *c, int32_t field, int64_t *out)
{
    int64_t week;
    switch (field) {
    case SM_FIELD_DAY: *out = c->day; return true;
    case SM_FIELD_DOW: *out = iso_weekday(c->days) % 7; return true;
    case SM_FIELD_ISODOW: *out = iso_weekday(c->days); return true;
    case SM_FIELD_DOY: *out = c->days - sm_days_from_civil(c->year, 1, 1) + 1; return true;
    case SM_FIELD_WEEK: iso_year(c->days, out); return true;
    case SM_FIELD_MONTH: *out = c->month; return true;
    case SM_FIELD_QUARTER: *out = (c->month - 1) / 3 + 1; return true;
    case SM_FIELD_YEAR: *out = without_year_0(c->year); return true;
    case SM_FIELD_ISOYEAR: *out = without_year_0(iso_year(c->days, &week)); return true;
    case SM_FIELD_DECADE: *out = decade(c->year); return true;
    case SM_FIELD_CENTURY: *out = span_of_year(c->year, 100); return true;
    case SM_FIELD_MILLENNIUM: *out = span_of_year(c->year, 1000); return true;
    case SM_FIELD_JULIAN: *out = c->days - SM_DATE_MIN_DAYS; return true;
    default: return false;
    }
}

/* The fields of a time of day, or of an interval's time; scales as in date_fields.def. */
static bool time_field(int64_t time, int32_t field, int64_t *out)
{
    switch (field) {
    case SM_FIELD_MICROSECOND:
    case SM_FIELD_MILLISECOND: /* in thousandths: the same number */
    case SM_FIELD_SECOND: *out = time % MINUTE_US; return true;
    case SM_FIELD_MINUTE: *out = time % HOUR_US / MINUTE_US; return true;
    case SM_FIELD_HOUR: *out = time / HOUR_US; return true;
    default: return false;
    }
}

sm_status sm_ts_extract(sm_opctx *cx, int64_t ts, int32_t field, int64_t *out)
{
    civil c = civil_of(ts);
    *out = 0;
    if (field == SM_FIELD_EPOCH) return epoch(cx, ts, out);
    if (time_field(c.time, field, out) || day_field(&c, field, out)) return SM_OK;
    return unsupported(cx, "this unit of a timestamp");
}

sm_status sm_date_extract(sm_opctx *cx, int32_t date, int32_t field, int64_t *out)
{
    civil c = civil_of_days(date);
    *out = 0;
    if (field == SM_FIELD_EPOCH) {
        *out = (int64_t)date * 86400;
        return SM_OK;
    }
    if (day_field(&c, field, out)) return SM_OK;
    return unsupported(cx, "this unit of a date");
}

sm_status sm_interval_extract(sm_opctx *cx, sm_interval v, int32_t field, int64_t *out)
{
    int64_t year = v.months / 12, month = v.months % 12;
    *out = 0;
    if (time_field(v.micros, field, out)) return SM_OK;
    switch (field) {
    case SM_FIELD_DAY: *out = v.days; return SM_OK;
    case SM_FIELD_MONTH: *out = month; return SM_OK;
    case SM_FIELD_QUARTER: *out = month / 3 + 1; return SM_OK;
    case SM_FIELD_YEAR: *out = year; return SM_OK;
    case SM_FIELD_DECADE: *out = year / 10; return SM_OK;
    case SM_FIELD_CENTURY: *out = year / 100; return SM_OK;
    case SM_FIELD_MILLENNIUM: *out = year / 1000; return SM_OK;
    case SM_FIELD_EPOCH: { /* years of 365.25 days, months of 30 */
        sm_i128 quarter_days = (sm_i128)year * 1461 + month * 120 + (int64_t)v.days * 4;
        return epoch(cx, quarter_days * (SM_DAY_US / 4) + v.micros, out);
    }
    default: return unsupported(cx, "this unit of an interval");
    }
}

static sm_status unknown_unit(const sm_opctx *cx, int32_t field)
{
    static const char *const names[SM_N_DATE_FIELDS] = {
#define SM_DATE_FIELD(id, names, scale) names,
#include "date_fields.def"
#undef SM_DATE_FIELD
    };
    char first[16];
    const char *all = (uint32_t)field < SM_N_DATE_FIELDS ? names[field] : "";
    snprintf(first, sizeof first, "%.*s", (int)strcspn(all, " "), all);
    return sm_raise(cx->err, SM_ERR_BAD_UNIT, first, "timestamp without time zone");
}

sm_status sm_ts_trunc(sm_opctx *cx, int64_t ts, int32_t field, int64_t *out)
{
    civil c = civil_of(ts);
    int64_t unit = 0, year = c.year, days = c.days;
    unsigned month = 1;
    *out = ts;
    switch (field) {
    case SM_FIELD_MICROSECOND: return SM_OK;
    case SM_FIELD_MILLISECOND: unit = 1000; break;
    case SM_FIELD_SECOND: unit = SECOND_US; break;
    case SM_FIELD_MINUTE: unit = MINUTE_US; break;
    case SM_FIELD_HOUR: unit = HOUR_US; break;
    case SM_FIELD_DAY: unit = SM_DAY_US; break;
    case SM_FIELD_WEEK: days = c.days - iso_weekday(c.days) + 1; break;
    case SM_FIELD_MONTH: month = c.month; break;
    case SM_FIELD_QUARTER: month = (c.month - 1) / 3 * 3 + 1; break;
    case SM_FIELD_YEAR: break;
    case SM_FIELD_DECADE: year = year > 0 ? year / 10 * 10 : -((8 - (year - 1)) / 10) * 10; break;
    case SM_FIELD_CENTURY: year = floor_div(year - 1, 100) * 100 + 1; break;
    case SM_FIELD_MILLENNIUM: year = floor_div(year - 1, 1000) * 1000 + 1; break;
    default: return unknown_unit(cx, field);
    }
    if (unit != 0) {
        *out = ts - c.time % unit;
        return SM_OK;
    }
    if (field != SM_FIELD_WEEK) days = sm_days_from_civil(year, month, 1);
    return op_check(cx, !timestamp_of(days, 0, out), SM_ERR_TIMESTAMP_RANGE);
}

/* ---- intervals and dates ---- */

/* PostgreSQL cuts float noise off at a microsecond before it carries a fraction down. */
static double to_micros(double x)
{
    return rint(x * 1000000.0) / 1000000.0;
}

static bool int_of(double x, int32_t *out)
{
    bool fits = x >= INT32_MIN && x <= INT32_MAX;
    *out = fits ? (int32_t)x : 0;
    return fits;
}

sm_status sm_interval_scale(sm_opctx *cx, sm_interval v, double factor, bool divide,
                            sm_interval *out)
{
    const double day_seconds = 86400.0;
    double months = divide ? v.months / factor : v.months * factor;
    double days = divide ? v.days / factor : v.days * factor;
    double micros = divide ? (double)v.micros / factor : (double)v.micros * factor;
    sm_interval r = {0, 0, 0};
    bool fits = int_of(months, &r.months);
    fits &= int_of(days, &r.days);
    *out = r;
    if (!fits) return op_check(cx, true, SM_ERR_INTERVAL_RANGE);

    double month_days = to_micros((months - r.months) * 30);
    double whole_month_days = trunc(month_days);
    double seconds = to_micros((days - r.days + month_days - whole_month_days) * day_seconds);
    double carried = fabs(seconds) >= day_seconds ? trunc(seconds / day_seconds) : 0;
    seconds -= carried * day_seconds;
    fits = int_of((double)r.days + carried + whole_month_days, &r.days);
    micros = rint(micros + seconds * 1000000.0);
    fits &= micros >= -9223372036854775808.0 && micros < 9223372036854775808.0;
    r.micros = fits ? (int64_t)micros : 0;
    *out = r;
    return op_check(cx, !fits, SM_ERR_INTERVAL_RANGE);
}

sm_status sm_date_make(sm_opctx *cx, int32_t year, int32_t month, int32_t day, int32_t *out)
{
    int64_t y = year < 0 ? (int64_t)year + 1 : year; /* -1 is 1 BC */
    bool valid = year != 0 && month >= 1 && month <= 12 && day >= 1 &&
                 day <= (int32_t)days_of_month(y, (unsigned)month);
    int64_t days = valid ? sm_days_from_civil(y, (unsigned)month, (unsigned)day) : 0;
    valid = valid && days >= SM_DATE_MIN_DAYS && days <= SM_DATE_MAX_DAYS;
    *out = valid ? (int32_t)days : 0;
    if (valid) return SM_OK;
    if (!cx->err) return SM_ERR_DATETIME_FIELD;
    char text[48];
    snprintf(text, sizeof text, "%d-%02d-%02d", year, month, day);
    return sm_raise(cx->err, SM_ERR_DATETIME_FIELD, text);
}
