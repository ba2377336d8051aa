/* Random expressions, tier against tier: every query runs in the row, batch and jit tiers, with
 * different batch sizes and numbers of threads, and must give the same bits or the same error. A
 * difference is made small (one expression, then its smallest part that still differs) and printed
 * with the seed.
 *
 *   diff_exprs [--seed N] [--expressions N] [--show SQL]
 *
 * --show runs one text in all tiers over the tables of that seed and prints what each gives. */
#include "diff.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { DEFAULT_EXPRESSIONS = 1000 };
#else
enum { DEFAULT_EXPRESSIONS = 20000 };
#endif
enum { FULL_EXPRESSIONS = 200000, MAX_FAILURES = 20 };

/* xorshift64*: the same numbers everywhere. */
uint64_t random_next(random_state *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * 0x2545F4914F6CDD1Du;
}

uint32_t random_below(random_state *r, uint32_t n)
{
    return (uint32_t)(random_next(r) >> 33) % n;
}

bool random_chance(random_state *r, uint32_t percent)
{
    return random_below(r, 100) < percent;
}

void text_puts(text *t, const char *s)
{
    text_printf(t, "%s", s);
}

void text_printf(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (t->n + (size_t)n + 1 > t->room) {
        t->room = (t->n + (size_t)n + 1) * 2;
        t->bytes = realloc(t->bytes, t->room);
        if (!t->bytes) exit(1);
    }
    va_start(args, format);
    vsnprintf(t->bytes + t->n, (size_t)n + 1, format, args);
    va_end(args);
    t->n += (size_t)n;
}

void text_clear(text *t)
{
    t->n = 0;
    if (t->bytes) t->bytes[0] = 0;
}

void text_free(text *t)
{
    free(t->bytes);
    *t = (text){0};
}

/* ---- running in all tiers ---- */

static const struct way {
    const char *name;
    smelt_options how;
} ways[] = {
    {"row", {.tier = SMELT_TIER_ROW, .threads = 1}},
    {"batch", {.tier = SMELT_TIER_BATCH, .threads = 1}},
    {"jit", {.tier = SMELT_TIER_JIT, .threads = 1}},
    {"jit, 3 threads", {.tier = SMELT_TIER_JIT, .threads = 3}},
    {"batch, 3 threads, batch_rows 33", {.tier = SMELT_TIER_BATCH, .threads = 3, .batch_rows = 33}},
    {"auto, 3 threads", {.tier = SMELT_TIER_AUTO, .auto_tier = true, .threads = 3}},
    {"batch, batch_rows 1", {.tier = SMELT_TIER_BATCH, .threads = 1, .batch_rows = 1}},
};
enum { N_WAYS = sizeof ways / sizeof ways[0], ALWAYS = 3 };

typedef struct outcome {
    bool failed;
    char error[300]; /* SQLSTATE and message */
    uint64_t digest;
} outcome;

static void run(smelt_db *db, const char *sql, const struct way *w, outcome *out)
{
    smelt_error e = {0};
    smelt_result *r = NULL;
    *out = (outcome){0};
    if (smelt_run(db, sql, &w->how, &r, &e)) {
        out->failed = true;
        snprintf(out->error, sizeof out->error, "%s: %.280s", e.sqlstate, e.message);
    } else {
        out->digest = smelt_result_digest(r);
    }
    smelt_result_free(r);
}

static bool same(const outcome *a, const outcome *b)
{
    if (a->failed != b->failed) return false;
    return a->failed ? strcmp(a->error, b->error) == 0 : a->digest == b->digest;
}

/* A statement that does not bind (wrong types, more than 38 digits) tells nothing about tiers. */
static bool is_rejected(const outcome *o)
{
    return o->failed && (strncmp(o->error, "42", 2) == 0 || strncmp(o->error, "0A", 2) == 0);
}

typedef struct test {
    smelt_db *db;
    uint64_t seed;
    uint32_t n_run, n_rejected, n_errors, n_failures;
} test;

/* Does any way differ from the row tier? extra: which of the rarer ways to take too. */
static bool differs(test *t, const char *sql, uint32_t extra, outcome *first, outcome *other,
                    const char **way)
{
    run(t->db, sql, &ways[0], first);
    if (is_rejected(first)) return false;
    for (uint32_t i = 1; i < N_WAYS; i++) {
        if (i >= ALWAYS && i != ALWAYS + extra % (N_WAYS - ALWAYS)) continue;
        run(t->db, sql, &ways[i], other);
        *way = ways[i].name;
        if (!same(first, other)) return true;
    }
    return false;
}

/* ---- making a difference small ---- */

static bool still_differs(test *t, const query *q, uint32_t extra)
{
    outcome a, b;
    const char *way;
    text sql = {0};
    query_print(q, &sql);
    bool d = differs(t, sql.bytes, extra, &a, &b, &way);
    text_free(&sql);
    return d;
}

/* Replaces *e by one of its parts, as long as the query still differs. Parts are borrowed. */
static void shrink(test *t, query *q, expr **e, uint32_t extra)
{
    for (bool smaller = true; smaller && *e;) {
        smaller = false;
        expr *whole = *e;
        for (uint32_t i = 0; i < whole->n_args && !smaller; i++) {
            *e = whole->args[i];
            smaller = still_differs(t, q, extra);
        }
        if (!smaller) *e = whole;
    }
}

static void report(test *t, const query *q, uint32_t extra)
{
    query small = *q;
    outcome a, b;
    const char *way = "";
    text sql = {0};
    for (uint32_t i = 0; i < q->n && q->n > 1; i++) {
        query one = *q;
        one.n = 1;
        one.aggregate = q->aggregate + i; /* the aggregate that stood over it */
        one.exprs[0] = q->exprs[i];
        if (!still_differs(t, &one, extra)) continue;
        small = one;
        break;
    }
    expr *where = small.where;
    small.where = NULL;
    if (!still_differs(t, &small, extra)) small.where = where;
    if (small.n == 1) shrink(t, &small, &small.exprs[0], extra);
    query_print(&small, &sql);
    if (!differs(t, sql.bytes, extra, &a, &b, &way)) printf("(only sometimes)\n");
    printf("FAILED with --seed %llu: %s\n  row   %s %016llx\n  %-5s %s %016llx\n",
           (unsigned long long)t->seed, sql.bytes, a.error, (unsigned long long)a.digest, way,
           b.error, (unsigned long long)b.digest);
    text_free(&sql);
    t->n_failures++;
}

static void try_query(test *t, const query *q, uint32_t extra)
{
    outcome a, b;
    const char *way;
    text sql = {0};
    query_print(q, &sql);
    bool d = differs(t, sql.bytes, extra, &a, &b, &way);
    text_free(&sql);
    if (d) {
        report(t, q, extra);
    } else if (a.failed && q->n > 1) {
        /* One error hides the other expressions: each alone. */
        for (uint32_t i = 0; i < q->n; i++) {
            query one = *q;
            one.n = 1;
            one.aggregate += i;
            one.exprs[0] = q->exprs[i];
            try_query(t, &one, extra);
        }
        return;
    }
    if (is_rejected(&a))
        t->n_rejected += q->n;
    else
        t->n_run += q->n;
    if (a.failed) t->n_errors += q->n;
}

static void show(test *t, const char *sql)
{
    for (uint32_t i = 0; i < N_WAYS; i++) {
        smelt_error e = {0};
        smelt_result *r = NULL;
        printf("-- %s\n", ways[i].name);
        if (smelt_run(t->db, sql, &ways[i].how, &r, &e))
            printf("ERROR: %s at %d: %s\n", e.sqlstate, e.position, e.message);
        for (uint32_t row = 0; r && row < 20 && smelt_result_step(r); row++) {
            for (uint32_t c = 0; c < smelt_result_n_columns(r); c++) {
                smelt_text v = smelt_result_text(r, c);
                printf("%s%.*s", c ? "|" : "", smelt_result_is_null(r, c) ? 4 : (int)v.length,
                       smelt_result_is_null(r, c) ? "NULL" : v.bytes);
            }
            printf("\n");
        }
        smelt_result_free(r);
    }
}

int main(int argc, char **argv)
{
    const char *sql = NULL;
    bool full = getenv("SMELT_TEST_FULL") != NULL;
    test t = {.seed = full ? (uint64_t)time(NULL) : 1};
    uint32_t wanted = full ? FULL_EXPRESSIONS : DEFAULT_EXPRESSIONS;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0) t.seed = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--expressions") == 0)
            wanted = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--show") == 0) sql = argv[i + 1];
    }
    smelt_error e = {0};
    random_state r = {t.seed * 2654435761u + 88172645463325252u};
    if (smelt_db_open(NULL, &t.db, &e) || !tables_create(t.db, &r)) {
        printf("FAILED: %s\n", e.message);
        return 1;
    }
    if (sql) {
        show(&t, sql);
    } else {
        for (uint32_t k = 0; t.n_run < wanted && t.n_failures < MAX_FAILURES && k < wanted; k++) {
            query q;
            query_random(&r, &q);
            try_query(&t, &q, k);
            query_free(&q);
        }
        printf("seed %llu: %u expressions compared (%u raised the same error everywhere), %u did "
               "not bind\n",
               (unsigned long long)t.seed, t.n_run, t.n_errors, t.n_rejected);
        printf("%u passed, %u failed, 0 skipped\n", t.n_run, t.n_failures);
    }
    smelt_db_close(t.db);
    return t.n_failures > 0;
}
