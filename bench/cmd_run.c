/* jit-bench run: each query in each tier and number of threads; --verify compares all results with
 * the first. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct list {
    record *records;
    uint32_t n, room;
} list;

static record *list_add(list *l)
{
    if (l->n == l->room) {
        uint32_t room = l->room ? l->room * 2 : 64;
        record *more = realloc(l->records, room * sizeof *more);
        if (!more) {
            fprintf(stderr, "jit-bench: out of memory\n");
            exit(1);
        }
        l->records = more;
        l->room = room;
    }
    l->records[l->n] = (record){0};
    return &l->records[l->n++];
}

/* What is compared with what, and how it went. */
typedef struct comparison {
    smelt_result *first;
    char first_name[32], first_error[160];
    bool different;
} comparison;

static void compare(comparison *c, smelt_result *result, const record *r, const char *sql)
{
    char name[32];
    snprintf(name, sizeof name, "%s, %u thread%s", r->tier, r->threads, r->threads == 1 ? "" : "s");
    if (!c->first_name[0]) {
        c->first = result;
        memcpy(c->first_name, name, sizeof name);
        memcpy(c->first_error, r->error, sizeof r->error);
        return;
    }
    bool same = strcmp(c->first_error, r->error) == 0;
    if (same && result) same = smelt_result_digest(c->first) == smelt_result_digest(result);
    if (!same) {
        c->different = true;
        printf("%s\n", sql);
        if (result && c->first)
            output_difference(c->first, result, c->first_name, name);
        else
            printf("DIFFERENCE: %s: %s; %s: %s\n", c->first_name,
                   c->first_error[0] ? c->first_error : "rows", name,
                   r->error[0] ? r->error : "rows");
    }
    smelt_result_free(result);
}

/* The short name of a query: its text without line breaks, cut to the room of the field. */
static void short_name(char *out, size_t room, const char *sql)
{
    size_t n = 0;
    for (; *sql && n < room - 1; sql++) {
        bool space = *sql == ' ' || *sql == '\n' || *sql == '\t' || *sql == '\r';
        if (space && (n == 0 || out[n - 1] == ' ')) continue;
        out[n++] = space ? ' ' : *sql;
    }
    out[n] = 0;
}

static bool run_query(smelt_db *db, const options *o, const char *name, const char *sql, list *l)
{
    static const smelt_tier all[] = {SMELT_TIER_ROW, SMELT_TIER_BATCH, SMELT_TIER_JIT,
                                     SMELT_TIER_AUTO};
    uint32_t n_tiers = o->n_tiers ? o->n_tiers : MAX_TIERS,
             n_threads = o->n_threads ? o->n_threads : 1;
    comparison c = {0};
    bool ok = true;
    for (uint32_t t = 0; t < n_tiers; t++) {
        for (uint32_t k = 0; k < n_threads; k++) {
            smelt_tier tier = o->n_tiers ? o->tiers[t] : all[t];
            smelt_options how = {.tier = tier,
                                 .auto_tier = tier == SMELT_TIER_AUTO,
                                 .threads = o->n_threads ? o->threads[k] : 1};
            record *r = list_add(l);
            if (name)
                snprintf(r->query, sizeof r->query, "%s", name);
            else
                short_name(r->query, sizeof r->query, sql);
            r->tier = tier_name(tier);
            r->threads = how.threads;
            smelt_result *result = NULL;
            progress_show(t * n_threads + k, n_tiers * n_threads, r->query);
            measure_query(db, sql, &how, o->runs, r, o->verify ? &result : NULL);
            progress_clear();
            ok = ok && !r->error[0];
            if (o->verify) compare(&c, result, r, sql);
        }
    }
    smelt_result_free(c.first);
    return ok && !c.different;
}

int run_queries(smelt_db *db, const options *o, uint32_t n, const char *const *names,
                const char *const *sql)
{
    list l = {0};
    bool ok = true;
    for (uint32_t i = 0; i < n; i++)
        ok = run_query(db, o, names ? names[i] : NULL, sql[i], &l) && ok;
    output_records(o->format, l.records, l.n);
    free(l.records);
    return ok ? 0 : 1;
}

static bool run_once(smelt_db *db, const char *sql)
{
    smelt_error e = {0};
    smelt_result *r = NULL;
    if (smelt_run(db, sql, NULL, &r, &e)) {
        fprintf(stderr, "ERROR: %s: %s\n", e.sqlstate, e.message);
        return false;
    }
    smelt_result_free(r);
    return true;
}

/* Statements that change something are run once, as they come; the queries between them are timed.
 */
int cmd_run(const options *o)
{
    size_t bytes, at = 0, n;
    char *text = options_text(o, &bytes);
    if (!text) return 1;
    smelt_db *db = options_open(o);
    if (!db) {
        free(text);
        return 1;
    }
    list l = {0};
    char **kept = NULL; /* records point into the texts until they are printed */
    uint32_t n_kept = 0;
    bool ok = true;
    const char *start;
    while (smelt_next_statement(text, bytes, &at, &start, &n)) {
        char *sql = malloc(n + 1);
        char **more = realloc(kept, (n_kept + 1) * sizeof *kept);
        if (!sql || !more) {
            fprintf(stderr, "jit-bench: out of memory\n");
            exit(1);
        }
        memcpy(sql, start, n);
        sql[n] = 0;
        kept = more;
        kept[n_kept++] = sql;
        ok = (is_query(start, n) ? run_query(db, o, NULL, sql, &l) : run_once(db, sql)) && ok;
    }
    output_records(o->format, l.records, l.n);
    for (uint32_t i = 0; i < n_kept; i++) free(kept[i]);
    free(kept);
    free(l.records);
    smelt_db_close(db);
    free(text);
    return ok ? 0 : 1;
}
