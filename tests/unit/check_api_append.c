/* smelt_append and smelt_append_borrowed: every type, NULLs with anything under them, more rows
 * than a part and than a chunk, and what is refused, after which the table is as it was. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "smelt.h"

static smelt_db *open_with(const char *create)
{
    smelt_db *db = NULL;
    smelt_error e = {0};
    ck_assert(smelt_db_open(NULL, &db, &e) == SMELT_OK);
    ck_assert_msg(smelt_run(db, create, NULL, NULL, &e) == SMELT_OK, "%s", e.message);
    return db;
}

static void expect(smelt_db *db, const char *sql, const char *const *values)
{
    smelt_result *r = NULL;
    smelt_error e = {0};
    ck_assert_msg(smelt_run(db, sql, NULL, &r, &e) == SMELT_OK, "%s", e.message);
    ck_assert(smelt_result_step(r));
    for (uint32_t i = 0; values[i]; i++) {
        smelt_text t = smelt_result_text(r, i);
        ck_assert_msg(t.length == strlen(values[i]) && memcmp(t.bytes, values[i], t.length) == 0,
                      "column %" PRIu32 " of %s: %.*s", i, sql, (int)t.length, t.bytes);
    }
    smelt_result_free(r);
}

static uint8_t *bits_of(uint64_t n, uint64_t every)
{
    uint8_t *bits = calloc(1, n / 8 + 1);
    ck_assert_ptr_nonnull(bits);
    for (uint64_t i = 0; i < n; i++)
        if (i % every) bits[i / 8] |= (uint8_t)(1u << i % 8);
    return bits;
}

/* 70,001 rows in one call: parts, a full chunk and a rest; every seventh value is NULL, and lies
 * over what would be an error. */
START_TEST(all_types_with_nulls)
{
    enum { N = 70001, EVERY = 7 };
    static const char text[] = "a text that is longer than inline \xC3\xA9";
    smelt_db *db =
        open_with("CREATE TABLE t (k bigint NOT NULL, b boolean, s smallint, i integer, f double "
                  "precision, d numeric(5,2), w numeric(30,2), y date, x text)");
    uint8_t *valid = bits_of(N, EVERY), *b = malloc(N);
    int64_t *k = malloc(N * sizeof *k), *d = malloc(N * sizeof *d);
    int16_t *s = malloc(N * sizeof *s);
    int32_t *i32 = malloc(N * sizeof *i32), *y = malloc(N * sizeof *y);
    double *f = malloc(N * sizeof *f);
    smelt_int128 *w = malloc(N * sizeof *w);
    smelt_text *x = malloc(N * sizeof *x);
    smelt_error e = {0};
    for (int32_t i = 0; i < N; i++) {
        bool null = i % EVERY == 0;
        k[i] = i;
        b[i] = i % 2 ? 2 : 0; /* anything but 0 is true */
        s[i] = (int16_t)(i % 100);
        i32[i] = y[i] = i;
        f[i] = i;
        d[i] = null ? INT64_MAX : i % 100000;
        w[i] = null ? (smelt_int128){0, INT64_MAX} : (smelt_int128){(uint64_t)i, 0};
        x[i] = null ? (smelt_text){(const char *)1, SIZE_MAX}
                    : (smelt_text){text, i % 2 ? sizeof text - 1 : 1};
    }
    const smelt_column columns[] = {{k, NULL},  {b, valid}, {s, valid}, {i32, valid}, {f, valid},
                                    {d, valid}, {w, valid}, {y, valid}, {x, valid}};
    ck_assert_msg(smelt_append(db, "t", columns, 9, N, &e) == SMELT_OK, "%s", e.message);
    static const char *const counts[] = {"70001", "60000", "30000", "60000", "60000",
                                         "60000", "60000", "60000", "60000", NULL};
    expect(db,
           "SELECT count(*), count(b), count(*) FILTER (WHERE b), count(s), count(i), count(f), "
           "count(d), count(w), count(x) FROM t",
           counts);
    static const char *const row[] = {"69999",  "true",   "99",         "69999", "69999",
                                      "699.99", "699.99", "2161-08-26", text,    NULL};
    expect(db, "SELECT k, CASE WHEN b THEN 'true' END, s, i, f, d, w, y, x FROM t WHERE k = 69999",
           row);
    static const char *const sums[] = {"60000", NULL};
    expect(db,
           "SELECT count(*) FROM t WHERE k % 7 <> 0 AND i = k AND f = k AND w * 100 = k AND "
           "d * 100 = k AND s = k % 100",
           sums);
    free(valid);
    free(b);
    free(k);
    free(d);
    free(s);
    free(i32);
    free(y);
    free(f);
    free(w);
    free(x);
    smelt_db_close(db);
}
END_TEST

/* Appends rows one to n: the last chunk is partial every time. */
START_TEST(many_small_appends)
{
    static const char *const sums[] = {"20100", "20100", "200", NULL};
    smelt_db *db = open_with("CREATE TABLE t (a bigint, b text)");
    for (int64_t n = 1; n <= 200; n++) {
        int64_t a[200];
        smelt_text b[200];
        for (int64_t i = 0; i < n; i++) {
            a[i] = i + 1;
            b[i] = (smelt_text){"0123456789abcdef", (size_t)(i % 17)};
        }
        const smelt_column columns[] = {{a, NULL}, {b, NULL}};
        ck_assert(smelt_append(db, "t", columns, 2, (uint64_t)n, NULL) == SMELT_OK);
    }
    expect(db, "SELECT count(*), count(b), max(a) FROM t", sums);
    smelt_db_close(db);
}
END_TEST

static uint32_t n_released;
static void release(void *arg)
{
    (void)arg;
    n_released++;
}

/* Both ways of appending give the error, release the memory and leave the table alone. */
static void refuse(smelt_db *db, const smelt_column *c, uint64_t n, const char *sqlstate,
                   const char *message)
{
    static const char *const none[] = {"0", NULL};
    for (int borrow = 0; borrow < 2; borrow++) {
        smelt_error e = {0};
        n_released = 0;
        smelt_status s = borrow ? smelt_append_borrowed(db, "t", c, 1, n, release, NULL, &e)
                                : smelt_append(db, "t", c, 1, n, &e);
        ck_assert_int_eq(s, SMELT_ERROR);
        ck_assert_str_eq(e.sqlstate, sqlstate);
        ck_assert_msg(strstr(e.message, message), "%s", e.message);
        ck_assert_uint_eq(n_released, borrow);
        expect(db, "SELECT count(*) FROM t", none);
    }
}

START_TEST(null_in_not_null)
{
    enum { N = 10000 };
    smelt_db *db = open_with("CREATE TABLE t (a bigint NOT NULL)");
    int64_t *a = calloc(N, sizeof *a);
    uint8_t *valid = bits_of(N, N + 1);
    const smelt_column c = {a, valid};
    valid[0] |= 1;
    valid[9999 / 8] &= (uint8_t) ~(1u << 9999 % 8);
    refuse(db, &c, N, "23502", "\"a\"");
    ck_assert(smelt_append(db, "t", &c, 1, N - 1, NULL) == SMELT_OK);
    free(a);
    free(valid);
    smelt_db_close(db);
}
END_TEST

START_TEST(decimals_beyond_precision)
{
    enum { N = 5000 };
    int64_t a[N] = {0};
    const smelt_column c = {a, NULL};
    smelt_db *db = open_with("CREATE TABLE t (a numeric(5,2))");
    for (int sign = -1; sign < 2; sign += 2) {
        a[N - 1] = 100000 * sign;
        refuse(db, &c, N, "22003", "");
    }
    a[N - 1] = 99999;
    ck_assert(smelt_append(db, "t", &c, 1, N, NULL) == SMELT_OK);
    smelt_db_close(db);
}
END_TEST

START_TEST(wide_decimals_beyond_precision)
{
    /* 10^20 = 5 * 2^64 + 7766279631452241920 */
    smelt_int128 a[2] = {{1, 0}, {7766279631452241920u, 5}};
    const smelt_column c = {a, NULL};
    smelt_db *db = open_with("CREATE TABLE t (a numeric(20,0))");
    refuse(db, &c, 2, "22003", "");
    a[1].low--;
    ck_assert(smelt_append(db, "t", &c, 1, 2, NULL) == SMELT_OK);
    smelt_db_close(db);
}
END_TEST

START_TEST(text_that_is_not_utf8)
{
    static const char *const bad[] = {
        "\x80",
        "\xFF",
        "1234567\x80",
        "12345678\xC3",
        "0123456789\xC3(",
        "\xC0\xAF",
        "\xE0\x9F\xBF",
        "\xED\xA0\x80",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\x80"
        "2345678",
    };
    static const char *const good[] = {
        "", "\xC3\xA9", "12345678\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"};
    smelt_db *db = open_with("CREATE TABLE t (a text)");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const smelt_text a[2] = {{"good", 4}, {bad[i], strlen(bad[i])}};
        const smelt_column c = {a, NULL};
        refuse(db, &c, 2, "22021", "");
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const smelt_text a = {good[i], strlen(good[i])};
        const smelt_column c = {&a, NULL};
        ck_assert(smelt_append(db, "t", &c, 1, 1, NULL) == SMELT_OK);
    }
    const smelt_text nothing = {NULL, 0}, missing = {NULL, 3};
    const smelt_column c = {&nothing, NULL}, no_bytes = {&missing, NULL};
    ck_assert(smelt_append(db, "t", &no_bytes, 1, 1, NULL) == SMELT_MISUSE);
    ck_assert(smelt_append(db, "t", &c, 1, 1, NULL) == SMELT_OK);
    smelt_db_close(db);
}
END_TEST

START_TEST(varchar_beyond_its_length)
{
    smelt_text a = {"abcd", 4};
    const smelt_column c = {&a, NULL};
    static const char *const cut[] = {"abc", NULL};
    smelt_db *db = open_with("CREATE TABLE t (a varchar(3))");
    refuse(db, &c, 1, "22001", "");
    a = (smelt_text){"abc  ", 5}; /* blanks may go */
    ck_assert(smelt_append(db, "t", &c, 1, 1, NULL) == SMELT_OK);
    expect(db, "SELECT a FROM t", cut);
    smelt_db_close(db);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("api_append");
    TCase *t = tcase_create("append");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, all_types_with_nulls);
    tcase_add_test(t, many_small_appends);
    tcase_add_test(t, null_in_not_null);
    tcase_add_test(t, decimals_beyond_precision);
    tcase_add_test(t, wide_decimals_beyond_precision);
    tcase_add_test(t, text_that_is_not_utf8);
    tcase_add_test(t, varchar_beyond_its_length);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
