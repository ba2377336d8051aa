/* Statements and files that no one writes: very deep, very long, NULs, random bytes. Each must give
 * an error with a SQLSTATE, or an answer; the database must work afterwards, and its memory must go
 * back. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct tester {
    smelt_db *db;
    counts counts;
} tester;

static void check(tester *t, bool ok, const char *what, const char *detail)
{
    if (ok) {
        t->counts.passed++;
        return;
    }
    t->counts.failed++;
    printf("FAILED: %s: %.300s\n", what, detail);
}

static bool still_works(tester *t)
{
    answer a;
    answer_get(t->db, "select 1 + 1", 12, NULL, &a);
    bool ok = strcmp(a.text.bytes, "2\n") == 0;
    answer_free(&a);
    return ok;
}

/* wanted: the answers that are right, separated by spaces; "rows" is any answer that is no error.
 */
static void try_text(tester *t, const char *what, const char *sql, size_t bytes, const char *wanted)
{
    answer a;
    answer_get(t->db, sql, bytes, NULL, &a);
    char state[8] = "rows ";
    if (a.failed) snprintf(state, sizeof state, "%.5s", a.text.bytes + 7);
    check(t, strstr(wanted, state) || (!a.failed && strstr(wanted, "rows")), what, a.text.bytes);
    check(t, still_works(t), what, "the database does not work afterwards");
    answer_free(&a);
}

static void repeat(text *t, const char *s, unsigned n)
{
    for (unsigned i = 0; i < n; i++) text_puts(t, s);
}

static void try_deep(tester *t, const char *what, const char *before, const char *each, unsigned n,
                     const char *middle, const char *close, const char *after)
{
    text sql = {0};
    text_puts(&sql, before);
    repeat(&sql, each, n);
    text_puts(&sql, middle);
    repeat(&sql, close, n);
    text_puts(&sql, after);
    try_text(t, what, sql.bytes, sql.n, "54001 42601 53200 0A000 rows");
    text_free(&sql);
}

static void deep(tester *t)
{
    static const unsigned depths[] = {200, 3000, 5000, 20000, 200000};
    for (unsigned i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        unsigned n = depths[i];
        try_deep(t, "1 + 1 + ...", "select 1", " + 1", n, "", "", "");
        try_deep(t, "((( ... )))", "select ", "(", n, "1", ")", "");
        try_deep(t, "not not ...", "select ", "not ", n, "true", "", "");
        try_deep(t, "- - - ...", "select ", "- ", n, "1", "", "");
        try_deep(t, "a or a or ...", "select true", " or false", n, "", "", "");
        try_deep(t, "case case ...", "select ", "case when true then ", n, "1", " end", "");
        try_deep(t, "in (1, 1, ...)", "select 1 in (1", ", 1", n, ")", "", "");
        try_deep(t, "casts", "select 1", "::bigint", n, "", "", "");
    }
    try_deep(t, "subqueries", "select * from ", "(select * from ", 500, "(values (1)) t", ") q",
             "");
    try_deep(t, "union all", "select 1", " union all select 1", 1000, "", "", "");
}

static void long_texts(tester *t)
{
    text sql = {0};
    text_puts(&sql, "select ");
    repeat(&sql, "abcdefgh", 8192);
    try_text(t, "identifier of 64 KB", sql.bytes, sql.n, "42622 42703");
    text_free(&sql);

    text_puts(&sql, "create table ");
    repeat(&sql, "abcdefgh", 8192);
    text_puts(&sql, " (a int)");
    try_text(t, "table name of 64 KB", sql.bytes, sql.n, "42622");
    text_free(&sql);

    text_puts(&sql, "select length('");
    repeat(&sql, "0123456789", 100000);
    text_puts(&sql, "')");
    try_text(t, "literal of 1 MB", sql.bytes, sql.n, "rows");
    text_free(&sql);

    text_puts(&sql, "select 1 /* ");
    repeat(&sql, "comment ", 100000);
    text_puts(&sql, "*/");
    try_text(t, "comment of 800 KB", sql.bytes, sql.n, "rows");
    text_free(&sql);

    text_puts(&sql, "select 1");
    repeat(&sql, "0", 5000);
    try_text(t, "number of 5,000 digits", sql.bytes, sql.n, "22003 42601");
    text_free(&sql);

    text_puts(&sql, "select repeat('x', 2000000000)");
    try_text(t, "text of 2 GB", sql.bytes, sql.n, "54000 53200");
    text_free(&sql);
}

static void odd_bytes(tester *t)
{
    static const char nul[] = "select 'a\0b'", bad[] = "select '\xff\xfe'",
                      half[] = "select '\xe6\x97";
    try_text(t, "NUL in a literal", nul, sizeof nul - 1, "42601 22021");
    try_text(t, "bytes that are not UTF-8", bad, sizeof bad - 1, "22021 42601");
    try_text(t, "half a character", half, sizeof half - 1, "22021 42601");
    try_text(t, "nothing", "", 0, "rows");
    try_text(t, "only a comment", "-- x", 4, "rows");
    try_text(t, "only semicolons", ";;", 2, "rows 42601");

    unsigned long long state = 1;
    char bytes[200];
    unsigned bad_states = 0;
    for (unsigned k = 0; k < 3000; k++) {
        static const char *const parts[] = {
            "select ", "from ", "|> ",    "where ", "(",    ")",         "'",     "1 ",
            "a ",      ",",     "::int ", "case ",  "end ", "group by ", "$$",    "\"",
            "--",      "/*",    "*/",     "\n",     "sum(", "*",         "null ", "e'\\"};
        size_t n = 0;
        while (n < 150) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            unsigned r = (unsigned)(state >> 33);
            if (r % 8 == 0) {
                bytes[n++] = (char)(r >> 8);
            } else {
                const char *p = parts[(r >> 8) % (sizeof parts / sizeof parts[0])];
                memcpy(bytes + n, p, strlen(p));
                n += strlen(p);
            }
        }
        answer a;
        answer_get(t->db, bytes, n, NULL, &a);
        if (a.failed && strlen(a.text.bytes) < 13) bad_states++;
        answer_free(&a);
    }
    check(t, bad_states == 0, "random texts", "an error without a SQLSTATE");
    check(t, still_works(t), "random texts", "the database does not work afterwards");
}

static void csv_of_random_bytes(tester *t)
{
    char path[] = "/tmp/smelt-hostile-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) {
        check(t, false, path, "could not be made");
        return;
    }
    close(fd);
    unsigned long long state = 7;
    unsigned n_odd = 0;
    for (unsigned k = 0; k < 200; k++) {
        FILE *f = fopen(path, "wb");
        if (!f) break;
        unsigned n = 1 + (unsigned)(state >> 33) % 3000;
        if (k % 4 == 0) fwrite("\x1f\x8b\x08", 1, 3, f); /* looks like gzip */
        for (unsigned i = 0; i < n; i++) {
            static const char usual[] = "0123456789,,,\n\n\"ab;\r";
            state = state * 6364136223846793005u + 1442695040888963407u;
            unsigned r = (unsigned)(state >> 33);
            fputc(k % 2 ? usual[r % (sizeof usual - 1)] : (int)(r & 255), f);
        }
        fclose(f);
        smelt_error e = {0};
        smelt_status s = smelt_load_csv(t->db, "random_csv", path, NULL, NULL, &e);
        if (s != SMELT_OK && strlen(e.sqlstate) != 5) n_odd++;
        smelt_run(t->db, "DROP TABLE IF EXISTS random_csv", NULL, NULL, NULL);
    }
    unlink(path);
    check(t, n_odd == 0, "CSV of random bytes", "an error without a SQLSTATE");
    check(t, still_works(t), "CSV of random bytes", "the database does not work afterwards");
}

static void misuse(tester *t)
{
    smelt_error e = {0};
    smelt_result *r = NULL;
    smelt_stmt *s = NULL;
    check(t, smelt_run(NULL, "select 1", NULL, &r, &e) == SMELT_MISUSE && !r,
          "run without database", e.message);
    check(t, smelt_run(t->db, NULL, NULL, &r, &e) == SMELT_MISUSE && !r, "run without text",
          e.message);
    check(t, smelt_prepare(NULL, "select 1", &s, &e) == SMELT_MISUSE && !s,
          "prepare without database", e.message);
    check(t, smelt_prepare(t->db, "select 1", NULL, &e) == SMELT_MISUSE, "prepare into nothing",
          e.message);
    check(t, smelt_execute(NULL, NULL, &r, &e) == SMELT_MISUSE && !r, "execute nothing", e.message);
    check(t, smelt_set(t->db, "nonsense", "1", &e) != SMELT_OK, "unknown setting", e.message);
    check(t, smelt_set(t->db, "tier", "warp", &e) != SMELT_OK, "unknown tier", e.message);
    check(t, smelt_set(t->db, "threads", "-1", &e) != SMELT_OK, "no such number of threads",
          e.message);
    smelt_stmt_free(NULL);
    smelt_result_free(NULL);
    smelt_db_close(NULL);
    smelt_free(NULL);
    check(t, !smelt_result_step(NULL), "step of nothing", "");
}

int main(void)
{
    tester t = {0};
    smelt_error e = {0};
    if (smelt_db_open(NULL, &t.db, &e)) {
        printf("open: %s\n", e.message);
        return 1;
    }
    size_t before = smelt_db_memory(t.db);
    deep(&t);
    long_texts(&t);
    odd_bytes(&t);
    csv_of_random_bytes(&t);
    misuse(&t);
    size_t after = smelt_db_memory(t.db);
    char detail[80];
    snprintf(detail, sizeof detail, "%zu bytes before, %zu after", before, after);
    check(&t, after <= before + 4096, "memory after all of it", detail);
    smelt_db_close(t.db);
    return counts_finish(&t.counts);
}
