/* Configurations, answers and their comparison; see harness.h. */
#include "harness.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CONFIG_STEP = 3 };
#else
enum { CONFIG_STEP = 1 };
#endif

static _Noreturn void out_of_memory(void)
{
    fprintf(stderr, "out of memory\n");
    exit(1);
}

/* ---- configurations ---- */

unsigned configs_all(config out[MAX_CONFIGS])
{
    static const struct {
        const char *tier;
        unsigned n_sizes, sizes[3];
    } tiers[] = {
        {"row", 1, {0}}, {"batch", 3, {1024, 1, 2}}, {"jit", 1, {0}}, {"auto", 3, {1024, 1, 2}}};
    unsigned n = 0, at = 0;
    for (unsigned zero = 0; zero < 2; zero++)
        for (unsigned threads = 1; threads <= 3; threads += 2)
            for (unsigned t = 0; t < 4; t++)
                for (unsigned s = 0; s < tiers[t].n_sizes; s++)
                    if (at++ % CONFIG_STEP == 0 || (t == 2 && zero != threads / 2))
                        out[n++] = (config){tiers[t].tier, threads, zero, tiers[t].sizes[s]};
    return n;
}

void config_name(const config *c, char *out, size_t bytes)
{
    int n = snprintf(out, bytes, "%s, threads %u%s", c->tier, c->threads,
                     c->hash_zero ? ", hash_zero" : "");
    if (c->batch_rows) snprintf(out + n, bytes - (size_t)n, ", batch_rows %u", c->batch_rows);
}

static bool set(smelt_db *db, const char *name, const char *value)
{
    smelt_error e = {0};
    if (smelt_set(db, name, value, &e) == SMELT_OK) return true;
    printf("SET %s = %s: %s: %s\n", name, value, e.sqlstate, e.message);
    return false;
}

smelt_db *config_open(const config *c)
{
    smelt_error e = {0};
    smelt_db *db = NULL;
    if (smelt_db_open(NULL, &db, &e)) {
        printf("open: %s: %s\n", e.sqlstate, e.message);
        return NULL;
    }
    char number[16];
    snprintf(number, sizeof number, "%u", c->threads);
    bool ok = set(db, "tier", c->tier) && set(db, "threads", number) &&
              set(db, "hash_zero", c->hash_zero ? "on" : "off");
    if (ok && c->batch_rows) {
        snprintf(number, sizeof number, "%u", c->batch_rows);
        ok = set(db, "batch_rows", number);
    }
    /* So that auto compiles even the small tables of the tests, in the middle of a query. */
    if (ok && strcmp(c->tier, "auto") == 0 && c->threads > 1) ok = set(db, "jit_min_rows", "0");
    if (ok) return db;
    smelt_db_close(db);
    return NULL;
}

/* ---- text ---- */

void text_add(text *t, const char *bytes, size_t n)
{
    if (t->n + n + 1 > t->room) {
        t->room = (t->n + n + 1) * 2;
        t->bytes = realloc(t->bytes, t->room);
        if (!t->bytes) out_of_memory();
    }
    if (n) memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    t->bytes[t->n] = 0;
}

void text_puts(text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

void text_free(text *t)
{
    free(t->bytes);
    *t = (text){0};
}

char *file_read(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    text t = {0};
    char piece[65536];
    size_t n;
    text_add(&t, "", 0);
    while ((n = fread(piece, 1, sizeof piece, f)) > 0) text_add(&t, piece, n);
    fclose(f);
    return t.bytes;
}

/* ---- answers ---- */

static void add_value(text *t, smelt_text v)
{
    size_t from = 0;
    for (size_t i = 0; i < v.length; i++) {
        const char *escape = v.bytes[i] == '\n'   ? "\\n"
                             : v.bytes[i] == '\r' ? "\\r"
                             : v.bytes[i] == '\\' ? "\\\\"
                             : v.bytes[i] == 0    ? "\\0"
                                                  : NULL;
        if (!escape) continue;
        text_add(t, v.bytes + from, i - from);
        text_puts(t, escape);
        from = i + 1;
    }
    text_add(t, v.bytes + from, v.length - from);
}

static void add_rows(text *t, smelt_result *r)
{
    uint32_t n = smelt_result_n_columns(r);
    while (smelt_result_step(r)) {
        size_t start = t->n;
        for (uint32_t i = 0; i < n; i++) {
            if (i) text_puts(t, "|");
            if (smelt_result_is_null(r, i))
                text_puts(t, "NULL");
            else
                add_value(t, smelt_result_text(r, i));
        }
        text_puts(t, t->n == start ? "<empty>\n" : "\n");
    }
}

static void add_tag(text *t, const smelt_result *r)
{
    const char *tag = smelt_result_tag(r);
    char line[80];
    if (strcmp(tag, "INSERT") == 0)
        snprintf(line, sizeof line, "INSERT 0 %" PRIu64 "\n", smelt_result_n_rows(r));
    else if (strcmp(tag, "COPY") == 0)
        snprintf(line, sizeof line, "COPY %" PRIu64 "\n", smelt_result_n_rows(r));
    else
        snprintf(line, sizeof line, "%s\n", tag);
    text_puts(t, line);
}

static uint64_t text_digest(const text *t)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < t->n; i++) h = (h ^ (unsigned char)t->bytes[i]) * 1099511628211u;
    return h;
}

void answer_get(smelt_db *db, const char *sql, size_t bytes, const smelt_options *how, answer *out)
{
    smelt_error e = {0};
    smelt_stmt *s = NULL;
    smelt_result *r = NULL;
    *out = (answer){0};
    text_add(&out->text, "", 0);
    if (smelt_prepare_n(db, sql, bytes, &s, &e) || smelt_execute(s, how, &r, &e)) {
        char line[sizeof e.message + 64], at[24] = "";
        if (e.position) snprintf(at, sizeof at, " at %d", e.position);
        snprintf(line, sizeof line, "ERROR: %s%s: %s\n", e.sqlstate, at, e.message);
        text_puts(&out->text, line);
        out->failed = true;
        out->digest = text_digest(&out->text);
    } else {
        if (smelt_result_n_columns(r) > 0)
            add_rows(&out->text, r);
        else
            add_tag(&out->text, r);
        out->digest = smelt_result_digest(r);
    }
    smelt_result_free(r);
    smelt_stmt_free(s);
}

void answer_free(answer *a)
{
    text_free(&a->text);
}

/* ---- comparison ---- */

static bool same_number(const char *a, size_t n, const char *b, size_t m)
{
    char x[80], y[80], *end;
    if (n == 0 || m == 0 || n >= sizeof x || m >= sizeof y) return false;
    memcpy(x, a, n);
    memcpy(y, b, m);
    x[n] = y[m] = 0;
    double p = strtod(x, &end);
    if (*end) return false;
    double q = strtod(y, &end);
    if (*end) return false;
    if (isnan(p) || isnan(q)) return isnan(p) && isnan(q);
    return p == q || fabs(p - q) <= 1e-12 * fmax(fabs(p), fabs(q));
}

static bool same_line(const char *a, size_t n, const char *b, size_t m, bool numbers)
{
    if (n == m && memcmp(a, b, n) == 0) return true;
    if (!numbers) return false;
    const char *a_end = a + n, *b_end = b + m;
    for (;;) {
        const char *p = memchr(a, '|', (size_t)(a_end - a)),
                   *q = memchr(b, '|', (size_t)(b_end - b));
        size_t i = (size_t)((p ? p : a_end) - a), j = (size_t)((q ? q : b_end) - b);
        bool same = (i == j && memcmp(a, b, i) == 0) || same_number(a, i, b, j);
        if (!same || !p != !q) return false;
        if (!p) return true;
        a = p + 1;
        b = q + 1;
    }
}

/* "ERROR: 22003", "ERROR: 42703 at 8" and "ERROR: 42703 at 8: column" all fit
 * "ERROR: 42703 at 8: column "x" does not exist"; so does "ERROR: 42703: column". */
static bool same_error(const char *want, size_t n, const char *got)
{
    enum { HEAD = 12 }; /* "ERROR: 22003" */
    if (n < HEAD || strlen(got) < HEAD || memcmp(want, got, HEAD) != 0) return false;
    const char *w = want + HEAD, *end = want + n, *g = got + HEAD;
    if (end - w > 4 && memcmp(w, " at ", 4) == 0) {
        const char *stop = memchr(w, ':', (size_t)(end - w));
        size_t at = (size_t)((stop ? stop : end) - w);
        if (strncmp(w, g, at) != 0 || g[at] != ':') return false;
        w += at;
    }
    g = strchr(g, ':');
    return w == end || (g && strncmp(w, g, (size_t)(end - w)) == 0);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *sort_lines(const char *t)
{
    char *copy = strdup(t);
    size_t n = 0, room = 16;
    char **lines = malloc(room * sizeof *lines);
    if (!copy || !lines) out_of_memory();
    for (char *p = strtok(copy, "\n"); p; p = strtok(NULL, "\n")) {
        if (n == room) lines = realloc(lines, (room *= 2) * sizeof *lines);
        if (!lines) out_of_memory();
        lines[n++] = p;
    }
    qsort(lines, n, sizeof *lines, by_text);
    text out = {0};
    text_add(&out, "", 0);
    for (size_t i = 0; i < n; i++) {
        text_puts(&out, lines[i]);
        text_puts(&out, "\n");
    }
    free(copy);
    free(lines);
    return out.bytes;
}

bool answer_fits(const char *want, const char *got, bool sorted, bool numbers)
{
    if (strncmp(want, "ERROR: ", 7) == 0) return same_error(want, strcspn(want, "\n"), got);
    if (sorted) {
        char *a = sort_lines(want), *b = sort_lines(got);
        bool fits = answer_fits(a, b, false, numbers);
        free(a);
        free(b);
        return fits;
    }
    while (*want && *got) {
        size_t n = strcspn(want, "\n"), m = strcspn(got, "\n");
        if (!same_line(want, n, got, m, numbers)) return false;
        want += n + (want[n] == '\n');
        got += m + (got[m] == '\n');
    }
    return !*want && !*got;
}

int counts_finish(const counts *c)
{
    printf("%u passed, %u failed, %u skipped\n", c->passed, c->failed, c->skipped);
    return c->failed ? 1 : 0;
}
