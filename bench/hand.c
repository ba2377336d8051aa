/* Hand-written loops in plain C: what a careful person writes for exactly one query, in three
 * styles. Each style is honest about its own cost: the Volcano iterators call through pointers that
 * the compiler cannot see through. */
#include "hand.h"

#include <stdbool.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

/* ---- Volcano: each operator has next(), called through a pointer, a row a call ---- */

typedef struct volcano_row {
    double x, a, b, c;
    bool a_valid;
} volcano_row;

typedef struct volcano {
    bool (*next)(struct volcano *self, volcano_row *row);
    struct volcano *input;
    const hand_data *data;
    uint64_t at, round;
} volcano;

static bool scan_more(volcano *self)
{
    if (self->at < self->data->rows) return true;
    self->at = 0;
    return ++self->round < self->data->times;
}

static NOINLINE bool scan_x(volcano *self, volcano_row *row)
{
    if (!scan_more(self)) return false;
    row->x = self->data->x[self->at++];
    return true;
}

static NOINLINE bool scan_abc(volcano *self, volcano_row *row)
{
    if (!scan_more(self)) return false;
    uint64_t i = self->at++;
    row->a = self->data->a[i];
    row->b = self->data->b[i];
    row->c = self->data->c[i];
    row->a_valid = (self->data->valid[i >> 3] >> (i & 7)) & 1;
    return true;
}

static NOINLINE bool filter_next(volcano *self, volcano_row *row)
{
    while (self->input->next(self->input, row))
        if (row->c > self->data->k) return true;
    return false;
}

static NOINLINE hand_result volcano_run(volcano *top, bool product)
{
    hand_result r = {0};
    volcano_row row;
    while (top->next(top, &row)) {
        if (!product) {
            r.sum += row.x;
            continue;
        }
        r.count++;
        if (row.a_valid) r.sum += row.a * row.b;
    }
    return r;
}

/* The compiler must not know which function a pointer holds. */
static bool (*volatile const opaque_scan_x)(volcano *, volcano_row *) = scan_x;
static bool (*volatile const opaque_scan_abc)(volcano *, volcano_row *) = scan_abc;
static bool (*volatile const opaque_filter)(volcano *, volcano_row *) = filter_next;

static hand_result volcano_sum(const hand_data *d)
{
    volcano scan = {.next = opaque_scan_x, .data = d};
    return volcano_run(&scan, false);
}

static hand_result volcano_filter(const hand_data *d)
{
    volcano scan = {.next = opaque_scan_abc, .data = d};
    volcano filter = {.next = opaque_filter, .input = &scan, .data = d};
    return volcano_run(&filter, true);
}

const hand_kernels hand_volcano = {.sum = volcano_sum, .filter = volcano_filter};

/* ---- Batches: next_batch() copies up to 1,024 rows out of the table ---- */

enum { BATCH = 1024 };

typedef struct batch {
    uint32_t n;
    double x[BATCH], a[BATCH], b[BATCH], c[BATCH];
    uint8_t valid[BATCH / 8];
    uint16_t chosen[BATCH];
} batch;

static NOINLINE bool next_batch_x(const hand_data *d, uint64_t at, batch *out)
{
    uint64_t left = d->rows - at;
    out->n = (uint32_t)(left < BATCH ? left : BATCH);
    memcpy(out->x, d->x + at, out->n * sizeof *out->x);
    return out->n > 0;
}

static NOINLINE bool next_batch_abc(const hand_data *d, uint64_t at, batch *out)
{
    uint64_t left = d->rows - at;
    out->n = (uint32_t)(left < BATCH ? left : BATCH);
    memcpy(out->a, d->a + at, out->n * sizeof *out->a);
    memcpy(out->b, d->b + at, out->n * sizeof *out->b);
    memcpy(out->c, d->c + at, out->n * sizeof *out->c);
    memcpy(out->valid, d->valid + at / 8, (out->n + 7) / 8);
    return out->n > 0;
}

static NOINLINE double sum_batch(const double *x, uint32_t n, double sum)
{
    for (uint32_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

static NOINLINE uint32_t choose(const double *c, uint32_t n, double k, uint16_t *chosen)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        chosen[m] = (uint16_t)i;
        m += c[i] > k;
    }
    return m;
}

static NOINLINE double sum_products(const batch *b, uint32_t n, double sum)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = b->chosen[i];
        if ((b->valid[row >> 3] >> (row & 7)) & 1) sum += b->a[row] * b->b[row];
    }
    return sum;
}

static hand_result batch_sum(const hand_data *d)
{
    batch b;
    hand_result r = {0};
    for (uint64_t round = 0; round < d->times; round++)
        for (uint64_t at = 0; next_batch_x(d, at, &b); at += b.n)
            r.sum = sum_batch(b.x, b.n, r.sum);
    return r;
}

static hand_result batch_filter(const hand_data *d)
{
    batch b;
    hand_result r = {0};
    for (uint64_t round = 0; round < d->times; round++) {
        for (uint64_t at = 0; next_batch_abc(d, at, &b); at += b.n) {
            uint32_t m = choose(b.c, b.n, d->k, b.chosen);
            r.count += m;
            r.sum = sum_products(&b, m, r.sum);
        }
    }
    return r;
}

const hand_kernels hand_batch = {.sum = batch_sum, .filter = batch_filter};

/* ---- The plain loop: one accumulator, rows in order ---- */

static hand_result scalar_sum(const hand_data *d)
{
    hand_result r = {0};
    for (uint64_t round = 0; round < d->times; round++)
        for (uint64_t i = 0; i < d->rows; i++) r.sum += d->x[i];
    return r;
}

static hand_result scalar_filter(const hand_data *d)
{
    hand_result r = {0};
    for (uint64_t round = 0; round < d->times; round++) {
        for (uint64_t i = 0; i < d->rows; i++) {
            if (!(d->c[i] > d->k)) continue;
            r.count++;
            if ((d->valid[i >> 3] >> (i & 7)) & 1) r.sum += d->a[i] * d->b[i];
        }
    }
    return r;
}

const hand_kernels hand_scalar = {.sum = scalar_sum, .filter = scalar_filter};

/* ---- The level of the intrinsics ---- */

const hand_kernels *hand_simd(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return &hand_simd_v4;
    return __builtin_cpu_supports("avx2") ? &hand_simd_v3 : &hand_simd_v2;
#else
    return &hand_simd_base;
#endif
}
