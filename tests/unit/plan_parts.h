/* Short ways to write expressions and plans, for the suites of src/plan. */
#ifndef SM_TEST_PLAN_PARTS_H
#define SM_TEST_PLAN_PARTS_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan/pipeline.h"
#include "runtime/format.h"

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

#define OK(call) ck_assert_msg((call) == SM_OK, "%s: %s %s", #call, err.sqlstate, err.message)
#define T(id)    sm_type_of(SM_##id)

static inline sm_expr *col(uint32_t i, sm_type t)
{
    return sm_expr_column(&arena, i, t, true);
}
static inline sm_expr *i32c(int32_t v)
{
    return sm_expr_const(&arena, T(INT32), &(sm_value){.i32 = v});
}
static inline sm_expr *i64c(int64_t v)
{
    return sm_expr_const(&arena, T(INT64), &(sm_value){.i64 = v});
}
static inline sm_expr *f64c(double v)
{
    return sm_expr_const(&arena, T(FLOAT64), &(sm_value){.f64 = v});
}
static inline sm_expr *boolc(bool v)
{
    return sm_expr_const(&arena, T(BOOL), &(sm_value){.b = v});
}
static inline sm_expr *nullc(sm_type t)
{
    return sm_expr_null(&arena, t);
}
static inline sm_expr *textc(const char *s)
{
    return sm_expr_const(&arena, T(TEXT),
                         &(sm_value){.text = sm_text_view(s, (uint32_t)strlen(s))});
}
static inline sm_expr *decc(int64_t v, unsigned precision, unsigned scale)
{
    sm_value x = {.i128 = v};
    return sm_expr_const(&arena, sm_decimal(precision, scale), &x);
}
static inline sm_expr *op1(sm_op op, sm_type t, sm_expr *a)
{
    return sm_expr_op(&arena, op, t, &a, 1);
}
static inline sm_expr *op2(sm_op op, sm_type t, sm_expr *a, sm_expr *b)
{
    return sm_expr_op(&arena, op, t, (sm_expr *[]){a, b}, 2);
}
static inline sm_expr *node2(sm_expr_kind k, sm_type t, sm_expr *a, sm_expr *b)
{
    return sm_expr_node(&arena, k, t, (sm_expr *[]){a, b}, 2);
}
static inline sm_expr *case3(sm_type t, sm_expr *c, sm_expr *a, sm_expr *b)
{
    return sm_expr_node(&arena, SM_EXPR_CASE, t, (sm_expr *[]){c, a, b}, 3);
}
static inline sm_expr *is_null(sm_expr *a)
{
    return sm_expr_node(&arena, SM_EXPR_IS_NULL, T(BOOL), &a, 1);
}

static inline sm_status eval(const sm_expr *e, const sm_value *row, sm_value *out)
{
    sm_error_reset(&err);
    sm_eval ev = {.row = row, .scratch = &arena, .err = &err};
    return sm_expr_eval(&ev, e, out);
}

/* Runs the cases of a suite and gives main's result. */
static inline int run_suite(Suite *s)
{
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

#endif
