/* What the SQL test programs share: the configurations that every statement runs in, and a
 * statement's answer as text and digest. Uses smelt.h only. */
#ifndef TESTS_SQL_HARNESS_H
#define TESTS_SQL_HARNESS_H

#include "smelt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One way of running: tier x threads x hashes forced to 0 x batch size. */
typedef struct config {
    const char *tier;
    unsigned threads;
    bool hash_zero;
    unsigned batch_rows; /* 0 = as it comes */
} config;

enum { MAX_CONFIGS = 32 };
/** All of them; under the sanitizers, which are slow, every third. The first is the row tier. */
unsigned configs_all(config out[MAX_CONFIGS]);
void config_name(const config *c, char *out, size_t bytes);
/** An empty database that runs so. NULL: said on stdout. */
smelt_db *config_open(const config *c);

/* Growing text. */
typedef struct text {
    char *bytes; /* NUL-terminated once something was added */
    size_t n, room;
} text;
void text_add(text *t, const char *bytes, size_t n);
void text_puts(text *t, const char *s);
void text_free(text *t);

/* What a statement gave. Rows as psql -At prints them: columns joined by '|', NULL as NULL; a row
 * that is an empty line is spelled <empty>, line breaks and backslashes inside values \n and \\. A
 * failure is one line "ERROR: SQLSTATE at POSITION: MESSAGE" ("at POSITION" only if there is one).
 * No rows and no columns: the tag, with psql's counts. Each line ends with a line break. */
typedef struct answer {
    text text;
    bool failed;
    uint64_t digest;
} answer;
void answer_get(smelt_db *db, const char *sql, size_t bytes, const smelt_options *how, answer *out);
void answer_free(answer *a);

/** Do the lines of got fit those of want?
 *  sorted   order of lines does not count
 *  numbers  fields that are numbers on both sides are compared as numbers, up to 12 digits
 *  An error line of want may leave out position and message, and be a prefix of the message. */
bool answer_fits(const char *want, const char *got, bool sorted, bool numbers);

/** Whole file, NUL-terminated; NULL if there is none. free() it. */
char *file_read(const char *path);

/** Writes the file that chunks.test loads. False: it could not be written. */
bool big_file_write(const char *path);

/* Counting, and the last line that tests/run.sh reads. */
typedef struct counts {
    unsigned passed, failed, skipped;
} counts;
/** Prints it.  returns  the exit code */
int counts_finish(const counts *c);

#endif
