/* Files and databases: reads the statements, opens the database that the options describe. */
#include "bench.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

char *file_read(const char *path, size_t *bytes)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "jit-bench: %s: %s\n", path, strerror(errno));
        return NULL;
    }
    size_t used = 0, room = 1 << 16;
    char *text = malloc(room);
    while (text) {
        used += fread(text + used, 1, room - used - 1, f);
        if (used < room - 1) break;
        char *more = realloc(text, room *= 2);
        if (!more) free(text);
        text = more;
    }
    bool failed = ferror(f) != 0;
    if (f != stdin) fclose(f);
    if (!text || failed) {
        fprintf(stderr, "jit-bench: %s: %s\n", path, text ? "could not be read" : "too large");
        free(text);
        return NULL;
    }
    text[used] = 0;
    *bytes = used;
    return text;
}

char *options_text(const options *o, size_t *bytes)
{
    if (o->text) {
        *bytes = strlen(o->text);
        char *copy = malloc(*bytes + 1);
        if (copy) memcpy(copy, o->text, *bytes + 1);
        return copy;
    }
    if (o->file) return file_read(o->file, bytes);
    fprintf(stderr, "jit-bench: say what to run: -e TEXT or -f FILE\n");
    return NULL;
}

static bool run_schema(smelt_db *db, const char *path)
{
    size_t bytes, at = 0, n;
    char *text = file_read(path, &bytes);
    if (!text) return false;
    const char *start;
    bool ok = true;
    while (ok && smelt_next_statement(text, bytes, &at, &start, &n)) {
        smelt_error e = {0};
        smelt_stmt *s = NULL;
        smelt_result *r = NULL;
        ok = smelt_prepare_n(db, start, n, &s, &e) == SMELT_OK &&
             smelt_execute(s, NULL, &r, &e) == SMELT_OK;
        if (!ok) fprintf(stderr, "jit-bench: %s: %s: %s\n", path, e.sqlstate, e.message);
        smelt_result_free(r);
        smelt_stmt_free(s);
    }
    free(text);
    return ok;
}

smelt_db *options_open(const options *o)
{
    smelt_error e = {0};
    smelt_db *db = NULL;
    if (smelt_db_open(NULL, &db, &e)) {
        fprintf(stderr, "jit-bench: %s\n", e.message);
        return NULL;
    }
    bool ok = !o->schema || run_schema(db, o->schema);
    if (ok && o->tpch) ok = options_load_tpch(db, o);
    for (uint32_t i = 0; ok && i < o->n_tables; i++) {
        progress_show(i, o->n_tables, o->tables[i].path);
        ok = smelt_load_csv(db, o->tables[i].name, o->tables[i].path, NULL, NULL, &e) == SMELT_OK;
        if (ok && o->repeat > 1)
            ok = smelt_repeat(db, o->tables[i].name, o->repeat, &e) == SMELT_OK;
        progress_clear();
        if (!ok)
            fprintf(stderr, "jit-bench: %s: %s: %s\n", o->tables[i].path, e.sqlstate, e.message);
    }
    if (ok) return db;
    smelt_db_close(db);
    return NULL;
}

bool is_query(const char *text, size_t bytes)
{
    static const char *const first_words[] = {"select", "with", "values", "from", "table"};
    const char *p = text, *end = text + bytes;
    while (p < end) {
        if (isspace((unsigned char)*p) || *p == '(') {
            p++;
        } else if (end - p > 1 && p[0] == '-' && p[1] == '-') {
            while (p < end && *p != '\n') p++;
        } else if (end - p > 1 && p[0] == '/' && p[1] == '*') {
            for (p += 2; p < end && !(p[-1] == '*' && p[0] == '/'); p++) continue;
            if (p < end) p++;
        } else {
            break;
        }
    }
    size_t n = 0;
    while (p + n < end && isalpha((unsigned char)p[n])) n++;
    for (uint32_t i = 0; i < sizeof first_words / sizeof first_words[0]; i++)
        if (strlen(first_words[i]) == n && strncasecmp(p, first_words[i], n) == 0) return true;
    return false;
}
