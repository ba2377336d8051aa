/* Random tables: every type, with and without NULLs, small values or edge values, one chunk or
 * several. */
#include "diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const column columns[N_COLUMNS] = {
    {"id", I64},   {"flag", B},   {"flagn", B},   {"i16", I16},  {"i16n", I16},
    {"i32", I32},  {"i32n", I32}, {"i64", I64},   {"i64n", I64}, {"f32", F32},
    {"f32n", F32}, {"f64", F64},  {"f64n", F64},  {"dec", DEC},  {"decn", DEC},
    {"wide", DEC}, {"day", DATE}, {"dayn", DATE}, {"ts", TS},    {"tsn", TS},
    {"iv", IV},    {"txt", TXT},  {"txtn", TXT},  {"dict", TXT}, {"small", I32},
};

const table tables[N_TABLES] = {
    {"mild", 3000, false},
    {"wild", 1500, true},
    {"big", 140000, false},
    {"tiny", 33, true},
};

/* Room for one value of any type. */
typedef union value {
    uint8_t b;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
    smelt_int128 i128;
    smelt_interval iv;
    smelt_text text;
} value;

static smelt_type type_of(const column *c)
{
    static const smelt_type_id ids[N_TYPES] = {
        [B] = SMELT_BOOL,       [I16] = SMELT_INT16,   [I32] = SMELT_INT32,   [I64] = SMELT_INT64,
        [F32] = SMELT_FLOAT32,  [F64] = SMELT_FLOAT64, [DEC] = SMELT_DECIMAL, [DATE] = SMELT_DATE,
        [TS] = SMELT_TIMESTAMP, [IV] = SMELT_INTERVAL, [TXT] = SMELT_TEXT};
    smelt_type t = {.id = ids[c->type]};
    if (c->type == DEC) {
        t.precision = strcmp(c->name, "dec") == 0 ? 9 : strcmp(c->name, "decn") == 0 ? 18 : 30;
        t.scale = strcmp(c->name, "dec") == 0 ? 2 : strcmp(c->name, "decn") == 0 ? 4 : 6;
    }
    return t;
}

static size_t value_bytes(smelt_type t)
{
    switch (t.id) {
    case SMELT_BOOL: return 1;
    case SMELT_INT16: return 2;
    case SMELT_INT32:
    case SMELT_FLOAT32:
    case SMELT_DATE: return 4;
    case SMELT_DECIMAL: return t.precision > 18 ? 16 : 8;
    case SMELT_INTERVAL:
    case SMELT_TEXT: return 16;
    default: return 8;
    }
}

/* ---- values ---- */

static int64_t between(random_state *r, int64_t low, int64_t high)
{
    return low + (int64_t)(random_next(r) % (uint64_t)(high - low + 1));
}

static int64_t whole(random_state *r, int64_t mild, int64_t least, int64_t most, bool wild)
{
    if (!wild || random_chance(r, 60)) return between(r, -mild, mild);
    const int64_t edges[] = {0, 1, -1, least, most, least + 1, most - 1, most / 2, least / 2};
    return edges[random_below(r, sizeof edges / sizeof *edges)];
}

static double real(random_state *r, bool wild)
{
    static const double edges[] = {0.0,
                                   -0.0,
                                   1,
                                   -1,
                                   NAN,
                                   INFINITY,
                                   -INFINITY,
                                   1e300,
                                   -1e300,
                                   5e-324,
                                   0.1,
                                   4503599627370496.5,
                                   9223372036854775808.0,
                                   -9223372036854775808.0,
                                   2147483647.5,
                                   0.5,
                                   2.5,
                                   -0.5};
    if (wild && random_chance(r, 50)) return edges[random_below(r, sizeof edges / sizeof *edges)];
    if (random_chance(r, 40)) return (double)between(r, -400, 400) / 4;
    return ((double)(random_next(r) >> 11) * 0x1p-53 - 0.5) * 1000;
}

static const char *const words[] = {"",
                                    "a",
                                    "b",
                                    "A",
                                    "abc",
                                    "apple",
                                    "banana bread",
                                    "thirteen byte",
                                    "né",
                                    "É日本語",
                                    "a much longer text than fits inline",
                                    "a much longer text than fits in-line",
                                    " a ",
                                    "%a_",
                                    "12",
                                    "z"};
enum { N_WORDS = sizeof words / sizeof *words };

/* Texts made for the rows of one append, which copies them. */
typedef struct made_text {
    struct made_text *next;
    char bytes[48];
} made_text;
static made_text *made_texts;

static void free_made_texts(void)
{
    while (made_texts) {
        made_text *next = made_texts->next;
        free(made_texts);
        made_texts = next;
    }
}

static smelt_text word(random_state *r, bool few)
{
    if (few || random_chance(r, 40)) {
        const char *w = words[random_below(r, few ? 5 : N_WORDS)];
        return (smelt_text){w, strlen(w)};
    }
    made_text *made = malloc(sizeof *made);
    if (!made) exit(1);
    made->next = made_texts;
    made_texts = made;
    int n = snprintf(made->bytes, sizeof made->bytes, "%s %u", words[random_below(r, N_WORDS)], random_below(r, 500));
    return (smelt_text){made->bytes, (size_t)n};
}

static smelt_int128 wide(random_state *r, bool is_wild)
{
    int64_t v = whole(r, 1000000000, INT64_MIN, INT64_MAX, is_wild);
    return (smelt_int128){(uint64_t)v, v < 0 ? -1 : 0};
}

static value value_random(random_state *r, const column *c, uint64_t row, bool wild)
{
    value v = {0};
    smelt_type t = type_of(c);
    switch (c->type) {
    case B: v.b = (uint8_t)random_below(r, 2); break;
    case I16: v.i16 = (int16_t)whole(r, 50, INT16_MIN, INT16_MAX, wild); break;
    case I32:
        v.i32 = strcmp(c->name, "small") == 0 ? (int32_t)random_below(r, 8)
                                              : (int32_t)whole(r, 1000, INT32_MIN, INT32_MAX, wild);
        break;
    case I64:
        v.i64 = strcmp(c->name, "id") == 0 ? (int64_t)row + 1
                                           : whole(r, 100000, INT64_MIN, INT64_MAX, wild);
        break;
    case F32: v.f32 = (float)real(r, wild); break;
    case F64: v.f64 = real(r, wild); break;
    case DEC:
        if (t.precision > 18)
            v.i128 = wide(r, wild);
        else
            v.i64 = t.precision == 9
                        ? whole(r, 100000, -999999999, 999999999, wild)
                        : whole(r, 10000000, -999999999999999999, 999999999999999999, wild);
        break;
    case DATE: v.i32 = (int32_t)whole(r, 20000, -2440588, 2932896, wild); break;
    case TS:
        v.i64 = whole(r, 1700000000000000, -62135596800000000, 253402300799999999, wild);
        break;
    case IV:
        v.iv = (smelt_interval){(int32_t)between(r, -30, 30), (int32_t)between(r, -100, 100),
                                between(r, -200000000000, 200000000000)};
        break;
    default: v.text = word(r, strcmp(c->name, "dict") == 0); break;
    }
    return v;
}

static bool has_nulls(const column *c)
{
    size_t n = strlen(c->name);
    return (n > 1 && c->name[n - 1] == 'n') || c->type == IV || strcmp(c->name, "wide") == 0 ||
           strcmp(c->name, "dict") == 0;
}

/* ---- tables ---- */

enum { PIECE = 20000 };

static bool said(const char *name, smelt_status s, const smelt_error *e)
{
    if (s) printf("table %s: %s: %s\n", name, e->sqlstate, e->message);
    return s == SMELT_OK;
}

static bool append(smelt_db *db, const table *t, uint64_t from, uint32_t n, random_state *r)
{
    smelt_column cols[N_COLUMNS] = {0};
    void *values[N_COLUMNS];
    uint8_t *validity[N_COLUMNS];
    for (uint32_t c = 0; c < N_COLUMNS; c++) {
        size_t bytes = value_bytes(type_of(&columns[c]));
        values[c] = calloc(n, bytes);
        validity[c] = calloc(n / 8 + 1, 1);
        if (!values[c] || !validity[c]) exit(1);
        bool nulls = has_nulls(&columns[c]);
        for (uint32_t i = 0; i < n; i++) {
            value v = value_random(r, &columns[c], from + i, t->wild);
            memcpy((char *)values[c] + i * bytes, &v, bytes);
            if (!nulls || random_below(r, 6) > 0) validity[c][i / 8] |= (uint8_t)(1u << (i % 8));
        }
        cols[c] = (smelt_column){values[c], nulls ? validity[c] : NULL};
    }
    smelt_error e = {0};
    bool ok = said(t->name, smelt_append(db, t->name, cols, N_COLUMNS, n, &e), &e);
    for (uint32_t c = 0; c < N_COLUMNS; c++) {
        free(values[c]);
        free(validity[c]);
    }
    free_made_texts();
    return ok;
}

bool tables_create(smelt_db *db, random_state *r)
{
    smelt_column_def defs[N_COLUMNS];
    for (uint32_t c = 0; c < N_COLUMNS; c++)
        defs[c] = (smelt_column_def){columns[c].name, type_of(&columns[c]), false};
    for (uint32_t i = 0; i < N_TABLES; i++) {
        smelt_error e = {0};
        if (!said(tables[i].name, smelt_create_table(db, tables[i].name, defs, N_COLUMNS, &e), &e))
            return false;
        for (uint32_t row = 0; row < tables[i].rows; row += PIECE) {
            uint32_t left = tables[i].rows - row;
            if (!append(db, &tables[i], row, left < PIECE ? left : PIECE, r)) return false;
        }
    }
    return true;
}

/* ---- literals ---- */

void literal_print(random_state *r, type t, bool wild, text *out)
{
    static const char *const mild_texts[N_TYPES][6] = {
        [B] = {"true", "false", "true", "false", "true", "NULL::boolean"},
        [I16] = {"0::smallint", "1::smallint", "7::smallint", "(-3)::smallint", "20::smallint",
                 "NULL::smallint"},
        [I32] = {"0", "1", "7", "(-3)", "1000", "NULL::integer"},
        [I64] = {"0::bigint", "1::bigint", "7::bigint", "(-3)::bigint", "100000::bigint",
                 "NULL::bigint"},
        [F32] = {"0::real", "1.5::real", "(-2)::real", "0.1::real", "100::real", "NULL::real"},
        [F64] = {"0::float8", "1.5::float8", "(-2)::float8", "0.1::float8", "100::float8",
                 "NULL::float8"},
        [DEC] = {"0.00", "1.5", "(-2.25)", "0.001", "100.0", "NULL::numeric(9,2)"},
        [DATE] = {"date '2000-01-01'", "date '1969-12-31'", "date '2024-02-29'",
                  "date '1995-06-17'", "date '1970-01-01'", "NULL::date"},
        [TS] = {"timestamp '2000-01-01 00:00:00'", "timestamp '1969-12-31 23:59:59.5'",
                "timestamp '2024-02-29 12:00:00'", "timestamp '1995-06-17 01:02:03'",
                "timestamp '1970-01-01'", "NULL::timestamp"},
        [IV] = {"interval '1 day'", "interval '1 month'", "interval '-2 hours'", "interval '0'",
                "interval '1 year 5 days'", "NULL::interval"},
        [TXT] = {"''", "'a'", "'abc'", "'banana bread'", "'thirteen byte'", "NULL::text"},
    };
    static const char *const wild_texts[N_TYPES][6] = {
        [B] = {"true", "false", "true", "false", "NULL::boolean", "NULL::boolean"},
        [I16] = {"32767::smallint", "(-32768)::smallint", "(-1)::smallint", "0::smallint",
                 "2::smallint", "181::smallint"},
        [I32] = {"2147483647", "(-2147483648)", "(-1)", "0", "2", "46341"},
        [I64] = {"9223372036854775807", "(-9223372036854775807 - 1)", "(-1)::bigint", "0::bigint",
                 "2::bigint", "3037000500"},
        [F32] = {"'nan'::real", "'inf'::real", "'-0'::real", "3.4e38::real", "1e-45::real",
                 "'-inf'::real"},
        [F64] = {"'nan'::float8", "'inf'::float8", "'-0'::float8", "1.7e308::float8",
                 "5e-324::float8", "'-inf'::float8"},
        [DEC] = {"99999999999999999.99", "(-9999999.99)", "0.000001",
                 "123456789012345678901234567890.12", "0.5", "(-0.5)"},
        [DATE] = {"date '0001-01-01'", "date '9999-12-31'", "date '4713-01-01 BC'",
                  "date '2000-02-29'", "date '1900-03-01'", "date '5874897-12-31'"},
        [TS] = {"timestamp '0001-01-01'", "timestamp '294276-12-31 23:59:59.999999'",
                "timestamp '1900-03-01'", "timestamp '1969-12-31 23:59:59.999999'",
                "timestamp '2000-02-29 23:59:59'", "timestamp '9999-12-31'"},
        [IV] = {"interval '178000000 years'", "interval '-1 month 30 days'", "interval '1 month'",
                "interval '720 hours'", "interval '0.000001 seconds'", "interval '1 day'"},
        [TXT] = {"'É日本語'", "'a much longer text than fits inline'", "'%a_'", "' '",
                 "'twelve bytes'", "'A'"},
    };
    const char *const(*texts)[6] = wild && random_chance(r, 60) ? wild_texts : mild_texts;
    text_puts(out, texts[t][random_below(r, 6)]);
}
