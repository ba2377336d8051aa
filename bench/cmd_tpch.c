/* jit-bench tpch: generates the data of TPC-H, into tables, into files, or to compare its checksums
 * with those of dbgen. The generator is in tpch/. */
#include "bench.h"
#include "tpch/tpch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool read_scale(const options *o, tpch_scale *scale)
{
    const char *why = "";
    if (tpch_scale_read(o->tpch, scale, &why)) return true;
    fprintf(stderr, "jit-bench: scale factor %s: %s\n", o->tpch, why);
    return false;
}

static unsigned wanted_tables(const options *o)
{
    return o->tpch_tables ? o->tpch_tables : (1u << TPCH_N_TABLES) - 1;
}

/* The machine's processors, unless said. */
static uint32_t n_workers(uint32_t said)
{
    long n = said ? (long)said : sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

bool options_load_tpch(smelt_db *db, const options *o)
{
    tpch_scale scale;
    smelt_error e = {0};
    if (!read_scale(o, &scale) || !tpch_load(db, &scale, wanted_tables(o), n_workers(0)))
        return false;
    for (uint32_t i = 0; i < TPCH_N_TABLES && o->repeat > 1; i++) {
        const char *name = tpch_tables[i].name;
        if (!(wanted_tables(o) >> i & 1) || smelt_repeat(db, name, o->repeat, &e) == SMELT_OK)
            continue;
        fprintf(stderr, "jit-bench: %s: %s: %s\n", name, e.sqlstate, e.message);
        return false;
    }
    return true;
}

/* ---- files and checksums ---- */

typedef struct output {
    const options *o;
    tpch_scale scale;
    FILE *file;
    tpch_md5 md5;
    uint64_t rows;
    char path[4096];
    bool differs;
} output;

static bool file_failed(const output *out)
{
    fprintf(stderr, "jit-bench: %s: %s\n", out->path, strerror(errno));
    return false;
}

static bool open_file(output *out, const char *table)
{
    int n = snprintf(out->path, sizeof out->path, "%s/%s.%s", out->o->out, table,
                     out->o->csv_files ? "csv" : "tbl");
    if (n >= (int)sizeof out->path) {
        errno = ENAMETOOLONG;
        return file_failed(out);
    }
    out->file = fopen(out->path, "wb");
    return out->file || file_failed(out);
}

static void compare(output *out, const char *table)
{
    uint64_t rows = 0;
    char got[33];
    tpch_md5_end(&out->md5, got);
    const char *expected = tpch_md5_expected(&out->scale, table, &rows);
    bool same = expected && strcmp(expected, got) == 0 && rows == out->rows;
    printf("%-8s %12" PRIu64 " rows  md5 %s  %s\n", table, out->rows, got,
           same ? "as dbgen" : "differs from dbgen");
    if (!same) out->differs = true;
}

static bool take_text(void *arg, const tpch_rows *rows)
{
    output *out = arg;
    const char *table = rows->table->name;
    if (rows->first) {
        tpch_md5_init(&out->md5);
        out->rows = 0;
        if (out->o->out && !open_file(out, table)) return false;
    }
    out->rows += rows->n_rows;
    if (out->o->verify) tpch_md5_add(&out->md5, rows->text, rows->n_bytes);
    if (out->file && fwrite(rows->text, 1, rows->n_bytes, out->file) != rows->n_bytes)
        return file_failed(out);
    if (!rows->last) return true;
    if (out->o->verify) compare(out, table);
    if (!out->file) return true;
    FILE *f = out->file;
    out->file = NULL;
    return fclose(f) == 0 || file_failed(out);
}

static int generate_text(const options *o, const tpch_scale *scale)
{
    output out = {.o = o, .scale = *scale};
    uint64_t rows;
    if (o->verify && (o->csv_files || !tpch_md5_expected(scale, "part", &rows))) {
        fprintf(stderr, "jit-bench: dbgen's checksums are known for tbl at 0.01, 0.1 and 1\n");
        return 2;
    }
    tpch_job job = {.scale = *scale,
                    .tables = wanted_tables(o),
                    .n_threads = n_workers(o->n_threads ? o->threads[0] : 0),
                    .format = o->csv_files ? TPCH_CSV : TPCH_TBL,
                    .take = take_text,
                    .arg = &out};
    bool ok = tpch_run(&job);
    if (out.file) fclose(out.file);
    return ok && !out.differs ? 0 : 1;
}

/* ---- tables ---- */

static int generate_tables(const options *o, const tpch_scale *scale)
{
    smelt_error e = {0};
    smelt_db *db = NULL;
    if (smelt_db_open(NULL, &db, &e)) {
        fprintf(stderr, "jit-bench: %s\n", e.message);
        return 1;
    }
    uint32_t n = n_workers(o->n_threads ? o->threads[0] : 0);
    double start = now_ms();
    bool ok = tpch_load(db, scale, wanted_tables(o), n);
    double ms = now_ms() - start;
    for (uint32_t i = 0; ok && i < TPCH_N_TABLES; i++) {
        char sql[64];
        smelt_result *r = NULL;
        if (!(wanted_tables(o) >> i & 1)) continue;
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tpch_tables[i].name);
        if (smelt_run(db, sql, NULL, &r, &e) == SMELT_OK && smelt_result_step(r))
            printf("%-8s %12" PRId64 " rows\n", tpch_tables[i].name, smelt_result_int64(r, 0));
        smelt_result_free(r);
    }
    if (ok)
        printf("%.2f s in %" PRIu32 " threads, %.0f MB\n", ms / 1000, n,
               (double)smelt_db_memory(db) / 1e6);
    smelt_db_close(db);
    return ok ? 0 : 1;
}

int cmd_tpch(const options *o)
{
    tpch_scale scale;
    if (!o->tpch) {
        fprintf(stderr, "jit-bench: say the scale factor: --sf N\n");
        return 2;
    }
    if (!read_scale(o, &scale)) return 2;
    return o->out || o->verify ? generate_text(o, &scale) : generate_tables(o, &scale);
}
