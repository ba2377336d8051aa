/* The examples that stand in ops.def beside each operation are tests: each in every tier, as
 * constants, and again with its literals loaded into the columns of a table, among rows of NULLs,
 * so that nothing is folded. */
#include "harness.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct example {
    const char *id;
    char sql[400], want[200];
} example;

static const struct {
    const char *id, *examples;
} ops[] = {
#define SM_OP(id, sql, result, args, fails, lanes, doc, examples) {#id, examples},
#include "runtime/ops.def"
#undef SM_OP
};
enum { N_OPS = sizeof ops / sizeof ops[0] };

/* Takes the next of "SQL => answer; SQL => answer". False at the end. */
static bool example_next(const char **list, example *e)
{
    while (**list == ' ' || **list == ';') (*list)++;
    if (!**list) return false;
    const char *arrow = strstr(*list, " => "), *end = arrow ? strstr(arrow, "; ") : NULL;
    if (!arrow) return false;
    if (!end) end = arrow + strlen(arrow);
    snprintf(e->sql, sizeof e->sql, "%.*s", (int)(arrow - *list), *list);
    const char *want = arrow + 4;
    if (*want == '!')
        snprintf(e->want, sizeof e->want, "ERROR: %.*s\n", (int)(end - want - 1), want + 1);
    else
        snprintf(e->want, sizeof e->want, "%.*s\n", end > want ? (int)(end - want) : 7,
                 end > want ? want : "<empty>");
    *list = end;
    return true;
}

/* ---- literals into columns ---- */

enum { MAX_LITERALS = 6 };

typedef struct columns {
    text expr; /* the expression with c0, c1 ... for its literals */
    char literals[MAX_LITERALS][100];
    unsigned n;
} columns;

static size_t literal_bytes(const char *p, const char *start)
{
    static const char *const words[] = {"date '", "timestamp '", "interval '"};
    const char *q = p;
    bool typed = false;
    if (p > start && (isalnum((unsigned char)p[-1]) || p[-1] == '_' || p[-1] == '.')) return 0;
    for (unsigned i = 0; i < 3; i++) {
        if (strncmp(p, words[i], strlen(words[i])) != 0) continue;
        q = p + strlen(words[i]) - 1;
        typed = true;
    }
    if (*q == '\'') {
        for (q++; *q && *q != '\''; q++) continue;
        if (*q) q++;
        if (typed || strncmp(q, "::", 2) != 0) return (size_t)(q - p);
        /* The cast of an untyped literal is part of it. */
        const char *cast_end = q + 2;
        while (isalnum((unsigned char)*cast_end)) cast_end++;
        return (size_t)((*cast_end == '(' ? q : cast_end) - p);
    }
    if (!isdigit((unsigned char)*q)) return 0;
    while (isdigit((unsigned char)*q) || *q == '.') q++;
    if (*q == 'e' && isdigit((unsigned char)q[1]))
        for (q++; isdigit((unsigned char)*q); q++) continue;
    return (size_t)(q - p);
}

/* False: the example's literals must stay, because the grammar wants them there. */
static bool columns_of(const char *sql, columns *out)
{
    *out = (columns){0};
    text_add(&out->expr, "", 0);
    for (const char *p = sql; *p;) {
        size_t n = literal_bytes(p, sql);
        bool type_argument = p >= sql + 8 && (p[-1] == '(' || p[-1] == ',') && strstr(sql, "::") &&
                             (strstr(sql, "numeric(") || strstr(sql, "char("));
        bool keyword = strncmp(sql, "extract(", 8) == 0 || strncmp(sql, "date_trunc(", 11) == 0;
        if (n == 0 || type_argument || (keyword && *p == '\'')) {
            text_add(&out->expr, p, n ? n : 1);
            p += n ? n : 1;
            continue;
        }
        if (out->n == MAX_LITERALS || n >= sizeof out->literals[0]) return false;
        memcpy(out->literals[out->n], p, n);
        char name[16];
        snprintf(name, sizeof name, "c%u", out->n++);
        text_puts(&out->expr, name);
        p += n;
    }
    return out->n > 0;
}

static bool run(smelt_db *db, const char *sql, answer *a)
{
    answer_get(db, sql, strlen(sql), NULL, a);
    return !a->failed;
}

static bool run_quiet(smelt_db *db, const char *sql)
{
    answer a;
    bool ok = run(db, sql, &a);
    if (!ok) printf("%s\n  %s", sql, a.text.bytes);
    answer_free(&a);
    return ok;
}

/* A table `lits` with a column per literal: a row of NULLs, the literals, and NULLs again. */
static bool columns_table(smelt_db *db, const columns *c)
{
    smelt_column_def defs[MAX_LITERALS];
    char names[MAX_LITERALS][16];
    text insert = {0};
    text_puts(&insert, "INSERT INTO lits VALUES (NULL");
    for (unsigned i = 1; i < c->n; i++) text_puts(&insert, ", NULL");
    text_puts(&insert, "), (");
    bool ok = true;
    for (unsigned i = 0; ok && i < c->n; i++) {
        text one = {0};
        smelt_error e = {0};
        smelt_result *r = NULL;
        text_puts(&one, "SELECT ");
        text_puts(&one, c->literals[i]);
        ok = smelt_run(db, one.bytes, NULL, &r, &e) == SMELT_OK;
        snprintf(names[i], sizeof names[i], "c%u", i);
        if (ok) defs[i] = (smelt_column_def){names[i], smelt_result_type(r, 0), false};
        text_puts(&insert, i ? ", " : "");
        text_puts(&insert, c->literals[i]);
        smelt_result_free(r);
        text_free(&one);
    }
    text_puts(&insert, "), (NULL");
    for (unsigned i = 1; i < c->n; i++) text_puts(&insert, ", NULL");
    text_puts(&insert, ")");
    smelt_error e = {0};
    ok = ok && smelt_create_table(db, "lits", defs, c->n, &e) == SMELT_OK &&
         run_quiet(db, insert.bytes);
    text_free(&insert);
    return ok;
}

/* ---- running ---- */

typedef struct outcome {
    bool failed;
} outcome;

static void say(outcome *o, const example *e, const char *config_text, const char *sql,
                const char *got)
{
    o->failed = true;
    printf("FAILED %s (%s): %s\n  wanted %s  got    %s", e->id, config_text, sql, e->want, got);
}

static void try_constant(smelt_db *db, const example *e, const char *config_text, outcome *o)
{
    char sql[480];
    answer a;
    snprintf(sql, sizeof sql, "SELECT %s", e->sql);
    run(db, sql, &a);
    if (!answer_fits(e->want, a.text.bytes, false, false))
        say(o, e, config_text, sql, a.text.bytes);
    answer_free(&a);
}

/* Twice: as a projection, and under an aggregate, which the jit tier compiles. */
static void try_columns(smelt_db *db, const example *e, const char *config_text, outcome *o)
{
    columns c;
    if (columns_of(e->sql, &c) && columns_table(db, &c)) {
        static const char *const shapes[] = {
            "SELECT %s FROM lits WHERE c0 IS NOT NULL",
            "SELECT min(x) FROM (SELECT c0, %s AS x FROM lits) s",
            "SELECT x FROM (SELECT c0, %s AS x FROM lits) s WHERE c0 IS NOT NULL GROUP BY x",
        };
        for (unsigned i = 0; i < 3 && !o->failed; i++) {
            char sql[600];
            answer a;
            snprintf(sql, sizeof sql, shapes[i], c.expr.bytes);
            run(db, sql, &a);
            bool no_such_min = i == 1 && strncmp(a.text.bytes, "ERROR: 42883", 12) == 0;
            /* The scale of a decimal may follow from a literal that is a column now. */
            if (!no_such_min && !answer_fits(e->want, a.text.bytes, false, true))
                say(o, e, config_text, sql, a.text.bytes);
            answer_free(&a);
        }
        if (!run_quiet(db, "DROP TABLE lits")) o->failed = true;
    }
    text_free(&c.expr);
}

int main(void)
{
    static const config configs[] = {
        {"row", 1, false, 0}, {"batch", 1, false, 0}, {"jit", 1, false, 0}, {"auto", 3, false, 0}};
    counts c = {0};
    for (unsigned k = 0; k < sizeof configs / sizeof configs[0]; k++) {
        char name[80];
        config_name(&configs[k], name, sizeof name);
        smelt_db *db = config_open(&configs[k]);
        if (!db) return 1;
        for (unsigned i = 0; i < N_OPS; i++) {
            example e = {.id = ops[i].id};
            for (const char *list = ops[i].examples; example_next(&list, &e);) {
                outcome o = {false};
                try_constant(db, &e, name, &o);
                if (!o.failed) try_columns(db, &e, name, &o);
                o.failed ? c.failed++ : c.passed++;
            }
        }
        smelt_db_close(db);
    }
    return counts_finish(&c);
}
