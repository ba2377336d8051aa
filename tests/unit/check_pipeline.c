/* Pipelines: where plans are cut, what tidying leaves, which accumulators are shared, how groups
 * are found, and what proofs hand to the sinks. */
#include "plan_run.h"

static sm_pipelines build_plan(const sm_node *plan)
{
    sm_pipelines list;
    OK(sm_pipelines_build(&arena, plan, &list, &err));
    return list;
}

static sm_pipelines prepared(const sm_node *plan)
{
    sm_pipelines list = build_plan(plan);
    OK(sm_pipeline_prepare(&list.list[0], &arena, NULL, NULL, 0, NULL, &err));
    return list;
}

/* k text of 3 values, i integer 0..99, b bigint with NULLs, w numeric(30,2), f double. */
static sm_version *small(void)
{
    const sm_type types[] = {T(TEXT), T(INT32), T(INT64), sm_decimal(30, 2), T(FLOAT64)};
    static const char *const words[] = {"red", "green", "blue"};
    sm_value rows[1000][5];
    for (int r = 0; r < 1000; r++) {
        rows[r][0] = vtext(words[r * 7 % 3]);
        rows[r][1] = V32(r * 37 % 100);
        rows[r][2] = r % 10 == 0 ? NIL : V64((int64_t)r * 1000000007);
        rows[r][3] = (sm_value){.i128 = r};
        rows[r][4] = VF(r / 4.0);
    }
    return table(types, 5, &rows[0][0], 1000);
}

START_TEST(a_scan_is_one_pipeline)
{
    sm_pipelines l =
        build_plan(filter(scan(small()), op2(SM_OP_lt_i32, T(BOOL), col(1, T(INT32)), i32c(5))));
    ck_assert_uint_eq(l.n, 1);
    const sm_pipeline *p = l.list;
    ck_assert(p->sink == SM_SINK_ROWS && p->input == SM_INPUT_VERSION && !p->sink_node);
    ck_assert_uint_eq(p->n_out, 5);
    ck_assert_msg(p->steps[p->n_steps - 1].kind == SM_STEP_PROJECT,
                  "a wide decimal enters the sink through a PROJECT");
}
END_TEST

START_TEST(projections_merge_and_unread_columns_go)
{
    sm_expr *first[] = {op2(SM_OP_add_i32, T(INT32), col(1, T(INT32)), i32c(1)), col(2, T(INT64)),
                        col(4, T(FLOAT64))};
    sm_expr *second[] = {op2(SM_OP_mul_i32, T(INT32), col(0, T(INT32)), i32c(2))};
    sm_pipelines l = build_plan(project(project(scan(small()), first, 3), second, 1));
    const sm_pipeline *p = l.list;
    ck_assert_uint_eq(p->n_steps, 1);
    ck_assert(!p->used[0] && p->used[1] && !p->used[2] && !p->used[3] && !p->used[4]);
    sm_expr *twice[] = {op2(SM_OP_mul_i32, T(INT32), col(0, T(INT32)), col(0, T(INT32)))};
    l = build_plan(project(project(scan(small()), first, 3), twice, 1));
    ck_assert_msg(l.list->n_steps == 2, "merging would compute the sum twice");
    ck_assert_uint_eq(l.list->steps[0].n_exprs, 1);
    check_plan(limit(project(project(scan(small()), first, 3), twice, 1), i64c(3), NULL),
               "1\n1444\n5625");
}
END_TEST

START_TEST(filters_pass_renaming_projections)
{
    sm_expr *names[] = {col(4, T(FLOAT64)), col(1, T(INT32))};
    sm_expr *last[] = {col(0, T(FLOAT64))};
    sm_node *n = project(scan(small()), names, 2);
    n = project(filter(n, op2(SM_OP_eq_i32, T(BOOL), col(1, T(INT32)), i32c(74))), last, 1);
    sm_pipelines l = build_plan(n);
    ck_assert_uint_eq(l.list->n_steps, 2);
    ck_assert(l.list->steps[0].kind == SM_STEP_FILTER && l.list->steps[1].kind == SM_STEP_PROJECT);
    check_plan(limit(n, i64c(2), NULL), "0.5\n25.5");
}
END_TEST

START_TEST(a_row_filtered_out_raises_nothing)
{
    sm_expr *quotient = op2(SM_OP_div_i32, T(INT32), i32c(100), col(1, T(INT32)));
    sm_expr *exprs[] = {quotient, col(1, T(INT32))}, *first[] = {col(0, T(INT32))};
    sm_node *sub = project(scan(small()), exprs, 2);
    sm_node *n = filter(sub, op2(SM_OP_ne_i32, T(BOOL), col(1, T(INT32)), i32c(0)));
    check_plan(limit(project(n, first, 1), i64c(2), NULL), "2\n1");
    sm_expr *more[] = {op2(SM_OP_add_i32, T(INT32), col(1, T(INT32)), i32c(1)), quotient};
    sm_expr *second[] = {col(1, T(INT32)), col(0, T(INT32))};
    n = filter(project(scan(small()), more, 2),
               op2(SM_OP_gt_i32, T(BOOL), col(0, T(INT32)), i32c(1)));
    sm_pipelines l = build_plan(project(n, second, 2));
    const sm_pipeline *p = l.list;
    ck_assert_uint_eq(p->n_steps, 3);
    ck_assert(p->steps[0].kind == SM_STEP_PROJECT && p->steps[1].kind == SM_STEP_FILTER);
    check_plan(limit(project(n, second, 2), i64c(2), NULL), "2|38\n1|75");
}
END_TEST

START_TEST(common_parts_are_computed_once)
{
    sm_expr *sum = op2(SM_OP_add_i64, T(INT64), col(2, T(INT64)), i64c(1));
    sm_expr *square = op2(SM_OP_mul_f64, T(FLOAT64), op1(SM_OP_i64_to_f64, T(FLOAT64), sum),
                          op1(SM_OP_i64_to_f64, T(FLOAT64), sum));
    sm_expr *exprs[] = {square, sum, op2(SM_OP_sub_i64, T(INT64), sum, i64c(1))};
    sm_pipelines l = build_plan(project(scan(small()), exprs, 3));
    const sm_pipeline *p = l.list;
    ck_assert_uint_ge(p->n_steps, 2);
    ck_assert_int_eq(p->steps[p->n_steps - 1].exprs[1]->kind, SM_EXPR_COLUMN);
    check_plan(limit(project(scan(small()), exprs, 3), i64c(1), i64c(1)),
               "1.000000016e+18|1000000008|1000000007");
}
END_TEST

START_TEST(a_guarded_part_is_not_moved_out_of_its_guard)
{
    sm_expr *quotient = op2(SM_OP_div_i32, T(INT32), i32c(100), col(1, T(INT32)));
    sm_expr *nonzero = op2(SM_OP_ne_i32, T(BOOL), col(1, T(INT32)), i32c(0));
    sm_expr *exprs[] = {case3(T(INT32), nonzero, quotient, i32c(-1)),
                        case3(T(INT32), nonzero, quotient, i32c(-2))};
    check_plan(limit(project(scan(small()), exprs, 2), i64c(2), NULL), "-1|-2\n2|2");
}
END_TEST

START_TEST(sort_project_limit_is_one_sink)
{
    sm_expr *exprs[] = {col(4, T(FLOAT64)), col(1, T(INT32))}, *kept[] = {col(0, T(FLOAT64))};
    sm_order by = {col(1, T(INT32)), true, false};
    sm_node *n =
        limit(project(sort(project(scan(small()), exprs, 2), &by, 1), kept, 1), i64c(2), i64c(1));
    sm_pipelines l = build_plan(n);
    ck_assert_uint_eq(l.n, 1);
    ck_assert_uint_eq(l.list->rows.n_keep, 1);
    ck_assert_uint_eq(l.list->n_in, 2);
    ck_assert(l.list->rows.limit && l.list->rows.offset && l.list->rows.n_orders == 1);
    check_plan(n, "31.75\n56.75");
}
END_TEST

START_TEST(limit_below_a_filter_stays_there)
{
    sm_node *n = filter(limit(scan(small()), i64c(10), NULL),
                        op2(SM_OP_lt_i32, T(BOOL), col(1, T(INT32)), i32c(30)));
    sm_pipelines l = build_plan(n);
    ck_assert_uint_eq(l.n, 2);
    check_plan(aggregate(n, NULL, 0, (sm_agg_call[]){call(SM_AGG_COUNT_ALL, NULL)}, 1), "3");
}
END_TEST

START_TEST(accumulators_are_shared)
{
    sm_expr *x = col(2, T(INT64)), *sure = sm_expr_column(&arena, 1, T(INT32), false);
    sm_agg_call distinct = call(SM_AGG_SUM, x);
    distinct.distinct = true;
    sm_agg_call max = call(SM_AGG_MAX, x);
    max.distinct = true;
    sm_agg_call aggs[] = {call(SM_AGG_SUM, x),
                          call(SM_AGG_AVG, x),
                          call(SM_AGG_COUNT_ALL, NULL),
                          call(SM_AGG_COUNT, sure),
                          call(SM_AGG_COUNT, x),
                          distinct,
                          max,
                          call(SM_AGG_MAX, x),
                          call(SM_AGG_STDDEV_POP, x),
                          call(SM_AGG_VAR_SAMP, x)};
    sm_pipelines l = build_plan(aggregate(scan(small()), NULL, 0, aggs, 10));
    ck_assert_uint_eq(l.n, 1);
    const sm_agg_sink *s = &l.list->agg;
    ck_assert_uint_eq(s->outs[0].accum, s->outs[1].accum);
    ck_assert_uint_eq(s->outs[2].accum, s->outs[3].accum);
    ck_assert_uint_ne(s->outs[4].accum, s->outs[3].accum);
    ck_assert_uint_ne(s->outs[5].accum, s->outs[0].accum);
    ck_assert_uint_eq(s->outs[6].accum, s->outs[7].accum);
    ck_assert_uint_eq(s->outs[8].accum, s->outs[9].accum);
    ck_assert_uint_eq(s->layout.n_accums, 6);
    ck_assert_uint_eq(l.list->n_in, 2); /* x, and x as double precision */
}
END_TEST

START_TEST(filter_guards_its_argument)
{
    sm_expr *zero = op2(SM_OP_ne_i32, T(BOOL), col(1, T(INT32)), i32c(0));
    sm_agg_call sum = call(SM_AGG_SUM, op2(SM_OP_div_i32, T(INT32), i32c(100), col(1, T(INT32))));
    sum.filter = zero;
    sm_agg_call n = call(SM_AGG_COUNT_ALL, NULL);
    n.filter = zero;
    check_plan(aggregate(scan(small()), NULL, 0, (sm_agg_call[]){sum, n}, 2), "4810|990");
}
END_TEST

START_TEST(count_of_all_reads_no_column)
{
    sm_pipelines l = build_plan(
        aggregate(scan(small()), NULL, 0, (sm_agg_call[]){call(SM_AGG_COUNT_ALL, NULL)}, 1));
    const sm_pipeline *p = l.list;
    ck_assert_uint_eq(p->n_in, 0);
    ck_assert_uint_eq(p->n_steps, 1);
    ck_assert_uint_eq(p->steps[0].n_exprs, 0);
    for (int i = 0; i < 5; i++) ck_assert(!p->used[i]);
}
END_TEST

static sm_group_mode mode_of(sm_expr *const *keys, uint32_t n, uint32_t *n_codes)
{
    sm_pipelines l = prepared(
        aggregate(scan(small()), keys, n, (sm_agg_call[]){call(SM_AGG_COUNT_ALL, NULL)}, 1));
    *n_codes = l.list->agg.n_codes;
    return l.list->agg.mode;
}

START_TEST(groups_by_plan_and_data)
{
    uint32_t n;
    sm_expr *text[] = {col(0, T(TEXT))}, *ints[] = {col(1, T(INT32))}, *big[] = {col(2, T(INT64))};
    sm_expr *dbl[] = {col(4, T(FLOAT64))}, *both[] = {col(0, T(TEXT)), col(1, T(INT32))};
    sm_expr *computed[] = {op2(SM_OP_lt_i64, T(BOOL), col(2, T(INT64)), i64c(400000000000))};
    sm_expr *mod[] = {op2(SM_OP_mod_i64, T(INT64), col(2, T(INT64)), i64c(7))};
    sm_expr *lower[] = {op1(SM_OP_lower_txt, T(TEXT), col(0, T(TEXT)))};
    sm_expr *wide[] = {col(3, sm_decimal(30, 2))};
    ck_assert_int_eq(mode_of(NULL, 0, &n), SM_GROUPS_NONE);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(mode_of(text, 1, &n), SM_GROUPS_TINY);
    ck_assert_uint_eq(n, 3);
    ck_assert_int_eq(mode_of(ints, 1, &n), SM_GROUPS_DIRECT);
    ck_assert_uint_eq(n, 100);
    ck_assert_int_eq(mode_of(both, 2, &n), SM_GROUPS_DIRECT);
    ck_assert_uint_eq(n, 300);
    ck_assert_int_eq(mode_of(computed, 1, &n), SM_GROUPS_TINY);
    ck_assert_uint_eq(n, 3); /* false, true, NULL */
    ck_assert_int_eq(mode_of(mod, 1, &n), SM_GROUPS_TINY);
    ck_assert_uint_eq(n, 8);
    ck_assert_int_eq(mode_of(big, 1, &n), SM_GROUPS_HASH);
    ck_assert_int_eq(mode_of(dbl, 1, &n), SM_GROUPS_HASH);
    ck_assert_int_eq(mode_of(lower, 1, &n), SM_GROUPS_HASH);
    ck_assert_int_eq(mode_of(wide, 1, &n), SM_GROUPS_HASH);
}
END_TEST

START_TEST(float_sums_make_order_matter)
{
    sm_expr *key[] = {col(1, T(INT32))};
    sm_agg_call sum = call(SM_AGG_SUM, col(4, T(FLOAT64)));
    sm_pipelines l = prepared(aggregate(scan(small()), key, 1, &sum, 1));
    ck_assert(l.list->agg.order_sensitive);
    ck_assert_uint_eq(l.list->segment_chunks, 1);
    sum.distinct = true;
    l = prepared(aggregate(scan(small()), key, 1, &sum, 1));
    ck_assert(!l.list->agg.order_sensitive);
}
END_TEST

START_TEST(sinks_get_the_types_own_form)
{
    sm_expr *w = col(3, sm_decimal(30, 2));
    sm_agg_call aggs[] = {call(SM_AGG_SUM, w),
                          call(SM_AGG_MAX, op2(SM_OP_add_d128, sm_decimal(31, 2), w, w))};
    sm_pipelines l = prepared(aggregate(scan(small()), &w, 1, aggs, 2));
    const sm_step *s = &l.list->steps[l.list->n_steps - 1];
    const sm_group_layout *lay = &l.list->agg.layout;
    ck_assert_int_eq(s->proved[0]->phys, SM_PHYS_I128);
    ck_assert_int_eq(s->proved[lay->accums[1].arg_col]->phys, SM_PHYS_I128);
    l = prepared(aggregate(scan(small()), NULL, 0, aggs, 2));
    s = &l.list->steps[l.list->n_steps - 1];
    ck_assert_msg(s->proved[l.list->agg.layout.accums[0].arg_col]->phys == SM_PHYS_I64,
                  "sums take narrow values");
    sm_expr *exprs[] = {w};
    l = prepared(project(scan(small()), exprs, 1));
    ck_assert_int_eq(l.list->steps[0].proved[0]->phys, SM_PHYS_I128);
    check_plan(aggregate(scan(small()), NULL, 0, aggs, 2), "4995.00|19.98");
}
END_TEST

START_TEST(parameters_and_limits)
{
    sm_expr *p1 = sm_expr_node(&arena, SM_EXPR_PARAM, T(INT32), NULL, 0);
    sm_expr *p2 = sm_expr_node(&arena, SM_EXPR_PARAM, T(INT64), NULL, 0);
    p1->column = 1;
    p2->column = 2;
    sm_node *n =
        limit(filter(scan(small()), op2(SM_OP_lt_i32, T(BOOL), col(1, T(INT32)), p1)), p2, NULL);
    sm_type types[] = {T(INT32), T(INT64)};
    sm_value values[] = {V32(5), V64(3)};
    sm_pipelines l = build_plan(n);
    OK(sm_pipeline_prepare(l.list, &arena, values, types, 2, NULL, &err));
    ck_assert_int_eq(l.list->steps[0].exprs[0]->args[1]->value.i32, 5);
    ck_assert_uint_eq(l.list->rows.limit_rows, 3);
    l = build_plan(n);
    values[1] = V64(-1);
    ck_assert_int_eq(sm_pipeline_prepare(l.list, &arena, values, types, 2, NULL, &err),
                     SM_ERR_NEGATIVE_LIMIT);
    sm_error_reset(&err);
    l = build_plan(n);
    values[1] = NIL;
    OK(sm_pipeline_prepare(l.list, &arena, values, types, 2, NULL, &err));
    ck_assert_uint_eq(l.list->rows.limit_rows, UINT64_MAX);
}
END_TEST

START_TEST(values_and_series)
{
    sm_node *n = sm_node_new(&arena, SM_NODE_VALUES, NULL);
    name_cols(n, 2);
    n->cols[0].type = T(INT32);
    n->cols[1].type = T(TEXT);
    sm_expr *r0[] = {i32c(1), textc("one")},
            *r1[] = {op2(SM_OP_add_i32, T(INT32), i32c(1), i32c(1)), nullc(T(TEXT))};
    sm_expr **rows[] = {r0, r1};
    n->values.n_rows = 2;
    n->values.rows = rows;
    check_plan(n, "1|one\n2|~");
    sm_expr *bad = op2(SM_OP_div_i32, T(INT32), i32c(1), i32c(0));
    bad->position = 9;
    r1[0] = bad;
    sm_pipelines l = build_plan(n);
    ck_assert_int_eq(sm_pipeline_prepare(l.list, &arena, NULL, NULL, 0, NULL, &err),
                     SM_ERR_DIVISION_BY_ZERO);
    ck_assert_int_eq(err.position, 9);
    sm_error_reset(&err);
    sm_node *none = sm_node_new(&arena, SM_NODE_VALUES, NULL); /* SELECT without FROM */
    name_cols(none, 0);
    none->values.n_rows = 1;
    none->values.rows = rows;
    sm_expr *one[] = {i32c(7)};
    check_plan(project(none, one, 1), "7");
    sm_node *s = sm_node_new(&arena, SM_NODE_SERIES, NULL);
    name_cols(s, 1);
    s->cols[0].type = T(INT64);
    s->series.start = i64c(1);
    s->series.stop = i64c(100000);
    check_plan(aggregate(s, NULL, 0, (sm_agg_call[]){call(SM_AGG_SUM, col(0, T(INT64)))}, 1),
               "5000050000");
    s->series.stop = nullc(T(INT64));
    check_plan(aggregate(s, NULL, 0, (sm_agg_call[]){call(SM_AGG_COUNT_ALL, NULL)}, 1), "0");
}
END_TEST

/* k integer with NULLs and duplicates, t text. */
static sm_node *keyed(const int32_t *keys, uint32_t n, const char *word)
{
    const sm_type types[] = {T(INT32), T(TEXT)};
    sm_value rows[16][2];
    for (uint32_t r = 0; r < n; r++) {
        rows[r][0] = keys[r] < 0 ? NIL : V32(keys[r]);
        rows[r][1] = vtext(sm_arena_printf(&arena, "%s%u", word, r));
    }
    return scan(table(types, 2, &rows[0][0], n));
}

START_TEST(plans_print_as_pipes)
{
    sm_expr *key[] = {col(0, T(TEXT))},
            *kept[] = {col(1, sm_decimal(38, 0)), col(1, sm_decimal(38, 0))};
    sm_agg_call sum = call(SM_AGG_SUM, col(2, T(INT64)));
    sm_node *n = filter(scan(small()), op2(SM_OP_lt_i32, T(BOOL), col(1, T(INT32)), i32c(5)));
    n = aggregate(n, key, 1, &sum, 1);
    sm_order by = {col(1, sm_decimal(38, 0)), true, false};
    n = limit(project(sort(n, &by, 1), kept, 2), i64c(10), NULL);
    n->cols[0].name = n->cols[1].name = "x";
    char *out = NULL;
    OK(sm_node_print(n, &arena, &out, &err));
    ck_assert_str_eq(out, "FROM t\n"
                          "|> WHERE (c1 < 5)\n"
                          "|> AGGREGATE sum(c2) AS x1 GROUP BY c0 AS x0\n"
                          "|> ORDER BY x1 DESC NULLS LAST\n"
                          "|> SELECT x1 AS x, x1 AS x_2\n"
                          "|> LIMIT 10\n"
                          "|> SELECT x, x_2 AS x\n");
}
END_TEST

START_TEST(joins_print_as_pipes)
{
    sm_node *l = keyed((int32_t[]){3, 1}, 2, "l"), *r = keyed((int32_t[]){1, 5}, 2, "r");
    sm_expr *k[] = {col(0, T(INT32))}, *later[] = {col(0, T(INT32)), col(3, T(TEXT))};
    sm_node *few = filter(r, op2(SM_OP_lt_i32, T(BOOL), col(0, T(INT32)), i32c(5)));
    sm_node *n = join(SM_JOIN_LEFT, l, few, k, k, 1,
                      op2(SM_OP_ne_txt, T(BOOL), col(1, T(TEXT)), col(3, T(TEXT))));
    n->join.null_safe[0] = true;
    sm_shared once = {.name = "t", .plan = project(n, later, 2)};
    sm_node *a = sm_node_new(&arena, SM_NODE_SHARED, NULL);
    a->shared = &once;
    a->n_cols = 2;
    a->cols = once.plan->cols;
    n = join(SM_JOIN_MARK, join(SM_JOIN_INNER, a, a, NULL, NULL, 0, NULL), r, k, k, 1, NULL);
    char *out = NULL;
    OK(sm_node_print(union_all(n, n), &arena, &out, &err));
    const char *first =
        "FROM t\n"
        "|> LEFT JOIN (\n"
        "    FROM t\n"
        "    |> WHERE (c0 < 5)\n"
        ") AS build_1(c0_2, c1_2) ON (c0 IS NOT DISTINCT FROM c0_2) AND (c1 <> c1_2)\n"
        "|> SELECT c0 AS x0, c1_2 AS x1\n"
        "|> AS MATERIALIZED t_2\n"
        "|> JOIN t_2 AS build_2(x0_2, x1_2) ON true\n"
        "|> MARK JOIN t ON (x0 = c0) AS x4\n"
        "|> UNION ALL (\n"
        "    FROM t_2\n"
        "    |> JOIN t_2 AS build_3(x0_2, x1_2) ON true\n"
        "    |> MARK JOIN t ON (x0 = c0) AS x4\n"
        ")\n";
    ck_assert_msg(strncmp(out, first, strlen(first)) == 0, "%s", out);
}
END_TEST

START_TEST(memory_may_run_out_anywhere)
{
    sm_expr *key[] = {col(0, T(TEXT))};
    sm_agg_call aggs[] = {call(SM_AGG_SUM, col(2, T(INT64))),
                          call(SM_AGG_STDDEV_POP, col(1, T(INT32)))};
    sm_order by = {col(1, sm_decimal(38, 0)), true, false};
    sm_node *n = limit(sort(aggregate(scan(small()), key, 1, aggs, 2), &by, 1), i64c(10), NULL);
    int failures = 0;
    for (int64_t calls = 0;; calls++) {
        sm_mem own;
        sm_arena a;
        sm_pipelines l;
        char *text;
        sm_mem_init(&own, NULL, SIZE_MAX);
        sm_arena_init(&a, &own, "test");
        sm_error_reset(&err);
        atomic_store(&own.fail_after, calls);
        sm_status s = sm_pipelines_build(&a, n, &l, &err);
        if (s == SM_OK) s = sm_pipeline_prepare(l.list, &a, NULL, NULL, 0, NULL, &err);
        if (s == SM_OK) s = sm_node_print(n, &a, &text, &err);
        atomic_store(&own.fail_after, -1);
        sm_arena_reset(&a);
        ck_assert_uint_eq(atomic_load(&own.used_bytes), 0);
        if (s == SM_OK) break;
        ck_assert_int_eq(s, SM_ERR_OUT_OF_MEMORY);
        failures++;
    }
    ck_assert_int_gt(failures, 0);
}
END_TEST

static sm_node *joined(sm_join_kind kind, sm_expr *residual)
{
    sm_node *l = keyed((int32_t[]){3, 1, -1, 2, 1}, 5, "l");
    sm_node *r = keyed((int32_t[]){1, 5, -1, 1, 2}, 5, "r");
    sm_expr *lk[] = {col(0, T(INT32))}, *rk[] = {col(0, T(INT32))};
    return join(kind, l, r, lk, rk, 1, residual);
}

static sm_expr *not_r0(void)
{
    return op2(SM_OP_ne_txt, T(BOOL), col(3, T(TEXT)), textc("r0"));
}

START_TEST(joins_of_all_kinds)
{
    check_plan(joined(SM_JOIN_INNER, NULL),
               "1|l1|1|r0\n1|l1|1|r3\n2|l3|2|r4\n1|l4|1|r0\n1|l4|1|r3");
    check_plan(joined(SM_JOIN_LEFT, NULL),
               "3|l0|~|~\n1|l1|1|r0\n1|l1|1|r3\n~|l2|~|~\n2|l3|2|r4\n1|l4|1|r0\n1|l4|1|r3");
    check_plan(joined(SM_JOIN_RIGHT, NULL),
               "1|l1|1|r0\n1|l1|1|r3\n2|l3|2|r4\n1|l4|1|r0\n1|l4|1|r3\n~|~|5|r1\n~|~|~|r2");
    check_plan(joined(SM_JOIN_FULL, not_r0()),
               "3|l0|~|~\n1|l1|1|r3\n~|l2|~|~\n2|l3|2|r4\n1|l4|1|r3\n~|~|1|r0\n~|~|5|r1\n~|~|~|r2");
    check_plan(joined(SM_JOIN_SEMI, NULL), "1|l1\n2|l3\n1|l4");
    check_plan(joined(SM_JOIN_ANTI, NULL), "3|l0\n~|l2");
    check_plan(joined(SM_JOIN_NULL_ANTI, NULL), "");
    check_plan(joined(SM_JOIN_MARK, NULL), "3|l0|~\n1|l1|t\n~|l2|~\n2|l3|t\n1|l4|t");
    check_plan(joined(SM_JOIN_MARK, op2(SM_OP_eq_txt, T(BOOL), col(3, T(TEXT)), textc("r3"))),
               "3|l0|f\n1|l1|t\n~|l2|~\n2|l3|f\n1|l4|t");
    sm_version *v;
    ck_assert_int_eq(run_plan(joined(SM_JOIN_SINGLE, NULL), true, 1, &v), SM_ERR_CARDINALITY);
    check_plan(joined(SM_JOIN_SINGLE, not_r0()),
               "3|l0|~|~\n1|l1|1|r3\n~|l2|~|~\n2|l3|2|r4\n1|l4|1|r3");
}
END_TEST

START_TEST(joins_carry_what_is_read)
{
    sm_expr *last[] = {col(3, T(TEXT))};
    sm_pipelines l = build_plan(project(joined(SM_JOIN_INNER, not_r0()), last, 1));
    ck_assert_uint_eq(l.n, 2);
    ck_assert(l.list[0].sink == SM_SINK_BUILD && l.list[0].build.n_keys == 1);
    ck_assert_msg(l.list[0].n_in == 2, "the key column is not there twice");
    const sm_probe *q = l.list[1].steps[0].probe;
    ck_assert(l.list[1].steps[0].kind == SM_STEP_PROBE && q->n_build == 1 && q->n_out == 3);
    ck_assert(q->build_cols[0] == 1 && !q->used[0] && !q->used[1] && q->used[2]);
    ck_assert(l.list[1].used[0] && !l.list[1].used[1]);
    check_plan(project(joined(SM_JOIN_FULL, NULL), last, 1), "~\nr0\nr3\n~\nr4\nr0\nr3\nr1\nr2");
    sm_agg_call count[] = {call(SM_AGG_COUNT_ALL, NULL)};
    sm_node *n = aggregate(joined(SM_JOIN_FULL, NULL), NULL, 0, count, 1);
    l = build_plan(n);
    ck_assert_uint_eq(l.list[0].n_in, 1);
    check_plan(n, "9");
    check_plan(aggregate(joined(SM_JOIN_MARK, not_r0()), NULL, 0, count, 1), "5");
}
END_TEST

START_TEST(joins_without_keys_compare_all_pairs)
{
    sm_node *l = keyed((int32_t[]){3, 1}, 2, "l"), *r = keyed((int32_t[]){1, 5, 2}, 3, "r");
    sm_expr *less = op2(SM_OP_lt_i32, T(BOOL), col(0, T(INT32)), col(2, T(INT32)));
    check_plan(join(SM_JOIN_LEFT, l, r, NULL, NULL, 0, less), "3|l0|5|r1\n1|l1|5|r1\n1|l1|2|r2");
    sm_agg_call count[] = {call(SM_AGG_COUNT_ALL, NULL)};
    check_plan(aggregate(join(SM_JOIN_INNER, l, r, NULL, NULL, 0, NULL), NULL, 0, count, 1), "6");
}
END_TEST

START_TEST(groups_of_one_source_row_are_ordered)
{
    sm_expr *keys[] = {col(3, T(TEXT))};
    sm_agg_call count[] = {call(SM_AGG_COUNT_ALL, NULL)};
    check_plan(aggregate(joined(SM_JOIN_INNER, NULL), keys, 1, count, 1), "r0|2\nr3|2\nr4|1");
}
END_TEST

START_TEST(unions_and_shared_plans)
{
    sm_node *l = keyed((int32_t[]){3, 1}, 2, "l"), *r = keyed((int32_t[]){-1, 5, 2}, 3, "r");
    sm_expr *words[] = {col(1, T(TEXT))};
    sm_pipelines p = build_plan(project(union_all(union_all(l, r), l), words, 1));
    ck_assert_msg(p.n == 4 && p.list[3].n_parts == 3, "unions of unions are one");
    ck_assert_msg(p.list[0].n_out == 1 && p.list[1].n_out == 1, "the other column goes");
    check_plan(union_all(union_all(l, r), l), "3|l0\n1|l1\n~|r0\n5|r1\n2|r2\n3|l0\n1|l1");
    check_plan(project(union_all(l, r), words, 1), "l0\nl1\nr0\nr1\nr2");
    sm_shared once = {.name = "once", .plan = r};
    sm_node *a = sm_node_new(&arena, SM_NODE_SHARED, NULL);
    a->shared = &once;
    a->n_cols = r->n_cols;
    a->cols = r->cols;
    sm_expr *k[] = {col(0, T(INT32))};
    p = build_plan(join(SM_JOIN_INNER, a, project(a, k, 1), k, k, 1, NULL));
    ck_assert_uint_eq(p.n, 3);
    check_plan(join(SM_JOIN_INNER, a, project(a, k, 1), k, k, 1, NULL), "5|r1|5\n2|r2|2");
    check_plan(
        project(union_all(a, project(l, (sm_expr *[]){col(0, T(INT32)), col(1, T(TEXT))}, 2)),
                words, 1),
        "r0\nr1\nr2\nl0\nl1");
    check_plan(a, "~|r0\n5|r1\n2|r2");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pipeline");
    TCase *c = tcase_create("pipeline");
    suite_add_tcase(s, c);
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, a_scan_is_one_pipeline);
    tcase_add_test(c, projections_merge_and_unread_columns_go);
    tcase_add_test(c, filters_pass_renaming_projections);
    tcase_add_test(c, a_row_filtered_out_raises_nothing);
    tcase_add_test(c, common_parts_are_computed_once);
    tcase_add_test(c, a_guarded_part_is_not_moved_out_of_its_guard);
    tcase_add_test(c, sort_project_limit_is_one_sink);
    tcase_add_test(c, limit_below_a_filter_stays_there);
    tcase_add_test(c, accumulators_are_shared);
    tcase_add_test(c, filter_guards_its_argument);
    tcase_add_test(c, count_of_all_reads_no_column);
    tcase_add_test(c, groups_by_plan_and_data);
    tcase_add_test(c, float_sums_make_order_matter);
    tcase_add_test(c, sinks_get_the_types_own_form);
    tcase_add_test(c, parameters_and_limits);
    tcase_add_test(c, values_and_series);
    tcase_add_test(c, plans_print_as_pipes);
    tcase_add_test(c, joins_print_as_pipes);
    tcase_add_test(c, joins_of_all_kinds);
    tcase_add_test(c, joins_carry_what_is_read);
    tcase_add_test(c, joins_without_keys_compare_all_pairs);
    tcase_add_test(c, groups_of_one_source_row_are_ordered);
    tcase_add_test(c, unions_and_shared_plans);
    tcase_add_test(c, memory_may_run_out_anywhere);
    return run_suite(s);
}
