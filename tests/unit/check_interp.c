/* The row tier against the batch tier, and both against what is known: pipelines made from nodes by
 * hand, over columns with NULLs and edge values, in all ways of grouping, with an error at any row,
 * at batch sizes 1, 2, 7, 100 and 1,024. The whole suite runs once per instruction-set level, each
 * in a process of its own. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interp_plans.h"

/* ---- what is known --------------------------------------------------------------------------- */

START_TEST(sum_of_known_values)
{
    sm_node *scan = t_scan(5000);
    t_agg aggs[] = {{.fn = SM_AGG_COUNT_ALL}, {.fn = SM_AGG_SUM, .arg = t_column(scan, T_ROW)}};
    t_result r = t_run(t_aggregate(scan, NULL, 0, aggs, 2), T_BATCH, 1024);
    ck_assert_int_eq(r.status, SM_OK);
    ck_assert_uint_eq(r.out->n_rows, 1);
    ck_assert_int_eq(t_value(r.out, 0, 0).i64, 5000);
    ck_assert(t_value(r.out, 1, 0).i128 == 5000 * 4999 / 2);
    t_result_reset(&r);
}
END_TEST

/* Lanes by hand: row i adds to accumulator i mod 32, then the fixed tree. */
START_TEST(float_sum_has_the_promised_bits)
{
    enum { ROWS = 5003 };
    double lane[32];
    sm_node *scan = t_scan(ROWS);
    sm_expr *keep = t_op(SM_OP_ne_f64, t_column(scan, T_F64_FULL), t_const_f64(3));
    t_agg aggs[] = {{.fn = SM_AGG_SUM, .arg = t_column(scan, T_F64_FULL)}};
    for (int i = 0; i < 32; i++) lane[i] = -0.0;
    for (uint32_t i = 0; i < ROWS; i++) {
        double v = t_value(scan->scan.version, T_F64_FULL, i).f64;
        if (v != 3) lane[i % 32] += v;
    }
    double want = sm_lanes_sum(lane, 32);
    for (int tier = T_ROW_TIER; tier <= T_BATCH; tier++) {
        t_result r = t_run(t_aggregate(t_filter(scan, keep), NULL, 0, aggs, 1), tier, 7);
        double got = t_value(r.out, 0, 0).f64;
        ck_assert(memcmp(&got, &want, 8) == 0);
        t_result_reset(&r);
    }
}
END_TEST

/* ---- tiers agree ----------------------------------------------------------------------------- */

static sm_expr *key_of(sm_node *scan, int mode)
{
    switch (mode) {
    case SM_GROUPS_TINY: return t_column(scan, T_DICT);
    case SM_GROUPS_DIRECT: return t_column(scan, T_I16);
    default: return t_op(SM_OP_upper_txt, t_column(scan, T_TEXT), NULL);
    }
}

static void check_modes(uint32_t rows, sm_expr *(*condition)(sm_node *scan))
{
    for (int mode = SM_GROUPS_NONE; mode <= SM_GROUPS_HASH; mode++) {
        sm_node *scan = t_scan(rows), *n = condition ? t_filter(scan, condition(scan)) : scan;
        sm_expr *key = key_of(scan, mode), *flag = t_column(scan, T_BOOL);
        t_agg aggs[] = {{.fn = SM_AGG_COUNT_ALL},
                        {.fn = SM_AGG_COUNT_ALL, .filter = flag},
                        {.fn = SM_AGG_COUNT, .arg = t_column(scan, T_TEXT)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_F64)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_F64_FULL)},
                        {.fn = SM_AGG_AVG, .arg = t_column(scan, T_F64), .filter = flag},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_F32)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_I16)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_I32)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_I64)},
                        {.fn = SM_AGG_AVG, .arg = t_column(scan, T_ROW), .filter = flag},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_D64)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_D128)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_D128_BIG)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_I32), .distinct = true},
                        {.fn = SM_AGG_COUNT, .arg = t_column(scan, T_DICT), .distinct = true},
                        {.fn = SM_AGG_STDDEV_SAMP, .arg = t_column(scan, T_F64_FULL)},
                        {.fn = SM_AGG_MIN, .arg = t_column(scan, T_F64)},
                        {.fn = SM_AGG_MAX, .arg = t_column(scan, T_F64)},
                        {.fn = SM_AGG_MIN, .arg = t_column(scan, T_F32)},
                        {.fn = SM_AGG_MIN, .arg = t_column(scan, T_I16)},
                        {.fn = SM_AGG_MAX, .arg = t_column(scan, T_I64)},
                        {.fn = SM_AGG_MIN, .arg = t_column(scan, T_DATE), .filter = flag},
                        {.fn = SM_AGG_MAX, .arg = t_column(scan, T_D128)},
                        {.fn = SM_AGG_MIN, .arg = t_column(scan, T_TEXT)},
                        {.fn = SM_AGG_MAX, .arg = t_column(scan, T_DICT)},
                        {.fn = SM_AGG_BOOL_AND, .arg = flag},
                        {.fn = SM_AGG_BOOL_OR, .arg = flag}};
        ck_assert_int_eq(
            t_compare(t_aggregate(n, &key, mode != SM_GROUPS_NONE, aggs, SM_COUNT(aggs))), mode);
    }
}

static sm_expr *few(sm_node *scan)
{
    return t_op(SM_OP_gt_i32, t_column(scan, T_I32), t_const_i32(950));
}
static sm_expr *most(sm_node *scan)
{
    return t_op(SM_OP_gt_i32, t_column(scan, T_I32), t_const_i32(-900));
}
static sm_expr *none(sm_node *scan)
{
    return t_op(SM_OP_gt_i32, t_column(scan, T_I32), t_const_i32(2000));
}

START_TEST(all_accumulators_all_rows)
{
    check_modes(3000, NULL);
}
END_TEST
START_TEST(all_accumulators_few_rows)
{
    check_modes(3000, few);
}
END_TEST
START_TEST(all_accumulators_most_rows)
{
    check_modes(3000, most);
}
END_TEST
START_TEST(all_accumulators_no_rows)
{
    check_modes(1500, none);
}
END_TEST
START_TEST(more_than_one_chunk)
{
    check_modes(SM_CHUNK_ROWS + 777, most);
}
END_TEST

/* Two groups go by masks at every level, of which one may have no live row in a batch. */
START_TEST(two_groups)
{
    sm_node *scan = t_scan(3000);
    sm_expr *key = t_op(SM_OP_lt_i64, t_column(scan, T_ROW), t_const_i64(1100));
    t_agg aggs[] = {
        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_F64)},
        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_F64_FULL)},
        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_F32)},
        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_I64)},
        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_ROW)},
        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_I16)},
        {.fn = SM_AGG_MAX, .arg = t_column(scan, T_F64), .filter = t_column(scan, T_BOOL)}};
    ck_assert_int_eq(t_compare(t_aggregate(scan, &key, 1, aggs, SM_COUNT(aggs))), SM_GROUPS_TINY);
    t_compare(t_aggregate(t_filter(scan, most(scan)), &key, 1, aggs, SM_COUNT(aggs)));
    t_compare(t_aggregate(t_filter(scan, few(scan)), &key, 1, aggs, SM_COUNT(aggs)));
}
END_TEST

/* Groups without aggregates, by one key and by several. */
START_TEST(only_keys)
{
    sm_node *scan = t_scan(2500);
    for (int mode = SM_GROUPS_TINY; mode <= SM_GROUPS_HASH; mode++) {
        sm_expr *keys[3] = {key_of(scan, mode), t_column(scan, T_BOOL), t_column(scan, T_D128)};
        ck_assert_int_eq(t_compare(t_aggregate(scan, keys, 1, NULL, 0)), mode);
        t_compare(t_aggregate(t_filter(scan, few(scan)), keys, 3, NULL, 0));
    }
}
END_TEST

START_TEST(rows_of_every_type)
{
    sm_node *scan = t_scan(3000);
    t_compare(scan);
    t_compare(t_filter(scan, few(scan)));
    t_compare(
        t_filter(t_filter(scan, most(scan)), t_op(SM_OP_not_b, t_column(scan, T_BOOL), NULL)));
}
END_TEST

/* Projections of projections, columns only renamed, a computed key. */
START_TEST(chains_of_steps)
{
    sm_node *scan = t_scan(3000);
    sm_expr *first[4] = {
        t_column(scan, T_I32), t_op(SM_OP_add_f64, t_column(scan, T_F64), t_const_f64(1)),
        t_column(scan, T_DICT), t_op(SM_OP_lower_txt, t_column(scan, T_DICT), NULL)};
    sm_node *p = t_project(scan, first, 4);
    sm_node *f = t_filter(p, t_op(SM_OP_lt_i32, t_column(p, 0), t_const_i32(500)));
    sm_expr *second[3] = {t_column(f, 3), t_column(f, 2),
                          t_op(SM_OP_mul_f64, t_column(f, 1), t_column(f, 1))};
    sm_node *q = t_project(f, second, 3);
    t_compare(q);
    sm_expr *keys[2] = {t_column(q, 0), t_column(q, 1)};
    t_agg aggs[] = {{.fn = SM_AGG_SUM, .arg = t_column(q, 2)}};
    t_compare(t_aggregate(q, keys, 2, aggs, 1));
    sm_expr *keep = t_op(SM_OP_eq_txt, t_column(q, 1), t_const_text("bravo"));
    t_compare(t_aggregate(t_filter(q, keep), keys, 1, aggs, 1));
}
END_TEST

/* Stored values against constants below, among and above them, in all relations, either way round.
 */
START_TEST(columns_against_constants)
{
    static const int columns[] = {T_ROW, T_I16, T_I32,  T_I64,  T_F32,
                                  T_F64, T_D64, T_D128, T_DATE, T_TS};
    static const char relations[6][3] = {"=", "<>", "<", "<=", ">", ">="};
    sm_node *scan = t_scan(1200);
    for (size_t c = 0; c < SM_COUNT(columns); c++) {
        sm_type type = t_type(columns[c]);
        sm_phys p = sm_type_phys(type);
        for (int k = 0; k < 6; k++) {
            sm_value v = t_value(scan->scan.version, (uint32_t)columns[c], (uint64_t)k * 97);
            if (v.is_null || k > 2) v = (sm_value){.i128 = k == 3 ? -5 : k == 4 ? 30000 : 0};
            if (p == SM_PHYS_F64 && k > 2) v.f64 = k == 3 ? NAN : k == 4 ? -0.0 : INFINITY;
            if (p == SM_PHYS_F32 && k > 2) v.f32 = k == 3 ? NAN : k == 4 ? 100 : 0;
            if (p == SM_PHYS_I64 && k == 5) v.i64 = INT64_MAX;
            sm_expr *column = t_column(scan, (uint32_t)columns[c]);
            sm_expr *constant = sm_expr_const(&t_arena, type, &v), *out[12];
            for (int r = 0; r < 6; r++) {
                sm_op op = sm_op_compare(relations[r], p);
                out[2 * r] = t_op(op, column, constant);
                out[2 * r + 1] = t_op(op, constant, column);
            }
            t_compare(t_project(scan, out, 12));
            t_compare(t_project(t_filter(scan, out[t_pick(12)]), &column, 1));
        }
    }
}
END_TEST

/* More constants than are kept as vectors. */
START_TEST(long_in_list)
{
    enum { N = 300 };
    sm_node *scan = t_scan(1300);
    sm_expr *ints[N], *texts[N];
    for (int i = 0; i < N; i++) {
        char text[16];
        snprintf(text, sizeof text, "t%d", i * 3);
        ints[i] = t_op(SM_OP_eq_i64, t_column(scan, T_ROW), t_const_i64(i * 7));
        texts[i] = t_op(SM_OP_eq_txt, t_column(scan, T_TEXT),
                        t_const_text(sm_arena_strdup(&t_arena, text)));
    }
    sm_expr *in_ints = t_node(SM_EXPR_OR, sm_type_of(SM_BOOL), ints, N);
    t_agg count = {.fn = SM_AGG_COUNT_ALL};
    t_result r = t_run(t_aggregate(t_filter(scan, in_ints), NULL, 0, &count, 1), T_BATCH, 1024);
    ck_assert_int_eq(t_value(r.out, 0, 0).i64, 1300 / 7 + 1);
    t_result_reset(&r);
    t_compare(t_filter(scan, in_ints));
    t_compare(t_filter(scan, t_node(SM_EXPR_OR, sm_type_of(SM_BOOL), texts, N)));
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

/* 1 / (row - k) fails at row k alone; the filter may save it. */
START_TEST(error_at_any_row)
{
    static const int64_t at[] = {0, 1, 6, 7, 63, 64, 1023, 1024, 1500, 2999};
    sm_node *scan = t_scan(3000);
    for (size_t i = 0; i < SM_COUNT(at); i++) {
        sm_expr *d = t_op(SM_OP_sub_i64, t_column(scan, T_ROW), t_const_i64(at[i]));
        sm_expr *q = t_op(SM_OP_div_i64, t_const_i64(1000), d);
        q->position = 17;
        t_agg aggs[] = {{.fn = SM_AGG_SUM, .arg = q},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_F64)}};
        t_result r = t_run(t_aggregate(scan, NULL, 0, aggs, 2), T_BATCH, 1024);
        ck_assert_int_eq(r.status, SM_ERR_DIVISION_BY_ZERO);
        ck_assert_int_eq(r.err.position, 17);
        t_result_reset(&r);
        t_compare(t_aggregate(scan, NULL, 0, aggs, 2));
        sm_expr *saved = t_op(SM_OP_ne_i64, t_column(scan, T_ROW), t_const_i64(at[i]));
        t_compare(t_aggregate(t_filter(scan, saved), NULL, 0, aggs, 2));
        sm_expr *guard[3] = {saved, q, t_const_i64(0)};
        sm_expr *safe = t_node(SM_EXPR_CASE, sm_type_of(SM_INT64), guard, 3);
        t_agg guarded[] = {{.fn = SM_AGG_SUM, .arg = safe}};
        r = t_run(t_aggregate(scan, NULL, 0, guarded, 1), T_BATCH, 1024);
        ck_assert_int_eq(r.status, SM_OK);
        t_result_reset(&r);
        t_compare(t_aggregate(scan, NULL, 0, guarded, 1));
    }
}
END_TEST

/* The first failing row counts, in it the first failing step, and NULL does not guard a later
 * argument of AND. */
START_TEST(first_error_wins)
{
    sm_node *scan = t_scan(2000);
    sm_expr *late = t_op(SM_OP_div_i64, t_const_i64(1),
                         t_op(SM_OP_sub_i64, t_column(scan, T_ROW), t_const_i64(900)));
    sm_expr *soon = t_op(SM_OP_add_i64, t_const_i64(INT64_MAX),
                         t_op(SM_OP_sub_i64, t_column(scan, T_ROW), t_const_i64(899)));
    late->position = 5;
    soon->position = 9;
    sm_expr *both[2] = {late, soon};
    t_result r = t_run(t_project(scan, both, 2), T_BATCH, 1024);
    ck_assert_int_eq(r.status, SM_ERR_DIVISION_BY_ZERO);
    ck_assert_int_eq(r.err.position, 5);
    t_result_reset(&r);
    t_compare(t_project(scan, both, 2));
    sm_expr *args[2] = {t_column(scan, T_BOOL), t_op(SM_OP_eq_i64, late, t_const_i64(7))};
    t_compare(t_filter(scan, t_node(SM_EXPR_AND, sm_type_of(SM_BOOL), args, 2)));
    t_compare(t_filter(scan, t_node(SM_EXPR_OR, sm_type_of(SM_BOOL), args, 2)));
}
END_TEST

/* A later argument of AND is evaluated where the earlier is NULL or TRUE, of OR where it is NULL or
 * FALSE, and nowhere else; also when it is an operation that sees only the rows it is asked for. */
START_TEST(lazy_arguments)
{
    sm_node *scan = t_scan(1100);
    sm_type type = sm_type_of(SM_BOOL);
    int seen[3] = {0};
    for (int64_t r = 500; seen[0] < 2 || seen[1] < 2 || seen[2] < 2; r++) {
        sm_value v = t_value(scan->scan.version, T_BOOL, (uint64_t)r);
        if (seen[v.is_null ? 2 : v.b]++ > 1) continue;
        sm_expr *d = t_op(SM_OP_sub_i64, t_column(scan, T_ROW), t_const_i64(r));
        sm_expr *fails = t_op(SM_OP_eq_i64, t_op(SM_OP_div_i64, t_const_i64(9), d), t_const_i64(0));
        sm_expr *args[2] = {t_column(scan, T_BOOL), fails}, *out;
        out = t_node(SM_EXPR_AND, type, args, 2);
        t_result run = t_run(t_project(scan, &out, 1), T_BATCH, 1024);
        bool want_error = v.is_null || v.b;
        ck_assert_int_eq(run.status, want_error ? SM_ERR_DIVISION_BY_ZERO : SM_OK);
        t_result_reset(&run);
        t_compare(t_project(scan, &out, 1));
        out = t_node(SM_EXPR_OR, type, args, 2);
        run = t_run(t_project(scan, &out, 1), T_BATCH, 1024);
        want_error = v.is_null || !v.b;
        ck_assert_int_eq(run.status, want_error ? SM_ERR_DIVISION_BY_ZERO : SM_OK);
        t_result_reset(&run);
        t_compare(t_project(scan, &out, 1));
    }
    sm_expr *text = t_op(SM_OP_lower_txt, t_column(scan, T_TEXT), NULL);
    sm_expr *args[3] = {t_column(scan, T_BOOL), t_op(SM_OP_eq_txt, text, t_const_text("t7")),
                        t_op(SM_OP_gt_txt, text, t_const_text("t3"))};
    sm_expr *choose[5] = {args[1], text, args[2], t_column(scan, T_DICT), t_column(scan, T_TEXT)};
    sm_expr *first[2] = {t_op(SM_OP_lower_txt, t_column(scan, T_DICT), NULL), text};
    sm_expr *out[4] = {t_node(SM_EXPR_AND, type, args, 3), t_node(SM_EXPR_OR, type, args, 3),
                       t_node(SM_EXPR_CASE, sm_type_of(SM_TEXT), choose, 5),
                       t_node(SM_EXPR_COALESCE, sm_type_of(SM_TEXT), first, 2)};
    t_compare(t_project(scan, out, 4));
    t_compare(t_project(t_filter(scan, few(scan)), out, 4));
}
END_TEST

START_TEST(limit_stops_before_a_later_error)
{
    sm_node *scan = t_scan(3000);
    sm_expr *late = t_op(SM_OP_div_i64, t_const_i64(1),
                         t_op(SM_OP_sub_i64, t_column(scan, T_ROW), t_const_i64(50)));
    for (int64_t limit = 0; limit < 120; limit += 17) {
        sm_node *n = t_limit(t_project(scan, &late, 1), limit);
        t_result r = t_run(n, T_BATCH, 1024);
        ck_assert_int_eq(r.status, limit <= 50 ? SM_OK : SM_ERR_DIVISION_BY_ZERO);
        if (r.out) ck_assert_uint_eq(r.out->n_rows, (uint64_t)limit);
        t_result_reset(&r);
        t_compare(n);
        t_compare(t_limit(t_filter(scan, few(scan)), limit));
        t_compare(t_limit(scan, limit));
    }
}
END_TEST

START_TEST(steps_are_counted)
{
    sm_node *scan = t_scan(3000), *f = t_filter(scan, few(scan));
    t_agg aggs[] = {{.fn = SM_AGG_COUNT_ALL}};
    for (int tier = T_ROW_TIER; tier <= T_BATCH; tier++) {
        t_result r = t_run(t_aggregate(f, NULL, 0, aggs, 1), tier, 100);
        ck_assert_uint_eq(r.stats[1].rows_out, (uint64_t)t_value(r.out, 0, 0).i64);
        ck_assert_uint_gt(r.stats[1].ns, 0);
        t_result_reset(&r);
    }
}
END_TEST

START_TEST(memory_that_runs_out_is_an_error)
{
    sm_node *scan = t_scan(1500);
    sm_expr *key = t_column(scan, T_TEXT);
    t_agg aggs[] = {{.fn = SM_AGG_MAX, .arg = t_op(SM_OP_upper_txt, t_column(scan, T_TEXT), NULL)}};
    sm_node *plan = t_aggregate(scan, &key, 1, aggs, 1);
    for (int tier = T_ROW_TIER; tier <= T_BATCH; tier++) {
        for (int64_t calls = 0;; calls++) {
            t_result r = t_run_failing(plan, tier, 100, calls);
            sm_status status = r.status;
            if (status != SM_OK) ck_assert_int_eq(status, SM_ERR_OUT_OF_MEMORY);
            t_result_reset(&r);
            if (status == SM_OK) break;
        }
    }
}
END_TEST

/* ---- any expressions ------------------------------------------------------------------------- */

START_TEST(random_aggregates)
{
    t_seed((unsigned)_i + 1000);
    for (int round = 0; round < 12; round++) {
        sm_node *scan = t_scan(1100), *n = scan;
        if (round % 3) n = t_filter(n, t_random(scan, SM_CODE_B, 2));
        static const sm_code args[] = {SM_CODE_I32, SM_CODE_I64, SM_CODE_F64, SM_CODE_D64,
                                       SM_CODE_D128};
        t_agg aggs[SM_COUNT(args)];
        for (size_t i = 0; i < SM_COUNT(args); i++)
            aggs[i] = (t_agg){.fn = t_pick(2) ? SM_AGG_SUM : SM_AGG_MAX,
                              .arg = t_random(scan, args[i], 3)};
        sm_expr *key = t_random(scan, (sm_code)(1 + t_pick(SM_CODE_TXT)), 2);
        t_compare(t_aggregate(n, &key, t_pick(3) != 0, aggs, SM_COUNT(args)));
    }
}
END_TEST

START_TEST(random_expressions)
{
    enum { EXPRS = 3 };
    t_seed((unsigned)_i + 1);
    for (int round = 0; round < 25; round++) {
        sm_node *scan = t_scan(1100), *n = scan;
        if (round % 2) n = t_filter(n, t_random(scan, SM_CODE_B, 3));
        sm_expr *out[EXPRS];
        for (int i = 0; i < EXPRS; i++)
            out[i] = t_random(scan, (sm_code)(1 + t_pick(SM_CODE_TXT)), 4);
        t_compare(t_project(n, out, EXPRS));
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("interp");
    TCase *t = tcase_create("tiers");
    tcase_add_checked_fixture(t, t_setup, t_teardown);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, sum_of_known_values);
    tcase_add_test(t, float_sum_has_the_promised_bits);
    tcase_add_test(t, all_accumulators_all_rows);
    tcase_add_test(t, all_accumulators_few_rows);
    tcase_add_test(t, all_accumulators_most_rows);
    tcase_add_test(t, all_accumulators_no_rows);
    tcase_add_test(t, more_than_one_chunk);
    tcase_add_test(t, two_groups);
    tcase_add_test(t, only_keys);
    tcase_add_test(t, rows_of_every_type);
    tcase_add_test(t, chains_of_steps);
    tcase_add_test(t, columns_against_constants);
    tcase_add_test(t, long_in_list);
    tcase_add_test(t, error_at_any_row);
    tcase_add_test(t, first_error_wins);
    tcase_add_test(t, lazy_arguments);
    tcase_add_test(t, limit_stops_before_a_later_error);
    tcase_add_test(t, steps_are_counted);
    tcase_add_test(t, memory_that_runs_out_is_an_error);
    tcase_add_loop_test(t, random_expressions, 0, 10);
    tcase_add_loop_test(t, random_aggregates, 0, 6);
    suite_add_tcase(s, t);
    return s;
}

static int run_level(const char *level)
{
    setenv("SMELT_ISA", level, 1);
    SRunner *runner = srunner_create(make_suite());
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

int main(void)
{
    static const char *const levels[] = {"v2", "v3", "v4"};
    int failed = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; i < SM_COUNT(levels); i++) {
        pid_t child = fork();
        if (child == 0) exit(run_level(levels[i]));
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            printf("level %s failed\n", levels[i]);
            failed = 1;
        }
    }
    return failed;
}
