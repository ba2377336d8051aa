/* Text form of every type: what is read and how it is printed again, as PostgreSQL 15 does; and
 * laws over many values (what is printed reads back; days and dates are one to one). */
#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/format.h"

typedef struct sample {
    const char *type, *in, *out; /* out: !SQLSTATE for an error */
} sample;

static const sample samples[] = {
    {"boolean", " TRUE ", "t"},
    {"boolean", "of", "f"},
    {"boolean", "o", "!22P02"},
    {"boolean", "", "!22P02"},
    {"boolean", "10", "!22P02"},
    {"smallint", "-32768", "-32768"},
    {"smallint", "32768", "!22003"},
    {"integer", " +42 ", "42"},
    {"integer", "2147483648", "!22003"},
    {"integer", "1.0", "!22P02"},
    {"integer", "4 2", "!22P02"},
    {"integer", "-", "!22P02"},
    {"bigint", "-9223372036854775808", "-9223372036854775808"},
    {"bigint", "9223372036854775808", "!22003"},
    {"bigint", "99999999999999999999999999", "!22003"},
    {"double precision", "0.1", "0.1"},
    {"double precision", "1e20", "1e+20"},
    {"double precision", "1e15", "1e+15"},
    {"double precision", "123456789012345", "123456789012345"},
    {"double precision", "0.0001", "0.0001"},
    {"double precision", "0.00001", "1e-05"},
    {"double precision", "5.551115123125783e-17", "5.551115123125783e-17"},
    {"double precision", "1234567890123456.25", "1.2345678901234562e+15"},
    {"double precision", "4.9e-324", "5e-324"},
    {"double precision", "1.7976931348623157e308", "1.7976931348623157e+308"},
    {"double precision", "1.7976931348623159e308", "!22003"},
    {"double precision", "1e-400", "!22003"},
    {"double precision", "-0", "-0"},
    {"double precision", "-inf", "-Infinity"},
    {"double precision", "Infinity", "Infinity"},
    {"double precision", "nan", "NaN"},
    {"double precision", "1e", "!22P02"},
    {"double precision", ".", "!22P02"},
    {"double precision", "0x10", "!22P02"},
    {"double precision", "5.684341886080802e-14", "5.684341886080802e-14"}, /* 2^-44 */
    {"real", "1.1", "1.1"},
    {"real", "16777217", "1.6777216e+07"},
    {"real", "100000", "100000"},
    {"real", "1e6", "1e+06"},
    {"real", "41099928", "4.1099928e+07"}, /* 4.109993e+07 lies halfway to the next */
    {"real", "3.4028236e38", "!22003"},
    {"real", "1e-46", "!22003"},
    {"numeric(10,2)", "7.005", "7.01"},
    {"numeric(10,2)", "-0.005", "-0.01"},
    {"numeric(10,2)", "-0.004", "0.00"},
    {"numeric(10,2)", "1.5e-2", "0.02"},
    {"numeric(10,2)", "99999999.994", "99999999.99"},
    {"numeric(10,2)", "99999999.995", "!22003"},
    {"numeric(10,2)", "1e400", "!22003"},
    {"numeric(10,2)", "1e-400", "0.00"},
    {"numeric(10,2)", "abc", "!22P02"},
    {"numeric(38,10)", "-1234567890123456789012345678.0123456789",
     "-1234567890123456789012345678.0123456789"},
    {"numeric(38,0)", "99999999999999999999999999999999999999",
     "99999999999999999999999999999999999999"},
    {"numeric(38,38)", "0.1", "0.10000000000000000000000000000000000000"},
    {"date", "2024-02-29", "2024-02-29"},
    {"date", "2023-02-29", "!22008"},
    {"date", "1900-02-29", "!22008"},
    {"date", "2024-13-01", "!22008"},
    {"date", "0044-03-15 BC", "0044-03-15 BC"},
    {"date", "4714-11-24 BC", "4714-11-24 BC"},
    {"date", "4714-11-23 BC", "!22008"},
    {"date", "5874897-12-31", "5874897-12-31"},
    {"date", "5874898-01-01", "!22008"},
    {"date", "20240506", "2024-05-06"},
    {"date", "May 6, 2024", "2024-05-06"},
    {"date", "6-May-2024", "2024-05-06"},
    {"date", "5/6/99", "1999-05-06"},
    {"date", "J2451187", "1999-01-08"},
    {"date", "2024.127", "2024-05-06"},
    {"date", "2024-05-06T12:34:56", "2024-05-06"},
    {"date", "", "!22007"},
    {"date", "2024-05", "!22007"},
    {"date", "tomorrowish", "!22007"},
    {"date", "2024-05-06x", "!22007"},
    {"timestamp", "2024-05-06 07:08", "2024-05-06 07:08:00"},
    {"timestamp", "2024-05-06T07:08:09.50", "2024-05-06 07:08:09.5"},
    {"timestamp", "2024-05-06", "2024-05-06 00:00:00"},
    {"timestamp", "1969-12-31 23:59:59.000001", "1969-12-31 23:59:59.000001"},
    {"timestamp", "2024-05-06 24:00:00", "2024-05-07 00:00:00"},
    {"timestamp", "2024-05-06 24:00:01", "!22008"},
    {"timestamp", "2024-05-06 23:59:60", "2024-05-07 00:00:00"},
    {"timestamp", "2024-05-06 25:00", "!22008"},
    {"timestamp", "2024-05-06 1:34 PM", "2024-05-06 13:34:00"},
    {"timestamp", "2024-05-06 12:34 AM", "2024-05-06 00:34:00"},
    {"timestamp", "2024-05-06 12:34:56+02:30", "2024-05-06 12:34:56"},
    {"timestamp", "2024-05-06 12:34:56Z", "2024-05-06 12:34:56"},
    {"timestamp", "2024-05-06 23:59:59.9999999", "2024-05-07 00:00:00"},
    {"timestamp", "0044-03-15 12:00:00 BC", "0044-03-15 12:00:00 BC"},
    {"timestamp", "20240506T123456", "2024-05-06 12:34:56"},
    {"timestamp", "294247-01-10 04:00:54.775807", "294247-01-10 04:00:54.775807"},
    {"timestamp", "294247-01-10 04:00:54.775808", "!22008"},
    {"timestamp", "12:34:56", "!22007"},
    {"interval", "1 month", "1 mon"},
    {"interval", "90 days", "90 days"},
    {"interval", "1 year 2 months 3 days 04:05:06.7", "1 year 2 mons 3 days 04:05:06.7"},
    {"interval", "-1 day", "-1 days"},
    {"interval", "1-2", "1 year 2 mons"},
    {"interval", "-1-2", "-1 years -2 mons"},
    {"interval", "P1Y2M3DT4H5M6S", "1 year 2 mons 3 days 04:05:06"},
    {"interval", "PT36H", "36:00:00"},
    {"interval", "-2 mons -30 days", "-2 mons -30 days"},
    {"interval", "10 days 12:00:00", "10 days 12:00:00"},
    {"interval", "1 day -02:00:00", "1 day -02:00:00"},
    {"interval", "-1 day 02:00:00", "-1 days +02:00:00"},
    {"interval", "-1 mon +1 day", "-1 mons +1 day"},
    {"interval", "1.5 months", "1 mon 15 days"},
    {"interval", "1.5 weeks", "10 days 12:00:00"},
    {"interval", "1 year 2 days ago", "-1 years -2 days"},
    {"interval", "1", "00:00:01"},
    {"interval", "1 02:03:04", "1 day 02:03:04"},
    {"interval", "04:05.5", "00:04:05.5"},
    {"interval", "100 us", "00:00:00.0001"},
    {"interval", "0", "00:00:00"},
    {"interval", "3h2m1s", "03:02:01"},
    {"interval", "1 year 1 year", "!22007"},
    {"interval", "1 foo", "!22007"},
    {"interval", "", "!22007"},
    {"interval", "P", "!22007"},
    {"interval", "2147483648 days", "!22015"},
    {"interval", "178956971 years", "!22008"},
    {"interval", "9999999999999999999999 hours", "!22015"},
    {"interval", "2562047788:00:54.775807", "2562047788:00:54.775807"},
};

static sm_type type_named(const char *name)
{
    sm_type t;
    unsigned p, s;
    if (sscanf(name, "numeric(%u,%u)", &p, &s) == 2) return sm_decimal(p, s);
    ck_assert_msg(sm_type_find(name, &t), "%s", name);
    return t;
}

START_TEST(reads_and_prints)
{
    const sample *x = &samples[_i];
    sm_type t = type_named(x->type);
    sm_error err = {0};
    sm_value v;
    char out[SM_FORMAT_BYTES + 1] = "";
    sm_status s = sm_parse_value(t, x->in, strlen(x->in), &v, &err);
    if (s == SM_OK)
        out[sm_format_value(t, &v, out)] = 0;
    else
        snprintf(out, sizeof out, "!%s", err.sqlstate);
    ck_assert_msg(strcmp(out, x->out) == 0, "%s '%s': %s, not %s", x->type, x->in, out, x->out);
    ck_assert_int_eq(sm_parse_value(t, x->in, strlen(x->in), &v, NULL), s);
}
END_TEST

/* A parser never reads past its bytes: every prefix of every sample, in memory of just that size.
 */
START_TEST(prefixes_are_bounded)
{
    const sample *x = &samples[_i];
    sm_type t = type_named(x->type);
    for (size_t n = 0; n <= strlen(x->in); n++) {
        char *copy = malloc(n ? n : 1);
        sm_value v;
        memcpy(copy, x->in, n);
        (void)!sm_parse_value(t, copy, n, &v, NULL);
        free(copy);
    }
}
END_TEST

START_TEST(floats_read_back)
{
    uint64_t bits = 1;
    for (int i = 0; i < 100000; i++) {
        sm_value v, w;
        char out[SM_FORMAT_BYTES];
        size_t n;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&v.f64, &bits, 8);
        if (isnan(v.f64)) continue;
        n = sm_format_value(sm_type_of(SM_FLOAT64), &v, out);
        ck_assert_int_eq(sm_parse_value(sm_type_of(SM_FLOAT64), out, n, &w, NULL), SM_OK);
        ck_assert(memcmp(&v.f64, &w.f64, 8) == 0);
        memcpy(&v.f32, &bits, 4);
        if (isnan(v.f32)) continue;
        n = sm_format_value(sm_type_of(SM_FLOAT32), &v, out);
        ck_assert_int_eq(sm_parse_value(sm_type_of(SM_FLOAT32), out, n, &w, NULL), SM_OK);
        ck_assert(memcmp(&v.f32, &w.f32, 4) == 0);
    }
}
END_TEST

START_TEST(long_digits_round_right)
{
    char text[2000];
    sm_value v;
    size_t n;
    /* 2^53 + 1, a tie, with a digit that breaks it far behind. */
    strcpy(text, "9007199254740993.");
    n = strlen(text);
    memset(text + n, '0', 1500);
    text[n + 1500] = '1';
    ck_assert_int_eq(sm_parse_value(sm_type_of(SM_FLOAT64), text, n + 1500, &v, NULL), SM_OK);
    ck_assert_double_eq(v.f64, 0x1p53);
    ck_assert_int_eq(sm_parse_value(sm_type_of(SM_FLOAT64), text, n + 1501, &v, NULL), SM_OK);
    ck_assert_double_eq(v.f64, 0x1p53 + 2);
}
END_TEST

START_TEST(locale_changes_nothing)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    sm_value v = {.f64 = 1234567890123456.25};
    char out[SM_FORMAT_BYTES + 1];
    for (size_t i = 0; i < SM_COUNT(names); i++) setlocale(LC_ALL, names[i]);
    out[sm_format_value(sm_type_of(SM_FLOAT64), &v, out)] = 0;
    ck_assert_str_eq(out, "1.2345678901234562e+15");
    ck_assert_int_eq(sm_parse_value(sm_type_of(SM_FLOAT64), "1.2345678901234562e-15", 22, &v, NULL),
                     SM_OK);
    ck_assert_double_eq(v.f64, 1.2345678901234562e-15);
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(days_and_dates_are_one_to_one)
{
    int64_t year = -4713, last = SM_DATE_MIN_DAYS - 1;
    unsigned month = 11, day = 24;
    ck_assert_int_eq(sm_days_from_civil(1970, 1, 1), 0);
    ck_assert_int_eq(sm_days_from_civil(year, month, day), SM_DATE_MIN_DAYS);
    ck_assert_int_eq(sm_days_from_civil(5874897, 12, 31), SM_DATE_MAX_DAYS);
    for (int64_t days = SM_DATE_MIN_DAYS; days < 4000000; days++) {
        sm_civil_from_days(days, &year, &month, &day);
        if (month < 1 || month > 12 || day < 1 || day > 31 || days != last + 1 ||
            sm_days_from_civil(year, month, day) != days)
            ck_abort_msg("day %lld is %lld-%u-%u", (long long)days, (long long)year, month, day);
        last = days;
    }
    sm_civil_from_days(SM_DATE_MAX_DAYS, &year, &month, &day);
    ck_assert(year == 5874897 && month == 12 && day == 31);
}
END_TEST

START_TEST(literal_types)
{
    unsigned p, s;
    ck_assert(sm_decimal_literal_type("1.50", 4, &p, &s) && p == 3 && s == 2);
    ck_assert(sm_decimal_literal_type("0.001", 5, &p, &s) && p == 3 && s == 3);
    ck_assert(sm_decimal_literal_type("1e3", 3, &p, &s) && p == 4 && s == 0);
    ck_assert(sm_decimal_literal_type("0", 1, &p, &s) && p == 1 && s == 0);
    ck_assert(sm_decimal_literal_type("0.0", 3, &p, &s) && p == 1 && s == 1);
    ck_assert(!sm_decimal_literal_type("1e39", 4, &p, &s));
    ck_assert(!sm_decimal_literal_type("1e-39", 5, &p, &s));
    ck_assert(!sm_decimal_literal_type("x", 1, &p, &s));
}
END_TEST

START_TEST(error_quotes_whole_characters)
{
    char text[300];
    sm_error err = {0};
    sm_value v;
    for (size_t i = 0; i < 300; i += 2) memcpy(text + i, "\xC3\xA9", 2);
    ck_assert_int_eq(sm_parse_value(sm_type_of(SM_DATE), text, 300, &v, &err), SM_ERR_BAD_DATETIME);
    ck_assert_ptr_nonnull(strstr(err.message, "type date: \"\xC3\xA9"));
    ck_assert_int_eq((unsigned char)err.message[strlen(err.message) - 2], 0xA9);
}
END_TEST

START_TEST(types_and_fields)
{
    sm_type t;
    sm_date_field f;
    char name[64];
    ck_assert(sm_type_find("int", &t) && t.id == SM_INT32);
    ck_assert(sm_type_find("varchar", &t) && t.id == SM_TEXT);
    ck_assert(sm_type_find("numeric", &t) && t.precision == 38 && t.scale == 10 &&
              t.flags == SM_TYPE_BARE_DECIMAL);
    ck_assert(!sm_type_find("in", &t) && !sm_type_find("unknown", &t) && !sm_type_find("", &t));
    ck_assert_uint_eq(sm_type_name(sm_decimal(15, 2), name, sizeof name), 13);
    ck_assert_str_eq(name, "numeric(15,2)");
    ck_assert_int_eq(sm_type_phys(sm_decimal(18, 0)), SM_PHYS_I64);
    ck_assert_int_eq(sm_type_phys(sm_decimal(19, 0)), SM_PHYS_I128);
    ck_assert(sm_date_field_find("Months", &f) && f == SM_FIELD_MONTH);
    ck_assert(sm_date_field_find("epoch", &f) && sm_date_field_scale(f) == 6);
    ck_assert(!sm_date_field_find("mo", &f) && !sm_date_field_find("", &f));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("format");
    TCase *c = tcase_create("format");
    SRunner *r = srunner_create(s);
    int failed;
    suite_add_tcase(s, c);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, reads_and_prints, 0, (int)SM_COUNT(samples));
    tcase_add_loop_test(c, prefixes_are_bounded, 0, (int)SM_COUNT(samples));
    tcase_add_test(c, floats_read_back);
    tcase_add_test(c, long_digits_round_right);
    tcase_add_test(c, locale_changes_nothing);
    tcase_add_test(c, days_and_dates_are_one_to_one);
    tcase_add_test(c, literal_types);
    tcase_add_test(c, error_quotes_whole_characters);
    tcase_add_test(c, types_and_fields);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
