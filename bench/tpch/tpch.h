/* The TPC-H data generator: the rows of dbgen, byte for byte, as column arrays, as text, or as the
 * tables of a database. Work is cut into pieces of 65,536 rows of a table; any thread can make any
 * piece, because every random column has its own generator whose state before any row is a closed
 * formula. Pieces are handed on in order. Read README.md first, then gen.h. */
#ifndef TPCH_H
#define TPCH_H

#include "smelt.h"

enum { TPCH_N_TABLES = 8, TPCH_MAX_COLUMNS = 16, TPCH_PIECE_ROWS = 65536 };

/* ---- scale ---- */

typedef struct tpch_scale {
    uint32_t thousandths;
    int64_t suppliers, customers, parts, orders, clerks;
} tpch_scale;

/** Reads a scale factor: 0.001 to 0.999, or a whole number below 30,000. What dbgen would silently
 * cut, or make differently for every number of chunks, is refused.
 *  why  gets the reason of a refusal */
bool tpch_scale_read(const char *text, tpch_scale *scale, const char **why);

/* ---- tables ---- */

typedef enum tpch_kind {
    TPCH_KEY,      /* int64_t */
    TPCH_INT,      /* int32_t */
    TPCH_MONEY,    /* int64_t, hundredths */
    TPCH_QUANTITY, /* int64_t, hundredths, always whole; dbgen prints it without a point */
    TPCH_DATE,     /* int32_t, days since 1970-01-01 */
    TPCH_TEXT      /* smelt_text */
} tpch_kind;

typedef struct tpch_column {
    const char *name, *sql_type;
    tpch_kind kind;
} tpch_column;

struct tpch_piece;
typedef struct tpch_table {
    const char *name;
    const tpch_column *columns;
    uint32_t n_columns;
    void (*fill)(struct tpch_piece *p);
} tpch_table;

extern const tpch_table tpch_tables[TPCH_N_TABLES];

/** A set of tables as bits, from a list "orders,lineitem".  returns  0: a name is unknown */
unsigned tpch_tables_read(const char *list);

/* ---- generating ---- */

typedef enum tpch_format {
    TPCH_COLUMNS, /* no text */
    TPCH_TBL,     /* as dbgen writes it: | behind every field */
    TPCH_CSV
} tpch_format;

/* What a worker made. Valid until the function that it is given to returns. */
typedef struct tpch_rows {
    const tpch_table *table;
    bool first, last; /* of its table */
    uint32_t n_rows;
    const void *columns[TPCH_MAX_COLUMNS];
    const char *text; /* the rows as text, n_bytes of it */
    size_t n_bytes;
} tpch_rows;

typedef struct tpch_job {
    tpch_scale scale;
    unsigned tables; /* bits */
    uint32_t n_threads;
    tpch_format format;
    /* Takes the pieces: one call at a time, from any worker, in the order of tpch_tables and of
     * rows. False ends the work. */
    bool (*take)(void *arg, const tpch_rows *rows);
    void *arg;
} tpch_job;

/** Generates.  returns  false: take said so, or memory or threads ran out, which is said on stderr
 */
bool tpch_run(const tpch_job *job);

/** Creates the tables in a database and generates into them. False: said on stderr. */
bool tpch_load(smelt_db *db, const tpch_scale *scale, unsigned tables, uint32_t n_threads);

/* ---- checksums ---- */

typedef struct tpch_md5 {
    uint32_t state[4];
    uint64_t n_bytes;
    unsigned char block[64];
} tpch_md5;

void tpch_md5_init(tpch_md5 *m);
void tpch_md5_add(tpch_md5 *m, const void *bytes, size_t n_bytes);
/** 32 hexadecimal digits and a NUL. */
void tpch_md5_end(tpch_md5 *m, char out[33]);
/** The digest of dbgen's file (TPCH_TBL) and its rows, if it is known; else NULL. */
const char *tpch_md5_expected(const tpch_scale *scale, const char *table, uint64_t *rows);

#endif
