/* Generated rows into the tables of a database: every piece is appended as it is, so that all
 * chunks but the last of a table are full. */
#include "tpch.h"

#include <stdio.h>

static bool said(const char *what, smelt_status status, const smelt_error *e)
{
    if (status) fprintf(stderr, "jit-bench: %s: %s: %s\n", what, e->sqlstate, e->message);
    return status == SMELT_OK;
}

static bool create(smelt_db *db, const tpch_table *t)
{
    enum { COLUMN_ROOM = 64 };
    char sql[32 + TPCH_MAX_COLUMNS * COLUMN_ROOM];
    smelt_error e = {0};
    int n = snprintf(sql, sizeof sql, "CREATE TABLE %s (", t->name);
    for (uint32_t i = 0; i < t->n_columns; i++)
        n += snprintf(sql + n, sizeof sql - (size_t)n, "%s%s %s NOT NULL", i ? ", " : "",
                      t->columns[i].name, t->columns[i].sql_type);
    snprintf(sql + n, sizeof sql - (size_t)n, ")");
    return said(t->name, smelt_run(db, sql, NULL, NULL, &e), &e);
}

static bool take(void *arg, const tpch_rows *rows)
{
    smelt_db *db = arg;
    const tpch_table *t = rows->table;
    smelt_column columns[TPCH_MAX_COLUMNS] = {0};
    smelt_error e = {0};
    if (rows->first && !create(db, t)) return false;
    for (uint32_t i = 0; i < t->n_columns; i++) columns[i].values = rows->columns[i];
    return said(t->name, smelt_append(db, t->name, columns, t->n_columns, rows->n_rows, &e), &e);
}

bool tpch_load(smelt_db *db, const tpch_scale *scale, unsigned tables, uint32_t n_threads)
{
    tpch_job job = {.scale = *scale,
                    .tables = tables,
                    .n_threads = n_threads,
                    .format = TPCH_COLUMNS,
                    .take = take,
                    .arg = db};
    return tpch_run(&job);
}
