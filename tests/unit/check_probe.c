/* Joins in the interpreting tiers: the row tier against pairs found by hand, with three-valued
 * comparisons, and the batch tier against the row tier bit by bit: all kinds, keys of all forms,
 * duplicates, NULLs, empty sides, residuals, errors, float sums above joins, joins above joins, at
 * batch sizes 1, 2, 7, 100 and 1,024, and with every hash 0. */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "interp_plans.h"

#include "plan/join_table.h"

/* ---- tables of few values -------------------------------------------------------------------- */

static void few_values(uint32_t i, uint32_t domain, bool nulls, sm_value *v, char *text)
{
    static const double odd[] = {0.0, -0.0, NAN, 1.5};
    t_row(i, v, text);
    for (int c = 1; c < T_N_COLUMNS && !nulls; c++) v[c].is_null = false;
    uint32_t x = t_pick(domain);
    v[T_I16].i16 = (int16_t)x;
    v[T_I32].i32 = (int32_t)(t_pick(domain) * 1000);
    v[T_I64].i64 = (int64_t)t_pick(domain) << 40;
    v[T_D64].i64 = x * 25;
    v[T_D128].i128 = x;
    v[T_D128_BIG].i128 = (sm_i128)x << 70;
    v[T_F64].f64 = x < 4 ? odd[x] : x;
    v[T_F32].f32 = x < 4 ? (float)odd[x] : (float)x;
    v[T_IV].iv = x % 2 ? (sm_interval){1, (int32_t)x, 0} : (sm_interval){0, (int32_t)x + 30, 0};
    int n = snprintf(text, 64, x % 3 ? "t%u" : "a longer text, %u", x);
    v[T_TEXT].text = sm_text_view(text, (uint32_t)n);
}

static sm_node *p_scan(uint32_t rows, uint32_t domain, bool nulls)
{
    sm_table_col cols[T_N_COLUMNS];
    sm_version *version;
    sm_builder *b;
    char text[64];
    memset(cols, 0, sizeof cols);
    sm_node *n = sm_node_new(&t_arena, SM_NODE_SCAN, NULL);
    n->cols = SM_NEW_N(&t_arena, sm_col, T_N_COLUMNS);
    n->n_cols = T_N_COLUMNS;
    for (int c = 0; c < T_N_COLUMNS; c++) {
        cols[c].name = sm_arena_printf(&t_arena, "c%d", c);
        cols[c].type = t_type(c);
        n->cols[c] = (sm_col){cols[c].name, cols[c].type, true};
    }
    ck_assert_int_eq(sm_builder_new(&t_mem, cols, T_N_COLUMNS, NULL, &b, &t_err), SM_OK);
    for (uint32_t i = 0; i < rows; i++) {
        sm_value row[T_N_COLUMNS];
        few_values(i, domain, nulls, row, text);
        ck_assert_int_eq(sm_builder_row(b, row, &t_err), SM_OK);
    }
    ck_assert_int_eq(sm_builder_finish(b, &version, &t_err), SM_OK);
    sm_arena_on_reset(&t_arena, t_unref, version);
    n->scan.table = "t";
    n->scan.version = version;
    return n;
}

/* ---- joins ----------------------------------------------------------------------------------- */

typedef struct p_join {
    sm_join_kind kind;
    uint32_t n_keys;
    int keys[3]; /* the same columns on both sides */
    bool null_safe[3];
    bool residual; /* left's row < 3 * right's row, where both have a value in I16 */
} p_join;

static bool keeps_right(sm_join_kind k)
{
    return k <= SM_JOIN_FULL || k == SM_JOIN_SINGLE;
}

static sm_expr *right_column(const sm_node *left, const sm_node *right, uint32_t c)
{
    return sm_expr_column(&t_arena, left->n_cols + c, right->cols[c].type, true);
}

/* left.row + left.i16 - right.i16 < right.row * 3: NULL where an i16 is. */
static sm_expr *residual_of(const sm_node *left, const sm_node *right)
{
    sm_expr *a = t_op(SM_OP_i16_to_i64, t_column(left, T_I16), NULL);
    sm_expr *b = t_op(SM_OP_i16_to_i64, right_column(left, right, T_I16), NULL);
    sm_expr *x = t_op(SM_OP_add_i64, t_column(left, T_ROW), t_op(SM_OP_sub_i64, a, b));
    sm_expr *y = t_op(SM_OP_mul_i64, right_column(left, right, T_ROW), t_const_i64(3));
    return t_op(SM_OP_lt_i64, x, y);
}

static sm_node *join_node(sm_node *left, sm_node *right, const p_join *j)
{
    sm_node *n = sm_node_new(&t_arena, SM_NODE_JOIN, left);
    n->right = right;
    n->n_cols = left->n_cols + (keeps_right(j->kind) ? right->n_cols : j->kind == SM_JOIN_MARK);
    n->cols = SM_NEW_N(&t_arena, sm_col, n->n_cols);
    for (uint32_t i = 0; i < n->n_cols; i++)
        n->cols[i] = i < left->n_cols         ? left->cols[i]
                     : keeps_right(j->kind) ? right->cols[i - left->n_cols]
                                            : (sm_col){"mark", sm_type_of(SM_BOOL), true};
    n->join.kind = j->kind;
    n->join.n_keys = j->n_keys;
    n->join.left_keys = SM_NEW_N(&t_arena, sm_expr *, 4);
    n->join.right_keys = SM_NEW_N(&t_arena, sm_expr *, 4);
    n->join.null_safe = SM_NEW_N(&t_arena, bool, 4);
    for (uint32_t k = 0; k < j->n_keys; k++) {
        n->join.left_keys[k] = t_column(left, (uint32_t)j->keys[k]);
        n->join.right_keys[k] = t_column(right, (uint32_t)j->keys[k]);
        n->join.null_safe[k] = j->null_safe[k];
    }
    if (j->residual) n->join.residual = residual_of(left, right);
    return n;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct p_result {
    sm_status status;
    char message[512];
    sm_version *out;
} p_result;

static void drop_table(void *t)
{
    sm_join_table_unref(t);
}

/* All pipelines of a plan in one tier. Outputs live until the arena goes. */
static p_result p_run(const sm_node *plan, int tier, uint32_t batch_rows)
{
    sm_pipelines list;
    p_result r = {0};
    ck_assert_msg(sm_pipelines_build(&t_arena, plan, &list, &t_err) == SM_OK, "%s", t_err.message);
    sm_output *outputs = SM_NEW_N(&t_arena, sm_output, list.n);
    for (uint32_t i = 0; i < list.n; i++) {
        sm_pipeline *p = &list.list[i];
        ck_assert_msg(sm_pipeline_prepare(p, &t_arena, NULL, NULL, 0, outputs, &t_err) == SM_OK,
                      "%s", t_err.message);
        t_result one = t_run_prepared(p, tier, batch_rows, -1);
        r.status = one.status;
        snprintf(r.message, sizeof r.message, "%s", one.err.message);
        if (one.status != SM_OK) return r;
        outputs[i].rows = r.out = one.out;
        if (p->sink != SM_SINK_BUILD) {
            sm_arena_on_reset(&t_arena, t_unref, one.out);
            continue;
        }
        sm_join_table *t;
        ck_assert_int_eq(sm_join_table_build(p, one.out, &t_mem, &t, &t_err), SM_OK);
        sm_version_unref(one.out);
        outputs[i] = (sm_output){t->rows, t};
        ck_assert(sm_join_table_validate(t));
        sm_arena_on_reset(&t_arena, drop_table, t);
    }
    return r;
}

static void same(const p_result *a, const p_result *b, uint32_t batch_rows)
{
    ck_assert_msg(a->status == b->status, "batch of %u: status %d %s, row tier %d %s", batch_rows,
                  (int)b->status, b->message, (int)a->status, a->message);
    ck_assert_str_eq(a->message, b->message);
    if (a->status != SM_OK) return;
    ck_assert_msg(a->out->n_rows == b->out->n_rows, "batch of %u: %u rows, row tier %u", batch_rows,
                  (unsigned)b->out->n_rows, (unsigned)a->out->n_rows);
    for (uint32_t c = 0; c < a->out->n_cols; c++) {
        sm_phys p = sm_type_phys(a->out->cols[c].type);
        for (uint64_t i = 0; i < a->out->n_rows; i++) {
            sm_value x = t_value(a->out, c, i), y = t_value(b->out, c, i);
            ck_assert_msg(t_same_value(p, &x, &y), "batch of %u: column %u row %u differs",
                          batch_rows, c, (unsigned)i);
        }
    }
}

static p_result p_compare(const sm_node *plan)
{
    static const uint32_t sizes[] = {1024, 1, 2, 7, 100};
    p_result row = p_run(plan, T_ROW_TIER, 1);
    for (size_t i = 0; i < SM_COUNT(sizes); i++) {
        p_result batch = p_run(plan, T_BATCH, sizes[i]);
        same(&row, &batch, sizes[i]);
    }
    return row;
}

/* ---- by hand --------------------------------------------------------------------------------- */

typedef enum truth { IS_FALSE, IS_TRUE, IS_NULL } truth;

static truth both(truth a, truth b)
{
    if (a == IS_FALSE || b == IS_FALSE) return IS_FALSE;
    return a == IS_NULL || b == IS_NULL ? IS_NULL : IS_TRUE;
}

static truth pair(const p_join *j, const sm_version *l, uint32_t i, const sm_version *r, uint32_t k)
{
    truth all = IS_TRUE;
    for (uint32_t q = 0; q < j->n_keys; q++) {
        uint32_t c = (uint32_t)j->keys[q];
        sm_value a = t_value(l, c, i), b = t_value(r, c, k);
        sm_phys p = sm_type_phys(l->cols[c].type);
        truth one;
        if (a.is_null || b.is_null)
            one = !j->null_safe[q] ? IS_NULL : a.is_null && b.is_null ? IS_TRUE : IS_FALSE;
        else
            one = sm_key_eq(p, sm_key_load(p, &a), sm_key_load(p, &b)) ? IS_TRUE : IS_FALSE;
        all = both(all, one);
    }
    if (!j->residual) return all;
    sm_value a = t_value(l, T_I16, i), b = t_value(r, T_I16, k);
    if (a.is_null || b.is_null) return both(all, IS_NULL);
    return both(all, (int64_t)i + a.i16 - b.i16 < 3 * (int64_t)k ? IS_TRUE : IS_FALSE);
}

static void expect(const sm_version *out, uint64_t at, uint32_t column, bool null, int64_t want)
{
    ck_assert_uint_lt(at, out->n_rows);
    sm_value v = t_value(out, column, at);
    ck_assert_int_eq(v.is_null, null);
    if (!null) ck_assert_int_eq(v.i64, want);
}

/* out: left's row, then right's or the mark. */
static void check_by_hand(const p_join *j, const sm_node *left, const sm_node *right,
                          const p_result *r)
{
    const sm_version *l = left->scan.version, *b = right->scan.version, *out = r->out;
    uint64_t at = 0;
    bool *matched = calloc(b->n_rows + 1, 1);
    for (uint32_t i = 0; i < l->n_rows; i++) {
        uint32_t found = 0;
        bool unknown = false;
        for (uint32_t k = 0; k < b->n_rows; k++) {
            truth t = pair(j, l, i, b, k);
            unknown |= t == IS_NULL;
            if (t != IS_TRUE) continue;
            found++;
            matched[k] = true;
            if (j->kind == SM_JOIN_SINGLE && found == 2) {
                ck_assert_int_eq(r->status, SM_ERR_CARDINALITY);
                free(matched);
                return;
            }
            if (!keeps_right(j->kind)) continue;
            ck_assert_int_eq(r->status == SM_OK || j->kind == SM_JOIN_SINGLE, true);
            if (r->status != SM_OK) continue;
            expect(out, at, 0, false, i);
            expect(out, at++, 1, false, k);
        }
        if (r->status != SM_OK) continue;
        bool end;
        switch (j->kind) {
        case SM_JOIN_LEFT:
        case SM_JOIN_FULL:
        case SM_JOIN_SINGLE:
        case SM_JOIN_ANTI: end = !found; break;
        case SM_JOIN_SEMI: end = found; break;
        case SM_JOIN_NULL_ANTI: end = !found && !unknown; break;
        case SM_JOIN_MARK: end = true; break;
        default: end = false; break;
        }
        if (!end) continue;
        expect(out, at, 0, false, i);
        if (j->kind == SM_JOIN_MARK) {
            sm_value m = t_value(out, 1, at);
            ck_assert_int_eq(m.is_null, !found && unknown);
            if (!m.is_null) ck_assert_int_eq(m.b, found > 0);
        } else if (keeps_right(j->kind)) {
            expect(out, at, 1, true, 0);
        }
        at++;
    }
    ck_assert_int_eq(r->status, SM_OK);
    for (uint32_t k = 0; k < b->n_rows && (j->kind == SM_JOIN_RIGHT || j->kind == SM_JOIN_FULL);
         k++) {
        if (matched[k]) continue;
        expect(out, at, 0, true, 0);
        expect(out, at++, 1, false, k);
    }
    ck_assert_uint_eq(at, out->n_rows);
    free(matched);
}

static void check_join(const p_join *j, sm_node *left, sm_node *right)
{
    sm_node *n = join_node(left, right, j);
    sm_expr *rows[2] = {t_column(n, T_ROW), NULL};
    uint32_t last = left->n_cols + (keeps_right(j->kind) ? T_ROW : 0);
    if (last < n->n_cols) rows[1] = t_column(n, last);
    p_result r = p_compare(t_project(n, rows, rows[1] ? 2 : 1));
    check_by_hand(j, left, right, &r);
    p_compare(n); /* all columns */
}

static const p_join keys_of_all_forms[] = {
    {.n_keys = 1, .keys = {T_I32}},
    {.n_keys = 1, .keys = {T_I64}, .null_safe = {true}},
    {.n_keys = 1, .keys = {T_I16}},
    {.n_keys = 1, .keys = {T_BOOL}},
    {.n_keys = 1, .keys = {T_F64}},
    {.n_keys = 1, .keys = {T_F32}},
    {.n_keys = 1, .keys = {T_D64}},
    {.n_keys = 1, .keys = {T_D128}},
    {.n_keys = 1, .keys = {T_D128_BIG}},
    {.n_keys = 1, .keys = {T_IV}},
    {.n_keys = 1, .keys = {T_DICT}},
    {.n_keys = 1, .keys = {T_TEXT}},
    {.n_keys = 1, .keys = {T_ROW}},
    {.n_keys = 2, .keys = {T_I32, T_I64}},
    {.n_keys = 2, .keys = {T_I32, T_D128}, .null_safe = {true, false}},
    {.n_keys = 3, .keys = {T_BOOL, T_TEXT, T_I16}, .null_safe = {false, true, true}},
    {.n_keys = 0},
};

static void all_kinds(uint32_t left_rows, uint32_t right_rows, uint32_t domain, bool nulls)
{
    sm_node *left = p_scan(left_rows, domain, nulls), *right = p_scan(right_rows, domain, nulls);
    for (size_t k = 0; k < SM_COUNT(keys_of_all_forms); k++)
        for (int kind = 0; kind < SM_N_JOINS; kind++)
            for (int residual = 0; residual < 2; residual++) {
                p_join j = keys_of_all_forms[k];
                j.kind = (sm_join_kind)kind;
                j.residual = residual;
                check_join(&j, left, right);
            }
}

START_TEST(kinds_with_nulls)
{
    all_kinds(70, 40, 12, true);
}
END_TEST
START_TEST(kinds_without_nulls)
{
    all_kinds(90, 30, 15, false);
}
END_TEST
START_TEST(kinds_with_few_matches)
{
    all_kinds(60, 25, 400, true);
}
END_TEST
START_TEST(kinds_with_one_build_row)
{
    all_kinds(40, 1, 3, true);
}
END_TEST
START_TEST(kinds_with_empty_build)
{
    all_kinds(20, 0, 3, true);
}
END_TEST
START_TEST(kinds_with_empty_probe)
{
    all_kinds(0, 20, 3, true);
}
END_TEST
START_TEST(kinds_with_hash_zero)
{
    sm_hash_zero_set(true);
    all_kinds(50, 30, 12, true);
    sm_hash_zero_set(false);
}
END_TEST

/* ---- above joins ----------------------------------------------------------------------------- */

static sm_expr *group_key(const sm_node *n, const sm_node *left, int way)
{
    switch (way) {
    case 0: return t_column(n, T_DICT);                  /* codes of the probing side */
    case 1: return t_column(n, left->n_cols + T_I16);    /* values of the build side */
    case 2: return t_column(n, left->n_cols + T_D128);
    default: return t_column(n, left->n_cols + T_TEXT);
    }
}

static void check_sums(sm_node *left, sm_node *right, const p_join *j)
{
    sm_node *n = join_node(left, right, j);
    uint32_t b = left->n_cols;
    for (int way = -1; way < 4; way++) {
        sm_expr *key = way < 0 ? NULL : group_key(n, left, way);
        t_agg aggs[] = {{.fn = SM_AGG_COUNT_ALL},
                        {.fn = SM_AGG_SUM, .arg = t_column(n, T_F64_FULL)},
                        {.fn = SM_AGG_SUM, .arg = t_column(n, b + T_F64_FULL)},
                        {.fn = SM_AGG_SUM, .arg = t_column(n, b + T_F32)},
                        {.fn = SM_AGG_STDDEV_SAMP, .arg = t_column(n, b + T_F64_FULL)},
                        {.fn = SM_AGG_SUM, .arg = t_column(n, b + T_D128)},
                        {.fn = SM_AGG_SUM, .arg = t_column(n, b + T_I32), .filter = t_column(n, T_BOOL)},
                        {.fn = SM_AGG_MIN, .arg = t_column(n, b + T_TEXT)},
                        {.fn = SM_AGG_MAX, .arg = t_column(n, T_TEXT)},
                        {.fn = SM_AGG_COUNT, .arg = t_column(n, b + T_DICT), .distinct = true}};
        p_compare(t_aggregate(n, &key, way >= 0, aggs, SM_COUNT(aggs)));
        t_agg exact[] = {{.fn = SM_AGG_COUNT_ALL}}; /* groups in order of their first row */
        p_compare(t_aggregate(n, &key, way >= 0, exact, 1));
    }
}

START_TEST(sums_above_joins)
{
    sm_node *left = p_scan(3000, 40, true), *many = p_scan(100, 40, true),
            *one = p_scan(2000, 5, true);
    for (int kind = SM_JOIN_INNER; kind <= SM_JOIN_LEFT; kind++) {
        p_join dup = {.kind = (sm_join_kind)kind, .n_keys = 1, .keys = {T_I32}};
        p_join unique = {.kind = (sm_join_kind)kind, .n_keys = 1, .keys = {T_ROW}};
        check_sums(left, many, &dup);
        check_sums(left, one, &unique);
        dup.residual = unique.residual = true;
        check_sums(left, many, &dup);
        check_sums(left, one, &unique);
    }
}
END_TEST

/* A filter before, a join that expands, a filter, another join, an expression: all orders of the two
 * kinds of probe. */
START_TEST(joins_above_joins)
{
    static const p_join steps[] = {
        {.kind = SM_JOIN_INNER, .n_keys = 1, .keys = {T_I32}},
        {.kind = SM_JOIN_INNER, .n_keys = 1, .keys = {T_ROW}},
        {.kind = SM_JOIN_LEFT, .n_keys = 1, .keys = {T_I16}},
        {.kind = SM_JOIN_LEFT, .n_keys = 1, .keys = {T_TEXT}, .residual = true},
        {.kind = SM_JOIN_SEMI, .n_keys = 1, .keys = {T_D64}},
        {.kind = SM_JOIN_SEMI, .n_keys = 1, .keys = {T_I64}, .residual = true},
        {.kind = SM_JOIN_FULL, .n_keys = 1, .keys = {T_I32}},
    };
    for (size_t a = 0; a < SM_COUNT(steps); a++)
        for (size_t b = 0; b < SM_COUNT(steps); b++) {
            sm_node *left = p_scan(400, 30, true), *r1 = p_scan(60, 30, true),
                    *r2 = p_scan(80, 30, true);
            sm_node *n = t_filter(left, t_op(SM_OP_gt_i16, t_column(left, T_I16),
                                             sm_expr_const(&t_arena, t_type(T_I16),
                                                           &(sm_value){.i16 = 3})));
            n = join_node(n, r1, &steps[a]);
            n = t_filter(n, t_op(SM_OP_ne_txt, t_column(n, T_DICT), t_const_text("alpha")));
            n = join_node(n, r2, &steps[b]);
            sm_expr *sum = t_op(SM_OP_add_f64, t_column(n, T_F64_FULL),
                                t_column(n, n->n_cols - T_N_COLUMNS + T_F64_FULL));
            sm_expr *exprs[] = {t_column(n, T_ROW), sum, t_column(n, T_DICT), t_column(n, T_TEXT),
                                t_column(n, n->n_cols - 1), t_column(n, n->n_cols - 2)};
            p_compare(t_project(n, exprs, SM_COUNT(exprs)));
            t_agg aggs[] = {{.fn = SM_AGG_SUM, .arg = sum}, {.fn = SM_AGG_COUNT_ALL}};
            p_compare(t_aggregate(n, NULL, 0, aggs, 2));
            sm_expr *key = t_column(n, T_DICT);
            p_compare(t_aggregate(n, &key, 1, aggs, 2));
        }
}
END_TEST

/* A division by zero for some pair far into the output: everything before it is sunk once. */
START_TEST(errors_above_joins)
{
    for (uint32_t bad = 0; bad < 300; bad += 37) {
        sm_node *left = p_scan(300, 10, false), *right = p_scan(90, 10, false);
        p_join j = {.kind = bad % 2 ? SM_JOIN_LEFT : SM_JOIN_INNER, .n_keys = 1, .keys = {T_I32}};
        sm_node *n = join_node(left, right, &j);
        sm_expr *zero = t_op(SM_OP_sub_i64, t_column(n, T_ROW), t_const_i64(bad));
        sm_expr *e[] = {t_op(SM_OP_div_i64, t_const_i64(7), zero), t_column(n, T_ROW)};
        p_result r = p_compare(t_project(n, e, 2));
        ck_assert_int_ne(r.status, SM_OK);
        /* guarded by a lazy expression, which only the refused batch's replay could get wrong */
        sm_expr *guard[] = {t_op(SM_OP_eq_i64, t_column(n, T_ROW), t_const_i64(bad)),
                            t_const_i64(0), e[0]};
        e[0] = t_node(SM_EXPR_CASE, sm_type_of(SM_INT64), guard, 3);
        ck_assert_int_eq(p_compare(t_project(n, e, 2)).status, SM_OK);
        ck_assert_int_eq(p_compare(t_limit(t_project(n, e, 2), 1 + bad)).status, SM_OK);
    }
}
END_TEST

/* One key with all rows: more output rows than a chunk has. */
START_TEST(one_key_has_all_rows)
{
    sm_node *left = p_scan(300, 1, false), *right = p_scan(700, 1, false);
    p_join j = {.kind = SM_JOIN_INNER, .n_keys = 1, .keys = {T_I32}};
    sm_node *n = join_node(left, right, &j);
    t_agg aggs[] = {{.fn = SM_AGG_COUNT_ALL}, {.fn = SM_AGG_SUM, .arg = t_column(n, T_F64_FULL)}};
    p_result r = p_compare(t_aggregate(n, NULL, 0, aggs, 2));
    ck_assert_int_eq(t_value(r.out, 0, 0).i64, 300 * 700);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe");
    TCase *c = tcase_create("joins");
    tcase_add_checked_fixture(c, t_setup, t_teardown);
    tcase_set_timeout(c, 300);
    tcase_add_test(c, kinds_with_nulls);
    tcase_add_test(c, kinds_without_nulls);
    tcase_add_test(c, kinds_with_few_matches);
    tcase_add_test(c, kinds_with_one_build_row);
    tcase_add_test(c, kinds_with_empty_build);
    tcase_add_test(c, kinds_with_empty_probe);
    tcase_add_test(c, kinds_with_hash_zero);
    tcase_add_test(c, sums_above_joins);
    tcase_add_test(c, joins_above_joins);
    tcase_add_test(c, errors_above_joins);
    tcase_add_test(c, one_key_has_all_rows);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
