/* Sinks: groups in order of their first row in every grouping mode, merging of workers, errors of
 * results; and rows sorted, cut and kept stable, against a plain sort. */
#include "plan_run.h"

/* The same groups three ways: k is text of few values, the same as an integer, and as a double
 * (hashed). */
static sm_version *keyed(int n_rows, int n_keys)
{
    const sm_type types[] = {T(TEXT), T(INT32), T(FLOAT64), T(INT64)};
    sm_value *rows = SM_NEW_N(&arena, sm_value, n_rows * 4 + 1);
    for (int r = 0; r < n_rows; r++) {
        int k = r * 7919 % (n_keys + 1);
        bool null = k == n_keys;
        rows[r * 4] = null ? NIL : vtext(sm_arena_printf(&arena, "a key of some length %02d", k));
        rows[r * 4 + 1] = null ? NIL : V32(k - 3);
        rows[r * 4 + 2] = null ? NIL : VF(k - 3);
        rows[r * 4 + 3] = r % 11 == 0 ? NIL : V64(r);
    }
    return table(types, 4, rows, (uint64_t)n_rows);
}

static sm_type key_type(uint32_t i)
{
    return i == 0 ? T(TEXT) : i == 1 ? T(INT32) : T(FLOAT64);
}

static const char *counted(sm_version *v, uint32_t key, bool proved, unsigned workers,
                           sm_group_mode *mode)
{
    sm_expr *keys[] = {col(key, key_type(key))}, *x = col(3, T(INT64));
    sm_agg_call aggs[] = {call(SM_AGG_SUM, x), call(SM_AGG_MIN, x), call(SM_AGG_COUNT, x),
                          call(SM_AGG_COUNT_ALL, NULL)};
    sm_node *n = aggregate(scan(v), keys, 1, aggs, 4);
    sm_expr *without_key[] = {col(1, sm_decimal(38, 0)), col(2, T(INT64)), col(3, T(INT64)),
                              col(4, T(INT64))};
    sm_pipelines l;
    OK(sm_pipelines_build(&arena, n, &l, &err));
    OK(sm_pipeline_prepare(l.list, &arena, NULL, NULL, 0, NULL, &err));
    *mode = l.list->agg.mode;
    sm_version *out = NULL;
    OK(run_plan(project(n, without_key, 4), proved, workers, &out));
    return rows_text(out);
}

START_TEST(modes_agree)
{
    static const int keys[] = {5, 60};
    for (int i = 0; i < 2; i++) {
        sm_version *v = keyed(400, keys[i]);
        sm_group_mode mode;
        const char *expected = counted(v, 2, false, 1, &mode);
        ck_assert_int_eq(mode, SM_GROUPS_HASH);
        for (uint32_t key = 0; key < 3; key++) {
            for (int way = 0; way < 4; way++) {
                ck_assert_str_eq(counted(v, key, way & 1, way & 2 ? 3 : 1, &mode), expected);
                ck_assert_int_eq(mode, key == 2       ? SM_GROUPS_HASH
                                       : keys[i] == 5 ? SM_GROUPS_TINY
                                                      : SM_GROUPS_DIRECT);
            }
        }
    }
}
END_TEST

START_TEST(keys_come_back_from_codes)
{
    sm_expr *keys[] = {col(1, T(INT32)), col(0, T(TEXT))};
    check_plan(
        aggregate(scan(keyed(9, 3)), keys, 2, (sm_agg_call[]){call(SM_AGG_COUNT_ALL, NULL)}, 1),
        "-3|a key of some length 00|3\n~|~|2\n-1|a key of some length 02|2\n-2|a key of some "
        "length 01|2");
}
END_TEST

START_TEST(nothing_gives_one_group_or_none)
{
    sm_expr *x = col(3, T(INT64)), *key[] = {col(1, T(INT32))};
    sm_agg_call aggs[] = {call(SM_AGG_COUNT_ALL, NULL), call(SM_AGG_SUM, x), call(SM_AGG_AVG, x),
                          call(SM_AGG_MIN, x)};
    sm_version *empty = keyed(0, 3);
    check_plan(aggregate(scan(empty), NULL, 0, aggs, 4), "0|~|~|~");
    check_plan(aggregate(scan(empty), key, 1, aggs, 4), "");
    sm_node *none = filter(scan(keyed(20, 3)), op2(SM_OP_gt_i64, T(BOOL), x, i64c(1000)));
    check_plan(aggregate(none, NULL, 0, aggs, 4), "0|~|~|~");
    check_plan(aggregate(none, key, 1, aggs, 4), "");
}
END_TEST

START_TEST(distinct_keeps_first_rows)
{
    const sm_type types[] = {T(FLOAT64), T(TEXT)};
    sm_value rows[][2] = {{VF(0.0), vtext("x")},
                          {VF(-0.0), vtext("x")},
                          {NIL, vtext("x")},
                          {NIL, vtext("x")},
                          {NIL, NIL},
                          {VF(1.5), vtext("x")},
                          {VF(0.0), vtext("x")}};
    sm_node *n = sm_node_new(&arena, SM_NODE_DISTINCT, scan(table(types, 2, &rows[0][0], 7)));
    check_plan(n, "0|x\n~|x\n~|~\n1.5|x");
}
END_TEST

START_TEST(distinct_aggregates)
{
    const sm_type types[] = {T(INT64)};
    sm_value rows[] = {V64(3), V64(3), NIL, V64(4), V64(3)};
    sm_agg_call sum = call(SM_AGG_SUM, col(0, T(INT64))),
                count = call(SM_AGG_COUNT, col(0, T(INT64)));
    sum.distinct = count.distinct = true;
    check_plan(aggregate(scan(table(types, 1, rows, 5)), NULL, 0, (sm_agg_call[]){sum, count}, 2),
               "7|2");
}
END_TEST

START_TEST(a_sum_out_of_range_is_an_error_at_its_call)
{
    const sm_type types[] = {sm_decimal(38, 0)};
    sm_value most = {.i128 = sm_pow10(38) - 1};
    sm_value rows[] = {most, most};
    sm_agg_call sum = call(SM_AGG_SUM, col(0, types[0]));
    sum.position = 8;
    sm_version *out;
    sm_node *n = aggregate(scan(table(types, 1, rows, 2)), NULL, 0, &sum, 1);
    ck_assert_int_eq(run_plan(n, true, 1, &out), SM_ERR_DECIMAL_RANGE);
    ck_assert_int_eq(err.position, 8);
}
END_TEST

START_TEST(float_sums_have_the_same_bits_by_partials)
{
    const sm_type types[] = {T(FLOAT64)};
    sm_value rows[100];
    double lane[32];
    for (int i = 0; i < 32; i++) lane[i] = -0.0;
    for (int i = 0; i < 100; i++) {
        rows[i] = VF(1.0 / (i + 1));
        lane[i % 32] += 1.0 / (i + 1);
    }
    sm_agg_call sum = call(SM_AGG_SUM, col(0, T(FLOAT64)));
    sm_version *out;
    OK(run_plan(aggregate(scan(table(types, 1, rows, 100)), NULL, 0, &sum, 1), true, 1, &out));
    sm_value v;
    sm_chunk_col_get(&out->chunks[0]->cols[0], T(FLOAT64), 0, &v);
    double expected = sm_lanes_sum(lane, 32);
    ck_assert(memcmp(&v.f64, &expected, 8) == 0);
}
END_TEST

/* ---- rows
 * ------------------------------------------------------------------------------------------------
 */

enum { SORTED_ROWS = 300 };

static sm_value sort_rows_of[SORTED_ROWS][3];
static const sm_order *sort_orders;

static int compare_i32(const sm_value *a, const sm_value *b, const sm_order *o)
{
    if (a->is_null && b->is_null) return 0;
    if (a->is_null || b->is_null) return a->is_null == o->nulls_first ? -1 : 1;
    int c = (a->i32 > b->i32) - (a->i32 < b->i32);
    return o->desc ? -c : c;
}

static int by_orders(const void *a, const void *b)
{
    const sm_value *x = *(sm_value *const *)a, *y = *(sm_value *const *)b;
    for (int i = 0; i < 2; i++) {
        int c = compare_i32(&x[i], &y[i], &sort_orders[i]);
        if (c) return c;
    }
    return x < y ? -1 : 1;
}

START_TEST(sorting_is_stable_and_cut)
{
    const sm_type types[] = {T(INT32), T(INT32), T(INT32)};
    for (int r = 0; r < SORTED_ROWS; r++) {
        sort_rows_of[r][0] = r % 7 == 0 ? NIL : V32(r * 31 % 5);
        sort_rows_of[r][1] = r % 13 == 0 ? NIL : V32(r * 17 % 3 - 1);
        sort_rows_of[r][2] = V32(r);
    }
    sm_version *v = table(types, 3, &sort_rows_of[0][0], SORTED_ROWS);
    for (int way = 0; way < 16; way++) {
        sm_order orders[] = {{col(0, T(INT32)), way & 1, way & 2},
                             {col(1, T(INT32)), way & 4, way & 8}};
        sm_value *sorted[SORTED_ROWS];
        sort_orders = orders;
        for (int r = 0; r < SORTED_ROWS; r++) sorted[r] = sort_rows_of[r];
        qsort(sorted, SORTED_ROWS, sizeof *sorted, by_orders);
        static const int cuts[][2] = {{-1, 0}, {10, 0}, {10, 5}, {250, 40}, {0, 3}, {5, 400}};
        for (size_t k = 0; k < SM_COUNT(cuts); k++) {
            sm_node *n = limit(sort(scan(v), orders, 2), cuts[k][0] < 0 ? NULL : i64c(cuts[k][0]),
                               i64c(cuts[k][1]));
            sm_version *out;
            OK(run_plan(n, true, 1, &out));
            int left = SORTED_ROWS - cuts[k][1], most = cuts[k][0] < 0 ? SORTED_ROWS : cuts[k][0];
            if (left < 0) left = 0;
            ck_assert_uint_eq(out->n_rows, (uint64_t)(left < most ? left : most));
            for (uint64_t r = 0; r < out->n_rows; r++) {
                sm_value x;
                sm_chunk_col_get(&out->chunks[0]->cols[2], T(INT32), (uint32_t)r, &x);
                ck_assert_int_eq(x.i32, sorted[r + (uint64_t)cuts[k][1]][2].i32);
            }
        }
        sm_arena_rewind(&arena);
        v = table(types, 3, &sort_rows_of[0][0], SORTED_ROWS);
    }
}
END_TEST

START_TEST(sorting_text_floats_and_decimals)
{
    const sm_type types[] = {T(TEXT), T(FLOAT64), sm_decimal(30, 1)};
    sm_value rows[][3] = {{vtext("a longer text b"), VF(1), {.i128 = -5}},
                          {vtext("a longer text a"), VF(0.0 / 0.0), {.i128 = 7}},
                          {vtext(""), VF(-1), {.i128 = (sm_i128)1 << 80}},
                          {vtext("b"), VF(1.0 / 0.0), {.i128 = 0}}};
    sm_version *v = table(types, 3, &rows[0][0], 4);
    sm_order text = {col(0, T(TEXT)), false, false}, real = {col(1, T(FLOAT64)), true, true};
    sm_order dec = {col(2, sm_decimal(30, 1)), false, false};
    check_plan(sort(scan(v), &text, 1), "|-1|120892581961462917470617.6\na longer text a|NaN|0.7\n"
                                        "a longer text b|1|-0.5\nb|Infinity|0.0");
    sm_expr *first[] = {col(0, T(TEXT))};
    check_plan(project(sort(scan(v), &real, 1), first, 1), "a longer text a\nb\na longer text b\n");
    check_plan(project(sort(scan(v), &dec, 1), first, 1), "a longer text b\nb\na longer text a\n");
}
END_TEST

START_TEST(limit_without_order_takes_the_first)
{
    sm_node *s = sm_node_new(&arena, SM_NODE_SERIES, NULL);
    name_cols(s, 1);
    s->cols[0].type = T(INT32);
    s->series.start = i32c(1);
    s->series.stop = i32c(70000);
    check_plan(limit(s, i64c(3), i64c(65534)), "65535\n65536\n65537");
    check_plan(limit(s, NULL, i64c(69999)), "70000");
    check_plan(limit(s, i64c(0), NULL), "");
}
END_TEST

START_TEST(trimmed_parts_keep_what_may_be_needed)
{
    sm_node *n = sm_node_new(&arena, SM_NODE_SERIES, NULL);
    name_cols(n, 1);
    n->cols[0].type = T(INT32);
    n->series.start = i32c(1);
    n->series.stop = i32c(100);
    sm_order down = {col(0, T(INT32)), true, false};
    sm_pipelines l;
    OK(sm_pipelines_build(&arena, limit(sort(n, &down, 1), i64c(3), i64c(2)), &l, &err));
    OK(sm_pipeline_prepare(l.list, &arena, NULL, NULL, 0, NULL, &err));
    sm_value rows[100];
    for (int i = 0; i < 100; i++) rows[i] = V32(i + 1);
    sm_version *part = sm_version_ref(table((sm_type[]){T(INT32)}, 1, rows, 100));
    OK(sm_rows_trim(l.list, &part, &mem, &err));
    ck_assert_str_eq(rows_text(part), "100\n99\n98\n97\n96");
    l.list->rows.limit_rows = 90;
    OK(sm_rows_trim(l.list, &part, &mem, &err));
    ck_assert_uint_eq(part->n_rows, 5);
    sm_version_unref(part);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sink");
    TCase *c = tcase_create("sink");
    suite_add_tcase(s, c);
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, modes_agree);
    tcase_add_test(c, keys_come_back_from_codes);
    tcase_add_test(c, nothing_gives_one_group_or_none);
    tcase_add_test(c, distinct_keeps_first_rows);
    tcase_add_test(c, distinct_aggregates);
    tcase_add_test(c, a_sum_out_of_range_is_an_error_at_its_call);
    tcase_add_test(c, float_sums_have_the_same_bits_by_partials);
    tcase_add_test(c, sorting_is_stable_and_cut);
    tcase_add_test(c, sorting_text_floats_and_decimals);
    tcase_add_test(c, limit_without_order_takes_the_first);
    tcase_add_test(c, trimmed_parts_keep_what_may_be_needed);
    return run_suite(s);
}
