/* jit-bench sql: statements in order, printed like psql -At; errors go to the same stream and do
 * not stop it. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The line of the statement that the error points into, and a caret under the character. */
static void show_position(const char *sql, size_t bytes, int32_t position)
{
    if (position <= 0) return;
    const char *line = sql, *p = sql, *end = sql + bytes;
    int32_t column = 1;
    for (int32_t i = 1; i < position && p < end; i++) {
        bool newline = *p++ == '\n';
        while (p < end && ((unsigned char)*p & 0xC0) == 0x80) p++;
        column = newline ? 1 : column + 1;
        if (newline) line = p;
    }
    const char *line_end = memchr(line, '\n', (size_t)(end - line));
    if (!line_end) line_end = end;
    fprintf(stderr, "%.*s\n%*s^\n", (int)(line_end - line), line, column - 1, "");
}

static void print_rows(smelt_result *r, const char *null_text)
{
    uint32_t n = smelt_result_n_columns(r);
    while (smelt_result_step(r)) {
        for (uint32_t i = 0; i < n; i++) {
            if (i) putchar('|');
            if (smelt_result_is_null(r, i)) {
                fputs(null_text, stdout);
                continue;
            }
            smelt_text t = smelt_result_text(r, i);
            fwrite(t.bytes, 1, t.length, stdout);
        }
        putchar('\n');
    }
}

static void print_tag(const smelt_result *r)
{
    const char *tag = smelt_result_tag(r);
    uint64_t n = smelt_result_n_rows(r);
    if (strcmp(tag, "INSERT") == 0)
        printf("INSERT 0 %" PRIu64 "\n", n);
    else if (strcmp(tag, "COPY") == 0)
        printf("COPY %" PRIu64 "\n", n);
    else
        printf("%s\n", tag);
}

static void run_statement(smelt_db *db, const char *sql, size_t bytes, const smelt_options *how,
                          const char *null_text)
{
    smelt_error e = {0};
    smelt_stmt *s = NULL;
    smelt_result *r = NULL;
    if (smelt_prepare_n(db, sql, bytes, &s, &e) || smelt_execute(s, how, &r, &e)) {
        printf("ERROR: %s: %s\n", e.sqlstate, e.message);
        fflush(stdout);
        show_position(sql, bytes, e.position);
        if (e.hint[0]) fprintf(stderr, "HINT: %s\n", e.hint);
    } else if (smelt_result_n_columns(r) > 0) {
        print_rows(r, null_text);
    } else {
        print_tag(r);
    }
    smelt_result_free(r);
    smelt_stmt_free(s);
}

int cmd_sql(const options *o)
{
    options with_input = *o;
    if (!o->text && !o->file) with_input.file = "-";
    size_t bytes, at = 0, n;
    char *text = options_text(&with_input, &bytes);
    if (!text) return 1;
    smelt_db *db = options_open(o);
    if (!db) {
        free(text);
        return 1;
    }
    smelt_options how = {0};
    if (o->n_tiers) {
        how.tier = o->tiers[0];
        how.auto_tier = how.tier == SMELT_TIER_AUTO;
    }
    if (o->n_threads) how.threads = o->threads[0];
    const char *start;
    while (smelt_next_statement(text, bytes, &at, &start, &n))
        run_statement(db, start, n, &how, o->null_text ? o->null_text : "");
    smelt_db_close(db);
    free(text);
    return 0; /* as psql does: statements that failed have said so */
}
