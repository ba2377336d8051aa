/* jit-bench ladder: two queries, from memory and in cache, in every way the engine can run them,
 * beside the loops a person would write (hand.h) and the bandwidth of the memory. Engine and
 * hand-written loops read the same bytes: the table is appended without copying.
 *
 * In cache: a table of two chunks whose chunk list names those two 4,000 times; the hand-written
 * loops go round as often. */
#include "columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_ROWS = 500000000,
    CACHE_ROWS = 2 * 65536,
    CACHE_TIMES = 4000,
    N_RUNGS = 10,
    N_QUERIES = 4
};

typedef struct query {
    const char *name, *sql;
    bool filter, cached;
} query;

static const query queries[N_QUERIES] = {
    {"sum", "SELECT sum(x) FROM series", false, false},
    {"sum-cache", "SELECT sum(x) FROM series", false, true},
    {"filter", "SELECT sum(a * b), count(*) FROM random WHERE c > 0.5", true, false},
    {"filter-cache", "SELECT sum(a * b), count(*) FROM random WHERE c > 0.5", true, true},
};

typedef struct ladder {
    const options *o;
    const query *q;
    const hand_data *data;
    smelt_db *db;
    record *records; /* N_RUNGS of them */
    uint32_t n, n_before;
    uint32_t n_total;
    double sum; /* of the first rung; all must agree but for rounding */
    int64_t count;
    bool have_sum, ok;
} ladder;

static record *rung_add(ladder *run, const char *rung)
{
    record *r = &run->records[run->n++];
    *r = (record){.rung = rung, .sql = run->q->sql, .threads = 1, .tier = ""};
    snprintf(r->query, sizeof r->query, "%s", run->q->name);
    char what[40];
    snprintf(what, sizeof what, "%s %s", run->q->name, rung);
    progress_show(run->n_before + run->n - 1, run->n_total, what);
    return r;
}

static void check_sum(ladder *run, record *r, double sum, int64_t count)
{
    if (!run->have_sum) {
        run->sum = sum;
        run->count = count;
        run->have_sum = true;
    } else if (fabs(sum - run->sum) > 1e-7 * fabs(run->sum) ||
               (run->q->filter && count != run->count)) {
        snprintf(r->error, sizeof r->error, "wrong: %.17g, %lld rows, not %.17g, %lld rows", sum,
                 (long long)count, run->sum, (long long)run->count);
    }
}

static void engine_rung(ladder *run, const char *rung, smelt_options how)
{
    record *r = rung_add(run, rung);
    char why[120];
    r->tier = tier_name(how.tier);
    r->threads = how.threads;
    if (how.tier == SMELT_TIER_JIT && !smelt_jit_available(run->db, why, sizeof why)) {
        snprintf(r->error, sizeof r->error, "no compiler: %s", why);
        run->ok = false;
        return;
    }
    smelt_result *result = NULL;
    measure_query(run->db, run->q->sql, &how, run->o->runs, r, &result);
    if (result && smelt_result_step(result))
        check_sum(run, r, smelt_result_double(result, 0),
                  run->q->filter ? smelt_result_int64(result, 1) : 0);
    smelt_result_free(result);
    if (r->error[0]) run->ok = false;
}

static void hand_rung(ladder *run, const char *rung, hand_loop loop, bool check)
{
    enum { ENOUGH_MS = 20000 };
    record *r = rung_add(run, rung);
    double ms[MAX_RUNS], spent = 0;
    uint32_t n = 0;
    hand_result result = {0};
    for (uint32_t i = 0; i <= run->o->runs && spent < ENOUGH_MS; i++) {
        double start = now_ms();
        result = loop(run->data);
        double took = now_ms() - start;
        if (i > 0 || took > ENOUGH_MS / 5.0) ms[n++] = took;
        spent += took;
        if (n == run->o->runs) break;
    }
    record_times(r, ms, n);
    r->rows = run->data->rows * run->data->times;
    r->result_rows = 1;
    r->bytes = (double)r->rows * (run->q->filter ? 3 * 8 + 0.125 : 8);
    if (check) check_sum(run, r, result.sum, result.count);
    if (r->error[0]) run->ok = false;
}

static void all_rungs(ladder *run)
{
    bool filter = run->q->filter;
    const hand_kernels *simd = hand_simd();
    uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    engine_rung(run, "row", (smelt_options){.tier = SMELT_TIER_ROW, .threads = 1});
    engine_rung(run, "batch", (smelt_options){.tier = SMELT_TIER_BATCH, .threads = 1});
    engine_rung(run, "jit-scalar",
                (smelt_options){.tier = SMELT_TIER_JIT, .threads = 1, .jit_step = 1});
    engine_rung(run, "jit", (smelt_options){.tier = SMELT_TIER_JIT, .threads = 1});
    engine_rung(run, "jit-threads", (smelt_options){.tier = SMELT_TIER_JIT, .threads = cpus});
    hand_rung(run, "hand-volcano", filter ? hand_volcano.filter : hand_volcano.sum, true);
    hand_rung(run, "hand-batch", filter ? hand_batch.filter : hand_batch.sum, true);
    hand_rung(run, "hand-scalar", filter ? hand_scalar.filter : hand_scalar.sum, true);
    hand_rung(run, "hand-simd", filter ? simd->filter : simd->sum, true);
    hand_rung(run, "memory", filter ? simd->read_filter : simd->read_sum, false);
}

static bool wanted(const options *o, const char *name)
{
    if (!o->queries) return true;
    size_t n = strlen(name);
    for (const char *p = o->queries; *p;) {
        size_t m = strcspn(p, ",");
        if (m == n && memcmp(p, name, n) == 0) return true;
        p += m + (p[m] == ',');
    }
    return false;
}

static uint64_t rows_of(const options *o, const query *q)
{
    if (q->cached) return CACHE_ROWS;
    uint64_t row_bytes = q->filter ? 25 : 8, fit = memory_bytes() / 4 / row_bytes;
    uint64_t rows = o->rows ? o->rows : MOST_ROWS;
    return rows < fit ? rows : fit;
}

static bool run_ladder(ladder *run)
{
    hand_data data;
    smelt_error e = {0};
    uint64_t rows = rows_of(run->o, run->q);
    if (!(run->q->filter ? columns_random(&data, rows) : columns_series(&data, rows))) return false;
    /* Fewer rounds when few rows are asked for: for trying things out. */
    if (run->q->cached) {
        uint64_t times = run->o->rows / CACHE_ROWS;
        data.times = run->o->rows && times < CACHE_TIMES ? times + 1 : CACHE_TIMES;
    }
    run->data = &data;
    bool ok = smelt_db_open(NULL, &run->db, &e) == SMELT_OK &&
              columns_table(run->db, run->q->filter ? "random" : "series", &data);
    if (ok) all_rungs(run);
    smelt_db_close(run->db);
    columns_free(&data);
    progress_clear();
    return ok;
}

static void footnotes(void)
{
    printf("\nrung jit-scalar: fused and scalar, one accumulator; the only rung exempt from \"same "
           "bits\"\n"
           "rungs hand-*: written in C for exactly this query; memory: wide loads of the same "
           "bytes, nothing else\n"
           "queries *-cache: two chunks, named 4,000 times by the table\n");
}

int cmd_ladder(const options *o)
{
    record *records = calloc(N_QUERIES * N_RUNGS, sizeof *records);
    uint32_t n = 0, n_total = 0;
    bool ok = records != NULL, all_ok = ok;
    for (uint32_t i = 0; i < N_QUERIES; i++) n_total += wanted(o, queries[i].name) ? N_RUNGS : 0;
    for (uint32_t i = 0; ok && i < N_QUERIES; i++) {
        if (!wanted(o, queries[i].name)) continue;
        ladder run = {.o = o,
                      .q = &queries[i],
                      .records = records + n,
                      .n_before = n,
                      .n_total = n_total,
                      .ok = true};
        ok = run_ladder(&run);
        all_ok = all_ok && ok && run.ok;
        n += run.n;
    }
    output_records(o->format, records, n);
    if (o->format == FORMAT_TABLE && n > 0) footnotes();
    if (o->plot) all_ok = svg_ladder(o->plot, records, n) && all_ok;
    free(records);
    return all_ok ? 0 : 1;
}
