/* Timing of a query: one run that is not counted, which compiles, then the counted ones, by the
 * wall clock around smelt_run: parsing, planning and the last row included. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ENOUGH_MS = 20000 };

double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void record_times(record *r, double *ms, uint32_t n)
{
    qsort(ms, n, sizeof *ms, by_value);
    r->runs = n;
    r->min_ms = ms[0];
    r->max_ms = ms[n - 1];
    r->median_ms = n % 2 ? ms[n / 2] : (ms[n / 2 - 1] + ms[n / 2]) / 2;
}

void measure_query(smelt_db *db, const char *sql, const smelt_options *how, uint32_t runs,
                   record *r, smelt_result **keep)
{
    double ms[MAX_RUNS], spent = 0;
    uint32_t n = 0;
    r->sql = sql;
    for (uint32_t i = 0; i <= runs; i++) {
        smelt_error e = {0};
        smelt_result *result = NULL;
        double start = now_ms();
        smelt_status status = smelt_run(db, sql, how, &result, &e);
        double took = now_ms() - start;
        if (status) {
            snprintf(r->error, sizeof r->error, "%s: %.140s", e.sqlstate, e.message);
            return;
        }
        smelt_metrics m;
        smelt_result_metrics(result, &m);
        if (m.compile_ms > r->compile_ms) r->compile_ms = m.compile_ms;
        r->rows = m.rows_scanned;
        r->bytes = (double)m.bytes_scanned;
        r->result_rows = smelt_result_n_rows(result);
        r->has_digest = true;
        r->digest = smelt_result_digest(result);
        /* The first run is not counted unless it is so slow that its compiling cannot matter. */
        if (i > 0 || took > ENOUGH_MS / 5.0) ms[n++] = took;
        spent += took;
        bool last = i == runs || n == runs || (n > 0 && spent > ENOUGH_MS);
        if (last && keep)
            *keep = result;
        else
            smelt_result_free(result);
        if (last) break;
    }
    record_times(r, ms, n);
}
