/* Binding: plans and types of good statements, SQLSTATE and character position of bad ones, in SQL
 * and as pipe plans. Plans are compared as printed text, which is then bound again and must print
 * the same. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/sql.h"
#include "storage/csv/csv.h"

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
    ck_assert_int_eq(st.kind, SM_STMT_CREATE_TABLE);
    ck_assert_int_eq(sm_version_new(&mem, st.cols, st.n_cols, &v, NULL), SM_OK);
    ck_assert_int_eq(sm_catalog_create(&catalog, st.table, v, NULL), SM_OK);
}

static void setup(void)
{
    sm_mem_init(&mem, NULL, SIZE_MAX);
    sm_arena_init(&arena, &mem, "test");
    ck_assert_int_eq(sm_catalog_init(&catalog, &mem, NULL), SM_OK);
    create("create table t(a int, b text, d date, n numeric(10,2), f float8, g bigint not null, s "
           "smallint, r real, "
           "ok boolean, ts timestamp, iv interval)");
    create("create temp table v(k varchar(3) not null, c char(2), x numeric, primary key (c))");
}

static void teardown(void)
{
    sm_arena_reset(&arena);
    sm_catalog_reset(&catalog);
    ck_assert_uint_eq(mem.used_bytes, 0);
}

static const char *types_of(const sm_node *n)
{
    char *out = sm_arena_printf(&arena, "%s", "");
    for (uint32_t i = 0; i < n->n_cols; i++) {
        char name[64];
        sm_type_name(n->cols[i].type, name, sizeof(name));
        out = sm_arena_printf(&arena, "%s%s%s%s", out, i ? "," : "", name,
                              n->cols[i].nullable ? "?" : "");
    }
    return out;
}

static const char *print(const sm_node *n, const char *text)
{
    char *out = NULL;
    sm_error err = {0};
    ck_assert_msg(sm_node_print(n, &arena, &out, &err) == SM_OK, "%s: %s", text, err.message);
    size_t len = strlen(out);
    while (len && out[len - 1] == '\n') out[--len] = 0;
    return out;
}

/* Binds, compares the printed plan, binds that, compares again. */
static void plan_is(const char *text, const char *want)
{
    sm_stmt st, again;
    sm_error err;
    ck_assert_msg(bind(text, &st, &err) == SM_OK, "%s: %s %s", text, err.sqlstate, err.message);
    ck_assert_ptr_nonnull(st.plan);
    const char *have = print(st.plan, text);
    ck_assert_msg(strcmp(have, want) == 0, "%s\nis\n%s\nnot\n%s", text, have, want);
    ck_assert_msg(bind(have, &again, &err) == SM_OK, "%s: %s %s", have, err.sqlstate, err.message);
    ck_assert_str_eq(print(again.plan, have), want);
    ck_assert_str_eq(types_of(again.plan), types_of(st.plan));
}

/* The types of a list of expressions over t, ? = nullable. */
static void types_are(const char *list, const char *want)
{
    sm_stmt st;
    sm_error err;
    const char *text = sm_arena_printf(&arena, "select %s from t", list);
    ck_assert_msg(bind(text, &st, &err) == SM_OK, "%s: %s %s", text, err.sqlstate, err.message);
    const char *have = types_of(st.plan);
    ck_assert_msg(strcmp(have, want) == 0, "%s: %s, not %s", text, have, want);
}

/* One expression over t, as the plan prints it. */
static void expr_is(const char *expr, const char *want)
{
    sm_stmt st;
    sm_error err;
    char *have;
    const char *text = sm_arena_printf(&arena, "select %s as e from t", expr);
    ck_assert_msg(bind(text, &st, &err) == SM_OK, "%s: %s %s", text, err.sqlstate, err.message);
    ck_assert_int_eq(st.plan->kind, SM_NODE_PROJECT);
    const sm_node *in = st.plan->input;
    ck_assert_int_eq(
        sm_expr_print(st.plan->project.exprs[0], in->cols, in->n_cols, &arena, &have, &err), SM_OK);
    ck_assert_msg(strcmp(have, want) == 0, "%s: %s, not %s", expr, have, want);
}

static void fails(const char *text, const char *state, int32_t position, const char *part)
{
    sm_stmt st;
    sm_error err;
    ck_assert_msg(bind(text, &st, &err) != SM_OK, "%s is bound", text);
    ck_assert_msg(strcmp(err.sqlstate, state) == 0, "%s: %s %s, not %s", text, err.sqlstate,
                  err.message, state);
    ck_assert_msg(err.position == position, "%s: position %d, not %d", text, err.position,
                  position);
    ck_assert_msg(!part || strstr(err.message, part) || strstr(err.hint, part), "%s: %s / %s", text,
                  err.message, err.hint);
}

START_TEST(selects)
{
    plan_is("select * from t where a > 1", "FROM t\n|> WHERE (a > 1)");
    plan_is("select a, b as \"B c\" from t", "FROM t\n|> SELECT a, b AS \"B c\"");
    plan_is(
        "select x.a from public.t as x(a, y) order by y desc limit 3",
        "FROM t\n|> SELECT a, b AS y, d, n, f, g, s, r, ok, ts, iv\n|> SELECT a, y AS \"order\"\n"
        "|> ORDER BY \"order\" DESC\n|> LIMIT 3\n|> SELECT a");
    plan_is("select a from t limit all offset 2", "FROM t\n|> SELECT a\n|> OFFSET 2");
    plan_is("select a from t limit null", "FROM t\n|> SELECT a");
    plan_is("select a from t fetch first (1 + 1) rows only", "FROM t\n|> SELECT a\n|> LIMIT 2");
    plan_is("select distinct a from t order by a nulls first",
            "FROM t\n|> SELECT a\n|> DISTINCT\n|> ORDER BY a NULLS FIRST");
    plan_is(
        "values (1,'a'),(null,'b') order by 2",
        "FROM (VALUES (1, 'a'), (NULL::integer, 'b')) AS v(column1, column2)\n|> ORDER BY column2");
    plan_is("with q(z) as (select a from t), p as (select z from q) select z + 1 as y from p",
            "FROM t\n|> SELECT a AS z\n|> SELECT (z + 1) AS y");
    plan_is("select i from generate_series(1, 10) t(i)", "FROM generate_series(1, 10, 1) AS s(i)");
    plan_is("select * from (select a from t) x", "FROM t\n|> SELECT a");
}
END_TEST

START_TEST(groups)
{
    plan_is("select a, sum(n) from t group by a", "FROM t\n|> AGGREGATE sum(n) AS sum GROUP BY a");
    plan_is("select a + 1 as k, count(*) c from t group by k having count(*) > 1 order by 2 desc",
            "FROM t\n|> AGGREGATE count(*) AS c GROUP BY (a + 1) AS k\n|> WHERE (c > 1)\n|> ORDER "
            "BY c DESC");
    plan_is("select sum(a) from t having true",
            "FROM t\n|> AGGREGATE sum(a) AS sum\n|> WHERE true");
    plan_is("select count(distinct a) filter (where ok) x, sum(a) + 1 y from t",
            "FROM t\n|> AGGREGATE count(DISTINCT a) FILTER (WHERE ok) AS count, sum(a) AS sum\n|> "
            "SELECT count AS x, (sum + 1) AS y");
    plan_is(
        "select a from t group by 1 order by max(b)",
        "FROM t\n|> AGGREGATE max(b) AS \"order\" GROUP BY a\n|> ORDER BY \"order\"\n|> SELECT a");
    /* GROUP BY prefers the input's column to the output's name; ORDER BY does the opposite */
    plan_is("select a as g, count(*) from t group by g, a",
            "FROM t\n|> AGGREGATE count(*) AS count GROUP BY g, a\n|> SELECT a AS g, count");
    plan_is("select a as b, b as a from t order by b",
            "FROM t\n|> SELECT a AS b, b AS a\n|> ORDER BY b");
    plan_is("select a as b from t order by b || ''",
            "FROM t\n|> SELECT a AS b, (b || '') AS \"order\"\n|> ORDER BY \"order\"\n|> SELECT b");
}
END_TEST

START_TEST(rewrites)
{
    expr_is("a between 1 and 2", "((a >= 1) AND (a <= 2))");
    expr_is("a not in (1, 2)", "(NOT ((a = 1) OR (a = 2)))");
    expr_is("(a, b) in ((1, 'x'))", "((a = 1) AND (b = 'x'))");
    expr_is("nullif(a, 1)", "CASE WHEN (a = 1) THEN NULL::integer ELSE a END");
    expr_is("case a when 1 then 'x' end", "CASE WHEN (a = 1) THEN 'x' ELSE NULL::text END");
    expr_is("ok is not true", "(NOT coalesce(ok, false))");
    expr_is("a is not distinct from g",
            "CASE WHEN (a IS NULL) THEN (g IS NULL) WHEN (g IS NULL) THEN false ELSE (a = g) END");
    expr_is("b not like 'x!%' escape '!'", "(NOT (b LIKE 'x!%' ESCAPE '!'))");
    expr_is("b || g", "(b || g::text)");
    expr_is("d - interval '1' month", "(d::timestamp without time zone - INTERVAL '1 mon')");
    expr_is("d - '2024-01-01'", "(d - DATE '2024-01-01')");
    expr_is("d + interval '15 3:04' day to hour",
            "(d::timestamp without time zone + INTERVAL '15 days 03:00:00')");
    expr_is("d + interval '15' month",
            "(d::timestamp without time zone + INTERVAL '1 year 3 mons')");
    expr_is("- 5 * a", "((-5) * a)");
    expr_is("trim(both 'x' from b)", "btrim(b, 'x')");
    expr_is("position('x' in b)", "strpos(b, 'x')");
    expr_is("extract(year from d)", "extract(year FROM d)");
    expr_is("1 + 2 * 3 = 7 and a = 1", "(true AND (a = 1))");
}
END_TEST

/* Casts are left out only where binding brings back the same type; -0 and texts keep what they are. */
START_TEST(printed_types)
{
    static const char *const exprs[][2] = {
        {"'x'::text::smallint", "'x'::text::smallint"},
        {"'7'::smallint", "7::smallint"},
        {"-0.0::float8 + f", "('-0'::double precision + f)"},
        {"a + 5::bigint", "(a + 5::bigint)"},
        {"s + 5", "(s + 5)"},
        {"s::int + s", "(s::integer + s::integer)"},
        {"a::bigint + 5", "(a + 5::bigint)"},
        {"g + 5", "(g + 5)"},
        {"a + 5::numeric(3,0)", "(a + 5::numeric(3,0))"},
        {"a = 5::numeric(3,0)", "(a = 5::numeric(3,0))"},
        {"a * 5::numeric(10,0)", "(a * 5::numeric(10,0))"},
        {"5::numeric(10,0) % a", "(5::numeric(10,0) % a)"},
        {"n + 5", "(n + 5.00)"},
        {"n + 5::numeric(3,0)", "(n + 5.00)"},
        {"n::numeric(4,0) + 5::numeric(7,0)", "(n::numeric(4,0) + 5::numeric(7,0))"},
        {"n * 5", "(n * 5)"},
        {"n * 5::numeric(3,0)", "(n * 5::numeric(3,0))"},
        {"n * 5::numeric(12,0)", "(n * 5::numeric(12,0))"},
        {"a::numeric * a::numeric", "(a::numeric(10,0) * a)"},
        {"a::numeric(12,2) * a", "(a::numeric(12,2) * a)"},
        {"a::numeric(12,2) + n", "(a + n)"},
        {"n::numeric(20,4) * n", "(n::numeric(20,4) * n)"},
        {"n::numeric(20,4) < 5", "(n < 5.0000)"},
        {"trunc(n, -1)", "(trunc(n, (-1)))::numeric(9,0)"},
        {"trunc(n::numeric(19,0), -1)", "trunc(n::numeric(19,0), (-1))"},
        {"sign(n) * 2", "((sign(n))::numeric(1,0) * 2)"},
    };
    for (size_t i = 0; i < SM_COUNT(exprs); i++) {
        const char *types[2], *printed = exprs[i][0];
        for (unsigned k = 0; k < 2; k++) {
            sm_stmt st;
            sm_error err;
            const char *text = sm_arena_printf(&arena, "select %s as e from t", printed);
            ck_assert_msg(bind(text, &st, &err) == SM_OK, "%s: %s", text, err.message);
            types[k] = types_of(st.plan);
            printed = exprs[i][1];
            expr_is(exprs[i][k], printed);
        }
        ck_assert_msg(!strcmp(types[0], types[1]), "%s: %s, not %s", printed, types[1], types[0]);
    }
}
END_TEST

START_TEST(types)
{
    types_are("a, g, n, f", "integer?,bigint,numeric(10,2)?,double precision?");
    types_are(
        "s + s, s + a, a + g, r + r, r + a, r + n, f + n",
        "smallint?,integer?,bigint?,real?,double precision?,double precision?,double precision?");
    types_are("n + n, n - 1, n * n, n * 1.5, n / 2, n % 3, -n, a + n",
              "numeric(11,2)?,numeric(11,2)?,numeric(20,4)?,numeric(12,3)?,double "
              "precision?,numeric(10,2)?,numeric(10,2)?,numeric(13,2)?");
    types_are("1, 3000000000, 1.50, 12345678901234567890, 1e3, 1e300, -2147483648",
              "integer,bigint,numeric(3,2),numeric(20,0),numeric(4,0),double precision,integer");
    types_are("n * n * n * n, g * n, g + n", "numeric(38,8)?,numeric(29,2)?,numeric(22,2)?");
    types_are("'x', null, true, date '2024-01-01'", "text,text?,boolean,date");
    types_are("a / 2, a % 2, a ^ 2, abs(s), abs(n), sqrt(n), round(n), round(n, 1), round(f), "
              "round(a, -1)",
              "integer?,integer?,double precision?,smallint?,numeric(10,2)?,double "
              "precision?,numeric(9,0)?,numeric(10,1)?,double precision?,numeric(11,0)?");
    types_are("ceil(n), floor(f), trunc(n, 1), sign(n), mod(n, 2), power(2, 3)",
              "numeric(9,0)?,double precision?,numeric(10,1)?,numeric(1,0)?,numeric(10,2)?,double "
              "precision");
    types_are("extract(year from ts), extract(second from ts), date_part('year', d), "
              "date_trunc('month', d)",
              "numeric(18,0)?,numeric(18,6)?,double precision?,timestamp without time zone?");
    types_are("d + 1, d - d, ts - ts, d + iv, ts - d, iv * 2, iv + iv, -iv",
              "date?,integer?,interval?,timestamp without time "
              "zone?,interval?,interval?,interval?,interval?");
    types_are("case when ok then 1 else 2.5 end, coalesce(a, n, 0), greatest(s, a), nullif(a, 1), "
              "coalesce(f, n)",
              "numeric(2,1),numeric(12,2),integer?,integer?,double precision?");
    types_are("a = 1, a is null, a is distinct from 1, g = 1", "boolean?,boolean,boolean,boolean");
    types_are(
        "a::numeric, n::numeric, b::numeric, '1.230'::numeric, a::numeric(5,1), f::numeric(4,2)",
        "numeric(10,0)?,numeric(10,2)?,numeric(38,10)?,numeric(4,3),numeric(5,1)?,numeric(4,2)?");
    types_are("count(*), count(a), sum(a), sum(g), sum(n), sum(f), avg(a), avg(n), min(d), max(b), "
              "stddev(a), bool_and(ok)",
              "bigint,bigint,bigint?,numeric(38,0)?,numeric(38,2)?,double precision?,double "
              "precision?,double precision?,date?,text?,double precision?,boolean?");
    types_are("length(b), substring(b, 1, 2), upper(b), concat(b, a, ok), b like 'x', left(b, 2), "
              "starts_with(b, 'x')",
              "integer?,text?,text?,text,boolean?,text?,boolean?");
}
END_TEST

START_TEST(syntax_errors)
{
    fails("selct 1", "42601", 1, "at or near \"selct\"");
    fails("select 'é', + from t", "42601", 15, NULL);
    fails("select 1 +", "42601", 11, "end of input");
    fails("select 1; select 2", "42601", 10, "more than one");
    fails("select 'a", "42601", 8, "unterminated");
    fails("select \xFF", "22021", 8, NULL);
    fails("select aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "42622", 8,
          NULL);
    fails("select a from t intersect select 1", "0A000", 34, "INTERSECT");
    fails("select 'é', array(select 1)", "0A000", 13, "subquery");
    fails("select 1 from t, lateral (select 1) as v", "0A000", 34, "LATERAL");
    fails("select sum(a) over () from t", "0A000", 8, "window");
    fails("select a from t group by grouping sets ((a))", "0A000", 26, "GROUPING SETS");
    fails("select string_agg(b, ',') from t", "0A000", 8, "string_agg");
    fails("select distinct on (a) a from t", "0A000", 21, "DISTINCT ON");
    fails("update t set a = 1", "0A000", 1, "UPDATE");
    fails("select array[1]", "0A000", 8, "array");
    fails("select interval '2:03' minute to second", "0A000", 17, NULL);
    fails("select iv::interval day from t", "0A000", 10, NULL);
    fails("with x as (insert into t(a) values (1)) select 1", "0A000", 6, "changes data");
    fails("with x as (select zz) select 1", "42703", 19, NULL);
    fails("select t from t", "0A000", 8, "a row value");
    fails("select 1::int[]", "0A000", 11, "array");
}
END_TEST

START_TEST(name_errors)
{
    fails("select x from t", "42703", 8, "column \"x\" does not exist");
    fails("select 'é', bb from t", "42703", 13, "\"t.b\"");
    fails("select t.nn from t", "42703", 8, "\"t.n\"");
    fails("select u.a from t", "42P01", 8, "missing FROM-clause entry for table \"u\"");
    fails("select t.a from t x", "42P01", 8, NULL);
    fails("select * from tt", "42P01", 15, "Perhaps you meant the table \"t\"");
    fails("select * from other.t", "42P01", 15, "other.t");
    fails("select *", "42601", 8, NULL);
    fails("select a, a from (select a, a from t) q", "42702", 8, "ambiguous");
    fails("select a as x, b as x from t order by x", "42702", 39, "ambiguous");
    fails("select lenght(b) from t", "42883", 8, "\"length\"");
    fails("select length(a) from t", "42883", 8, "function length(integer) does not exist");
    fails("select 'é', a = b from t", "42883", 15, "operator does not exist: integer = text");
    fails("select a + b from t", "42883", 10, "integer + text");
    fails("select - b from t", "42883", 8, "- text");
    fails("select a || a from t", "42883", 10, "integer || integer");
    fails("select '1' + '2'", "42725", 12, "not unique");
    fails("select 1::foo", "42704", 11, "\"foo\"");
    fails("select $0", "42P02", 8, NULL);
    fails("select * from t x(a,b,c,d,e,f,g,h,i,j,k,l)", "42P10", 15, "11 columns available but 12");
}
END_TEST

START_TEST(type_errors)
{
    fails("select 'abc'::int", "22P02", 8, "invalid input syntax for type integer: \"abc\"");
    fails("select a from t where d > '2024-02-30'", "22008", 27, NULL);
    fails("select date 'foo'", "22007", 13, NULL);
    fails("select 'é', a::date from t", "42846", 14, "cannot cast type integer to date");
    fails("select g::boolean from t", "42846", 9, NULL);
    fails("select case when ok then 1 else 'x' end from t", "22P02", 33, NULL);
    fails("select case when ok then a else b end from t", "42804", 26,
          "CASE types text and integer cannot be matched");
    fails("select case when a then 1 end from t", "42804", 18,
          "must be type boolean, not type integer");
    fails("select a from t where a", "42804", 23, "argument of WHERE");
    fails("select not a from t", "42804", 12, "argument of NOT");
    fails("values (1),(date '2024-01-01')", "42804", 13, "VALUES types");
    fails("values (1),(1,2)", "42601", 13, "same length");
    fails("select 99999999999999999999999999999999999999999", "22003", 8, NULL);
    fails("select 0.00000000000000000000000000000000000001 * 0.1", "22003", 49, NULL);
    fails("select extract(foo from d) from t", "22023", 16, "\"foo\"");
    fails("select extract(hour from d) from t", "22023", 16, NULL);
    fails("select b like 'x' escape 'ab' from t", "22025", 26, NULL);
    fails("select numeric(50,2) '1'", "22023", 8, NULL);
    fails("select a from t limit a", "42P10", 23, "must not contain variables");
    fails("select a from t limit -1", "2201W", 23, NULL);
    fails("select a from t offset -1", "2201X", 24, NULL);
    fails("select * from generate_series(1, 1/0)", "22012", 35, NULL);
}
END_TEST

START_TEST(grouping_errors)
{
    fails("select a, b from t group by a", "42803", 11,
          "column \"t.b\" must appear in the GROUP BY clause or be used in an aggregate function");
    fails("select a, sum(n) from t", "42803", 8, "t.a");
    fails("select a from t where sum(a) > 1", "42803", 23,
          "aggregate functions are not allowed in WHERE");
    fails("select sum(sum(a)) from t", "42803", 12, "nested");
    fails("select sum(a) filter (where sum(a) > 1) from t", "42803", 29, "nested");
    fails("select sum(a) from t group by sum(a)", "42803", 31, "not allowed in GROUP BY");
    fails("select sum(a) as x from t group by x", "42803", 8, "not allowed in GROUP BY");
    fails("select a from t group by 2", "42P10", 26, "GROUP BY position 2");
    fails("select a from t order by 2", "42P10", 26, "ORDER BY position 2");
    fails("select a from t order by 'x'", "42601", 26, "non-integer constant in ORDER BY");
    fails("select distinct a from t order by b", "42P10", 35, "must appear in select list");
    fails("select sum(b) from t", "42883", 8, "function sum(text)");
    fails("select sum(a) from t having a > 1", "42803", 29, "t.a");
}
END_TEST

START_TEST(pipes)
{
    plan_is("FROM t |> WHERE a > 1 -- |> no\n |> EXTEND a + 1 AS x |> SELECT x, b |> DISTINCT |> "
            "ORDER BY x DESC, 2 |> LIMIT 5 OFFSET 2",
            "FROM t\n|> WHERE (a > 1)\n|> SELECT a, b, d, n, f, g, s, r, ok, ts, iv, (a + 1) AS "
            "x\n|> SELECT x, b\n|> DISTINCT\n"
            "|> ORDER BY x DESC, b\n|> LIMIT 5 OFFSET 2");
    plan_is("from t |> aggregate sum(n) as s, count(*) group by a % 3 as k, b |> order by s",
            "FROM t\n|> AGGREGATE sum(n) AS s, count(*) AS count GROUP BY (a % 3) AS k, b\n|> "
            "ORDER BY s");
    plan_is("FROM t |> AGGREGATE GROUP BY a", "FROM t\n|> AGGREGATE GROUP BY a");
    plan_is("FROM (FROM t |> SELECT a, n) AS q(x, y) |> WHERE q.x > 1 |> AS z |> SELECT z.y",
            "FROM t\n|> SELECT a AS x, n AS y\n|> WHERE (x > 1)\n|> SELECT y");
    plan_is("FROM (VALUES (1,'|>'),(2,';')) AS v(a,\"b c\") |> WHERE \"b c\" = '|>'",
            "FROM (VALUES (1, '|>'), (2, ';')) AS v(a, \"b c\")\n|> WHERE (\"b c\" = '|>')");
    plan_is("FROM t;", "FROM t");
    fails("FROM t |> WERE a > 1", "42601", 11, "\"where\"");
    fails("FROM t |> JOIN v ON true", "0A000", 11, NULL);
    fails("FROM t |> WHERE 'é' = zz", "42703", 23, "zz");
    fails("FROM t |> SELECT \"b\" AS \"é\" |> WHERE \"é\" = é2", "42703", 44, NULL);
    fails("FROM t |> SELECT a FROM t", "42601", 11, NULL);
    fails("FROM t |> SELECT sum(a)", "42803", 18, "not allowed in SELECT");
    fails("FROM t |> WHERE", "42601", 16, NULL);
    fails("FROM t |> ", "42601", 11, NULL);
    fails("WHERE a |> FROM t", "42601", 1, "begins with FROM");
    fails("FROM (FROM t |> WHERE ok", "42601", 6, "not closed");
    fails("FROM t |> AGGREGATE n", "42803", 21, NULL);
    fails("FROM t |> ORDER BY 12", "42P10", 20, NULL);
    fails("FROM t |> DISTINCT a", "42601", 20, NULL);
    fails("EXPLAIN (FOO) FROM t", "42601", 10, NULL);
}
END_TEST

START_TEST(parameters)
{
    sm_stmt st;
    sm_error err;
    static const sm_type_id want[] = {SM_INT32, SM_TEXT, SM_DATE, SM_INT64, SM_TEXT, SM_DECIMAL};
    const char *text = "select $1 + a, b like $2, $5, coalesce($6, n) from t where d > $3 limit $4";
    ck_assert_int_eq(bind(text, &st, &err), SM_OK);
    ck_assert_uint_eq(st.n_params, 6);
    for (int i = 0; i < 6; i++) ck_assert_int_eq(st.param_types[i].id, want[i]);
    sm_type given = sm_type_of(SM_INT64);
    text = "select $1 + 1, $2 = 1.5";
    ck_assert_int_eq(sm_sql_bind(&arena, &catalog, text, strlen(text), &given, 1, &st, &err),
                     SM_OK);
    ck_assert_uint_eq(st.n_params, 2);
    ck_assert_str_eq(types_of(st.plan), "bigint?,boolean?");
    ck_assert_int_eq(st.param_types[0].id, SM_INT64);
    ck_assert_int_eq(bind("FROM t |> LIMIT $1", &st, &err), SM_OK);
    ck_assert_int_eq(st.param_types[0].id, SM_INT64);
}
END_TEST

START_TEST(changes_of_tables)
{
    sm_stmt st;
    sm_error err;
    ck_assert_int_eq(bind("create table if not exists z(a varchar(5), b decimal(5,2) primary key, "
                          "c numeric, d char(3) not null)",
                          &st, &err),
                     SM_OK);
    ck_assert(st.if_not_exists && st.n_cols == 4);
    ck_assert(st.cols[0].max_chars == 5 && !st.cols[0].not_null && st.cols[1].not_null &&
              st.cols[3].not_null);
    ck_assert(sm_type_eq(st.cols[2].type, sm_decimal(38, 10)));
    ck_assert_int_eq(bind("drop table if exists z", &st, &err), SM_OK);
    ck_assert(st.kind == SM_STMT_DROP_TABLE && st.if_exists);
    ck_assert_int_eq(bind("insert into v(c, k) values ('x', 'abc'), ('y', 'ab  ')", &st, &err),
                     SM_OK);
    ck_assert(st.kind == SM_STMT_INSERT && st.plan->n_cols == 3);
    ck_assert_str_eq(types_of(st.plan), "text,text,numeric(38,10)?");
    ck_assert_int_eq(
        bind("insert into t(d, n, g) values ('2024-01-01', 1.555, default)", &st, &err), SM_OK);
    ck_assert_str_eq(print(st.plan, "insert"),
                     "FROM (VALUES (DATE '2024-01-01', 1.56::numeric(4,2), NULL::bigint)) AS "
                     "v(column1, column2, column3)\n"
                     "|> SELECT NULL::integer AS a, NULL::text AS b, column1 AS d, column2 AS n, "
                     "NULL::double precision AS f, column3 AS g, "
                     "NULL::smallint AS s, NULL::real AS r, NULL::boolean AS ok, NULL::timestamp "
                     "without time zone AS ts, NULL::interval AS iv");
    fails("create table z(a int, a text)", "42701", 23, NULL);
    fails("create table z(a int default 1)", "0A000", 22, "DEFAULT");
    fails("create table z(a int unique)", "0A000", 22, NULL);
    fails("insert into v(zz) values (1)", "42703", 15, NULL);
    fails("insert into v(k, k) values ('a', 'b')", "42701", 18, NULL);
    fails("insert into t(a) values (true)", "42804", 26,
          "column \"a\" is of type integer but expression is of type boolean");
    fails("insert into t(a) values ('x')", "22P02", 26, NULL);
    fails("insert into t(a) values (1, 2)", "42601", 13, NULL);
    fails("insert into t(a, b) values (1)", "42601", 13, NULL);
    fails("insert into nowhere values (1)", "42P01", 13, NULL);
}
END_TEST

START_TEST(other_statements)
{
    sm_stmt st;
    sm_error err;
    ck_assert_int_eq(bind("copy v(c,k) from 'a b.csv' with (format csv, header, null 'NA', "
                          "delimiter ';', reject_table 'bad')",
                          &st, &err),
                     SM_OK);
    ck_assert(st.kind == SM_STMT_COPY_FROM && st.n_map == 2 && st.map[0] == 1 && st.map[1] == 0);
    ck_assert(st.copy->header && st.copy->delimiter == ';' && !st.copy->text_format);
    ck_assert_str_eq(st.copy->null_text, "NA");
    ck_assert_str_eq(st.reject_table, "bad");
    ck_assert_str_eq(st.path, "a b.csv");
    ck_assert_int_eq(bind("copy v from 'x'", &st, &err), SM_OK);
    ck_assert(st.copy->text_format && st.copy->delimiter == '\t' &&
              strcmp(st.copy->null_text, "\\N") == 0);
    ck_assert_int_eq(bind("copy (select k from v) to 'x' csv quote ''''", &st, &err), SM_OK);
    ck_assert(st.kind == SM_STMT_COPY_TO && st.copy->quote == '\'' && st.copy->escape == '\'' &&
              st.plan->n_cols == 1);
    fails("copy v from 'x' with (format parquet)", "0A000", 23, "parquet");
    fails("copy v from 'x' (foo 1)", "42601", 18, "foo");
    fails("copy v from 'x' (format csv, delimiter 'ab')", "22023", 30, NULL);
    fails("copy v(z) from 'x'", "42703", 6, NULL);
    fails("copy v from stdin", "0A000", 6, NULL);
    ck_assert_int_eq(bind("set threads = 3", &st, &err), SM_OK);
    ck_assert(st.kind == SM_STMT_SET && strcmp(st.set_name, "threads") == 0 &&
              strcmp(st.set_value, "3") == 0);
    ck_assert_int_eq(bind("set tier to 'jit'", &st, &err), SM_OK);
    ck_assert_str_eq(st.set_value, "jit");
    ck_assert_int_eq(bind("reset tier", &st, &err), SM_OK);
    ck_assert_ptr_null(st.set_value);
    ck_assert_int_eq(bind("explain (analyze, ir) select 1", &st, &err), SM_OK);
    ck_assert(st.kind == SM_STMT_EXPLAIN && st.explain == (SM_EXPLAIN_ANALYZE | SM_EXPLAIN_IR));
    ck_assert_int_eq(bind("explain analyze from t |> where ok", &st, &err), SM_OK);
    ck_assert(st.kind == SM_STMT_EXPLAIN && st.explain == SM_EXPLAIN_ANALYZE &&
              st.plan->kind == SM_NODE_FILTER);
    ck_assert_int_eq(bind("explain (asm) from t", &st, &err), SM_OK);
    ck_assert(st.explain == SM_EXPLAIN_ASM && st.plan->kind == SM_NODE_SCAN);
    for (const char **s =
             (const char *[]){"", " -- nothing", "begin", "commit", "analyze t", "vacuum", NULL};
         *s; s++) {
        ck_assert_int_eq(bind(*s, &st, &err), SM_OK);
        ck_assert_int_eq(st.kind, SM_STMT_NONE);
    }
    fails("rollback", "0A000", 1, NULL);
}
END_TEST

/* Repeated operands do not multiply without bound. */
START_TEST(rewrites_stay_small)
{
    char text[4096] = "select ";
    for (int i = 0; i < 60; i++) strcat(text, "nullif(");
    strcat(text, "a");
    for (int i = 0; i < 60; i++) strcat(text, ", 1)");
    strcat(text, " from t");
    sm_stmt st;
    sm_error err;
    ck_assert_int_eq(bind(text, &st, &err), SM_ERR_TOO_COMPLEX);
    ck_assert_str_eq(err.sqlstate, "54001");
}
END_TEST

/* The deepest texts that the short stack gets. */
START_TEST(deep_short_texts)
{
    static const char *const units[][3] = {
        {"- ", "a", ""},   {"not ", "ok", ""}, {"", "a", "+a"},
        {"(a+", "a", ")"}, {"", "a", "::int"}, {"abs(", "a", ")"},
        {"", "b", "||b"},  {"((", "a", "))"},  {"", "ok", " and(ok)"}};
    for (size_t u = 0; u < SM_COUNT(units); u++) {
        char text[5000] = "select ";
        size_t unit = strlen(units[u][0]) + strlen(units[u][2]), n = (4096 - 20) / unit;
        if (n > 1990) n = 1990;
        for (size_t i = 0; i < n; i++) strcat(text, units[u][0]);
        strcat(text, units[u][1]);
        for (size_t i = 0; i < n; i++) strcat(text, units[u][2]);
        strcat(text, " from t");
        sm_stmt st;
        sm_error err;
        sm_status s = bind(text, &st, &err);
        ck_assert_msg(s == SM_OK, "%s: %s", units[u][0], err.message);
    }
}
END_TEST

static const char *const corpus[] = {
    "select a, sum(n) filter (where ok) as x, 'é''' || b from t where a in (1, 2, $1) and b like "
    "'x%' escape '!' group by a, b having count(*) > 1 order by 2 desc nulls last limit 3 offset 1",
    "with q(z) as (values (1, null::int), (2.5, 3)) select case z when 1 then date '2024-01-01' + "
    "interval '1' month end, extract(year from now()), greatest(z, 1, 2) from q",
    "FROM (FROM t |> SELECT a, n) AS q(x, y) |> EXTEND x + 1 AS \"é\" |> AGGREGATE sum(y) GROUP BY "
    "x % 3 AS k |> ORDER BY k |> LIMIT 5",
    "create table if not exists z(a varchar(5) not null, b decimal(5,2), primary key (a))",
    "insert into t(a, d, n) values (1, '2024-01-01', 1.5), (2, null, default)",
    "copy v(c,k) from 'x.csv' with (format csv, header true, null 'NA', delimiter ';')",
    "explain (analyze, ir) select round(n, 1), substring(b from 2 for 3), trim(b), $tag$x$tag$, "
    "e'\\n' from t x(a)",
    "select * from generate_series(1.0, 10, 0.5) g(i) where i is distinct from 3 and (i, 1) = (2, "
    "1) or i between symmetric 1 and 2"};

/* Every beginning of a statement, and every statement without one of its bytes, is bound or refused
 * cleanly. */
START_TEST(cut_statements)
{
    const char *whole = corpus[_i];
    size_t n = strlen(whole);
    for (size_t cut = 0; cut <= n; cut++) {
        sm_stmt st;
        sm_error err = {0};
        char *text = malloc(n + 1); /* its own allocation, so that a sanitizer sees its end */
        memcpy(text, whole, cut);
        sm_status s = sm_sql_bind(&arena, &catalog, text, cut, NULL, 0, &st, &err);
        ck_assert(s == SM_OK || (err.status == s && err.message[0]));
        ck_assert_int_ge(err.position, 0);
        ck_assert_int_le(err.position, (int32_t)cut + 1);
        memcpy(text, whole, n);
        if (cut < n) memmove(text + cut, text + cut + 1, n - cut - 1);
        err = (sm_error){0};
        s = sm_sql_bind(&arena, &catalog, text, n ? n - 1 : 0, NULL, 0, &st, &err);
        ck_assert(s == SM_OK || (err.status == s && err.message[0]));
        free(text);
        sm_arena_reset(&arena);
    }
}
END_TEST

/* Memory that runs out anywhere is an error, and nothing leaks. */
START_TEST(failing_memory)
{
    const char *text = corpus[_i];
    sm_status s = SM_ERR_OUT_OF_MEMORY;
    for (int64_t after = 0; s == SM_ERR_OUT_OF_MEMORY && after < 2000; after++) {
        sm_stmt st;
        sm_error err = {0};
        atomic_store(&mem.fail_after, after);
        s = sm_sql_bind(&arena, &catalog, text, strlen(text), NULL, 0, &st, &err);
        atomic_store(&mem.fail_after, -1);
        ck_assert_msg(s == SM_OK || s == SM_ERR_OUT_OF_MEMORY, "%s: %s", text, err.message);
        sm_arena_reset(&arena);
    }
    ck_assert_int_eq(s, SM_OK);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("bind");
    TCase *c = tcase_create("bind");
    SRunner *r = srunner_create(s);
    int failed;
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 240);
    tcase_add_test(c, selects);
    tcase_add_test(c, groups);
    tcase_add_test(c, rewrites);
    tcase_add_test(c, printed_types);
    tcase_add_test(c, types);
    tcase_add_test(c, syntax_errors);
    tcase_add_test(c, name_errors);
    tcase_add_test(c, type_errors);
    tcase_add_test(c, grouping_errors);
    tcase_add_test(c, pipes);
    tcase_add_test(c, parameters);
    tcase_add_test(c, changes_of_tables);
    tcase_add_test(c, other_statements);
    tcase_add_test(c, rewrites_stay_small);
    tcase_add_test(c, deep_short_texts);
    tcase_add_loop_test(c, cut_statements, 0, (int)SM_COUNT(corpus));
    tcase_add_loop_test(c, failing_memory, 0, (int)SM_COUNT(corpus));
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
