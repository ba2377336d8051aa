/* Runs SQL files with recorded answers (sql/README.md has the format) in every configuration, and
 * compares each answer with the recorded one and, by digest, with that of the first configuration.
 * The plan that EXPLAIN prints of each query, fed back, must give the same. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct block {
    unsigned line;
    text sql, want;
    bool has_want, sorted, numbers;
    bool noplan;    /* the plan has steps that the pipe parser does not read */
    bool many;      /* many groups: quadratic when every hash is 0, so not run then */
    bool succeeded; /* it gave rows, in the last configuration */
    bool failed;    /* in some configuration */
    bool has_digest;
    uint64_t digest;
} block;

typedef struct file {
    const char *path;
    block *blocks;
    unsigned n;
} file;

/* ---- reading ---- */

static void add_substituted(text *t, const char *line, size_t n, const char *tmp)
{
    static const char data_name[] = "$DATA", tmp_name[] = "$TMP";
    for (size_t i = 0; i < n;) {
        if (n - i >= 5 && memcmp(line + i, data_name, 5) == 0) {
            text_puts(t, SMELT_TEST_DATA);
            i += 5;
        } else if (n - i >= 4 && memcmp(line + i, tmp_name, 4) == 0) {
            text_puts(t, tmp);
            i += 4;
        } else {
            text_add(t, line + i++, 1);
        }
    }
    text_puts(t, "\n");
}

static block *block_add(file *f, unsigned line)
{
    f->blocks = realloc(f->blocks, (f->n + 1) * sizeof *f->blocks);
    if (!f->blocks) exit(1);
    f->blocks[f->n] = (block){.line = line};
    return &f->blocks[f->n++];
}

static bool file_parse(file *f, const char *content, const char *tmp)
{
    block *b = NULL;
    bool in_want = false;
    unsigned line = 0;
    for (const char *p = content; *p;) {
        size_t n = strcspn(p, "\n");
        line++;
        if (n == 0) {
            b = NULL;
            in_want = false;
        } else if (in_want) {
            add_substituted(&b->want, p, n, tmp);
        } else if (p[0] == '#' && (!b || b->sql.n == 0)) {
            /* a comment before a statement */
        } else {
            if (!b) b = block_add(f, line);
            if (n == 4 && memcmp(p, "----", 4) == 0) {
                b->has_want = in_want = true;
                text_add(&b->want, "", 0);
            } else if (n == 5 && memcmp(p, "@sort", 5) == 0) {
                b->sorted = true;
            } else if (n == 5 && memcmp(p, "@many", 5) == 0) {
                b->many = true;
            } else if (n == 7 && memcmp(p, "@noplan", 7) == 0) {
                b->noplan = true;
            } else if (n == 8 && memcmp(p, "@numbers", 8) == 0) {
                b->numbers = true;
            } else if (p[0] == '@') {
                printf("%s:%u: no such directive\n", f->path, line);
                return false;
            } else {
                add_substituted(&b->sql, p, n, tmp);
            }
        }
        p += n + (p[n] == '\n');
    }
    return true;
}

/* ---- running ---- */

/* Trailing line break and semicolon are no part of the statement. */
static size_t statement_bytes(const text *t)
{
    size_t n = t->n;
    while (n > 0 && (t->bytes[n - 1] == '\n' || t->bytes[n - 1] == ';')) n--;
    return n;
}

static void say_failure(const file *f, block *b, const char *config_text, const char *what,
                        const char *got)
{
    if (b->failed) return; /* once a block is enough */
    b->failed = true;
    printf("FAILED %s:%u (%s): %s\n%s---- wanted\n%s---- got\n%s\n", f->path, b->line, config_text,
           what, b->sql.bytes, b->has_want ? b->want.bytes : "(success)\n", got);
}

static void run_block(const file *f, block *b, smelt_db *db, const char *config_text)
{
    answer a;
    answer_get(db, b->sql.bytes, statement_bytes(&b->sql), NULL, &a);
    if (b->has_want ? !answer_fits(b->want.bytes, a.text.bytes, b->sorted, b->numbers) : a.failed)
        say_failure(f, b, config_text, "not the recorded answer", a.text.bytes);
    else if (b->has_digest && a.digest != b->digest)
        say_failure(f, b, config_text, "not the same bits as in the first configuration",
                    a.text.bytes);
    b->succeeded = !a.failed;
    if (!b->has_digest) b->digest = a.digest;
    b->has_digest = true;
    answer_free(&a);
}

static bool reads_only(const char *sql)
{
    return strncasecmp(sql, "select", 6) == 0 || strncasecmp(sql, "values", 6) == 0 ||
           strncasecmp(sql, "from", 4) == 0;
}

/* What EXPLAIN prints is a pipe plan: fed back, it gives the same bits. */
static void run_explained(const file *f, block *b, smelt_db *db)
{
    smelt_error e = {0};
    char *plan = NULL;
    text sql = {0};
    answer a;
    text_add(&sql, b->sql.bytes, statement_bytes(&b->sql));
    if (smelt_explain(db, sql.bytes, SMELT_EXPLAIN_PLAN, NULL, &plan, &e)) {
        say_failure(f, b, "EXPLAIN", "it failed", e.message);
    } else {
        answer_get(db, plan, strlen(plan), NULL, &a);
        if (a.digest != b->digest) {
            printf("%s", plan);
            say_failure(f, b, "EXPLAIN fed back", "not the same bits", a.text.bytes);
        }
        answer_free(&a);
    }
    smelt_free(plan);
    text_free(&sql);
}

static void run_file(const char *path, const char *tmp, counts *c)
{
    file f = {.path = path};
    config configs[MAX_CONFIGS];
    unsigned n_configs = configs_all(configs);
    char *content = file_read(path);
    bool ok = content && file_parse(&f, content, tmp);
    if (!content) printf("%s: could not be read\n", path);
    for (unsigned k = 0; ok && k < n_configs; k++) {
        char name[80];
        config_name(&configs[k], name, sizeof name);
        smelt_db *db = config_open(&configs[k]);
        ok = db != NULL;
        for (unsigned i = 0; ok && i < f.n; i++)
            if (!(f.blocks[i].many && configs[k].hash_zero)) {
                run_block(&f, &f.blocks[i], db, name);
                if (k == 0 && !f.blocks[i].noplan && f.blocks[i].succeeded && reads_only(f.blocks[i].sql.bytes))
                    run_explained(&f, &f.blocks[i], db);
            }
        smelt_db_close(db);
    }
    for (unsigned i = 0; i < f.n; i++) {
        f.blocks[i].failed ? c->failed++ : c->passed++;
        text_free(&f.blocks[i].sql);
        text_free(&f.blocks[i].want);
    }
    if (!ok || f.n == 0) c->failed++;
    free(f.blocks);
    free(content);
}

int main(int argc, char **argv)
{
    counts c = {0};
    char tmp[] = "/tmp/smelt-sql-XXXXXX";
    if (!mkdtemp(tmp)) {
        perror(tmp);
        return 1;
    }
    char big[64];
    snprintf(big, sizeof big, "%s/big.csv", tmp);
    if (!big_file_write(big)) {
        perror(big);
        return 1;
    }
    for (int i = 1; i < argc; i++) run_file(argv[i], tmp, &c);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", tmp);
    if (system(command) != 0) c.failed++;
    return counts_finish(&c);
}
