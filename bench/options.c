/* Command-line options. One table, made from options.def, says what there is and which command
 * takes it; a setter per option checks the argument. */
#include "bench.h"
#include "tpch/tpch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Commands as bits, in the order of commands.def. */
enum { RUN = 1, LADDER = 2, WORKLOAD = 4, EXPLAIN = 8, SQL = 16, TPCH = 32 };

static const char *const tier_names[] = {
    [SMELT_TIER_AUTO] = "auto",
    [SMELT_TIER_ROW] = "row",
    [SMELT_TIER_BATCH] = "batch",
    [SMELT_TIER_JIT] = "jit",
};

const char *tier_name(smelt_tier t)
{
    return tier_names[t];
}

static bool positive(const char *text, uint64_t most, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || n == 0 || n > most) return false;
    *out = n;
    return true;
}

/* Cuts the next part of a list "a,b,c" off into part. */
static bool list_next(const char **list, char *part, size_t part_bytes)
{
    if (**list == 0) return false;
    size_t n = strcspn(*list, ",");
    size_t m = n < part_bytes - 1 ? n : part_bytes - 1;
    memcpy(part, *list, m);
    part[m] = 0;
    *list += n + ((*list)[n] == ',');
    return true;
}

static bool set_table(options *o, const char *v)
{
    const char *eq = strchr(v, '=');
    if (!eq || eq == v || !eq[1] || o->n_tables == MAX_TABLES) return false;
    if ((size_t)(eq - v) >= sizeof o->tables[0].name) return false;
    memcpy(o->tables[o->n_tables].name, v, (size_t)(eq - v));
    o->tables[o->n_tables++].path = eq + 1;
    return true;
}

static bool set_tiers(options *o, const char *v)
{
    char part[16];
    o->n_tiers = 0;
    while (list_next(&v, part, sizeof part)) {
        uint32_t t = 0;
        while (t < MAX_TIERS && strcmp(part, tier_names[t]) != 0) t++;
        if (t == MAX_TIERS || o->n_tiers == MAX_TIERS) return false;
        o->tiers[o->n_tiers++] = (smelt_tier)t;
    }
    return o->n_tiers > 0;
}

static bool set_threads(options *o, const char *v)
{
    char part[16];
    o->n_threads = 0;
    while (list_next(&v, part, sizeof part)) {
        uint64_t n;
        if (!positive(part, 1024, &n) || o->n_threads == MAX_THREADS) return false;
        o->threads[o->n_threads++] = (uint32_t)n;
    }
    return o->n_threads > 0;
}

static bool set_runs(options *o, const char *v)
{
    uint64_t n;
    if (!positive(v, MAX_RUNS, &n)) return false;
    o->runs = (uint32_t)n;
    return true;
}

static bool set_format(options *o, const char *v)
{
    static const char *const names[] = {"table", "csv", "json"};
    for (uint32_t i = 0; i < 3; i++) {
        if (strcmp(v, names[i]) != 0) continue;
        o->format = (format)i;
        return true;
    }
    return false;
}

static bool set_file_format(options *o, const char *v)
{
    o->csv_files = strcmp(v, "csv") == 0;
    return o->csv_files || strcmp(v, "tbl") == 0;
}

static bool set_tables(options *o, const char *v)
{
    o->tpch_tables = tpch_tables_read(v);
    return o->tpch_tables != 0;
}

#define TEXT_SETTER(function, field)                                                               \
    static bool function(options *o, const char *v)                                                \
    {                                                                                              \
        o->field = v;                                                                              \
        return true;                                                                               \
    }
TEXT_SETTER(set_schema, schema)
TEXT_SETTER(set_file, file)
TEXT_SETTER(set_text, text)
TEXT_SETTER(set_queries, queries)
TEXT_SETTER(set_plot, plot)
TEXT_SETTER(set_null, null_text)
TEXT_SETTER(set_tpch, tpch)
TEXT_SETTER(set_out, out)

#define COUNT_SETTER(function, field)                                                              \
    static bool function(options *o, const char *v)                                                \
    {                                                                                              \
        return positive(v, (uint64_t)1 << 40, &o->field);                                          \
    }
COUNT_SETTER(set_rows, rows)
COUNT_SETTER(set_repeat, repeat)

#define FLAG_SETTER(function, field)                                                               \
    static bool function(options *o, const char *v)                                                \
    {                                                                                              \
        (void)v;                                                                                   \
        return o->field = true;                                                                    \
    }
FLAG_SETTER(set_verify, verify)
FLAG_SETTER(set_analyze, analyze)
FLAG_SETTER(set_ir, ir)
FLAG_SETTER(set_asm, assembly)

static const struct {
    const char *flags, *argument, *help;
    unsigned commands;
    bool (*set)(options *o, const char *v);
} table[] = {
#define BENCH_OPTION(flags, argument, set, commands, help) {flags, argument, help, commands, set},
#include "options.def"
#undef BENCH_OPTION
};
enum { N_OPTIONS = sizeof table / sizeof table[0] };

static bool flag_matches(const char *flags, const char *given)
{
    size_t n = strlen(given);
    for (const char *p = flags; *p;) {
        size_t m = strcspn(p, " ");
        if (m == n && memcmp(p, given, n) == 0) return true;
        p += m + (p[m] == ' ');
    }
    return false;
}

bool options_read(options *o, uint32_t command, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        const char *given = argv[i];
        /* `jit-bench sql -f FILE` and `jit-bench sql -` mean the same place for text. */
        if (strcmp(given, "-") == 0 && (1u << command) == SQL) {
            o->file = "-";
            continue;
        }
        uint32_t k = 0;
        while (k < N_OPTIONS &&
               !(table[k].commands & (1u << command) && flag_matches(table[k].flags, given)))
            k++;
        if (k == N_OPTIONS) {
            fprintf(stderr, "jit-bench: this command has no option \"%s\"\n", given);
            return false;
        }
        const char *value = "";
        if (table[k].argument[0]) {
            if (++i == argc) {
                fprintf(stderr, "jit-bench: %s needs %s\n", given, table[k].argument);
                return false;
            }
            value = argv[i];
        }
        if (!table[k].set(o, value)) {
            fprintf(stderr, "jit-bench: %s takes %s, not \"%s\"\n", given, table[k].argument,
                    value);
            return false;
        }
    }
    return true;
}

void options_usage(uint32_t command)
{
    for (uint32_t k = 0; k < N_OPTIONS; k++) {
        if (!(table[k].commands & (1u << command))) continue;
        char left[64];
        snprintf(left, sizeof left, "%s %s", table[k].flags, table[k].argument);
        printf("    %-28s %s\n", left, table[k].help);
    }
}
