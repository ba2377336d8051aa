/* Accumulators against sums computed another way: exact kinds against 128-bit or longer sums, float
 * kinds against the definition of their order, and the laws that tiers rely on (fold, combine,
 * empty states). */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/agg_body.h"
#include "runtime/hash.h"

static sm_mem mem;
static sm_arena arena;
static sm_error err;

static void setup(void)
{
    sm_mem_init(&mem, NULL, SIZE_MAX);
    sm_arena_init(&arena, &mem, "test");
    sm_error_reset(&err);
}

static void teardown(void)
{
    sm_arena_reset(&arena);
    ck_assert_uint_eq(atomic_load(&mem.used_bytes), 0);
}

static sm_accum accum(sm_agg_fn fn, sm_type t)
{
    return (sm_accum){.kind = sm_agg_acc_kind(fn, t), .type = t, .filter_col = -1};
}

static void *state_of(const sm_accum *acc, unsigned lanes)
{
    void *s = sm_arena_alloc(&arena, sm_acc_bytes(acc, lanes));
    ck_assert_uint_eq(sm_acc_bytes(acc, lanes) % 16, 0);
    sm_acc_init(acc, lanes, s);
    return s;
}

static void add(const sm_accum *acc, void *state, unsigned lane, sm_value v)
{
    ck_assert_int_eq(sm_acc_add(acc, state, lane, &v, &arena, &err), SM_OK);
}

static sm_value result(const sm_accum *acc, sm_agg_fn fn, const void *state)
{
    sm_value out;
    sm_type t;
    ck_assert(sm_agg_result_type(fn, acc->type, &t));
    ck_assert_int_eq(sm_acc_result(acc, fn, t, state, &out, &arena, &err), SM_OK);
    return out;
}

static uint64_t bits(double v)
{
    uint64_t b;
    memcpy(&b, &v, 8);
    return b;
}

static sm_value f64(double v)
{
    return (sm_value){.f64 = v};
}
static sm_value i64(int64_t v)
{
    return (sm_value){.i64 = v};
}
static sm_value text(const char *s)
{
    return (sm_value){.text = sm_text_view(s, (uint32_t)strlen(s))};
}

START_TEST(nothing_is_null)
{
    for (unsigned fn = 0; fn < SM_N_AGGS; fn++) {
        for (unsigned id = 0; id < SM_UNKNOWN; id++) {
            sm_type t = id == SM_DECIMAL ? sm_decimal(38, 2) : sm_type_of((sm_type_id)id), r;
            sm_accum acc = accum((sm_agg_fn)fn, t);
            if (!sm_agg_result_type((sm_agg_fn)fn, t, &r)) continue;
            for (int distinct = 0; distinct < 2; distinct++) {
                sm_value v;
                void *s;
                acc.distinct = distinct;
                s = state_of(&acc, 1);
                v = result(&acc, (sm_agg_fn)fn, s);
                if (acc.kind == SM_ACC_COUNT)
                    ck_assert(!v.is_null && v.i64 == 0);
                else
                    ck_assert(v.is_null);
            }
        }
    }
}
END_TEST

/* 32 lanes folded as t[i] += t[i + half], written out the long way. */
START_TEST(float_sum_is_the_tree)
{
    sm_accum acc = accum(SM_AGG_SUM, sm_type_of(SM_FLOAT64));
    sm_acc_sum_f *morsel = state_of(&acc, 32);
    void *final = state_of(&acc, 1);
    double lane[32], expected;
    for (int i = 0; i < 32; i++) lane[i] = -0.0;
    srand(1);
    for (unsigned i = 0; i < 10000; i++) {
        double v = (double)rand() / 7.0 - 1e8;
        if (i % 3 == 0) continue;
        add(&acc, morsel, i % 32, f64(v));
        lane[i % 32] += v;
    }
    {
        double a[16], b[8], c[4], d[2];
        for (int i = 0; i < 16; i++) a[i] = lane[i] + lane[i + 16];
        for (int i = 0; i < 8; i++) b[i] = a[i] + a[i + 8];
        for (int i = 0; i < 4; i++) c[i] = b[i] + b[i + 4];
        for (int i = 0; i < 2; i++) d[i] = c[i] + c[i + 2];
        expected = d[0] + d[1];
    }
    ck_assert_int_eq(sm_acc_fold(&acc, 32, morsel, final, &arena, &err), SM_OK);
    ck_assert_uint_eq(bits(result(&acc, SM_AGG_SUM, final).f64), bits(expected));
    ck_assert_uint_eq(bits(result(&acc, SM_AGG_AVG, final).f64), bits(expected / 6666));
}
END_TEST

START_TEST(float_sum_of_minus_zero_stays)
{
    sm_accum acc = accum(SM_AGG_SUM, sm_type_of(SM_FLOAT64));
    void *morsel = state_of(&acc, 8), *final = state_of(&acc, 1);
    add(&acc, morsel, 3, f64(-0.0));
    ck_assert_int_eq(sm_acc_fold(&acc, 8, morsel, final, &arena, &err), SM_OK);
    ck_assert_uint_eq(bits(result(&acc, SM_AGG_SUM, final).f64), bits(-0.0));
}
END_TEST

START_TEST(computed_nan_is_canonical)
{
    sm_accum acc = accum(SM_AGG_SUM, sm_type_of(SM_FLOAT64));
    void *s = state_of(&acc, 1);
    add(&acc, s, 0, f64(INFINITY));
    add(&acc, s, 0, f64(-INFINITY));
    ck_assert_uint_eq(bits(result(&acc, SM_AGG_SUM, s).f64), 0x7FF8000000000000u);
}
END_TEST

START_TEST(integer_sum_checks_its_range_once)
{
    sm_accum acc = accum(SM_AGG_SUM, sm_type_of(SM_INT64));
    sm_accum acc32 = accum(SM_AGG_SUM, sm_type_of(SM_INT32));
    void *s = state_of(&acc, 1), *s32 = state_of(&acc32, 1);
    sm_value out;
    for (int i = 0; i < 4; i++) add(&acc, s, 0, i64(INT64_MAX));
    ck_assert(result(&acc, SM_AGG_SUM, s).i128 == (sm_i128)INT64_MAX * 4);
    ck_assert_double_eq(result(&acc, SM_AGG_AVG, s).f64, 9223372036854775807.0);
    for (int i = 0; i < 4; i++) add(&acc, s, 0, i64(INT64_MIN));
    ck_assert(result(&acc, SM_AGG_SUM, s).i128 == -4);
    sm_acc_add_partial(&acc32, s32, (sm_i128)INT64_MAX, 1);
    ck_assert_int_eq(result(&acc32, SM_AGG_SUM, s32).i64, INT64_MAX);
    add(&acc32, s32, 0, (sm_value){.i32 = 1});
    ck_assert_int_eq(
        sm_acc_result(&acc32, SM_AGG_SUM, sm_type_of(SM_INT64), s32, &out, &arena, &err),
        SM_ERR_BIGINT_RANGE);
}
END_TEST

START_TEST(decimal_sum_is_exact_beyond_128_bits)
{
    sm_accum acc = accum(SM_AGG_SUM, sm_decimal(38, 0));
    void *s = state_of(&acc, 1), *t = state_of(&acc, 1);
    sm_i128 most = sm_pow10(38) - 1;
    sm_value out;
    for (int i = 0; i < 1000; i++) add(&acc, s, 0, (sm_value){.i128 = most});
    ck_assert_int_eq(sm_acc_result(&acc, SM_AGG_SUM, sm_decimal(38, 0), s, &out, &arena, &err),
                     SM_ERR_DECIMAL_RANGE);
    sm_error_reset(&err);
    ck_assert_double_eq(result(&acc, SM_AGG_AVG, s).f64, 1e38);
    for (int i = 0; i < 1001; i++) add(&acc, t, 0, (sm_value){.i128 = -most});
    ck_assert_int_eq(sm_acc_combine(&acc, s, t, &arena, &err), SM_OK);
    ck_assert(result(&acc, SM_AGG_SUM, s).i128 == -most);
    ck_assert_double_eq(result(&acc, SM_AGG_AVG, t).f64, -1e38);
}
END_TEST

START_TEST(average_is_rounded_once)
{
    sm_accum acc = accum(SM_AGG_AVG, sm_decimal(15, 2));
    void *s = state_of(&acc, 1);
    add(&acc, s, 0, i64(10)); /* 0.10, 0.20 */
    add(&acc, s, 0, i64(20));
    ck_assert_uint_eq(bits(result(&acc, SM_AGG_AVG, s).f64), bits(0.15));
}
END_TEST

START_TEST(variance_agrees_with_two_passes)
{
    sm_accum acc = accum(SM_AGG_VAR_SAMP, sm_type_of(SM_FLOAT64));
    void *morsel = state_of(&acc, 32), *final = state_of(&acc, 1);
    double mean = 0, sq = 0, v[1000];
    srand(2);
    for (unsigned i = 0; i < 1000; i++) {
        v[i] = 1e6 + rand() % 1000;
        mean += v[i] / 1000;
        add(&acc, morsel, i % 32, f64(v[i]));
    }
    for (int i = 0; i < 1000; i++) sq += (v[i] - mean) * (v[i] - mean);
    ck_assert_int_eq(sm_acc_fold(&acc, 32, morsel, final, &arena, &err), SM_OK);
    ck_assert_double_eq_tol(result(&acc, SM_AGG_VAR_SAMP, final).f64, sq / 999, sq * 1e-12);
    ck_assert_double_eq_tol(result(&acc, SM_AGG_VAR_POP, final).f64, sq / 1000, sq * 1e-12);
    ck_assert_double_eq_tol(result(&acc, SM_AGG_STDDEV_SAMP, final).f64, sqrt(sq / 999), 1e-6);
}
END_TEST

START_TEST(variance_of_one_value)
{
    sm_accum acc = accum(SM_AGG_VAR_SAMP, sm_type_of(SM_FLOAT64));
    void *s = state_of(&acc, 1), *inf = state_of(&acc, 1);
    add(&acc, s, 0, f64(5));
    ck_assert(result(&acc, SM_AGG_VAR_SAMP, s).is_null);
    ck_assert_double_eq(result(&acc, SM_AGG_STDDEV_POP, s).f64, 0);
    add(&acc, inf, 0, f64(INFINITY));
    ck_assert_uint_eq(bits(result(&acc, SM_AGG_VAR_POP, inf).f64), 0x7FF8000000000000u);
}
END_TEST

START_TEST(minmax_of_floats_knows_nan_and_zero)
{
    static const double values[] = {NAN, -1.5, INFINITY, -INFINITY, -0.0, 3};
    sm_accum low = accum(SM_AGG_MIN, sm_type_of(SM_FLOAT64));
    sm_accum high = accum(SM_AGG_MAX, sm_type_of(SM_FLOAT64));
    void *a = state_of(&low, 1), *b = state_of(&high, 1);
    for (size_t i = 1; i < SM_COUNT(values); i++) {
        add(&low, a, 0, f64(values[i]));
        add(&high, b, 0, f64(values[i]));
    }
    ck_assert(isinf(result(&low, SM_AGG_MIN, a).f64) && result(&low, SM_AGG_MIN, a).f64 < 0);
    ck_assert(isinf(result(&high, SM_AGG_MAX, b).f64));
    add(&high, b, 0, f64(NAN));
    ck_assert(isnan(result(&high, SM_AGG_MAX, b).f64));
    a = state_of(&low, 1);
    add(&low, a, 0, f64(NAN));
    ck_assert(isnan(result(&low, SM_AGG_MIN, a).f64));
    add(&low, a, 0, f64(-0.0));
    ck_assert_uint_eq(bits(result(&low, SM_AGG_MIN, a).f64), 0);
}
END_TEST

START_TEST(minmax_of_text_owns_its_bytes)
{
    sm_accum high = accum(SM_AGG_MAX, sm_type_of(SM_TEXT));
    void *s = state_of(&high, 1), *t = state_of(&high, 1);
    char buffer[64];
    size_t before = 0;
    for (int i = 0; i < 10000; i++) {
        snprintf(buffer, sizeof buffer, "a rather long text %06d", i);
        add(&high, s, 0, text(buffer));
        if (i == 10) before = atomic_load(&mem.used_bytes);
    }
    memset(buffer, 0, sizeof buffer);
    ck_assert_uint_eq(atomic_load(&mem.used_bytes), before);
    add(&high, t, 0, text("zz"));
    add(&high, t, 0, text("a short one"));
    {
        sm_text got = result(&high, SM_AGG_MAX, s).text;
        ck_assert(sm_text_eq(got, sm_text_view("a rather long text 009999", 25)));
    }
    ck_assert_int_eq(sm_acc_combine(&high, s, t, &arena, &err), SM_OK);
    ck_assert(sm_text_eq(result(&high, SM_AGG_MAX, s).text, sm_text_view("zz", 2)));
}
END_TEST

START_TEST(distinct_sums_ascend)
{
    sm_accum acc = accum(SM_AGG_SUM, sm_type_of(SM_FLOAT64));
    void *s, *t;
    double expected = -0.0;
    acc.distinct = true;
    s = state_of(&acc, 32);
    t = state_of(&acc, 1);
    for (int i = 999; i >= 0; i--)
        for (int times = 0; times < 3; times++) add(&acc, i & 1 ? s : t, 0, f64(0.1 * (i - 500)));
    for (int i = 0; i < 1000; i++) expected += i == 500 ? 0.0 : 0.1 * (i - 500);
    ck_assert_int_eq(sm_acc_combine(&acc, s, t, &arena, &err), SM_OK);
    ck_assert(sm_value_set_validate(*(sm_value_set **)s));
    ck_assert_uint_eq(bits(result(&acc, SM_AGG_SUM, s).f64), bits(expected));
}
END_TEST

START_TEST(distinct_counts_equal_values_once)
{
    sm_accum acc = accum(SM_AGG_COUNT, sm_type_of(SM_FLOAT64));
    sm_accum texts = accum(SM_AGG_COUNT, sm_type_of(SM_TEXT));
    sm_accum intervals = accum(SM_AGG_COUNT, sm_type_of(SM_INTERVAL));
    sm_hash_zero_set(_i == 1);
    acc.distinct = texts.distinct = intervals.distinct = true;
    {
        void *s = state_of(&acc, 1), *t = state_of(&texts, 1), *u = state_of(&intervals, 1);
        char a[] = "a text beyond twelve bytes", b[] = "a text beyond twelve bytes";
        add(&acc, s, 0, f64(0.0));
        add(&acc, s, 0, f64(-0.0));
        add(&acc, s, 0, f64(NAN));
        add(&acc, s, 0, f64(-NAN));
        ck_assert_int_eq(result(&acc, SM_AGG_COUNT, s).i64, 2);
        add(&texts, t, 0, text(a));
        add(&texts, t, 0, text(b));
        add(&texts, t, 0, text(""));
        ck_assert_int_eq(result(&texts, SM_AGG_COUNT, t).i64, 2);
        add(&intervals, u, 0, (sm_value){.iv = {1, 0, 0}});
        add(&intervals, u, 0, (sm_value){.iv = {0, 30, 0}});
        ck_assert_int_eq(result(&intervals, SM_AGG_COUNT, u).i64, 1);
    }
    sm_hash_zero_set(false);
}
END_TEST

START_TEST(bools)
{
    sm_accum acc = accum(SM_AGG_BOOL_AND, sm_type_of(SM_BOOL));
    void *s = state_of(&acc, 1), *t = state_of(&acc, 1);
    add(&acc, s, 0, (sm_value){.b = 1});
    ck_assert_uint_eq(result(&acc, SM_AGG_BOOL_AND, s).b, 1);
    add(&acc, t, 0, (sm_value){.b = 0});
    ck_assert_uint_eq(result(&acc, SM_AGG_BOOL_OR, t).b, 0);
    ck_assert_int_eq(sm_acc_combine(&acc, s, t, &arena, &err), SM_OK);
    ck_assert_uint_eq(result(&acc, SM_AGG_BOOL_AND, s).b, 0);
    ck_assert_uint_eq(result(&acc, SM_AGG_BOOL_OR, s).b, 1);
}
END_TEST

START_TEST(names)
{
    sm_agg_fn fn;
    ck_assert(sm_agg_find("count", true, &fn) && fn == SM_AGG_COUNT_ALL);
    ck_assert(sm_agg_find("count", false, &fn) && fn == SM_AGG_COUNT);
    ck_assert(sm_agg_find("variance", false, &fn) && fn == SM_AGG_VAR_SAMP);
    ck_assert(sm_agg_find("every", false, &fn) && fn == SM_AGG_BOOL_AND);
    ck_assert(!sm_agg_find("sum", true, &fn) && !sm_agg_find("", false, &fn));
    ck_assert_str_eq(sm_agg_name(SM_AGG_STDDEV_SAMP), "stddev_samp");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("agg");
    TCase *c = tcase_create("agg");
    SRunner *r = srunner_create(s);
    int failed;
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, nothing_is_null);
    tcase_add_test(c, float_sum_is_the_tree);
    tcase_add_test(c, float_sum_of_minus_zero_stays);
    tcase_add_test(c, computed_nan_is_canonical);
    tcase_add_test(c, integer_sum_checks_its_range_once);
    tcase_add_test(c, decimal_sum_is_exact_beyond_128_bits);
    tcase_add_test(c, average_is_rounded_once);
    tcase_add_test(c, variance_agrees_with_two_passes);
    tcase_add_test(c, variance_of_one_value);
    tcase_add_test(c, minmax_of_floats_knows_nan_and_zero);
    tcase_add_test(c, minmax_of_text_owns_its_bytes);
    tcase_add_test(c, distinct_sums_ascend);
    tcase_add_loop_test(c, distinct_counts_equal_values_once, 0, 2);
    tcase_add_test(c, bools);
    tcase_add_test(c, names);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
