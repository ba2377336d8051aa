/* Texts before binding: tokens, characters, splitting, and the guards in front of and behind the
 * parser. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/parse.h"
#include "sql/sql.h"
#include "sql/text.h"

static sm_mem mem;
static sm_arena arena;

static void setup(void)
{
    sm_mem_init(&mem, NULL, SIZE_MAX);
    sm_arena_init(&arena, &mem, "test");
}

static void teardown(void)
{
    sm_arena_reset(&arena);
    ck_assert_uint_eq(mem.used_bytes, 0);
}

/* The tokens of a text, as kind letters and texts: w=word q=quoted s=string n=number p=param |=pipe
 * o=other. */
static const char *tokens(const char *text)
{
    static const char letters[] = ".wqsnp|o";
    size_t at = 0, n = strlen(text);
    char *out = sm_arena_printf(&arena, "%s", "");
    for (sm_tok t = sm_tok_next(text, n, &at); t.kind != SM_TOK_END; t = sm_tok_next(text, n, &at))
        out = sm_arena_printf(&arena, "%s[%c %.*s]", out, letters[t.kind], (int)(t.end - t.start),
                              text + t.start);
    return out;
}

START_TEST(lexes_as_the_grammar_does)
{
    ck_assert_str_eq(tokens("a B_1$ \"c d\" \"e\"\"f\""), "[w a][w B_1$][q \"c d\"][q \"e\"\"f\"]");
    ck_assert_str_eq(tokens("'a''b' 'c\\' e'd\\'e' U&'x' u&\"y\" b'01'"),
                     "[s 'a''b'][s 'c\\'][s e'd\\'e'][s U&'x'][q u&\"y\"][s b'01']");
    ck_assert_str_eq(tokens("$$a;b$$ $x$ $$ ' $x$ $1 $12a"),
                     "[s $$a;b$$][s $x$ $$ ' $x$][p $1][p $12][w a]");
    ck_assert_str_eq(tokens("1 1.5 .5 1e10 1e+5 1e x"),
                     "[n 1][n 1.5][n .5][n 1e10][n 1e+5][n 1][w e][w x]");
    ck_assert_str_eq(tokens("a -- |> ;\n b /* ; /* |> */ ' */ c"), "[w a][w b][w c]");
    ck_assert_str_eq(
        tokens("a|>b a||b a|b a |>> b *|>c"),
        "[w a][| |>][w b][w a][o ||][w b][w a][o |][w b][w a][o |][o >][o >][w b][o *][| |>][w c]");
    ck_assert_str_eq(tokens("é_x 'never closed"), "[w é_x][s 'never closed]");
    ck_assert_str_eq(tokens("/* never closed"), "");
    ck_assert_str_eq(tokens("$tag$ never closed"), "[s $tag$ never closed]");
    ck_assert_str_eq(tokens("e'\\"), "[s e'\\]");
}
END_TEST

START_TEST(characters_of_bytes)
{
    sm_chars c;
    const char *text = "aé日🙂z";
    size_t starts[] = {0, 1, 3, 6, 10, 11};
    ck_assert_int_eq(sm_chars_init(&c, &arena, text, strlen(text), NULL), SM_OK);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(sm_chars_at(&c, starts[i]), i + 1);
        ck_assert_uint_eq(sm_chars_byte(&c, i + 1), starts[i]);
    }
    ck_assert_int_eq(sm_chars_at(&c, 999), 6);
    /* across marks: every byte of a long text against counting */
    char *many = malloc(3000);
    size_t n = 0;
    for (int i = 0; n + 4 < 3000; i++)
        n += (size_t)sprintf(many + n, "%s", i % 3 ? "日" : i % 2 ? "x" : " ");
    ck_assert_int_eq(sm_chars_init(&c, &arena, many, n, NULL), SM_OK);
    int32_t position = 1;
    for (size_t i = 0; i < n; i++) {
        if (((unsigned char)many[i] & 0xC0) == 0x80) continue;
        ck_assert_int_eq(sm_chars_at(&c, i), position);
        ck_assert_uint_eq(sm_chars_byte(&c, position), i);
        position++;
    }
    free(many);
}
END_TEST

static void refused(const char *text, size_t bytes, const char *state, int32_t position)
{
    sm_chars c;
    sm_error err = {0};
    ck_assert_int_ne(sm_chars_init(&c, &arena, text, bytes, &err), SM_OK);
    ck_assert_str_eq(err.sqlstate, state);
    ck_assert_int_eq(err.position, position);
}

START_TEST(unsound_texts)
{
    char name[80] = "select \"é";
    refused("select \0 1", 10, "42601", 8);
    refused("é \xFF", 4, "22021", 3);
    refused("é \xC3", 4, "22021", 3);
    refused("\xED\xA0\x80", 3, "22021", 1); /* a surrogate */
    refused("\xC0\x80", 2, "22021", 1);     /* overlong */
    memset(name + 10, 'a', 62);
    name[72] = '"';
    refused(name, strlen(name), "42622", 8);
    name[71] = '"';
    name[72] = 0;
    sm_chars c;
    ck_assert_int_eq(sm_chars_init(&c, &arena, name, strlen(name), NULL), SM_OK); /* 63 bytes */
}
END_TEST

START_TEST(splits_scripts)
{
    const char *text = "  é; select ';' ;; -- ; no\n\"a;b\" $$;$$;\n/* ; */ last 'open ; ";
    const char *want[] = {"é", "select ';'", "\"a;b\" $$;$$", "last 'open ; "};
    int32_t first[] = {2, 5, 27, 48};
    sm_sql_part *parts;
    uint32_t n;
    ck_assert_int_eq(sm_sql_split(&arena, text, strlen(text), &parts, &n, NULL), SM_OK);
    ck_assert_uint_eq(n, 4);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_uint_eq(parts[i].bytes, strlen(want[i]));
        ck_assert_mem_eq(parts[i].text, want[i], parts[i].bytes);
        ck_assert_int_eq(parts[i].first_char, first[i]);
    }
    ck_assert_int_eq(sm_sql_split(&arena, " ; -- x\n;", 9, &parts, &n, NULL), SM_OK);
    ck_assert_uint_eq(n, 0);
}
END_TEST

/* ---- guards ---- */

typedef struct parse_job {
    const char *text;
    sm_parse_error where;
    sm_error err;
    PgQuery__ParseResult *tree;
} parse_job;

static sm_status run_parse(void *arg)
{
    parse_job *j = arg;
    return sm_parse(&arena, j->text, strlen(j->text), &j->tree, &j->where, &j->err);
}

static sm_status parse(parse_job *j, const char *text)
{
    *j = (parse_job){.text = text};
    return sm_on_big_stack(run_parse, j, strlen(text), &j->err);
}

/* head, then n times each of open, middle once, n times close */
static char *nested(const char *head, const char *open, const char *middle, const char *close,
                    size_t n)
{
    size_t room = strlen(head) + n * (strlen(open) + strlen(close)) + strlen(middle) + 1, at;
    char *text = sm_arena_alloc(&arena, room);
    at = (size_t)sprintf(text, "%s", head);
    for (size_t i = 0; i < n; i++) at += (size_t)sprintf(text + at, "%s", open);
    at += (size_t)sprintf(text + at, "%s", middle);
    for (size_t i = 0; i < n; i++) at += (size_t)sprintf(text + at, "%s", close);
    return text;
}

START_TEST(parses)
{
    parse_job j;
    ck_assert_int_eq(parse(&j, "select 1; select 2"), SM_OK);
    ck_assert_uint_eq(j.tree->n_stmts, 2);
    ck_assert_int_eq(parse(&j, ""), SM_OK);
    ck_assert_uint_eq(j.tree->n_stmts, 0);
    ck_assert_int_eq(parse(&j, "select 'é' -- é\n + from"), SM_ERR_SYNTAX);
    ck_assert_str_eq(j.err.sqlstate, "42601");
    ck_assert_str_eq(j.err.message, "syntax error at or near \"from\"");
    ck_assert_int_eq(j.where.position, 20); /* in characters */
}
END_TEST

START_TEST(refuses_what_would_overflow)
{
    static const struct {
        const char *head, *open, *middle, *close;
    } shapes[] = {{"select 1", " + 1", "", ""},
                  {"select ", "(", "1", ")"},
                  {"select ", "(1 + ", "1", ")"},
                  {"select ", "case when true then ", "1", " end"},
                  {"select 1", " union all select 1", "", ""},
                  {"select * from ", "(select * from ", "t", ") x"},
                  {"select ", "not ", "true", ""},
                  {"select ", "- ", "x", ""},
                  {"select 1", "::integer", "", ""},
                  {"select 1", " is null", "", ""},
                  {"select ", "abs(", "1", ")"},
                  {"select ", "array[", "1", "]"},
                  {"select 1 from t", " join t on true", "", ""}};
    static const size_t times[] = {2100, 15000, 200000};
    for (size_t s = 0; s < SM_COUNT(shapes); s++) {
        for (size_t t = 0; t < SM_COUNT(times); t++) {
            parse_job j;
            sm_status st = parse(&j, nested(shapes[s].head, shapes[s].open, shapes[s].middle,
                                            shapes[s].close, times[t]));
            bool brackets_alone = s == 1 && t == 0; /* leave no trace in the tree */
            ck_assert_int_eq(st, brackets_alone ? SM_OK : SM_ERR_TOO_COMPLEX);
            if (st != SM_OK) ck_assert_str_eq(j.err.sqlstate, "54001");
            sm_arena_reset(&arena);
        }
    }
}
END_TEST

START_TEST(long_lists_are_not_complex)
{
    parse_job j;
    ck_assert_int_eq(parse(&j, nested("select 1 where true", " and 1 = 1", "", "", 15000)), SM_OK);
    ck_assert_int_eq(parse(&j, nested("values (-1)", ", (-1)", "", "", 30000)), SM_OK);
    ck_assert_int_eq(parse(&j, nested("select -1", ", f(-1) + 1", "", "", 30000)), SM_OK);
    ck_assert_int_eq(parse(&j, nested("select 1", " + 1", "", "", 1500)), SM_OK);
}
END_TEST

START_TEST(memory_limit)
{
    parse_job j;
    atomic_store(&mem.limit_bytes, 200000);
    ck_assert_int_eq(parse(&j, nested("select 1", ", 1", "", "", 20000)), SM_ERR_OUT_OF_MEMORY);
    ck_assert_str_eq(j.err.sqlstate, "53200");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sql_parse");
    TCase *c = tcase_create("sql_parse");
    SRunner *r = srunner_create(s);
    int failed;
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 240);
    tcase_add_test(c, lexes_as_the_grammar_does);
    tcase_add_test(c, characters_of_bytes);
    tcase_add_test(c, unsound_texts);
    tcase_add_test(c, splits_scripts);
    tcase_add_test(c, parses);
    tcase_add_test(c, refuses_what_would_overflow);
    tcase_add_test(c, long_lists_are_not_complex);
    tcase_add_test(c, memory_limit);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
