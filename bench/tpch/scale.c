/* Scale factors, and the tables by name. */
#include "gen.h"

#include <string.h>

/* Thousandths of a plain decimal number. False: it is none, or has finer parts, or is too large. */
static bool read_thousandths(const char *text, uint64_t *out)
{
    uint64_t n = 0;
    uint32_t n_digits = 0, n_decimals = 0;
    bool point = false;
    for (; *text; text++) {
        if (*text == '.' && !point) {
            point = true;
            continue;
        }
        if (*text < '0' || *text > '9') return false;
        n_digits++;
        if (n_decimals == 3) {
            if (*text != '0') return false;
            continue;
        }
        n = n * 10 + (uint64_t)(*text - '0');
        n_decimals += point;
        if (n > 1000000000000) return false;
    }
    for (; n_decimals < 3; n_decimals++) n *= 10;
    *out = n;
    return n_digits > 0;
}

bool tpch_scale_read(const char *text, tpch_scale *s, const char **why)
{
    enum { FIRST_CHUNK_DEPENDENT = 30000 };
    uint64_t k;
    if (!read_thousandths(text, &k) || k == 0) {
        *why = "it must be 0.001 to 0.999 in thousandths, or a whole number";
        return false;
    }
    if (k > 1000 && k % 1000) {
        *why = "dbgen would drop its fraction";
        return false;
    }
    if (k >= (uint64_t)FIRST_CHUNK_DEPENDENT * 1000) {
        *why = "from 30000 on dbgen's data depend on the number of its chunks";
        return false;
    }
    int64_t n = (int64_t)k;
    *s = (tpch_scale){.thousandths = (uint32_t)k,
                      .suppliers = 10 * n,
                      .customers = 150 * n,
                      .parts = 200 * n,
                      .orders = 1500 * n,
                      .clerks = n < 1000 ? 1000 : n};
    return true;
}

/* ---- tables ---- */

#define TPCH_TABLE(name, rows)       static const tpch_column name##_columns[] = {
#define TPCH_COLUMN(name, kind, sql) {#name, sql, TPCH_##kind},
#define TPCH_END(name)                                                                             \
    }                                                                                              \
    ;
#include "tables.def"

const tpch_table tpch_tables[TPCH_N_TABLES] = {
#define TPCH_TABLE(name, rows)                                                                     \
    {#name, name##_columns, sizeof name##_columns / sizeof name##_columns[0], tpch_fill_##name},
#define TPCH_COLUMN(name, kind, sql)
#define TPCH_END(name)
#include "tables.def"
};

unsigned tpch_tables_read(const char *list)
{
    unsigned tables = 0;
    while (*list) {
        size_t n = strcspn(list, ",");
        uint32_t i = 0;
        while (i < TPCH_N_TABLES &&
               (strlen(tpch_tables[i].name) != n || memcmp(tpch_tables[i].name, list, n) != 0))
            i++;
        if (i == TPCH_N_TABLES) return 0;
        tables |= 1u << i;
        list += n + (list[n] == ',');
    }
    return tables;
}
