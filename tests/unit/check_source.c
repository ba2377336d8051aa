/* Sources: series of every type against plain counting, at chunk borders, at the ends of the types
 * and by the calendar; a version as a source. */
#include <check.h>
#include <stdlib.h>

#include "runtime/format.h"
#include "storage/source.h"

static sm_mem mem;
static sm_error err;

static void setup(void)
{
    sm_mem_init(&mem, NULL, SIZE_MAX);
    sm_error_reset(&err);
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&mem.used_bytes), 0);
}

static sm_value integer(sm_type t, sm_i128 x)
{
    sm_value v = {.is_null = false};
    switch (sm_type_phys(t)) {
    case SM_PHYS_I16: v.i16 = (int16_t)x; break;
    case SM_PHYS_I32: v.i32 = (int32_t)x; break;
    case SM_PHYS_I64: v.i64 = (int64_t)x; break;
    default: v.i128 = x; break;
    }
    return v;
}

static void check_chunk_stats(const sm_chunk *chunk, sm_type t)
{
    const sm_chunk_col *c = &chunk->cols[0];
    sm_phys p = sm_type_phys(t);
    sm_i128 lo = 0, hi = 0;
    for (uint32_t i = 0; i < chunk->n_rows; i++) {
        sm_value v;
        sm_i128 x;
        sm_chunk_col_get(c, t, i, &v);
        x = sm_value_int(&v, p);
        lo = !i || x < lo ? x : lo;
        hi = !i || x > hi ? x : hi;
    }
    ck_assert(c->has_minmax && c->padded && !c->valid && c->null_count == 0);
    ck_assert(sm_value_int(&c->min, p) == lo);
    ck_assert(sm_value_int(&c->max, p) == hi);
}

/* Walks all morsels twice, the second time backwards, with one pin. */
static void check_series(sm_type t, sm_i128 start, sm_i128 stop, sm_i128 step, uint64_t want_rows)
{
    sm_value from = integer(t, start), to = integer(t, stop), by = integer(t, step), v;
    sm_phys p = sm_type_phys(t);
    sm_source s;
    sm_pin pin = {0};
    uint64_t rows = 0;
    ck_assert_int_eq(sm_source_of_series(&s, &mem, t, &from, &to, &by, &err), SM_OK);
    ck_assert_uint_eq(s.n_rows, want_rows);
    ck_assert_uint_eq(s.n_morsels, (want_rows + 65535) / 65536);
    ck_assert_int_eq(s.cols[0].has_minmax, want_rows > 0);
    for (uint64_t k = 0; k < 2 * s.n_morsels; k++) {
        uint64_t m = k < s.n_morsels ? k : 2 * s.n_morsels - 1 - k;
        ck_assert_int_eq(sm_source_pin(&s, m, &pin, &err), SM_OK);
        ck_assert_uint_eq(pin.first_row, m * 65536);
        if (k < s.n_morsels) rows += pin.chunk->n_rows;
        for (uint32_t i = 0; i < pin.chunk->n_rows; i++) {
            sm_chunk_col_get(&pin.chunk->cols[0], t, i, &v);
            ck_assert(sm_value_int(&v, p) ==
                      (sm_i128)((sm_u128)start + (sm_u128)step * (pin.first_row + i)));
        }
        check_chunk_stats(pin.chunk, t);
        sm_source_unpin(&s, &pin);
    }
    ck_assert_uint_eq(rows, want_rows);
    if (want_rows) {
        sm_i128 last = (sm_i128)((sm_u128)start + (sm_u128)step * (want_rows - 1));
        ck_assert(sm_value_int(&s.cols[0].min, p) == (step > 0 ? start : last));
        ck_assert(sm_value_int(&s.cols[0].max, p) == (step > 0 ? last : start));
    }
    sm_pin_reset(&s, &pin);
    sm_source_reset(&s);
}

START_TEST(integers)
{
    static const sm_type_id ids[] = {SM_INT32, SM_INT64};
    for (int i = 0; i < 2; i++) {
        sm_type t = sm_type_of(ids[i]);
        check_series(t, 1, 10, 1, 10);
        check_series(t, 1, 10, 3, 4);
        check_series(t, 10, 1, -3, 4);
        check_series(t, 5, 5, 7, 1);
        check_series(t, 5, 4, 1, 0);
        check_series(t, 4, 5, -1, 0);
        check_series(t, 1, 65536, 1, 65536);
        check_series(t, 0, 65536, 1, 65537);
        check_series(t, 200000, -1, -1, 200002);
        check_series(t, -1000000, 1000000, 20, 100001);
    }
}
END_TEST

START_TEST(ends_of_types)
{
    check_series(sm_type_of(SM_INT32), INT32_MAX - 2, INT32_MAX, 1, 3);
    check_series(sm_type_of(SM_INT32), INT32_MAX - 2, INT32_MAX, 2, 2);
    check_series(sm_type_of(SM_INT32), INT32_MIN, INT32_MAX, INT32_MAX, 3);
    check_series(sm_type_of(SM_INT64), INT64_MAX - 5, INT64_MAX, 4, 2);
    check_series(sm_type_of(SM_INT64), INT64_MIN, INT64_MAX, INT64_MAX, 3);
    check_series(sm_type_of(SM_INT64), INT64_MAX, INT64_MIN, INT64_MIN, 2);
    check_series(sm_type_of(SM_INT64), INT64_MIN, INT64_MAX, INT64_C(1) << 46, 262144);
    check_series(sm_type_of(SM_INT64), INT64_MAX, INT64_MIN, -(INT64_C(1) << 46), 262144);
}
END_TEST

START_TEST(rows_are_counted_without_overflow)
{
    sm_source s;
    sm_type t = sm_type_of(SM_INT64);
    sm_value from = integer(t, INT64_MIN), to = integer(t, INT64_MAX), by = integer(t, 1), v;
    sm_pin pin = {0};
    ck_assert_int_eq(sm_source_of_series(&s, &mem, t, &from, &to, &by, &err), SM_OK);
    ck_assert_uint_eq(s.n_rows, UINT64_MAX); /* one short of what no counter holds */
    ck_assert_int_eq(sm_source_pin(&s, s.n_morsels - 1, &pin, &err), SM_OK);
    sm_chunk_col_get(&pin.chunk->cols[0], t, pin.chunk->n_rows - 1, &v);
    ck_assert_int_eq(v.i64, INT64_MAX - 1);
    sm_pin_reset(&s, &pin);
    sm_source_reset(&s);
}
END_TEST

START_TEST(decimals)
{
    sm_i128 nines = sm_pow10(38) - 1;
    check_series(sm_decimal(10, 1), 10, 1000000, 10, 100000); /* 1.0, 2.0 ... */
    check_series(sm_decimal(10, 2), 0, -1000, -25, 41);
    check_series(sm_decimal(38, 0), 5, 70004, 1, 70000);
    check_series(sm_decimal(38, 0), -nines, nines, nines, 3);
    check_series(sm_decimal(38, 0), nines, -nines, -nines / 100000, 200000 + 1);
    check_series(sm_decimal(38, 0), (sm_i128)INT64_MAX - 1, (sm_i128)INT64_MAX + 1, 1, 3);
}
END_TEST

START_TEST(bad_steps_and_nulls)
{
    sm_source s;
    sm_type t = sm_type_of(SM_INT64);
    sm_value one = integer(t, 1), ten = integer(t, 10), zero = integer(t, 0),
             none = {.is_null = true};
    ck_assert_int_eq(sm_source_of_series(&s, &mem, t, &one, &ten, &zero, &err), SM_ERR_STEP_ZERO);
    ck_assert_str_eq(err.sqlstate, "22023");
    sm_error_reset(&err);
    ck_assert_int_eq(sm_source_of_series(&s, &mem, t, &one, &none, &one, &err), SM_OK);
    ck_assert_uint_eq(s.n_rows, 0);
    ck_assert_uint_eq(s.n_morsels, 0);
    sm_source_reset(&s);
}
END_TEST

/* ---- timestamps ---- */

static sm_value stamp(const char *text)
{
    sm_value v;
    ck_assert_int_eq(sm_parse_value(sm_type_of(SM_TIMESTAMP), text, strlen(text), &v, &err), SM_OK);
    return v;
}

static void check_stamps(const char *start, const char *stop, sm_interval step,
                         const char *const *want, uint64_t n)
{
    sm_type t = sm_type_of(SM_TIMESTAMP);
    sm_value from = stamp(start), to = stamp(stop), by = {.iv = step}, v;
    sm_source s;
    sm_pin pin = {0};
    char text[SM_FORMAT_BYTES];
    ck_assert_int_eq(sm_source_of_series(&s, &mem, t, &from, &to, &by, &err), SM_OK);
    ck_assert_uint_eq(s.n_rows, n);
    ck_assert_int_eq(sm_source_pin(&s, 0, &pin, &err), SM_OK);
    for (uint32_t i = 0; i < n; i++) {
        sm_chunk_col_get(&pin.chunk->cols[0], t, i, &v);
        text[sm_format_value(t, &v, text)] = 0;
        ck_assert_str_eq(text, want[i]);
    }
    check_chunk_stats(pin.chunk, t);
    sm_pin_reset(&s, &pin);
    sm_source_reset(&s);
}

START_TEST(timestamps)
{
    static const char *hours[] = {"2000-01-01 00:00:00", "2000-01-01 06:00:00",
                                  "2000-01-01 12:00:00"};
    static const char *days[] = {"2000-03-01 10:00:00", "2000-02-29 09:00:00",
                                 "2000-02-28 08:00:00"};
    /* PostgreSQL steps from the value before: once cut to the 28th it stays there */
    static const char *months[] = {"2001-01-31 00:00:00", "2001-02-28 00:00:00",
                                   "2001-03-28 00:00:00"};
    static const char *back[] = {"2001-03-31 00:00:00", "2001-02-28 00:00:00",
                                 "2001-01-28 00:00:00"};
    check_stamps("2000-01-01 00:00:00", "2000-01-01 13:00:00",
                 (sm_interval){0, 0, INT64_C(21600000000)}, hours, 3);
    check_stamps("2000-03-01 10:00:00", "2000-02-28 00:00:00",
                 (sm_interval){0, -1, -INT64_C(3600000000)}, days, 3);
    check_stamps("2001-01-31 00:00:00", "2001-04-01 00:00:00", (sm_interval){1, 0, 0}, months, 3);
    check_stamps("2001-03-31 00:00:00", "2001-01-01 00:00:00", (sm_interval){-1, 0, 0}, back, 3);
}
END_TEST

START_TEST(months_over_many_morsels)
{
    sm_type t = sm_type_of(SM_TIMESTAMP);
    sm_value from = stamp("0001-01-01 00:00:00"), to = stamp("9999-12-31 00:00:00"),
             by = {.iv = {1, 0, 0}}, v;
    sm_source s;
    sm_pin pin = {0};
    char text[SM_FORMAT_BYTES];
    ck_assert_int_eq(sm_source_of_series(&s, &mem, t, &from, &to, &by, &err), SM_OK);
    ck_assert_uint_eq(s.n_rows, 9999 * 12);
    ck_assert_uint_eq(s.n_morsels, 2);
    ck_assert_int_eq(sm_source_pin(&s, 1, &pin, &err), SM_OK);
    sm_chunk_col_get(&pin.chunk->cols[0], t, 0, &v);
    text[sm_format_value(t, &v, text)] = 0;
    ck_assert_str_eq(text, "5462-05-01 00:00:00"); /* 65,536 months are 5,461 years and 4 months */
    check_chunk_stats(pin.chunk, t);
    sm_pin_reset(&s, &pin);
    sm_source_reset(&s);
}
END_TEST

START_TEST(steps_that_go_nowhere)
{
    sm_type t = sm_type_of(SM_TIMESTAMP);
    sm_value from = stamp("2001-01-31 00:00:00"), to = stamp("2010-01-01 00:00:00"),
             by = {.iv = {1, -30, 0}};
    sm_source s;
    ck_assert_int_eq(sm_source_of_series(&s, &mem, t, &from, &to, &by, &err), SM_ERR_STEP_ZERO);
    sm_error_reset(&err);
    by.iv.days = -29; /* a day on in most months, two back in February */
    ck_assert_int_eq(sm_source_of_series(&s, &mem, t, &from, &to, &by, &err), SM_ERR_NOT_SUPPORTED);
    sm_error_reset(&err);
    by.iv = (sm_interval){0, 0, 0};
    ck_assert_int_eq(sm_source_of_series(&s, &mem, t, &from, &to, &by, &err), SM_ERR_STEP_ZERO);
}
END_TEST

/* ---- versions ---- */

START_TEST(version_as_source)
{
    sm_table_col col = {.name = "x", .type = sm_type_of(SM_INT64)};
    sm_builder *b;
    sm_version *v;
    sm_source s;
    sm_pin pin = {0};
    ck_assert_int_eq(sm_builder_new(&mem, &col, 1, NULL, &b, &err), SM_OK);
    for (int64_t i = 0; i < 70000; i++) {
        sm_value x = {.i64 = i};
        ck_assert_int_eq(sm_builder_row(b, &x, &err), SM_OK);
    }
    ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
    sm_source_of_version(&s, v);
    sm_version_unref(v); /* the source holds it */
    ck_assert_uint_eq(s.n_morsels, 2);
    ck_assert_uint_eq(s.n_rows, 70000);
    ck_assert_int_eq(sm_source_pin(&s, 1, &pin, &err), SM_OK);
    ck_assert_uint_eq(pin.first_row, 65536);
    ck_assert_uint_eq(pin.chunk->n_rows, 4464);
    ck_assert_ptr_eq(pin.chunk, v->chunks[1]);
    sm_source_unpin(&s, &pin);
    sm_pin_reset(&s, &pin);
    sm_source_reset(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("source");
    TCase *t = tcase_create("source");
    SRunner *r;
    int failed;
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, integers);
    tcase_add_test(t, ends_of_types);
    tcase_add_test(t, rows_are_counted_without_overflow);
    tcase_add_test(t, decimals);
    tcase_add_test(t, bad_steps_and_nulls);
    tcase_add_test(t, timestamps);
    tcase_add_test(t, months_over_many_morsels);
    tcase_add_test(t, steps_that_go_nowhere);
    tcase_add_test(t, version_as_source);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
