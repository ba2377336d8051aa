/* Records as a table for people, as CSV, or as JSON (bench/README.md, "JSON"). What columns there
 * are is one list, which all three formats go through. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SCHEMA "jit-bench/1"

typedef enum kind { TEXT, WHOLE, REAL, HEX } kind;

typedef struct cell {
    kind kind;
    bool absent;
    const char *text;
    uint64_t whole;
    double real;
} cell;

static cell text_cell(const char *t)
{
    return (cell){.kind = TEXT, .text = t ? t : "", .absent = !t};
}
static cell whole_cell(uint64_t v)
{
    return (cell){.kind = WHOLE, .whole = v};
}
static cell real_cell(double v, bool absent)
{
    return (cell){.kind = REAL, .real = v, .absent = absent};
}

/* Every column: name in CSV and JSON, title and width in the table (0 = not there), how it is
 * taken. */
#define COLUMNS(C)                                                                                 \
    C("query", "query", -22, text_cell(r->query))                                                  \
    C("sql", "", 0, text_cell(r->sql))                                                             \
    C("rung", "rung", -13, text_cell(r->rung))                                                     \
    C("tier", "tier", -6, text_cell(r->tier))                                                      \
    C("threads", "threads", 7, whole_cell(r->threads))                                             \
    C("runs", "runs", 4, whole_cell(r->runs))                                                      \
    C("min_ms", "min ms", 10, real_cell(r->min_ms, failed))                                        \
    C("median_ms", "median ms", 10, real_cell(r->median_ms, failed))                               \
    C("max_ms", "max ms", 10, real_cell(r->max_ms, failed))                                        \
    C("compile_ms", "compile ms", 10, real_cell(r->compile_ms, failed))                            \
    C("rows", "rows", 11, whole_cell(r->rows))                                                     \
    C("result_rows", "", 0, whole_cell(r->result_rows))                                            \
    C("ns_per_row", "ns/row", 8,                                                                   \
      real_cell(r->median_ms * 1e6 / (double)r->rows, failed || !r->rows))                         \
    C("bytes_per_second", "", 0,                                                                   \
      real_cell(r->bytes / (r->median_ms / 1e3), failed || r->median_ms <= 0))                     \
    C("", "GB/s", 7, real_cell(r->bytes / (r->median_ms * 1e6), failed || r->median_ms <= 0))      \
    C("digest", "digest", 16, ((cell){.kind = HEX, .whole = r->digest, .absent = !r->has_digest})) \
    C("error", "", 0, text_cell(failed ? r->error : NULL))

typedef struct column {
    const char *name, *title;
    int width;
} column;

static const column columns[] = {
#define C(name, title, width, take) {name, title, width},
    COLUMNS(C)
#undef C
};
enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

static cell take(const record *r, uint32_t i)
{
    bool failed = r->error[0] != 0;
    uint32_t n = 0;
#define C(name, title, width, take)                                                                \
    if (i == n++) return take;
    COLUMNS(C)
#undef C
    return text_cell(NULL);
}

static void spell(cell c, char *out, size_t bytes, int decimals)
{
    out[0] = 0;
    if (c.absent) return;
    switch (c.kind) {
    case TEXT: snprintf(out, bytes, "%s", c.text); break;
    case WHOLE: snprintf(out, bytes, "%" PRIu64, c.whole); break;
    case REAL: snprintf(out, bytes, "%.*f", decimals, c.real); break;
    case HEX: snprintf(out, bytes, "%016" PRIx64, c.whole); break;
    }
}

static void as_table(const record *records, uint32_t n)
{
    bool rungs = n > 0 && records[0].rung;
    for (uint32_t row = 0; row <= n; row++) {
        for (uint32_t i = 0; i < N_COLUMNS; i++) {
            char text[64];
            if (!columns[i].width || (!rungs && strcmp(columns[i].name, "rung") == 0)) continue;
            if (row == 0)
                snprintf(text, sizeof text, "%s", columns[i].title);
            else
                spell(take(&records[row - 1], i), text, sizeof text, columns[i].width == 8 ? 3 : 2);
            for (char *p = text; *p; p++)
                if (*p == '\n' || *p == '\t') *p = ' ';
            if (columns[i].width < 0) text[-columns[i].width] = 0;
            printf("%s%*s", i ? "  " : "", columns[i].width, text);
        }
        if (row > 0 && records[row - 1].error[0]) printf("  ERROR: %s", records[row - 1].error);
        printf("\n");
    }
}

static void csv_text(const char *t)
{
    if (!strpbrk(t, ",\"\n\r")) {
        fputs(t, stdout);
        return;
    }
    putchar('"');
    for (; *t; t++) {
        if (*t == '"') putchar('"');
        putchar(*t);
    }
    putchar('"');
}

static void as_csv(const record *records, uint32_t n)
{
    for (uint32_t row = 0; row <= n; row++) {
        for (uint32_t i = 0; i < N_COLUMNS; i++) {
            char text[64];
            if (!columns[i].name[0]) continue;
            if (i) putchar(',');
            if (row == 0) {
                fputs(columns[i].name, stdout);
                continue;
            }
            cell c = take(&records[row - 1], i);
            if (c.kind == TEXT && !c.absent) {
                csv_text(c.text);
                continue;
            }
            spell(c, text, sizeof text, 6);
            fputs(text, stdout);
        }
        putchar('\n');
    }
}

static void json_text(const char *t)
{
    putchar('"');
    for (; *t; t++) {
        unsigned char b = (unsigned char)*t;
        if (b == '"' || b == '\\')
            printf("\\%c", b);
        else if (b < 0x20)
            printf("\\u%04x", b);
        else
            putchar(b);
    }
    putchar('"');
}

static void as_json(const record *records, uint32_t n)
{
    printf("[");
    for (uint32_t row = 0; row < n; row++) {
        printf("%s\n  {\"schema\": \"" SCHEMA "\"", row ? "," : "");
        for (uint32_t i = 0; i < N_COLUMNS; i++) {
            char text[64];
            cell c = take(&records[row], i);
            if (!columns[i].name[0]) continue;
            /* Fields that say what was measured are always there; the others only where they mean
             * something. */
            if (c.absent && (c.kind == TEXT || c.kind == HEX)) continue;
            printf(", \"%s\": ", columns[i].name);
            if (c.absent) {
                printf("null");
            } else if (c.kind == TEXT) {
                json_text(c.text);
            } else {
                spell(c, text, sizeof text, 6);
                printf(c.kind == HEX ? "\"%s\"" : "%s", text);
            }
        }
        printf("}");
    }
    printf("\n]\n");
}

void output_records(format f, const record *records, uint32_t n)
{
    switch (f) {
    case FORMAT_TABLE: as_table(records, n); break;
    case FORMAT_CSV: as_csv(records, n); break;
    case FORMAT_JSON: as_json(records, n); break;
    }
}

static void print_row(smelt_result *r, const char *name)
{
    printf("  %-16s ", name);
    for (uint32_t i = 0; i < smelt_result_n_columns(r); i++) {
        if (i) putchar('|');
        if (smelt_result_is_null(r, i)) {
            printf("NULL");
            continue;
        }
        smelt_text t = smelt_result_text(r, i);
        printf("%.*s", (int)t.length, t.bytes);
        smelt_type_id id = smelt_result_type(r, i).id;
        if (id == SMELT_FLOAT64 || id == SMELT_FLOAT32) printf(" (%a)", smelt_result_double(r, i));
    }
    printf("\n");
}

/* Bit for bit: text says it for all types but floats, whose bits are compared. */
static bool same_value(smelt_result *a, smelt_result *b, uint32_t i)
{
    if (smelt_result_is_null(a, i) || smelt_result_is_null(b, i))
        return smelt_result_is_null(a, i) == smelt_result_is_null(b, i);
    smelt_type_id id = smelt_result_type(a, i).id;
    if (id == SMELT_FLOAT64 || id == SMELT_FLOAT32) {
        double x = smelt_result_double(a, i), y = smelt_result_double(b, i);
        return memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y);
    }
    smelt_text x = smelt_result_text(a, i), y = smelt_result_text(b, i);
    return x.length == y.length && memcmp(x.bytes, y.bytes, x.length) == 0;
}

void output_difference(smelt_result *a, smelt_result *b, const char *name_a, const char *name_b)
{
    uint32_t n = smelt_result_n_columns(a);
    if (n != smelt_result_n_columns(b)) {
        printf("DIFFERENCE: %s has %u columns, %s has %u\n", name_a, n, name_b,
               smelt_result_n_columns(b));
        return;
    }
    smelt_result_rewind(a);
    smelt_result_rewind(b);
    for (uint64_t row = 1;; row++) {
        bool more_a = smelt_result_step(a), more_b = smelt_result_step(b), same = more_a == more_b;
        for (uint32_t i = 0; same && more_a && i < n; i++) same = same_value(a, b, i);
        if (!same) {
            printf("DIFFERENCE in row %" PRIu64 ":\n", row);
            if (more_a) print_row(a, name_a);
            if (more_b) print_row(b, name_b);
            if (!more_a || !more_b) printf("  %-16s has no such row\n", more_a ? name_b : name_a);
            return;
        }
        if (!more_a) break;
    }
    printf("DIFFERENCE: the digests of %s and %s differ (column types?)\n", name_a, name_b);
}
