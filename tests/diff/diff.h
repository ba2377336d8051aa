/* Tier against tier: what the files of the random test share. Random tables (tables.c) and typed
 * random expressions (exprs.c, from exprs.def) become queries (queries.c), which main.c runs in all
 * tiers. Uses smelt.h only. */
#ifndef TESTS_DIFF_H
#define TESTS_DIFF_H

#include "smelt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of expressions. DEC: any numeric. The last three only stand in exprs.def. */
typedef enum type {
    B,
    I16,
    I32,
    I64,
    F32,
    F64,
    DEC,
    DATE,
    TS,
    IV,
    TXT,
    N_TYPES,
    ANY,
    SMALL,
    SAME,
    N
} type;

/* ---- main.c ---- */
typedef struct random {
    uint64_t state;
} random_state;
uint64_t random_next(random_state *r);
/** Below n. */
uint32_t random_below(random_state *r, uint32_t n);
bool random_chance(random_state *r, uint32_t percent);

/* Growing text. */
typedef struct text {
    char *bytes;
    size_t n, room;
} text;
void text_puts(text *t, const char *s);
void text_printf(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_clear(text *t);
void text_free(text *t);

/* ---- tables.c ---- */
typedef struct column {
    char name[8];
    type type;
} column;
enum { N_COLUMNS = 25 };
extern const column columns[N_COLUMNS];

/* One random table. wild: edge values, which make most arithmetic fail; else values small enough
 * that little does. */
typedef struct table {
    const char *name;
    uint32_t rows;
    bool wild;
} table;
enum { N_TABLES = 4 };
extern const table tables[N_TABLES];
/** Makes them all. False: said on stdout. */
bool tables_create(smelt_db *db, random_state *r);
/** A literal of the type, as SQL. */
void literal_print(random_state *r, type t, bool wild, text *out);

/* ---- exprs.c ---- */
typedef struct expr expr;
struct expr {
    type type;
    const char *form; /* of exprs.def; NULL for a leaf */
    char *leaf;
    uint32_t n_args;
    expr *args[3];
};
/** A random expression of the type, over the columns of every table. */
expr *expr_random(random_state *r, type t, uint32_t depth, bool wild);
void expr_print(const expr *e, text *out);
void expr_free(expr *e);

/* ---- queries.c ---- */
typedef enum shape { ROWS, TOTAL, BY_FEW, BY_ID, BY_KEY, N_SHAPES } shape;

enum { MAX_EXPRS = 20 };
typedef struct query {
    const table *table;
    shape shape;
    expr *where;           /* NULL = none */
    uint32_t n, aggregate; /* aggregate: which one, so that a query can be printed again */
    expr *exprs[MAX_EXPRS];
} query;
void query_random(random_state *r, query *q);
void query_print(const query *q, text *out);
void query_free(query *q);

#endif
