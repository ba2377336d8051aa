/* jit-bench: what its files share. A command (commands.def) reads its options (options.def),
 * measures, and hands records to output.c. It uses the engine through smelt.h alone. Read main.c
 * first. */
#ifndef BENCH_H
#define BENCH_H

#include "smelt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_TABLES = 32, MAX_TIERS = 4, MAX_THREADS = 16, MAX_RUNS = 1000 };

typedef enum format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON } format;

typedef struct options {
    uint32_t n_tables;
    struct {
        char name[128];
        const char *path;
    } tables[MAX_TABLES];
    const char *schema, *file, *text;
    uint32_t n_tiers, n_threads;
    smelt_tier tiers[MAX_TIERS];
    uint32_t threads[MAX_THREADS];
    uint64_t rows, repeat;
    uint32_t runs;
    const char *queries; /* of the ladder; NULL = all */
    bool verify, analyze, ir, assembly;
    format format;
    const char *plot, *null_text;
    const char *tpch;     /* scale factor; NULL = no such tables */
    unsigned tpch_tables; /* as bits; 0 = all */
    const char *out;
    bool csv_files;
} options;

/* ---- commands.def, options.def ---- */
#define BENCH_COMMAND(name, function, doc) int function(const options *o);
#include "commands.def"
#undef BENCH_COMMAND

/** Reads the options of command number `command`. False: something was wrong, and was said on
 * stderr. */
bool options_read(options *o, uint32_t command, int argc, char **argv);
/** Prints the options that the command takes. */
void options_usage(uint32_t command);
const char *tier_name(smelt_tier t);

/* ---- files.c ---- */
/** Whole file, NUL-terminated, "-" is standard input; free() it. NULL: said on stderr. */
char *file_read(const char *path, size_t *bytes);
/** The statements of --file or --execute, free() them. NULL: said on stderr. */
char *options_text(const options *o, size_t *bytes);
/** Opens a database, runs the schema, loads the tables, repeats them. NULL: said on stderr. */
smelt_db *options_open(const options *o);
/** Is this statement one that only reads (so that it may be run again)? */
bool is_query(const char *text, size_t bytes);

/* ---- measure.c ---- */
typedef struct record {
    char query[64];   /* short name, or the start of its text */
    const char *sql;  /* its text; NULL for hand-written rungs */
    const char *rung; /* ladder only */
    const char *tier; /* "" for hand-written rungs */
    uint32_t threads, runs;
    double min_ms, median_ms, max_ms, compile_ms;
    uint64_t rows; /* that the query reads */
    uint64_t result_rows;
    double bytes; /* that the query reads */
    bool has_digest;
    uint64_t digest;
    char error[160]; /* "" = none */
} record;

double now_ms(void);
/** min, median and max of n times, which it sorts, into r. */
void record_times(record *r, double *ms, uint32_t n);
/** Runs the query once for warmth and then o->runs times, but not for longer than 20 seconds.
 *  keep  NULL, or gets the last result, for the caller to free */
void measure_query(smelt_db *db, const char *sql, const smelt_options *how, uint32_t runs,
                   record *r, smelt_result **keep);

/* ---- cmd_tpch.c ---- */
/** Creates and fills the tables of TPC-H that the options name. False: said on stderr. */
bool options_load_tpch(smelt_db *db, const options *o);

/* ---- cmd_run.c ---- */
/** Times queries as `jit-bench run` does and prints the records. names may be NULL.  returns  the
 * exit code */
int run_queries(smelt_db *db, const options *o, uint32_t n, const char *const *names,
                const char *const *sql);

/* ---- output.c ---- */
/** All records, in the given format, to stdout. */
void output_records(format f, const record *records, uint32_t n);
/** Prints the first row in which the two results differ, to stdout. */
void output_difference(smelt_result *a, smelt_result *b, const char *name_a, const char *name_b);

/* ---- progress.c ---- */
/** A progress bar on stderr, if that is a terminal. */
void progress_show(uint32_t done, uint32_t total, const char *what);
void progress_clear(void);

/* ---- svg.c ---- */
/** Draws the ladder's records. False: the file could not be written, said on stderr. */
bool svg_ladder(const char *path, const record *records, uint32_t n);

#endif
