/* smelt: an embeddable analytical query engine.
 *
 * This header is the manual. In short:
 *
 *     smelt_error e = {0};
 *     smelt_db *db = NULL;
 *     smelt_result *r = NULL;
 *     smelt_db_open(NULL, &db, &e);
 *     smelt_run(db, "CREATE TABLE t(x double precision)", NULL, NULL, &e);
 *     ... smelt_append(db, "t", ...) or COPY t FROM 'file.csv' (FORMAT csv, HEADER) ...
 *     smelt_run(db, "SELECT sum(x) FROM t", NULL, &r, &e);
 *     while (smelt_result_step(r)) printf("%g\n", smelt_result_double(r, 0));
 *     smelt_result_free(r);
 *     smelt_db_close(db);
 *
 * Statuses   Every function that can fail returns a smelt_status; SMELT_OK is 0. The detail goes to the caller's
 *            smelt_error, which may be NULL. Output handles are NULL after a failure. NULL handles give SMELT_MISUSE.
 * Ownership  What a function named _open, _prepare, _run or _execute gives is freed with _close or _free; both take
 *            NULL. Strings and column pointers that an accessor returns belong to the handle they came from.
 * Threads    A smelt_db may be used from any number of threads at once. A statement or a result is used by one thread
 *            at a time, except smelt_stmt_cancel and smelt_stmt_progress, which any thread may call.
 * Failure    A statement that fails leaves all tables as they were. Nothing aborts, exits or prints.
 * Same bits  The tier, the number of threads and the CPU never change a result or an error, but for functions of libm,
 *            whose bits are those of the machine's libm.
 */
#ifndef SMELT_H
#define SMELT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SMELT_API __attribute__((visibility("default")))
#else
#define SMELT_API
#endif

/** Version of the library, "major.minor.patch". */
SMELT_API const char *smelt_version(void);

/* ---- Statuses and errors ---------------------------------------------------------------------------- */

typedef enum smelt_status {
    SMELT_OK = 0,
    SMELT_ERROR = 1,   /* the statement is wrong or failed on its data: see sqlstate */
    SMELT_NOMEM = 2,   /* the memory limit, or the machine's memory, is used up (53200) */
    SMELT_CANCELED = 3, /* cancelled, or past its time limit (57014) */
    SMELT_MISUSE = 4   /* an argument is NULL or out of range, or a handle is in the wrong state (58000) */
} smelt_status;

typedef struct smelt_error {
    smelt_status status;
    char sqlstate[6];  /* five characters of SQLSTATE, as in PostgreSQL's appendix A */
    int32_t position;  /* where in the text: characters (not bytes), counted from 1; 0 = nowhere in particular */
    char message[512]; /* English, one line, no final newline */
    char hint[256];    /* may be "" */
} smelt_error;

/* ---- Databases and settings ------------------------------------------------------------------------- */

typedef struct smelt_db smelt_db;

/* How pipelines run. AUTO starts each in the batch tier and compiles beside it when that pays. */
typedef enum smelt_tier { SMELT_TIER_AUTO, SMELT_TIER_ROW, SMELT_TIER_BATCH, SMELT_TIER_JIT } smelt_tier;

/* Zero in any field means the default. */
typedef struct smelt_settings {
    smelt_tier tier;       /* default AUTO */
    uint32_t threads;      /* workers; default: the machine's CPUs; 1 with the jit off starts no thread */
    size_t memory_limit;   /* bytes that tables and queries may use together; default: no limit */
    const char *jit_path;  /* libsmelt_jit.so; default: beside libsmelt or beside the program */
} smelt_settings;

/** Opens an empty database in memory. settings may be NULL; nothing of it is kept. */
SMELT_API smelt_status smelt_db_open(const smelt_settings *settings, smelt_db **db, smelt_error *err);
/** Frees it and its tables. Statements and results of it must have been freed. */
SMELT_API void smelt_db_close(smelt_db *db);
/** Plain switch for the compiler: off, AUTO runs everything in the batch tier, and JIT does so too. */
SMELT_API smelt_status smelt_set_jit(smelt_db *db, bool on);
/** Changes a setting by name, as SET name = 'value' does in SQL. Names and values: docs/architecture.md, "Settings". */
SMELT_API smelt_status smelt_set(smelt_db *db, const char *name, const char *value, smelt_error *err);
/** Bytes in use by tables and running queries. */
SMELT_API size_t smelt_db_memory(const smelt_db *db);
/** Is the compiler loaded, or can it be? If not, why says why (may be NULL). */
SMELT_API bool smelt_jit_available(smelt_db *db, char *why, size_t why_bytes);

/* ---- Types and columns ------------------------------------------------------------------------------ */

typedef enum smelt_type_id {
    SMELT_BOOL,      /* uint8_t, 0 or 1 */
    SMELT_INT16,     /* int16_t */
    SMELT_INT32,     /* int32_t */
    SMELT_INT64,     /* int64_t */
    SMELT_FLOAT32,   /* float */
    SMELT_FLOAT64,   /* double */
    SMELT_DECIMAL,   /* value * 10^scale: int64_t up to 18 digits of precision, smelt_int128 above */
    SMELT_DATE,      /* int32_t, days since 1970-01-01 */
    SMELT_TIMESTAMP, /* int64_t, microseconds since 1970-01-01 00:00 */
    SMELT_INTERVAL,  /* smelt_interval */
    SMELT_TEXT       /* smelt_text, UTF-8 */
} smelt_type_id;

typedef struct smelt_type {
    smelt_type_id id;
    uint8_t precision, scale; /* decimals; else 0 */
} smelt_type;

typedef struct smelt_interval {
    int32_t months, days;
    int64_t micros;
} smelt_interval;

typedef struct smelt_int128 {
    uint64_t low;
    int64_t high;
} smelt_int128;

/* Text of a result column or of a column to append. Not NUL-terminated; NUL is an ordinary byte. */
typedef struct smelt_text {
    const char *bytes;
    size_t length;
} smelt_text;

/* A column of a table to create. */
typedef struct smelt_column_def {
    const char *name;
    smelt_type type;
    bool not_null;
} smelt_column_def;

/** Creates a table. Same as CREATE TABLE. */
SMELT_API smelt_status smelt_create_table(smelt_db *db, const char *name, const smelt_column_def *columns,
                                          uint32_t n_columns, smelt_error *err);

/* A column of n_rows values to append. */
typedef struct smelt_column {
    const void *values;      /* n_rows of the type's C form */
    const uint8_t *validity; /* one bit a row, least significant first, 1 = present (Arrow); NULL = all present */
} smelt_column;

/** Appends n_rows rows, copied; columns in the table's order. Values are stored narrow.
 *  errors  22021 text that is not UTF-8, 22003 decimals beyond the precision, 23502 NULL in a NOT NULL column */
SMELT_API smelt_status smelt_append(smelt_db *db, const char *table, const smelt_column *columns, uint32_t n_columns,
                                    uint64_t n_rows, smelt_error *err);
/** Appends without copying: the values must stay as they are until release(arg) is called, once, from any thread, when
 *  no table or query uses them any more (at failure: before this returns). validity and bool columns are copied, being
 *  one bit a row. If the table's last chunk is not full, or a column is text, everything is copied. */
SMELT_API smelt_status smelt_append_borrowed(smelt_db *db, const char *table, const smelt_column *columns,
                                             uint32_t n_columns, uint64_t n_rows, void (*release)(void *arg),
                                             void *arg, smelt_error *err);
/** Replaces a table's rows by themselves, repeated so many times, without copying: for measuring. */
SMELT_API smelt_status smelt_repeat(smelt_db *db, const char *table, uint64_t times, smelt_error *err);

/* ---- CSV -------------------------------------------------------------------------------------------- */

/* Zero in any field means the default. */
typedef struct smelt_csv {
    char delimiter;         /* default ',' */
    char quote;             /* default '"' */
    bool no_header;         /* the first line is data */
    const char *null_text;  /* an unquoted field equal to it is NULL; default "" */
    const char *reject_table; /* bad rows go to this new table instead of failing the load */
} smelt_csv;

/** Loads a CSV file, plain or gzip. If the table does not exist it is created with types inferred from the whole file.
 *  errors  58P01, 58030 file; 22P04, 22P02 ... with line, column and text of the bad field */
SMELT_API smelt_status smelt_load_csv(smelt_db *db, const char *table, const char *path, const smelt_csv *options,
                                      uint64_t *n_rows, smelt_error *err);

/* ---- Running ---------------------------------------------------------------------------------------- */

typedef struct smelt_stmt smelt_stmt;
typedef struct smelt_result smelt_result;

/* Per-query options; zero in any field means the database's setting. */
typedef struct smelt_options {
    smelt_tier tier;
    bool auto_tier;          /* AUTO is meant (because AUTO is 0) */
    uint32_t threads;
    uint32_t time_limit_ms;  /* 0 = none */
    uint32_t batch_rows;     /* 1..1024 */
    uint32_t jit_step;       /* rows per emitted vector: 8, 16, 32; 1 = scalar, one accumulator: not the same bits */
} smelt_options;

/** Runs one statement: SQL, or a plan in pipe syntax. result may be NULL; statements without rows give a result with no
 *  columns. The whole result is computed before it returns. */
SMELT_API smelt_status smelt_run(smelt_db *db, const char *text, const smelt_options *options, smelt_result **result,
                                 smelt_error *err);
/** Finds the next statement of a text with several. at is a byte offset, 0 at first. False at the end.
 *  start, bytes  the statement, without its semicolon */
SMELT_API bool smelt_next_statement(const char *text, size_t text_bytes, size_t *at, const char **start, size_t *bytes);

/** Prepares a statement with parameters $1 ... $n; their types follow from where they stand. */
SMELT_API smelt_status smelt_prepare(smelt_db *db, const char *text, smelt_stmt **stmt, smelt_error *err);
/** As smelt_prepare for a text that is not NUL-terminated. */
SMELT_API smelt_status smelt_prepare_n(smelt_db *db, const char *text, size_t bytes, smelt_stmt **stmt, smelt_error *err);
SMELT_API void smelt_stmt_free(smelt_stmt *stmt);
SMELT_API uint32_t smelt_stmt_n_params(const smelt_stmt *stmt);
SMELT_API smelt_type smelt_stmt_param_type(const smelt_stmt *stmt, uint32_t param); /* from 0 */
/* Binding: param counts from 0; values are copied; they stay until bound anew. The value is converted to the
 * parameter's type. errors  58000 no such parameter, and those of the conversion */
SMELT_API smelt_status smelt_bind_null(smelt_stmt *stmt, uint32_t param, smelt_error *err);
SMELT_API smelt_status smelt_bind_bool(smelt_stmt *stmt, uint32_t param, bool value, smelt_error *err);
SMELT_API smelt_status smelt_bind_int64(smelt_stmt *stmt, uint32_t param, int64_t value, smelt_error *err);
SMELT_API smelt_status smelt_bind_double(smelt_stmt *stmt, uint32_t param, double value, smelt_error *err);
/** Text, in the spelling of SQL literals for other types: "1998-09-02", "0.06". */
SMELT_API smelt_status smelt_bind_text(smelt_stmt *stmt, uint32_t param, const char *bytes, size_t length, smelt_error *err);
/** Runs it; may be called again. Reads the tables as they are now. */
SMELT_API smelt_status smelt_execute(smelt_stmt *stmt, const smelt_options *options, smelt_result **result, smelt_error *err);
/** Any thread: the running (or else the next) execution fails with 57014 within one morsel. */
SMELT_API void smelt_stmt_cancel(smelt_stmt *stmt);
/** Any thread: share of the running pipeline's rows that are done, 0 to 1; 0 when none runs. */
SMELT_API double smelt_stmt_progress(const smelt_stmt *stmt);
/** Cancels every running statement of the database. */
SMELT_API void smelt_cancel(smelt_db *db);

/** The plan as text, as EXPLAIN prints it. flags: SMELT_EXPLAIN_*. Free with smelt_free. */
enum { SMELT_EXPLAIN_PLAN = 0, SMELT_EXPLAIN_ANALYZE = 1, SMELT_EXPLAIN_IR = 2, SMELT_EXPLAIN_ASM = 4 };
SMELT_API smelt_status smelt_explain(smelt_db *db, const char *text, unsigned flags, const smelt_options *options,
                                     char **out, smelt_error *err);
SMELT_API void smelt_free(void *p);

/* ---- Results ---------------------------------------------------------------------------------------- */

SMELT_API void smelt_result_free(smelt_result *result);
/** What the statement was: "SELECT", "CREATE TABLE", "INSERT", "COPY", "EXPLAIN" ... */
SMELT_API const char *smelt_result_tag(const smelt_result *result);
/** Rows of the result, or rows that the statement inserted or copied. */
SMELT_API uint64_t smelt_result_n_rows(const smelt_result *result);
SMELT_API uint32_t smelt_result_n_columns(const smelt_result *result);
SMELT_API const char *smelt_result_name(const smelt_result *result, uint32_t column);
SMELT_API smelt_type smelt_result_type(const smelt_result *result, uint32_t column);

/* Rows: step to the next, then read its columns. Text and numbers convert; a NULL reads as 0, false or "". */
SMELT_API bool smelt_result_step(smelt_result *result);
SMELT_API bool smelt_result_is_null(const smelt_result *result, uint32_t column);
SMELT_API bool smelt_result_bool(const smelt_result *result, uint32_t column);
SMELT_API int64_t smelt_result_int64(const smelt_result *result, uint32_t column);   /* cut to int64 when larger */
SMELT_API double smelt_result_double(const smelt_result *result, uint32_t column);   /* decimals divided by their scale */
/** Spelled as PostgreSQL prints it; valid until the next call for this result. */
SMELT_API smelt_text smelt_result_text(smelt_result *result, uint32_t column);

/* Columns: the next batch of rows, as typed arrays. Independent of smelt_result_step. */
typedef struct smelt_batch {
    uint64_t n_rows;
    uint32_t n_columns;
    const smelt_column *columns; /* values in the type's C form; text as smelt_text; valid until the next batch */
} smelt_batch;
/** False when there are no more rows. *failed (may be NULL) tells that memory ran out. */
SMELT_API bool smelt_result_batch(smelt_result *result, smelt_batch *batch, bool *failed);
/** Starts both over. */
SMELT_API void smelt_result_rewind(smelt_result *result);
/** 64-bit digest of column types and all values, bit for bit, in order (NaNs alike). */
SMELT_API uint64_t smelt_result_digest(const smelt_result *result);

/* How the query ran. */
typedef struct smelt_metrics {
    double total_ms;    /* from the call to the last row */
    double prepare_ms;  /* parsing, binding, planning */
    double compile_ms;  /* in the compiler, on whatever thread */
    uint32_t compiles;  /* pipelines compiled for this query */
    uint32_t cache_hits; /* pipelines whose code was found */
    uint64_t rows_scanned;
    uint64_t bytes_scanned; /* stored bytes of the columns read */
    uint64_t morsels_row, morsels_batch, morsels_jit; /* by the tier that ran them */
    uint64_t blocks_replayed; /* blocks or batches run again in the row tier for an error */
    uint64_t memory_peak;     /* bytes */
} smelt_metrics;
SMELT_API void smelt_result_metrics(const smelt_result *result, smelt_metrics *metrics);

#ifdef __cplusplus
}
#endif

#endif
