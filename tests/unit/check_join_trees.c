/* Random trees of joins, unions, projections and shared plans, cut into pipelines and run, against
 * the plainest reading of the tree: nested loops over rows that all keep all their columns. What
 * pipelines prune, rename or number wrongly shows here. */
#include "plan_run.h"

static uint64_t seed = 0x9E3779B97F4A7C15u;
static uint32_t rnd(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % n;
}

/* ---- the tree, read plainly ---- */

static row_list rows_of(const sm_node *n);

static row_list scan_rows(const sm_version *v)
{
    row_list out = {0};
    for (uint64_t r = 0; r < v->n_rows; r++) {
        sm_value *row = SM_NEW_N(&arena, sm_value, v->n_cols);
        for (uint32_t c = 0; c < v->n_cols; c++)
            sm_chunk_col_get(&v->chunks[0]->cols[c], v->cols[c].type, (uint32_t)r, &row[c]);
        add_row(&out, row);
    }
    return out;
}

static sm_value value_at(const sm_expr *e, const sm_value *row)
{
    sm_value v;
    OK(eval(e, row, &v));
    return v;
}

/* TRUE 1, FALSE 0, NULL -1: are the keys equal, and does the residual hold then? */
static int condition(const sm_node *n, const sm_value *l, const sm_value *r, const sm_value *both)
{
    int all = 1;
    for (uint32_t k = 0; k < n->join.n_keys; k++) {
        sm_value a = value_at(n->join.left_keys[k], l), b = value_at(n->join.right_keys[k], r);
        int c = a.is_null || b.is_null ? -1 : a.i32 == b.i32;
        if (c < 0 && n->join.null_safe[k]) c = a.is_null && b.is_null;
        if (c == 0) return 0;
        if (c < 0) all = -1;
    }
    if (!n->join.residual) return all;
    sm_value v = value_at(n->join.residual, both);
    return v.is_null || !v.b ? 0 : all;
}

static sm_value *pair(const sm_value *l, uint32_t n_l, const sm_value *r, uint32_t n_r)
{
    sm_value *both = SM_NEW_N(&arena, sm_value, n_l + n_r + 1);
    for (uint32_t i = 0; i < n_l + n_r; i++) both[i] = NIL;
    if (l) memcpy(both, l, n_l * sizeof *l);
    if (r) memcpy(both + n_l, r, n_r * sizeof *r);
    return both;
}

static row_list join_rows(const sm_node *n)
{
    row_list l = rows_of(n->input), r = rows_of(n->right), out = {0};
    uint32_t n_l = n->input->n_cols, n_r = n->right->n_cols;
    bool *matched = SM_NEW_N(&arena, bool, r.n + 1);
    sm_join_kind kind = n->join.kind;
    bool carries = kind <= SM_JOIN_FULL;
    for (uint32_t i = 0; i < l.n; i++) {
        uint32_t matches = 0, unknown = 0;
        for (uint32_t j = 0; j < r.n; j++) {
            sm_value *both = pair(l.rows[i], n_l, r.rows[j], n_r);
            int c = condition(n, l.rows[i], r.rows[j], both);
            unknown += c < 0;
            if (c != 1) continue;
            matches++;
            matched[j] = true;
            if (carries) add_row(&out, both);
        }
        if ((kind == SM_JOIN_LEFT || kind == SM_JOIN_FULL) && !matches)
            add_row(&out, pair(l.rows[i], n_l, NULL, n_r));
        if (kind == SM_JOIN_SEMI && matches) add_row(&out, l.rows[i]);
        if (kind == SM_JOIN_ANTI && !matches) add_row(&out, l.rows[i]);
        if (kind == SM_JOIN_NULL_ANTI && !matches && !unknown) add_row(&out, l.rows[i]);
        if (kind == SM_JOIN_MARK) {
            sm_value mark = matches ? VB(1) : unknown ? NIL : VB(0);
            add_row(&out, pair(l.rows[i], n_l, &mark, 1));
        }
    }
    for (uint32_t j = 0; j < r.n && (kind == SM_JOIN_RIGHT || kind == SM_JOIN_FULL); j++)
        if (!matched[j]) add_row(&out, pair(NULL, n_l, r.rows[j], n_r));
    return out;
}

static row_list rows_of(const sm_node *n)
{
    if (n->kind == SM_NODE_SCAN) return scan_rows(n->scan.version);
    if (n->kind == SM_NODE_SHARED) return rows_of(n->shared->plan);
    if (n->kind == SM_NODE_JOIN) return join_rows(n);
    row_list in = rows_of(n->input), out = {0};
    for (uint32_t i = 0; i < in.n; i++) {
        sm_value *row = SM_NEW_N(&arena, sm_value, n->n_cols + 1);
        if (n->kind == SM_NODE_PROJECT) {
            for (uint32_t c = 0; c < n->n_cols; c++)
                row[c] = value_at(n->project.exprs[c], in.rows[i]);
            add_row(&out, row);
        } else if (n->kind == SM_NODE_UNION_ALL) {
            add_row(&out, in.rows[i]);
        } else {
            sm_value v = value_at(n->filter.condition, in.rows[i]);
            if (!v.is_null && v.b) add_row(&out, in.rows[i]);
        }
    }
    if (n->kind == SM_NODE_UNION_ALL) {
        row_list more = rows_of(n->right);
        for (uint32_t i = 0; i < more.n; i++) add_row(&out, more.rows[i]);
    }
    return out;
}

/* ---- random trees ---- */

static sm_node *random_table(void)
{
    sm_type types[4];
    uint32_t n_cols = 1 + rnd(4), n_rows = rnd(6) ? rnd(9) : 0;
    sm_value values[8 * 4];
    for (uint32_t c = 0; c < n_cols; c++) types[c] = T(INT32);
    for (uint32_t i = 0; i < n_rows * n_cols; i++) values[i] = rnd(6) ? V32((int32_t)rnd(5)) : NIL;
    return scan(table(types, n_cols, values, n_rows));
}

static bool is_int(const sm_node *n, uint32_t c)
{
    return n->cols[c].type.id == SM_INT32;
}

/* An integer column, or one and something, or a constant. */
static sm_expr *random_int(const sm_node *n)
{
    uint32_t c = n->n_cols ? rnd(n->n_cols) : 0;
    sm_expr *e = n->n_cols && is_int(n, c) ? col(c, T(INT32)) : i32c((int32_t)rnd(4));
    return rnd(4) ? e : op2(SM_OP_add_i32, T(INT32), e, i32c(1));
}

static sm_node *random_tree(unsigned depth, sm_node *shared);

static sm_node *random_join(unsigned depth, sm_node *shared)
{
    sm_node *l = random_tree(depth - 1, shared), *r = random_tree(depth - 1, shared);
    sm_expr *lk[3], *rk[3], *residual = NULL;
    uint32_t n_keys = rnd(8) ? 1 + rnd(2) : 0;
    for (uint32_t k = 0; k < n_keys; k++) {
        lk[k] = random_int(l);
        rk[k] = random_int(r);
    }
    sm_join_kind kind = (sm_join_kind)rnd(SM_N_JOINS);
    if (kind == SM_JOIN_SINGLE) kind = SM_JOIN_INNER;
    if (rnd(3) == 0 && r->n_cols && is_int(r, r->n_cols - 1))
        residual =
            op2(SM_OP_lt_i32, T(BOOL), random_int(l), col(l->n_cols + r->n_cols - 1, T(INT32)));
    sm_node *n = join(kind, l, r, lk, rk, n_keys, residual);
    for (uint32_t k = 0; k < n_keys; k++) n->join.null_safe[k] = rnd(4) == 0;
    return n;
}

static sm_node *random_tree(unsigned depth, sm_node *shared)
{
    uint32_t choice = depth ? rnd(10) : 9;
    if (choice < 5) return random_join(depth, shared);
    if (choice < 8) {
        sm_node *in = random_tree(depth - 1, shared);
        sm_expr *exprs[3];
        uint32_t n = 1 + rnd(3);
        if (rnd(3) == 0)
            return filter(in, op2(SM_OP_ge_i32, T(BOOL), random_int(in), i32c((int32_t)rnd(3))));
        for (uint32_t i = 0; i < n; i++) exprs[i] = random_int(in);
        sm_node *p = project(in, exprs, n);
        if (rnd(3)) return p;
        sm_node *other = random_tree(depth - 1, shared);
        for (uint32_t i = 0; i < n; i++) exprs[i] = random_int(other);
        return union_all(p, project(other, exprs, n));
    }
    return shared && rnd(3) == 0 ? shared : random_table();
}

static sm_node *shared_node(sm_node *plan)
{
    sm_node *n = sm_node_new(&arena, SM_NODE_SHARED, NULL);
    n->shared = SM_NEW(&arena, sm_shared);
    n->shared->plan = plan;
    n->n_cols = plan->n_cols;
    n->cols = plan->cols;
    return n;
}

static void check_tree(uint64_t number)
{
    seed = number * 0x9E3779B97F4A7C15u + 88172645463325252u;
    for (int i = 0; i < 4; i++) rnd(2);
    sm_node *shared = rnd(2) ? shared_node(random_tree(1, NULL)) : NULL;
    sm_node *n = random_tree(1 + rnd(3), shared);
    sm_agg_call count[] = {call(SM_AGG_COUNT_ALL, NULL)};
    row_list expected = rows_of(n);
    sm_version *v;
    if (expected.n > 2000) return;
    OK(run_plan(n, number & 1, 1, &v));
    ck_assert_msg(v->n_rows == expected.n, "tree %llu: %llu rows, not %u",
                  (unsigned long long)number, (unsigned long long)v->n_rows, expected.n);
    ck_assert_uint_eq(v->n_cols, n->n_cols);
    for (uint64_t r = 0; r < v->n_rows; r++)
        for (uint32_t c = 0; c < n->n_cols; c++) {
            sm_value x, *y = &expected.rows[r][c];
            sm_chunk_col_get(&v->chunks[0]->cols[c], v->cols[c].type, (uint32_t)r, &x);
            bool same = x.is_null == y->is_null &&
                        (x.is_null || (is_int(n, c) ? x.i32 == y->i32 : x.b == y->b));
            ck_assert_msg(same, "tree %llu: row %llu, column %u", (unsigned long long)number,
                          (unsigned long long)r, c);
        }
    OK(run_plan(aggregate(n, NULL, 0, count, 1), number & 1, 1, &v));
    ck_assert_str_eq(rows_text(v), sm_arena_printf(&arena, "%u", expected.n));
    if (!is_int(n, 0)) return;
    sm_expr *first[] = {col(0, T(INT32))};
    OK(run_plan(project(n, first, 1), number & 1, 1, &v));
    for (uint64_t r = 0; r < v->n_rows; r++) {
        sm_value x;
        sm_chunk_col_get(&v->chunks[0]->cols[0], T(INT32), (uint32_t)r, &x);
        ck_assert_msg(x.is_null == expected.rows[r][0].is_null &&
                          (x.is_null || x.i32 == expected.rows[r][0].i32),
                      "tree %llu, one column: row %llu", (unsigned long long)number,
                      (unsigned long long)r);
    }
}

START_TEST(trees_give_what_they_say)
{
    const char *from = getenv("SMELT_SEED");
    uint64_t first = from ? strtoull(from, NULL, 10) : 1;
    for (uint64_t i = first; i < first + 3000; i++) {
        check_tree(i);
        sm_arena_reset(&arena);
    }
}
END_TEST

START_TEST(trees_with_one_hash)
{
    sm_hash_zero_set(true);
    for (uint64_t i = 100000; i < 100500; i++) {
        check_tree(i);
        sm_arena_reset(&arena);
    }
    sm_hash_zero_set(false);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("join_trees");
    TCase *c = tcase_create("join_trees");
    suite_add_tcase(s, c);
    tcase_set_timeout(c, 300);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, trees_give_what_they_say);
    tcase_add_test(c, trees_with_one_hash);
    return run_suite(s);
}
