/* CSV in and out: RFC 4180 with the options of PostgreSQL's COPY; gzip is recognised by its magic. */
#ifndef SM_CSV_H
#define SM_CSV_H

#include <stdio.h>

#include "storage/table.h"

typedef struct sm_csv_options {
    char delimiter;        /* ',' */
    char quote;            /* '"' */
    char escape;           /* '"': before a quote (or itself) inside quotes */
    bool header;           /* the first record is names, not data */
    const char *null_text; /* unquoted fields equal to it are NULL; "" by default */
    bool pad_short_rows;   /* missing trailing fields are NULL instead of an error */
    bool text_format;      /* PostgreSQL's text format: no quotes, backslash escapes */
    const char *relation;  /* names the table in NOT NULL errors; NULL = nameless */
    sm_version **rejects;  /* not NULL: bad rows go to a new version (line bigint, column text,
                              message text,  row text) instead of failing the load */
} sm_csv_options;

/** CSV's defaults. */
void sm_csv_options_init(sm_csv_options *o);
/** The defaults of the text format: tab, and \N for NULL. */
void sm_csv_options_init_text(sm_csv_options *o);

/** Column names and types from the whole file: bigint, numeric(p,s), double precision, date,
 * timestamp, boolean, else text. Nothing is lost: digits with leading zeros are text. The caller
 * frees *cols with sm_csv_schema_free. */
SM_MUST_CHECK sm_status sm_csv_infer(sm_mem *m, const char *path, const sm_csv_options *o,
                                     sm_table_col **cols, uint32_t *n_cols, sm_error *err);
void sm_csv_schema_free(sm_mem *m, sm_table_col *cols, uint32_t n_cols);
/** Appends the file's rows to base. The nth file column goes to column map[n] (NULL: 0, 1, ...);
 * other columns are NULL. errors  SM_ERR_CSV and cast errors, with line, column name and the text;
 * base is untouched */
SM_MUST_CHECK sm_status sm_csv_load(sm_mem *m, const char *path, const sm_csv_options *o,
                                    const sm_version *base, const uint32_t *map, uint32_t n_map,
                                    sm_version **out, uint64_t *n_rows, sm_error *err);
/** Writes all rows, in the given format, so that sm_csv_load with the same options reads the same
 * values. */
SM_MUST_CHECK sm_status sm_csv_write(const sm_version *v, const sm_csv_options *o, FILE *to,
                                     sm_error *err);

#endif
