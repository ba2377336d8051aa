/* libFuzzer over SQL and pipe texts: each statement of the input runs in a small database, in the
 * row and in the batch tier, whose answers must agree. Nothing may crash, leak or hang. */
#include "smelt.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static smelt_db *open_tables(void)
{
    smelt_db *db = NULL;
    smelt_settings s = {.tier = SMELT_TIER_ROW, .threads = 1, .memory_limit = (size_t)256 << 20};
    if (smelt_db_open(&s, &db, NULL)) return NULL;
    smelt_set_jit(db, false);
    smelt_run(db, "CREATE TABLE t (a int, b text, c float8, d numeric(9,2), e date)", NULL, NULL,
              NULL);
    smelt_run(
        db,
        "INSERT INTO t VALUES (1, 'one', 1.5, 1.25, '2024-01-01'), (NULL, NULL, NULL, NULL, NULL), "
        "(2, 'a longer text than inline', 'nan', -3, '1999-12-31')",
        NULL, NULL, NULL);
    return db;
}

static void run(smelt_db *db, const char *sql, size_t bytes)
{
    smelt_stmt *s = NULL;
    smelt_result *a = NULL, *b = NULL;
    smelt_options row = {.tier = SMELT_TIER_ROW, .time_limit_ms = 1000},
                  batch = {.tier = SMELT_TIER_BATCH, .time_limit_ms = 1000};
    if (smelt_prepare_n(db, sql, bytes, &s, NULL) == SMELT_OK && smelt_stmt_n_params(s) == 0) {
        smelt_status x = smelt_execute(s, &row, &a, NULL);
        bool reads = a && strcmp(smelt_result_tag(a), "SELECT") == 0;
        smelt_status y = reads ? smelt_execute(s, &batch, &b, NULL) : x;
        bool resource =
            x == SMELT_CANCELED || y == SMELT_CANCELED || x == SMELT_NOMEM || y == SMELT_NOMEM;
        if (reads && !resource && (x != y || smelt_result_digest(a) != smelt_result_digest(b)))
            __builtin_trap();
    }
    smelt_result_free(a);
    smelt_result_free(b);
    smelt_stmt_free(s);
}

static bool names_copy(const char *sql, size_t n)
{
    for (size_t i = 0; i + 4 <= n; i++)
        if (strncasecmp(sql + i, "copy", 4) == 0) return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    smelt_db *db = open_tables();
    if (text && db) {
        memcpy(text, data, size);
        text[size] = 0;
        size_t at = 0, n;
        const char *start;
        while (smelt_next_statement(text, size, &at, &start, &n)) {
            /* COPY writes files; leave those alone. */
            if (!names_copy(start, n)) run(db, start, n);
        }
    }
    smelt_db_close(db);
    free(text);
    return 0;
}
