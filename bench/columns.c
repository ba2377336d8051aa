/* Generated columns of the ladder and rows of the workload; see columns.h. */
#include "columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *buffer_new(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        fprintf(stderr, "jit-bench: not enough memory for %zu bytes; try fewer --rows\n", bytes);
        return NULL;
    }
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

void buffer_free(void *buffer, size_t bytes)
{
    if (buffer) munmap(buffer, bytes);
}

uint64_t memory_bytes(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "r");
    unsigned long long limit;
    if (f && fscanf(f, "%llu", &limit) == 1 && limit < bytes) bytes = limit;
    if (f) fclose(f);
    return bytes;
}

static size_t bitmap_bytes(uint64_t rows)
{
    return (rows + 63) / 64 * 8;
}

bool columns_series(hand_data *d, uint64_t rows)
{
    *d = (hand_data){.rows = rows, .times = 1};
    double *x = buffer_new(rows * sizeof *x);
    if (!x) return false;
    for (uint64_t i = 0; i < rows; i++) x[i] = (double)(i + 1);
    d->x = x;
    return true;
}

bool columns_random(hand_data *d, uint64_t rows)
{
    *d = (hand_data){.rows = rows, .times = 1, .k = 0.5};
    uint64_t state = 42;
    double *a = buffer_new(rows * sizeof *a), *b = buffer_new(rows * sizeof *b),
           *c = buffer_new(rows * sizeof *c);
    uint8_t *valid = buffer_new(bitmap_bytes(rows));
    d->a = a;
    d->b = b;
    d->c = c;
    d->valid = valid;
    if (!a || !b || !c || !valid) {
        columns_free(d);
        return false;
    }
    for (uint64_t i = 0; i < rows; i++) {
        a[i] = (double)(random_next(&state) >> 11) * 0x1p-53;
        b[i] = (double)(random_next(&state) >> 11) * 0x1p-53;
        c[i] = (double)(random_next(&state) >> 11) * 0x1p-53;
        if (random_below(&state, 10)) valid[i >> 3] |= (uint8_t)(1u << (i & 7));
    }
    return true;
}

void columns_free(hand_data *d)
{
    buffer_free((void *)(uintptr_t)d->x, d->rows * 8);
    buffer_free((void *)(uintptr_t)d->a, d->rows * 8);
    buffer_free((void *)(uintptr_t)d->b, d->rows * 8);
    buffer_free((void *)(uintptr_t)d->c, d->rows * 8);
    buffer_free((void *)(uintptr_t)d->valid, bitmap_bytes(d->rows));
    *d = (hand_data){0};
}

static bool said(const char *what, smelt_status status, const smelt_error *e)
{
    if (status) fprintf(stderr, "jit-bench: %s: %s: %s\n", what, e->sqlstate, e->message);
    return status == SMELT_OK;
}

static void nothing_to_release(void *arg)
{
    (void)arg;
}

bool columns_table(smelt_db *db, const char *name, const hand_data *d)
{
    const smelt_type f64 = {.id = SMELT_FLOAT64};
    const smelt_column_def series[] = {{"x", f64, false}},
                           random[] = {{"a", f64, false}, {"b", f64, false}, {"c", f64, false}};
    smelt_column values[3] = {{d->x, NULL}};
    uint32_t n = d->x ? 1 : 3;
    if (!d->x) {
        values[0] = (smelt_column){d->a, d->valid};
        values[1] = (smelt_column){d->b, NULL};
        values[2] = (smelt_column){d->c, NULL};
    }
    smelt_error e = {0};
    if (!said(name, smelt_create_table(db, name, d->x ? series : random, n, &e), &e)) return false;
    smelt_status status =
        smelt_append_borrowed(db, name, values, n, d->rows, nothing_to_release, NULL, &e);
    if (!said(name, status, &e)) return false;
    return d->times == 1 || said(name, smelt_repeat(db, name, d->times, &e), &e);
}

/* ---- lineitem ---- */

enum { PIECE = 65536, FIRST_DAY = 8036, LAST_DAY = 10561 }; /* 1992-01-02 to 1998-12-01 */

typedef struct lineitem {
    int64_t order[PIECE], part[PIECE], supplier[PIECE];
    int32_t line[PIECE], ship[PIECE], commit[PIECE], receipt[PIECE];
    int64_t quantity[PIECE], price[PIECE], discount[PIECE], tax[PIECE]; /* decimals of scale 2 */
    smelt_text flag[PIECE], status[PIECE], instruct[PIECE], mode[PIECE];
} lineitem;

#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }
static const smelt_text flags[] = {T("A"), T("R"), T("N")}, states[] = {T("F"), T("O")};
static const smelt_text instructs[] = {T("DELIVER IN PERSON"), T("COLLECT COD"), T("NONE"),
                                       T("TAKE BACK RETURN")};
static const smelt_text modes[] = {T("REG AIR"), T("AIR"),  T("RAIL"), T("SHIP"),
                                   T("TRUCK"),   T("MAIL"), T("FOB")};
#undef T

static void lineitem_row(lineitem *l, uint32_t i, uint64_t row, uint64_t *state)
{
    enum { CURRENT_DAY = 9298 }; /* 1995-06-17 */
    uint32_t part = 1 + random_below(state, 200000), quantity = 1 + random_below(state, 50);
    l->order[i] = (int64_t)(row / 4 * 8 + row / 4 % 8);
    l->line[i] = (int32_t)(row % 4) + 1;
    l->part[i] = part;
    l->supplier[i] = 1 + random_below(state, 10000);
    l->quantity[i] = quantity * 100;
    l->price[i] = (int64_t)quantity * (90000 + part / 10 % 20001 + 100 * (part % 1000));
    l->discount[i] = random_below(state, 11);
    l->tax[i] = random_below(state, 9);
    l->ship[i] = FIRST_DAY + (int32_t)random_below(state, LAST_DAY - FIRST_DAY + 1);
    l->commit[i] = l->ship[i] + (int32_t)random_below(state, 121) - 60;
    l->receipt[i] = l->ship[i] + 1 + (int32_t)random_below(state, 30);
    l->flag[i] = flags[l->receipt[i] <= CURRENT_DAY ? random_below(state, 2) : 2];
    l->status[i] = states[l->ship[i] > CURRENT_DAY];
    l->instruct[i] = instructs[random_below(state, 4)];
    l->mode[i] = modes[random_below(state, 7)];
}

bool lineitem_table(smelt_db *db, uint64_t rows)
{
    static const char create[] =
        "CREATE TABLE lineitem (l_orderkey bigint NOT NULL, l_partkey bigint NOT NULL, l_suppkey "
        "bigint NOT NULL, "
        "l_linenumber integer NOT NULL, l_quantity decimal(15,2) NOT NULL, l_extendedprice "
        "decimal(15,2) NOT NULL, "
        "l_discount decimal(15,2) NOT NULL, l_tax decimal(15,2) NOT NULL, l_returnflag text NOT "
        "NULL, "
        "l_linestatus text NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL, "
        "l_receiptdate date NOT NULL, l_shipinstruct text NOT NULL, l_shipmode text NOT NULL)";
    smelt_error e = {0};
    if (!said("lineitem", smelt_run(db, create, NULL, NULL, &e), &e)) return false;
    lineitem *l = malloc(sizeof *l);
    if (!l) return false;
    uint64_t state = 7;
    bool ok = true;
    for (uint64_t row = 0; ok && row < rows; row += PIECE) {
        uint32_t n = rows - row < PIECE ? (uint32_t)(rows - row) : PIECE;
        for (uint32_t i = 0; i < n; i++) lineitem_row(l, i, row + i, &state);
        const void *values[] = {l->order, l->part,     l->supplier, l->line,     l->quantity,
                                l->price, l->discount, l->tax,      l->flag,     l->status,
                                l->ship,  l->commit,   l->receipt,  l->instruct, l->mode};
        smelt_column columns[15] = {0};
        for (uint32_t i = 0; i < 15; i++) columns[i].values = values[i];
        ok = said("lineitem", smelt_append(db, "lineitem", columns, 15, n, &e), &e);
    }
    free(l);
    return ok;
}
