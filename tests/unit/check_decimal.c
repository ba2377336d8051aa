/* Quotients rounded once, against two other ways to the same number: reading the decimal's text
 * (the C library rounds that correctly), and comparing the quotient with both halfway points in
 * exact integers. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/decimal.h"
#include "runtime/format_parts.h"

static uint64_t state = 88172645463325252u;

static uint64_t random64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Of up to so many bits, either sign. */
static sm_i128 random_bits(unsigned bits)
{
    sm_u128 v = (sm_u128)random64() << 64 | random64();
    sm_i128 n = (sm_i128)(v >> (128 - bits));
    return random64() & 1 ? -n : n;
}

static double read_back(sm_i128 v, unsigned scale)
{
    char text[64];
    double d = NAN;
    size_t n = sm_print_decimal(v, scale, text);
    ck_assert_int_eq(sm_parse_f64(text, n, &d, NULL), SM_OK);
    return d;
}

START_TEST(to_double_is_what_the_text_reads_as)
{
    for (int i = 0; i < 100000; i++) {
        sm_i128 v = random_bits(1 + (unsigned)(random64() % 126));
        unsigned scale = (unsigned)(random64() % 39);
        ck_assert_msg(sm_dec_to_double(v, scale) == read_back(v, scale), "case %d scale %u", i,
                      scale);
    }
}
END_TEST

/* |a / b - q| is at most half a step of q: a between (2m - 1) and (2m + 1) times 2^(e - 1) * b. */
static bool is_nearest(uint64_t a, uint64_t b, double q)
{
    int e;
    uint64_t m = (uint64_t)ldexp(frexp(q, &e), 53);
    sm_u128 middle;
    e -= 53;
    if (e - 1 > 0 || e - 1 < -66) return true; /* beyond what 128 bits compare */
    middle = (sm_u128)a << (1 - e);
    if (middle >> (1 - e) != a) return true;
    return middle >= (sm_u128)(2 * m - 1) * b && middle <= (sm_u128)(2 * m + 1) * b;
}

START_TEST(quotient_is_nearest)
{
    for (int i = 0; i < 100000; i++) {
        uint64_t a = random64() >> (5 + random64() % 20),
                 b = (random64() >> (5 + random64() % 20)) | 1;
        double q = sm_dec_quotient((sm_i128)a, (sm_i128)b, 0);
        if (a == 0) continue;
        ck_assert_msg(is_nearest(a, b, q), "%lu / %lu", a, b);
        ck_assert(sm_dec_quotient(-(sm_i128)a, (sm_i128)b, 0) == -q);
        ck_assert(sm_dec_quotient((sm_i128)a, -(sm_i128)b, 0) == -q);
    }
}
END_TEST

/* The same ratio by other paths: both sides times the same number, and scales instead of zeros. */
START_TEST(paths_agree)
{
    for (int i = 0; i < 100000; i++) {
        sm_i128 a = random_bits(1 + (unsigned)(random64() % 60)),
                b = random_bits(1 + (unsigned)(random64() % 60));
        unsigned k = (unsigned)(random64() % 19);
        double q;
        if (b == 0) continue;
        q = sm_dec_quotient(a, b, 0);
        ck_assert(sm_dec_quotient(a * sm_pow10(k), b * sm_pow10(k), 0) == q);
        ck_assert(sm_dec_quotient(a * sm_pow10(k), b, (int)k) == q);
        ck_assert(sm_dec_quotient(a, b * sm_pow10(k), -(int)k) == q);
    }
}
END_TEST

START_TEST(mean_of_256_bits)
{
    for (int i = 0; i < 20000; i++) {
        sm_i128 v = random_bits(1 + (unsigned)(random64() % 126));
        int64_t n = (int64_t)(random64() >> 33) + 1;
        unsigned scale = (unsigned)(random64() % 39);
        sm_u128 low = (sm_u128)v;
        sm_i128 high = v < 0 ? -1 : 0;
        ck_assert(sm_dec_mean(low, high, n, scale) == sm_dec_quotient(v, n, (int)scale));
    }
    ck_assert_double_eq(sm_dec_mean(0, 1, 1, 0), 0x1p128);
    ck_assert_double_eq(sm_dec_mean(0, -1, 1, 0), -0x1p128);
    ck_assert_double_eq(sm_dec_mean(0, (sm_i128)1 << 100, 2, 0), 0x1p227);
}
END_TEST

START_TEST(ties_go_to_even)
{
    sm_i128 two53 = (sm_i128)1 << 53;
    ck_assert_double_eq(sm_dec_quotient(two53 + 1, 1, 0), 0x1p53);
    ck_assert_double_eq(sm_dec_quotient(two53 + 3, 1, 0), 0x1p53 + 4);
    ck_assert_double_eq(sm_dec_quotient((two53 + 1) * 10 + 1, 10, 0), 0x1p53 + 2);
    ck_assert_double_eq(sm_dec_to_double((two53 + 1) * 10 + 1, 1), 0x1p53 + 2);
    ck_assert(!signbit(sm_dec_quotient(0, -5, 0)));
}
END_TEST

START_TEST(scale_down_rounds_half_away)
{
    ck_assert(sm_dec_scale_down(25, 1) == 3 && sm_dec_scale_down(-25, 1) == -3);
    ck_assert(sm_dec_scale_down(24, 1) == 2 && sm_dec_scale_down(-24, 1) == -2);
    ck_assert(sm_dec_scale_down(7, 0) == 7 && sm_dec_scale_down(4, 1) == 0);
    ck_assert(sm_dec_scale_down(sm_pow10(38) - 1, 38) == 1);
    ck_assert(sm_dec_scale_down(-(sm_pow10(38) / 2), 38) == -1);
}
END_TEST

START_TEST(powers)
{
    sm_i128 p = 1;
    for (unsigned n = 0; n <= 38; n++, p *= n <= 38 ? 10 : 1) ck_assert(sm_pow10(n) == p);
    ck_assert_int_eq(sm_pow10_64(18), 1000000000000000000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("decimal");
    TCase *c = tcase_create("decimal");
    SRunner *r = srunner_create(s);
    int failed;
    suite_add_tcase(s, c);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, to_double_is_what_the_text_reads_as);
    tcase_add_test(c, quotient_is_nearest);
    tcase_add_test(c, paths_agree);
    tcase_add_test(c, mean_of_256_bits);
    tcase_add_test(c, ties_go_to_even);
    tcase_add_test(c, scale_down_rounds_half_away);
    tcase_add_test(c, powers);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
