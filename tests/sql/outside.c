/* Runs data from outside the repository, where it is present: SQL cases with PostgreSQL's answers,
 * and TPC-H Q1 and Q6 with the official answers. The folder is $SMELT_SHARED, or the second
 * argument.
 *
 * The cases run as they are; again with their VALUES lists loaded into tables, so that nothing is
 * folded; and again with thousands of rows between theirs which a filter takes out, so that there
 * are several batches. sqlcases_later.txt lists the groups that wait for a later stage,
 * sqlcases_exceptions.txt the answers that differ from PostgreSQL's on purpose. */
#include "harness.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_STATEMENTS = 400, FILLER_ROWS = 1500 };

typedef struct statement {
    char group[16];
    unsigned number; /* in its group, from 1 */
    const char *sql;
    size_t bytes;
    text want;
    bool numbers, failed;
} statement;

typedef struct cases {
    statement list[MAX_STATEMENTS];
    unsigned n;
} cases;

/* ---- reading ---- */

static size_t line_bytes(const char *p)
{
    return strcspn(p, "\n");
}
static const char *next_line(const char *p)
{
    return p + line_bytes(p) + (p[line_bytes(p)] == '\n');
}

static bool line_is(const char *line, const char *sql, size_t bytes)
{
    return line_bytes(line) == bytes && memcmp(line, sql, bytes) == 0;
}

/* avg and quotients are float64 here and numeric there. */
static bool has_float_result(const char *sql, size_t bytes)
{
    static const char *const marks[] = {"avg(", "stddev", "var", "/"};
    for (size_t i = 0; i < bytes; i++)
        for (unsigned k = 0; k < 4; k++)
            if (strncmp(sql + i, marks[k], strlen(marks[k])) == 0) return true;
    return false;
}

static void read_statements(cases *c, const char *sql)
{
    char group[16] = "";
    unsigned number = 0;
    for (const char *p = sql; *p && c->n < MAX_STATEMENTS; p = next_line(p)) {
        if (strncmp(p, "--@", 3) == 0) {
            snprintf(group, sizeof group, "%.*s", (int)strcspn(p + 3, " \n"), p + 3);
            number = 0;
        } else if (line_bytes(p) > 0) {
            statement *s = &c->list[c->n++];
            *s = (statement){.number = ++number, .sql = p, .bytes = line_bytes(p)};
            memcpy(s->group, group, sizeof group);
            s->numbers = has_float_result(p, s->bytes);
        }
    }
}

/* The expected file has the same statements in the same order, each followed by its answer. */
static void read_answers(cases *c, const char *expected)
{
    const char *p = expected;
    for (unsigned i = 0; i < c->n; i++) {
        while (*p && !line_is(p, c->list[i].sql, c->list[i].bytes)) p = next_line(p);
        if (*p) p = next_line(p);
        text_add(&c->list[i].want, "", 0);
        while (*p && strncmp(p, "=== ", 4) != 0) {
            if (i + 1 < c->n && line_is(p, c->list[i + 1].sql, c->list[i + 1].bytes)) break;
            const char *next = next_line(p);
            /* The empty line before the next group is no row. */
            if (line_bytes(p) == 0 && (strncmp(next, "=== ", 4) == 0 || !*next)) break;
            if (strncmp(p, "ERROR:  ", 8) == 0) {
                /* The code alone counts; what follows are details and carets. */
                text_puts(&c->list[i].want, "ERROR: ");
                text_add(&c->list[i].want, p + 8, 5);
                text_puts(&c->list[i].want, "\n");
                break;
            }
            text_puts(&c->list[i].want, line_bytes(p) ? "" : "<empty>");
            text_add(&c->list[i].want, p, line_bytes(p));
            text_puts(&c->list[i].want, "\n");
            p = next;
        }
    }
}

/* "ID reason" lines, or "ID:NUMBER reason" for one statement. */
static bool listed(const char *list, const statement *s)
{
    char one[32];
    size_t n = strlen(s->group),
           m = (size_t)snprintf(one, sizeof one, "%s:%u ", s->group, s->number);
    for (const char *p = list; p && *p; p = next_line(p))
        if ((strncmp(p, s->group, n) == 0 && p[n] == ' ') || strncmp(p, one, m) == 0) return true;
    return false;
}

/* "@ ID NUMBER" followed by why:, postgresql: and smelt: lines; the last are the answer. */
static void read_exceptions(cases *c, const char *list, counts *n)
{
    statement *s = NULL;
    for (const char *p = list; p && *p; p = next_line(p)) {
        if (strncmp(p, "@ ", 2) == 0) {
            char group[16];
            unsigned number;
            s = NULL;
            if (sscanf(p, "@ %15s %u", group, &number) == 2)
                for (unsigned i = 0; i < c->n; i++)
                    if (strcmp(c->list[i].group, group) == 0 && c->list[i].number == number)
                        s = &c->list[i];
            if (!s) {
                printf("FAILED: no such case: %.*s\n", (int)line_bytes(p), p);
                n->failed++;
            } else {
                s->want.n = 0;
                text_add(&s->want, "", 0);
            }
        } else if (s && strncmp(p, "smelt: ", 7) == 0) {
            text_add(&s->want, p + 7, line_bytes(p) - 7);
            text_puts(&s->want, "\n");
        }
    }
}

/* ---- VALUES lists into tables ---- */

/* The byte after the bracket that closes the one at p; NULL if none does. */
static const char *closing(const char *p, const char *end)
{
    int depth = 0;
    for (bool quoted = false; p < end; p++) {
        if (*p == '\'') quoted = !quoted;
        if (quoted) continue;
        if (*p == '(') depth++;
        if (*p == ')' && --depth == 0) return p + 1;
    }
    return NULL;
}

static void run_ok(smelt_db *db, const char *sql, bool *ok)
{
    answer a;
    answer_get(db, sql, strlen(sql), NULL, &a);
    if (a.failed) *ok = false;
    answer_free(&a);
}

/* Creates table `name` with the columns and rows of "(values ...) alias(cols)"; with filler also a
 * column "kept". */
static bool values_table(smelt_db *db, const char *name, const char *from, const char *end,
                         const char *rows, const char *rows_end, bool filler)
{
    text sql = {0};
    smelt_error e = {0};
    smelt_result *r = NULL;
    bool ok = true;
    text_puts(&sql, "SELECT * FROM ");
    text_add(&sql, from, (size_t)(end - from));
    if (smelt_run(db, sql.bytes, NULL, &r, &e)) ok = false;
    smelt_column_def defs[17];
    char names[16][64];
    uint32_t n = ok ? smelt_result_n_columns(r) : 0;
    if (n == 0 || n > 16) ok = false;
    for (uint32_t i = 0; ok && i < n; i++) {
        snprintf(names[i], sizeof names[i], "%s", smelt_result_name(r, i));
        defs[i] = (smelt_column_def){names[i], smelt_result_type(r, i), false};
        /* A value list's numbers without (p,s) keep their digits, a column's have ten. */
        if (defs[i].type.id == SMELT_DECIMAL && defs[i].type.precision == 0) ok = false;
    }
    smelt_result_free(r);
    if (ok && filler) defs[n] = (smelt_column_def){"kept", {.id = SMELT_BOOL}, false};
    if (ok && smelt_create_table(db, name, defs, n + filler, &e)) ok = false;
    const char *p = rows;
    for (bool more = ok; ok && more;) {
        while (p < rows_end && *p != '(') p++;
        const char *row_end = p < rows_end ? closing(p, rows_end) : NULL;
        if (!row_end) break;
        for (int kept = 1; ok && kept >= (filler ? 0 : 1); kept--) {
            sql.n = 0;
            text_puts(&sql, "INSERT INTO ");
            text_puts(&sql, name);
            text_puts(&sql, " VALUES ");
            for (int i = 0; i < (kept ? 1 : FILLER_ROWS); i++) {
                text_puts(&sql, i ? "," : "");
                text_add(&sql, p, (size_t)(row_end - p - 1));
                text_puts(&sql, !filler ? ")" : kept ? ",true)" : ",false)");
            }
            run_ok(db, sql.bytes, &ok);
        }
        p = row_end;
    }
    text_free(&sql);
    return ok;
}

/* Rewrites every "(values ...) t(a,b)" of a statement. False: there is none, or one that cannot be
 * a table. */
static bool to_tables(smelt_db *db, const statement *s, bool filler, unsigned *n_tables, text *out)
{
    const char *p = s->sql, *end = s->sql + s->bytes;
    bool any = false;
    while (p < end) {
        if (strncasecmp(p, "(values ", 8) != 0) {
            text_add(out, p++, 1);
            continue;
        }
        const char *rows_end = closing(p, end), *q = rows_end;
        if (!q || *q != ' ') return false;
        while (q < end && *q == ' ') q++;
        const char *alias = q;
        while (q < end && (isalnum((unsigned char)*q) || *q == '_')) q++;
        size_t alias_bytes = (size_t)(q - alias);
        if (q == alias || *q != '(') return false;
        const char *cols = q + 1, *cols_end = closing(q, end);
        if (!cols_end) return false;
        char name[24], part[300];
        snprintf(name, sizeof name, "values_%u", (*n_tables)++);
        if (!values_table(db, name, p, cols_end, p + 8, rows_end - 1, filler)) return false;
        if (filler)
            snprintf(part, sizeof part, "(SELECT %.*s FROM %s WHERE kept) %.*s",
                     (int)(cols_end - 1 - cols), cols, name, (int)alias_bytes, alias);
        else
            snprintf(part, sizeof part, "%s %.*s", name, (int)alias_bytes, alias);
        text_puts(out, part);
        p = cols_end;
        any = true;
    }
    return any;
}

/* ---- running ---- */

enum variant { AS_IT_IS, IN_TABLES, AMONG_FILLER, N_VARIANTS };

static void run_case(smelt_db *db, statement *s, enum variant v, const char *config_text,
                     unsigned *n_tables)
{
    text rewritten = {0};
    const char *sql = s->sql;
    size_t bytes = s->bytes;
    if (v != AS_IT_IS) {
        if (!to_tables(db, s, v == AMONG_FILLER, n_tables, &rewritten)) {
            text_free(&rewritten);
            return;
        }
        sql = rewritten.bytes;
        bytes = rewritten.n;
    }
    while (bytes && sql[bytes - 1] == ';') bytes--;
    answer a;
    answer_get(db, sql, bytes, NULL, &a);
    if (!answer_fits(s->want.bytes, a.text.bytes, false, s->numbers) && !s->failed) {
        s->failed = true;
        printf("FAILED sqlcases %s, statement %u (%s): %.*s\n---- PostgreSQL\n%s---- smelt\n%s\n",
               s->group, s->number, config_text, (int)bytes, sql, s->want.bytes, a.text.bytes);
    }
    answer_free(&a);
    text_free(&rewritten);
}

static void run_groups(cases *c, const char *later, const config *how)
{
    char name[80];
    config_name(how, name, sizeof name);
    for (int v = 0; v < N_VARIANTS; v++) {
        /* Filler makes each statement slow at batch size 1; one size is enough there. */
        if (v == AMONG_FILLER && how->batch_rows && how->batch_rows < 1024) continue;
        smelt_db *db = config_open(how);
        unsigned n_tables = 0;
        for (unsigned i = 0; db && i < c->n; i++)
            if (!listed(later, &c->list[i]))
                run_case(db, &c->list[i], (enum variant)v, name, &n_tables);
        if (!db) c->list[0].failed = true;
        smelt_db_close(db);
    }
}

static char *read_in(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return file_read(path);
}

static void sqlcases(const char *here, const char *shared, counts *n)
{
    char *sql = read_in(shared, "data/sqlcases/cases.sql"),
         *want = read_in(shared, "data/sqlcases/cases.expected");
    char *later = read_in(here, "sqlcases_later.txt"),
         *exceptions = read_in(here, "sqlcases_exceptions.txt");
    cases *c = calloc(1, sizeof *c);
    if (!sql || !want || !c) {
        printf("skipped: sqlcases: there is no data/sqlcases in the shared folder\n");
        n->skipped++;
    } else {
        config configs[MAX_CONFIGS];
        unsigned n_configs = configs_all(configs), n_later = 0;
        read_statements(c, sql);
        read_answers(c, want);
        read_exceptions(c, exceptions, n);
        for (unsigned k = 0; k < n_configs; k++) run_groups(c, later, &configs[k]);
        for (unsigned i = 0; i < c->n; i++) {
            if (listed(later, &c->list[i]))
                n_later++;
            else
                c->list[i].failed ? n->failed++ : n->passed++;
        }
        if (n_later)
            printf("skipped: sqlcases: %u statements wait for a later stage (sqlcases_later.txt)\n",
                   n_later);
        n->skipped += n_later;
        for (unsigned i = 0; i < c->n; i++) text_free(&c->list[i].want);
    }
    free(c);
    free(sql);
    free(want);
    free(later);
    free(exceptions);
}

/* ---- TPC-H ---- */

/* The statement of schema.sql that creates the table. */
static bool create_table(smelt_db *db, const char *schema, const char *name)
{
    size_t at = 0, bytes = strlen(schema), n;
    const char *start;
    char head[64];
    bool ok = false;
    snprintf(head, sizeof head, "create table %s(", name);
    while (smelt_next_statement(schema, bytes, &at, &start, &n)) {
        while (n && isspace((unsigned char)*start)) start++, n--;
        if (n < strlen(head) || strncasecmp(start, head, strlen(head)) != 0) continue;
        answer a;
        answer_get(db, start, n, NULL, &a);
        ok = !a.failed;
        if (!ok) printf("%s", a.text.bytes);
        answer_free(&a);
    }
    return ok;
}

static bool tpch_open(const char *shared, const char *schema, const config *how, smelt_db **db)
{
    char path[4096];
    smelt_error e = {0};
    uint64_t n = 0;
    snprintf(path, sizeof path, "%s/data/tpch/sf0.01/lineitem.csv", shared);
    *db = config_open(how);
    if (!*db || !create_table(*db, schema, "lineitem")) return false;
    if (smelt_load_csv(*db, "lineitem", path, NULL, &n, &e)) {
        printf("lineitem.csv: %s: %s\n", e.sqlstate, e.message);
        return false;
    }
    return n == 60175;
}

static void tpch(const char *shared, counts *c)
{
    static const char *const queries[] = {"q01", "q06"};
    char *schema = read_in(shared, "data/tpch/schema.sql");
    if (!schema) {
        printf("skipped: TPC-H: there is no data/tpch in the shared folder\n");
        c->skipped++;
        return;
    }
    config configs[MAX_CONFIGS];
    uint64_t digests[2] = {0};
    unsigned n_configs = configs_all(configs);
    for (unsigned k = 0; k < n_configs; k++) {
        char name[80];
        smelt_db *db = NULL;
        config_name(&configs[k], name, sizeof name);
        bool open = tpch_open(shared, schema, &configs[k], &db);
        for (unsigned q = 0; q < 2; q++) {
            char path[64];
            snprintf(path, sizeof path, "data/tpch/queries/%s.sql", queries[q]);
            char *sql = read_in(shared, path);
            snprintf(path, sizeof path, "data/tpch/answers/sf0.01/%s.csv", queries[q]);
            char *want = read_in(shared, path);
            answer a = {0};
            size_t n = sql ? strlen(sql) : 0;
            while (n && (isspace((unsigned char)sql[n - 1]) || sql[n - 1] == ';')) n--;
            if (open) answer_get(db, sql, n, NULL, &a);
            if (k == 0) digests[q] = a.digest;
            bool ok = open && want && answer_fits(next_line(want), a.text.bytes, false, true) &&
                      a.digest == digests[q];
            if (!ok)
                printf("FAILED TPC-H %s (%s)\n%s\n", queries[q], name,
                       a.text.bytes ? a.text.bytes : "not loaded");
            ok ? c->passed++ : c->failed++;
            answer_free(&a);
            free(sql);
            free(want);
        }
        smelt_db_close(db);
    }
    free(schema);
}

int main(int argc, char **argv)
{
    counts c = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: sql_outside FOLDER-OF-LISTS SHARED\n");
        return 2;
    }
    const char *shared = getenv("SMELT_SHARED");
    if (!shared) shared = argv[2];
    sqlcases(argv[1], shared, &c);
    tpch(shared, &c);
    return counts_finish(&c);
}
