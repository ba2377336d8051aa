/* Dates, timestamps and intervals as text, and the calendar under them: proleptic Gregorian, day 0
 * is 1970-01-01, year 0 is 1 BC. The calendar counts from March 1 of year 0, so that the leap day
 * ends its year and 400 years are 146,097 days whatever the sign. */
#include "format_parts.h"

#include <string.h>

enum { ERA_DAYS = 146097, EPOCH_FROM_MARCH_0 = 719468 };

int64_t sm_days_from_civil(int64_t year, unsigned month, unsigned day)
{
    int64_t y = year - (month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t month_from_march = (int64_t)month + (month > 2 ? -3 : 9);
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + (int64_t)day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * ERA_DAYS + day_of_era - EPOCH_FROM_MARCH_0;
}

void sm_civil_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    int64_t from_march = days + EPOCH_FROM_MARCH_0;
    int64_t era = (from_march >= 0 ? from_march : from_march - (ERA_DAYS - 1)) / ERA_DAYS;
    int64_t day_of_era = from_march - era * ERA_DAYS;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    *day = (unsigned)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
    *month = (unsigned)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

unsigned sm_days_in_month(int64_t year, unsigned month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* At least two digits. */
static char *put_two(char *at, uint64_t v)
{
    if (v < 10) *at++ = '0';
    return at + sm_print_u64(v, at);
}

static char *put_date(char *at, int64_t days, bool *bc)
{
    int64_t year;
    unsigned month, day;
    sm_civil_from_days(days, &year, &month, &day);
    *bc = year <= 0;
    if (*bc) year = 1 - year;
    for (int64_t unit = 1000; unit > year && unit > 1; unit /= 10) *at++ = '0';
    at += sm_print_u64((uint64_t)year, at);
    *at++ = '-';
    at = put_two(at, month);
    *at++ = '-';
    return put_two(at, day);
}

/* HH:MM:SS with as many decimals as needed. */
static char *put_time(char *at, uint64_t micros)
{
    uint64_t seconds = micros / 1000000, fraction = micros % 1000000;
    at = put_two(at, seconds / 3600);
    *at++ = ':';
    at = put_two(at, seconds / 60 % 60);
    *at++ = ':';
    at = put_two(at, seconds % 60);
    if (fraction == 0) return at;
    *at++ = '.';
    for (uint64_t unit = 100000; fraction; unit /= 10) {
        *at++ = (char)('0' + fraction / unit);
        fraction %= unit;
    }
    return at;
}

static char *put_era(char *at, bool bc)
{
    if (bc) memcpy(at, " BC", 3);
    return at + (bc ? 3 : 0);
}

size_t sm_print_date(int64_t days, char *out)
{
    bool bc;
    char *at = put_date(out, days, &bc);
    return (size_t)(put_era(at, bc) - out);
}

size_t sm_print_timestamp(int64_t micros, char *out)
{
    int64_t rest = micros % SM_DAY_US, days = micros / SM_DAY_US;
    bool bc;
    char *at;
    if (rest < 0) {
        rest += SM_DAY_US;
        days--;
    }
    at = put_date(out, days, &bc);
    *at++ = ' ';
    at = put_time(at, (uint64_t)rest);
    return (size_t)(put_era(at, bc) - out);
}

/* A positive part that follows a negative one gets a plus sign, else it would read as negative too.
 */
typedef struct parts {
    char *at;
    bool any, last_negative;
} parts;

static void put_part(parts *p, int64_t v, const char *unit)
{
    if (v == 0) return;
    if (p->any) *p->at++ = ' ';
    if (v < 0)
        *p->at++ = '-';
    else if (p->last_negative)
        *p->at++ = '+';
    p->at += sm_print_u64((uint64_t)(v < 0 ? -v : v), p->at);
    *p->at++ = ' ';
    memcpy(p->at, unit, strlen(unit));
    p->at += strlen(unit);
    if (v != 1) *p->at++ = 's';
    p->any = true;
    p->last_negative = v < 0;
}

size_t sm_print_interval(sm_interval v, char *out)
{
    parts p = {.at = out};
    put_part(&p, v.months / 12, "year");
    put_part(&p, v.months % 12, "mon");
    put_part(&p, v.days, "day");
    if (p.any && v.micros == 0) return (size_t)(p.at - out);
    if (p.any) *p.at++ = ' ';
    if (v.micros < 0)
        *p.at++ = '-';
    else if (p.last_negative)
        *p.at++ = '+';
    p.at = put_time(p.at, v.micros < 0 ? 0 - (uint64_t)v.micros : (uint64_t)v.micros);
    return (size_t)(p.at - out);
}
