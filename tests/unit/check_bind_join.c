/* Binding of joins, set operations and subqueries: the tree that a statement becomes, SQLSTATE and
 * character position of the bad ones. Trees are compared as one line of text: joins in brackets,
 * with their keys as pairs of column numbers. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sql/sql.h"

static sm_mem mem;
static sm_arena arena;
static sm_catalog catalog;

static sm_status bind(const char *text, sm_stmt *out, sm_error *err)
{
    *err = (sm_error){0};
    return sm_sql_bind(&arena, &catalog, text, strlen(text), NULL, 0, out, err);
}

static void create(const char *text)
{
    sm_stmt st;
    sm_error err;
    sm_version *v;
    ck_assert_msg(bind(text, &st, &err) == SM_OK, "%s: %s", text, err.message);
    ck_assert_int_eq(sm_version_new(&mem, st.cols, st.n_cols, &v, NULL), SM_OK);
    ck_assert_int_eq(sm_catalog_create(&catalog, st.table, v, NULL), SM_OK);
}

static void setup(void)
{
    sm_mem_init(&mem, NULL, SIZE_MAX);
    sm_arena_init(&arena, &mem, "test");
    ck_assert_int_eq(sm_catalog_init(&catalog, &mem, NULL), SM_OK);
    create("create table a(id int not null, x int, s text)");
    create("create table b(id int, y bigint, x int)");
    create("create table c(y bigint, n numeric(5,2), z int)");
}

static void teardown(void)
{
    sm_arena_reset(&arena);
    sm_catalog_reset(&catalog);
    ck_assert_uint_eq(mem.used_bytes, 0);
}

static const char *shown_expr(const sm_expr *e, const sm_col *cols, uint32_t n)
{
    char *out = NULL;
    ck_assert_int_eq(sm_expr_print(e, cols, n, &arena, &out, NULL), SM_OK);
    return out;
}

static const char *shown(const sm_node *n);

static const char *shown_join(const sm_node *n)
{
    static const char *const names[] = {
#define SM_JOIN(id, name, l, r) name,
#include "plan/joins.def"
#undef SM_JOIN
    };
    char *keys = sm_arena_strdup(&arena, "");
    uint32_t n_both = n->input->n_cols + n->right->n_cols;
    sm_col *both = SM_NEW_N(&arena, sm_col, n_both + 1);
    for (uint32_t i = 0; i < n_both; i++)
        both[i] = i < n->input->n_cols ? n->input->cols[i] : n->right->cols[i - n->input->n_cols];
    for (uint32_t i = 0; i < n->join.n_keys; i++)
        keys = sm_arena_printf(
            &arena, "%s%s%s%s%s", keys, i ? ", " : " ",
            shown_expr(n->join.left_keys[i], n->input->cols, n->input->n_cols),
            n->join.null_safe[i] ? "==" : "=",
            shown_expr(n->join.right_keys[i], n->right->cols, n->right->n_cols));
    if (n->join.residual)
        keys = sm_arena_printf(&arena, "%s if %s", keys, shown_expr(n->join.residual, both, n_both));
    return sm_arena_printf(&arena, "(%s %s %s%s)", shown(n->input), names[n->join.kind],
                           shown(n->right), keys);
}

static const char *shown(const sm_node *n)
{
    switch (n->kind) {
    case SM_NODE_SCAN: return n->scan.table;
    case SM_NODE_JOIN: return shown_join(n);
    case SM_NODE_UNION_ALL:
        return sm_arena_printf(&arena, "(%s UNION ALL %s)", shown(n->input), shown(n->right));
    case SM_NODE_FILTER:
        return sm_arena_printf(&arena, "%s[%s]", shown(n->input),
                               shown_expr(n->filter.condition, n->input->cols, n->input->n_cols));
    case SM_NODE_PROJECT: return sm_arena_printf(&arena, "P(%s)", shown(n->input));
    case SM_NODE_LIMIT: return sm_arena_printf(&arena, "L(%s)", shown(n->input));
    case SM_NODE_DISTINCT: return sm_arena_printf(&arena, "D(%s)", shown(n->input));
    case SM_NODE_AGGREGATE: return sm_arena_printf(&arena, "A(%s)", shown(n->input));
    case SM_NODE_SHARED: return sm_arena_printf(&arena, "shared %s", n->shared->name);
    default: return "?";
    }
}

static void tree_is(const char *text, const char *want)
{
    sm_stmt st;
    sm_error err;
    ck_assert_msg(bind(text, &st, &err) == SM_OK, "%s: %s %s", text, err.sqlstate, err.message);
    const char *have = shown(st.plan);
    ck_assert_msg(strcmp(have, want) == 0, "%s:\n%s\n%s", text, have, want);
}

static void columns_are(const char *text, const char *want)
{
    sm_stmt st;
    sm_error err;
    char *have = sm_arena_strdup(&arena, "");
    ck_assert_msg(bind(text, &st, &err) == SM_OK, "%s: %s %s", text, err.sqlstate, err.message);
    for (uint32_t i = 0; i < st.plan->n_cols; i++) {
        char name[64];
        const sm_col *c = &st.plan->cols[i];
        sm_type_name(c->type, name, sizeof(name));
        have = sm_arena_printf(&arena, "%s%s%s %s%s", have, i ? ", " : "", c->name, name,
                               c->nullable ? "?" : "");
    }
    ck_assert_msg(strcmp(have, want) == 0, "%s:\n%s\n%s", text, have, want);
}

static void fails(const char *text, const char *sqlstate, int position)
{
    sm_stmt st;
    sm_error err;
    ck_assert_msg(bind(text, &st, &err) != SM_OK, "%s", text);
    ck_assert_msg(strcmp(err.sqlstate, sqlstate) == 0, "%s: %s %s", text, err.sqlstate,
                  err.message);
    ck_assert_msg(err.position == position, "%s: %s at %d", text, err.message, err.position);
}

START_TEST(trees)
{
    tree_is("select a.x from a join b on a.id = b.id", "P((a JOIN b id=id))");
    tree_is("select 1 from a, b where a.id = b.id and a.x > 3 and b.y = 7",
            "P((a[(x > 3)] JOIN b[(y = 7)] id=id))");
    tree_is("select 1 from a join b on a.id = b.y", "P((a JOIN b id::bigint=y))");
    tree_is("select 1 from a, b where a.id < b.id", "P((a JOIN b)[(id < id)])");
    tree_is("select 1 from a cross join b", "P((a JOIN b))");
    tree_is("select 1 from a left join b on a.id = b.id and b.x = 3 and a.x = 4",
            "P((a LEFT JOIN b[(x = 3)] id=id if (x = 4)))");
    tree_is("select 1 from a right join b on a.id = b.id and a.x = 3",
            "P((a[(x = 3)] RIGHT JOIN b id=id))");
    tree_is("select 1 from a full join b on a.id is not distinct from b.id",
            "P((a FULL JOIN b id==id))");
    /* c is named before anything connects it */
    tree_is("select 1 from a, c, b where a.id = b.id and b.y = c.y",
            "P(P(((a JOIN b id=id) JOIN c y=y)))");
    /* what can fail stays above */
    tree_is("select 1 from a, b where 1 / a.x = 1 and a.id = b.id", "P((a JOIN b id=id)[((1 / x) = 1)])");
    tree_is("select 1 from a, b where (a.id = b.id and a.x = 1) or (a.id = b.id and b.x = 2)",
            "P((a JOIN b id=id)[(((id = id) AND (x = 1)) OR ((id = id) AND (x = 2)))])");
    tree_is("select 1 from (a join b using (id)) left join c on c.y = b.y",
            "P(((a JOIN b id=id) LEFT JOIN c y=y))");
    tree_is("from a |> where x = 1", "a[(x = 1)]");
}
END_TEST

START_TEST(columns)
{
    columns_are("select * from a join b using (id)",
                "id integer, x integer?, s text?, y bigint?, x integer?");
    columns_are("select * from a natural join b", "id integer, x integer?, s text?, y bigint?");
    columns_are("select * from a left join b on a.id = b.id",
                "id integer, x integer?, s text?, id integer?, y bigint?, x integer?");
    columns_are("select * from b full join c using (y)",
                "y bigint?, id integer?, x integer?, n numeric(5,2)?, z integer?");
    columns_are("select b.*, a.id from b right join a using (id)",
                "id integer?, y bigint?, x integer?, id integer");
    columns_are("select * from a full join a as a2 using (id)",
                "id integer?, x integer?, s text?, x integer?, s text?");
    columns_are("select j.p, j.s from (a join b on a.id = b.id) as j(o, p)", "p integer?, s text?");
    columns_are("select count(*), a.x from a, b where a.id = b.id group by a.x order by a.x",
                "count bigint, x integer?");
    columns_are("select y from (select a.id, c.y from a, c) as q", "y bigint?");
}
END_TEST

START_TEST(unions)
{
    tree_is("select id from a union all select id from b", "(P(a) UNION ALL P(b))");
    tree_is("select id from a union select id from b", "D((P(a) UNION ALL P(b)))");
    tree_is("select id from a union all select id from b limit 3", "L((P(a) UNION ALL P(b)))");
    columns_are("select id from a union all select y from b", "id bigint?");
    columns_are("select 1 as one union all select null", "one integer?");
    columns_are("select 1.5 as n union all select id from a", "n numeric(11,1)");
    columns_are("with u as (select 1 as k union all select 2) select k from u", "k integer");
    columns_are("values (1) union all values (2)", "column1 integer");
    fails("select 1 union all select 1, 2", "42601", 27);
    fails("select 1 union all select s from a", "42804", 27);
    fails("select 1 intersect select 2", "0A000", 27);
    fails("select 1 except select 2", "0A000", 24);
}
END_TEST

START_TEST(subqueries)
{
    tree_is("select 1 from a where id in (select id from b)", "P((a SEMI JOIN P(b) id=id))");
    tree_is("select 1 from a where id not in (select y from b)",
            "P((a NULL-AWARE ANTI JOIN P(b) id::bigint=y))");
    tree_is("select 1 from a where (id, x) in (select id, x from b)",
            "P((a SEMI JOIN P(b) id=id, x=x))");
    tree_is("select 1 from a where x > 1 and exists (select 1 from b)",
            "P((a[(x > 1)] SEMI JOIN L(b)))");
    tree_is("select 1 from a where exists (select 1 from b where b.id = a.id and b.x = 4)",
            "P((a SEMI JOIN b[(x = 4)] id=id))");
    tree_is("select 1 from a where not exists (select 1 from b where b.id = a.id and b.x <> a.x)",
            "P((a ANTI JOIN b id=id if (x <> x)))");
    tree_is("select 1 from a where x > (select max(x) from b)",
            "P(P((a SINGLE JOIN A(b))[(x > max)]))");
    tree_is("select (select max(x) from b) from a", "P((a SINGLE JOIN A(b)))");
    tree_is("select x from a group by x having count(*) > (select min(y) from b)",
            "P(P((A(a) SINGLE JOIN A(b))[(count > min)]))");
    tree_is("select 1 from a where x = 1 or id in (select id from b)",
            "P(P((a MARK JOIN P(b) id=id)[((x = 1) OR mark)]))");
    tree_is("select 1 from a where x = 1 or exists (select 1 from b where b.id = a.id)",
            "P(P((a MARK JOIN b id=id)[((x = 1) OR coalesce(mark, false))]))");
    tree_is("select 1 from a, b where a.id = b.id and a.x in (select z from c)",
            "P(((a SEMI JOIN P(c) x=z) JOIN b id=id))");
    fails("select 1 from a where x > (select max(x) from b where b.id = a.id)", "0A000", 27);
    fails("select 1 from a where exists (select count(*) from b where b.id = a.id)", "0A000", 23);
    fails("select (select id, x from b) from a", "42601", 8);
    fails("select 1 from a where id in (select id, x from b)", "42601", 26);
    fails("select 1 from a where (id, x) in (select id from b)", "42601", 31);
    fails("select 1 from a where id in (select s from a)", "42883", 26);
}
END_TEST

START_TEST(names)
{
    fails("select x from a join b on a.id = b.id", "42702", 8);
    fails("select id from a, b", "42702", 8);
    fails("select c.y from a, b", "42P01", 8);
    fails("select c.* from a, b", "42P01", 8);
    fails("select a.y from a, b", "42703", 8);
    fails("select 1 from a join b on a.id = c.id", "42P01", 34);
    fails("select 1 from a, b join c on a.id = c.z", "42P01", 30);
    fails("select 1 from a, a", "42712", 18);
    fails("select 1 from a join b as a on true", "42712", 22);
    fails("select 1 from a join b on a.id", "42804", 27);
    fails("select 1 from a join b on a.s = b.id", "42883", 31);
    fails("select 1 from a join b using (s)", "42703", 22);
    fails("select 1 from a join b using (q)", "42703", 22);
    fails("select 1 from (a join b on true) join c as c2(x) using (x)", "42702", 39);
    fails("select a.x, count(*) from a, b group by b.x", "42803", 8);
    fails("select 1 from a left join b on sum(a.x) = 1", "42803", 32);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("bind_join");
    TCase *t = tcase_create("bind_join");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, trees);
    tcase_add_test(t, columns);
    tcase_add_test(t, unions);
    tcase_add_test(t, subqueries);
    tcase_add_test(t, names);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
