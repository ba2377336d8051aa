/* Expressions: what the evaluator says they mean, that folding keeps the meaning, and that
 * equality, hash and copies agree with each other. */
#include "plan_parts.h"

static sm_expr *failing(void)
{
    return op2(SM_OP_div_i32, T(INT32), i32c(1), i32c(0));
}

static sm_expr *fails(void)
{
    return op2(SM_OP_eq_i32, T(BOOL), failing(), i32c(1));
}

/* -1: NULL; -2: an error. */
static int truth(const sm_expr *e)
{
    sm_value v;
    if (eval(e, NULL, &v) != SM_OK) return -2;
    return v.is_null ? -1 : v.b;
}

static sm_expr *of_truth(int t)
{
    if (t == -2) return fails();
    return t == -1 ? nullc(T(BOOL)) : boolc(t);
}

START_TEST(logic_has_three_values_and_stops)
{
    for (int a = -2; a <= 1; a++) {
        for (int b = -2; b <= 1; b++) {
            int both = a == -2              ? -2
                       : a == 0             ? 0
                       : b == -2            ? -2
                       : b == 0             ? 0
                       : a == -1 || b == -1 ? -1
                                            : 1;
            int either = a == -2              ? -2
                         : a == 1             ? 1
                         : b == -2            ? -2
                         : b == 1             ? 1
                         : a == -1 || b == -1 ? -1
                                              : 0;
            sm_expr *e = node2(SM_EXPR_AND, T(BOOL), of_truth(a), of_truth(b));
            ck_assert_int_eq(truth(e), both);
            OK(sm_expr_fold(&arena, &e, &err));
            ck_assert_int_eq(truth(e), both);
            e = node2(SM_EXPR_OR, T(BOOL), of_truth(a), of_truth(b));
            ck_assert_int_eq(truth(e), either);
            OK(sm_expr_fold(&arena, &e, &err));
            ck_assert_int_eq(truth(e), either);
        }
    }
}
END_TEST

START_TEST(case_and_coalesce_guard)
{
    sm_value v;
    sm_expr *e = case3(T(INT32), boolc(false), failing(), i32c(7));
    OK(eval(e, NULL, &v));
    ck_assert_int_eq(v.i32, 7);
    e = case3(T(INT32), nullc(T(BOOL)), failing(), i32c(8));
    OK(eval(e, NULL, &v));
    ck_assert_int_eq(v.i32, 8);
    e = case3(T(INT32), boolc(true), failing(), i32c(8));
    ck_assert_int_eq(eval(e, NULL, &v), SM_ERR_DIVISION_BY_ZERO);
    e = node2(SM_EXPR_COALESCE, T(INT32), i32c(3), failing());
    OK(eval(e, NULL, &v));
    ck_assert_int_eq(v.i32, 3);
    e = node2(SM_EXPR_COALESCE, T(INT32), nullc(T(INT32)), failing());
    ck_assert_int_eq(eval(e, NULL, &v), SM_ERR_DIVISION_BY_ZERO);
    OK(eval(is_null(nullc(T(TEXT))), NULL, &v));
    ck_assert(v.b && !v.is_null);
}
END_TEST

START_TEST(strict_operations_evaluate_all_arguments)
{
    sm_value v;
    sm_expr *e = op2(SM_OP_add_i32, T(INT32), nullc(T(INT32)), failing());
    ck_assert_int_eq(eval(e, NULL, &v), SM_ERR_DIVISION_BY_ZERO);
    OK(sm_expr_fold(&arena, &e, &err));
    ck_assert_int_eq(eval(e, NULL, &v), SM_ERR_DIVISION_BY_ZERO);
    OK(eval(op2(SM_OP_add_i32, T(INT32), nullc(T(INT32)), i32c(1)), NULL, &v));
    ck_assert(v.is_null);
}
END_TEST

START_TEST(error_has_the_position_of_its_operation)
{
    sm_value v;
    sm_expr *e = failing();
    e->position = 17;
    sm_expr *sum = op2(SM_OP_add_i32, T(INT32), e, i32c(1));
    sum->position = 3;
    ck_assert_int_eq(eval(sum, NULL, &v), SM_ERR_DIVISION_BY_ZERO);
    ck_assert_int_eq(err.position, 17);
}
END_TEST

static void fetch(void *arg, uint32_t column, sm_value *out)
{
    *out = ((const sm_value *)arg)[column];
}

START_TEST(columns_by_row_and_by_fetch)
{
    sm_value row[2] = {{.i64 = 40}, {.i64 = 2}}, v;
    sm_expr *e = op2(SM_OP_add_i64, T(INT64), col(0, T(INT64)), col(1, T(INT64)));
    OK(eval(e, row, &v));
    ck_assert_int_eq(v.i64, 42);
    sm_eval ev = {.fetch = fetch, .fetch_arg = row, .scratch = &arena, .err = &err};
    OK(sm_expr_eval(&ev, e, &v));
    ck_assert_int_eq(v.i64, 42);
}
END_TEST

START_TEST(folding_evaluates_what_it_can)
{
    sm_expr *e = op2(SM_OP_add_i64, T(INT64), col(0, T(INT64)),
                     op2(SM_OP_mul_i64, T(INT64), i64c(6), i64c(7)));
    OK(sm_expr_fold(&arena, &e, &err));
    ck_assert_int_eq(e->args[1]->kind, SM_EXPR_CONST);
    ck_assert_int_eq(e->args[1]->value.i64, 42);
    e = case3(T(INT64), boolc(false), failing(), col(0, T(INT64)));
    OK(sm_expr_fold(&arena, &e, &err));
    ck_assert_int_eq(e->kind, SM_EXPR_COLUMN);
    e = failing();
    OK(sm_expr_fold(&arena, &e, &err));
    ck_assert_int_eq(e->kind, SM_EXPR_OP);
    e = node2(SM_EXPR_AND, T(BOOL), boolc(true), col(0, T(BOOL)));
    OK(sm_expr_fold(&arena, &e, &err));
    ck_assert_int_eq(e->kind, SM_EXPR_COLUMN);
    e = node2(SM_EXPR_AND, T(BOOL), op2(SM_OP_eq_i32, T(BOOL), failing(), col(0, T(INT32))),
              boolc(false));
    OK(sm_expr_fold(&arena, &e, &err));
    ck_assert_msg(e->kind == SM_EXPR_AND, "an error before the deciding constant must stay");
    e = node2(SM_EXPR_COALESCE, T(INT32), nullc(T(INT32)), col(0, T(INT32)));
    OK(sm_expr_fold(&arena, &e, &err));
    ck_assert_int_eq(e->kind, SM_EXPR_COLUMN);
    e = op2(SM_OP_add_i32, T(INT32), col(0, T(INT32)), nullc(T(INT32)));
    OK(sm_expr_fold(&arena, &e, &err));
    ck_assert(e->kind == SM_EXPR_CONST && e->value.is_null);
}
END_TEST

START_TEST(constructors_derive)
{
    sm_expr *a = sm_expr_column(&arena, 0, T(INT32), false),
            *b = sm_expr_column(&arena, 1, T(INT32), true);
    ck_assert(!op2(SM_OP_eq_i32, T(BOOL), a, a)->nullable);
    ck_assert(op2(SM_OP_eq_i32, T(BOOL), a, b)->nullable);
    ck_assert(!op2(SM_OP_eq_i32, T(BOOL), a, b)->can_fail);
    ck_assert(op2(SM_OP_add_i32, T(INT32), a, b)->can_fail);
    ck_assert(is_null(op2(SM_OP_add_i32, T(INT32), a, b))->can_fail);
    ck_assert(!is_null(b)->nullable);
    ck_assert(!node2(SM_EXPR_COALESCE, T(INT32), b, a)->nullable);
    ck_assert(!case3(T(INT32), is_null(b), a, a)->nullable);
    ck_assert(case3(T(INT32), is_null(b), a, b)->nullable);
    ck_assert_ptr_null(op1(SM_OP_neg_i32, T(INT32), NULL));
}
END_TEST

START_TEST(equal_hash_and_clone_agree)
{
    sm_expr *list[] = {i32c(1),
                       i32c(2),
                       i64c(1),
                       nullc(T(INT32)),
                       f64c(0.0),
                       f64c(-0.0),
                       textc("abc"),
                       textc("a text of more than twelve bytes"),
                       col(0, T(INT32)),
                       col(1, T(INT32)),
                       op2(SM_OP_add_i32, T(INT32), col(0, T(INT32)), i32c(1)),
                       op2(SM_OP_add_i32, T(INT32), i32c(1), col(0, T(INT32))),
                       op2(SM_OP_sub_i32, T(INT32), col(0, T(INT32)), i32c(1)),
                       is_null(col(0, T(INT32))),
                       decc(5, 10, 2),
                       decc(5, 20, 2)};
    for (size_t i = 0; i < SM_COUNT(list); i++) {
        sm_expr *copy = sm_expr_clone(&arena, list[i]);
        ck_assert(sm_expr_equal(list[i], copy));
        ck_assert_uint_eq(sm_expr_hash(list[i]), sm_expr_hash(copy));
        for (size_t k = 0; k < SM_COUNT(list); k++)
            ck_assert_int_eq(sm_expr_equal(list[i], list[k]), i == k);
    }
}
END_TEST

static sm_expr *replace_column(const sm_expr *leaf, void *arg)
{
    return leaf->kind == SM_EXPR_COLUMN ? arg : NULL;
}

START_TEST(replacing_works_out_what_follows)
{
    sm_value v;
    sm_expr *e = op2(SM_OP_eq_i32, T(BOOL), col(0, T(INT32)), i32c(1));
    ck_assert(e->nullable && !e->can_fail);
    sm_expr *r = sm_expr_replace(&arena, e, replace_column, failing());
    ck_assert(!r->nullable && r->can_fail);
    ck_assert_int_eq(eval(r, NULL, &v), SM_ERR_DIVISION_BY_ZERO);
    ck_assert_int_eq(e->args[0]->kind, SM_EXPR_COLUMN);
}
END_TEST

START_TEST(out_of_memory_is_an_error)
{
    sm_expr *e = op2(SM_OP_mul_i64, T(INT64), i64c(6), i64c(7));
    sm_mem small;
    sm_arena none;
    sm_mem_init(&small, NULL, 0);
    sm_arena_init(&none, &small, "test");
    ck_assert_ptr_null(sm_expr_clone(&none, e));
    ck_assert_ptr_null(sm_expr_null(&none, T(INT32)));
    ck_assert_int_eq(sm_expr_fold(&none, &e, &err), SM_ERR_OUT_OF_MEMORY);
    sm_arena_reset(&none);
}
END_TEST

static const char *printed(const sm_expr *e)
{
    static const sm_col cols[] = {{"a", {SM_INT32, 0, 0, 0}, true},
                                  {"Big Name", {SM_INT64, 0, 0, 0}, true},
                                  {"d", {SM_DECIMAL, 15, 2, 0}, true},
                                  {"select", {SM_TEXT, 0, 0, 0}, true}};
    char *out = NULL;
    OK(sm_expr_print(e, cols, SM_COUNT(cols), &arena, &out, &err));
    return out;
}

START_TEST(printing)
{
    sm_type d = sm_decimal(15, 2), wide = sm_decimal(19, 2);
    ck_assert_str_eq(printed(op2(SM_OP_add_i32, T(INT32), col(0, T(INT32)), i32c(1))), "(a + 1)");
    ck_assert_str_eq(printed(op2(SM_OP_lt_i64, T(BOOL), col(1, T(INT64)), i64c(-5))),
                     "(\"Big Name\" < (-5))");
    ck_assert_str_eq(
        printed(op2(SM_OP_eq_i64, T(BOOL), op1(SM_OP_i32_to_i64, T(INT64), col(0, T(INT32))),
                    col(1, T(INT64)))),
        "(a = \"Big Name\")");
    ck_assert_str_eq(printed(op1(SM_OP_i32_to_i64, T(INT64), col(0, T(INT32)))), "a::bigint");
    ck_assert_str_eq(printed(i64c(5)), "5::bigint");
    ck_assert_str_eq(printed(i32c(INT32_MIN)), "(-2147483648)::integer");
    ck_assert_str_eq(printed(decc(150, 3, 2)), "1.50");
    ck_assert_str_eq(printed(decc(150, 9, 2)), "1.50::numeric(9,2)");
    ck_assert_str_eq(
        printed(op2(SM_OP_mul_d128, sm_decimal(30, 4), op1(SM_OP_i64_to_d128, wide, col(2, d)),
                    op1(SM_OP_i64_to_d128, wide, col(2, d)))),
        "(d * d)");
    ck_assert_str_eq(printed(op2(SM_OP_eq_txt, T(BOOL), col(3, T(TEXT)), textc("it's"))),
                     "(\"select\" = 'it''s')");
    ck_assert_str_eq(printed(is_null(col(0, T(INT32)))), "(a IS NULL)");
    ck_assert_str_eq(printed(case3(T(INT32), boolc(true), i32c(1), nullc(T(INT32)))),
                     "CASE WHEN true THEN 1 ELSE NULL::integer END");
    ck_assert_str_eq(printed(f64c(0.5)), "0.5::double precision");
    ck_assert_str_eq(printed(f64c(1e300)), "'1e+300'::double precision");
    sm_expr *like = op2(SM_OP_like_txt, T(BOOL), col(3, T(TEXT)), textc("a%"));
    like->imm[0] = '\\';
    ck_assert_str_eq(printed(like), "(\"select\" LIKE 'a%')");
    like->imm[0] = -1;
    ck_assert_str_eq(printed(like), "(\"select\" LIKE 'a%' ESCAPE '')");
    like->imm[0] = '\'';
    ck_assert_str_eq(printed(like), "(\"select\" LIKE 'a%' ESCAPE '''')");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("expr");
    TCase *c = tcase_create("expr");
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, logic_has_three_values_and_stops);
    tcase_add_test(c, case_and_coalesce_guard);
    tcase_add_test(c, strict_operations_evaluate_all_arguments);
    tcase_add_test(c, error_has_the_position_of_its_operation);
    tcase_add_test(c, columns_by_row_and_by_fetch);
    tcase_add_test(c, folding_evaluates_what_it_can);
    tcase_add_test(c, constructors_derive);
    tcase_add_test(c, equal_hash_and_clone_agree);
    tcase_add_test(c, replacing_works_out_what_follows);
    tcase_add_test(c, out_of_memory_is_an_error);
    tcase_add_test(c, printing);
    return run_suite(s);
}
