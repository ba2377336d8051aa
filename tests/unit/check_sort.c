/* Sorting against the definition: neighbours in the result are in order by an independent
 * comparison, equal rows keep their order, and the result is a permutation. Every physical form,
 * with nulls, both directions, alone and in pairs, few and many distinct values, few and many rows.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sort.h"

enum { MOST_ROWS = 3000 };

static sm_mem mem;
static sm_error err;
static char heap[MOST_ROWS][100];
static uint64_t order[MOST_ROWS];
static uint8_t seen[MOST_ROWS];

static void setup(void)
{
    sm_mem_init(&mem, NULL, SIZE_MAX);
    sm_error_reset(&err);
    srand(3);
}

static void fill_text(sm_text *t, int i, int variety)
{
    static const char *const heads[] = {"", "Customer#00000",
                                        "a text that is far longer than sixty-four bytes, "
                                        "so that words do not decide "};
    int n = snprintf(heap[i], sizeof heap[i], "%s%d", heads[variety == 3 ? 1 : rand() % 3],
                     rand() % variety);
    if (rand() % 8 == 0) heap[i][n - 1] = 0; /* a NUL is a byte like others */
    if (rand() % 16 == 0) n = 0;
    *t = sm_text_view(heap[i], (uint32_t)n);
}

static void fill(sm_sort_key *k, void *data, uint64_t *valid, int n, int variety)
{
    static const double floats[] = {0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY, 1e-300, -5};
    for (int i = 0; i < n; i++) {
        int v = rand() % variety - variety / 2;
        sm_bit_clear(valid, (size_t)i);
        if (rand() % 5) sm_bit_set(valid, (size_t)i);
        switch (k->phys) {
        case SM_PHYS_BOOL: ((uint8_t *)data)[i] = (uint8_t)(rand() & 1); break;
        case SM_PHYS_I16: ((int16_t *)data)[i] = (int16_t)v; break;
        case SM_PHYS_I32: ((int32_t *)data)[i] = v; break;
        case SM_PHYS_I64: ((int64_t *)data)[i] = v * (int64_t)1000000007; break;
        case SM_PHYS_I128: ((sm_i128 *)data)[i] = v * ((sm_i128)1 << (rand() % 2 ? 80 : 3)); break;
        case SM_PHYS_F32:
            ((float *)data)[i] = rand() % 3 ? (float)v / 3 : (float)floats[rand() % 8];
            break;
        case SM_PHYS_F64: ((double *)data)[i] = rand() % 3 ? v / 3.0 : floats[rand() % 8]; break;
        case SM_PHYS_IV:
            ((sm_interval *)data)[i] = (sm_interval){v, rand() % 61 - 30, v * 1000};
            break;
        default: fill_text((sm_text *)data + i, i, variety); break;
        }
    }
}

static int three_way(double a, double b)
{
    return (a > b) - (a < b);
}

static int plain_compare(const sm_sort_key *k, uint64_t a, uint64_t b)
{
    double x, y;
    switch (k->phys) {
    case SM_PHYS_BOOL: return ((const uint8_t *)k->data)[a] - ((const uint8_t *)k->data)[b];
    case SM_PHYS_I16: return ((const int16_t *)k->data)[a] - ((const int16_t *)k->data)[b];
    case SM_PHYS_I32:
        return three_way(((const int32_t *)k->data)[a], ((const int32_t *)k->data)[b]);
    case SM_PHYS_I64:
        return three_way((double)((const int64_t *)k->data)[a],
                         (double)((const int64_t *)k->data)[b]);
    case SM_PHYS_I128:
        return three_way((double)((const sm_i128 *)k->data)[a],
                         (double)((const sm_i128 *)k->data)[b]);
    case SM_PHYS_IV: {
        const sm_interval *v = k->data;
        return three_way((v[a].months * 30.0 + v[a].days) * 86400e6 + (double)v[a].micros,
                         (v[b].months * 30.0 + v[b].days) * 86400e6 + (double)v[b].micros);
    }
    case SM_PHYS_TEXT: {
        const sm_text *t = k->data;
        size_t n = t[a].len < t[b].len ? t[a].len : t[b].len;
        int c = n ? memcmp(sm_text_bytes(&t[a]), sm_text_bytes(&t[b]), n) : 0;
        return c ? c : three_way(t[a].len, t[b].len);
    }
    case SM_PHYS_F32:
        x = (double)((const float *)k->data)[a], y = (double)((const float *)k->data)[b];
        break;
    default: x = ((const double *)k->data)[a], y = ((const double *)k->data)[b]; break;
    }
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return three_way(x, y);
}

static int plain_order(const sm_sort_key *keys, uint32_t n_keys, uint64_t a, uint64_t b)
{
    for (uint32_t i = 0; i < n_keys; i++) {
        const sm_sort_key *k = &keys[i];
        bool na = k->valid && !sm_bit_get(k->valid, a), nb = k->valid && !sm_bit_get(k->valid, b);
        int c = na && nb ? 0
                : na     ? (k->nulls_first ? -1 : 1)
                : nb     ? (k->nulls_first ? 1 : -1)
                         : plain_compare(k, a, b);
        if (!na && !nb && k->desc) c = -c;
        if (c) return c;
    }
    return 0;
}

static void check_order(const sm_sort_key *keys, uint32_t n_keys, uint64_t n)
{
    memset(seen, 0, sizeof seen);
    for (uint64_t i = 0; i < n; i++) {
        ck_assert_uint_lt(order[i], n);
        ck_assert(!seen[order[i]]);
        seen[order[i]] = 1;
        if (i == 0) continue;
        {
            int c = plain_order(keys, n_keys, order[i - 1], order[i]);
            int d = sm_sort_compare(keys, keys, n_keys, order[i - 1], order[i]);
            ck_assert_int_le(c, 0);
            ck_assert_int_eq(c < 0, d < 0);
            if (c == 0) ck_assert_uint_lt(order[i - 1], order[i]);
        }
    }
}

START_TEST(sorts)
{
    static const int varieties[] = {3, 100, 1000000}, sizes[] = {0, 1, 2, 11, 40, 300, MOST_ROWS};
    static _Alignas(16) char data[2][MOST_ROWS * 16];
    static uint64_t valid[2][MOST_ROWS / 64 + 1];
    for (int second = -1; second < SM_N_PHYS; second++) {
        for (int variant = 0; variant < 21; variant++) {
            int n = sizes[variant % 7], variety = varieties[variant / 7];
            uint32_t n_keys = second < 0 ? 1 : 2;
            sm_sort_key keys[2] = {{(sm_phys)_i, data[0], valid[0], variant & 1, variant & 2},
                                   {(sm_phys)second, data[1], valid[1], variant & 4, variant & 8}};
            if (_i == SM_PHYS_TEXT && second == SM_PHYS_TEXT)
                continue; /* they would share the heap */
            fill(&keys[0], data[0], valid[0], n, second < 0 ? variety : 3);
            if (second >= 0) fill(&keys[1], data[1], valid[1], n, variety);
            if (variant & 16) keys[0].valid = keys[1].valid = NULL;
            ck_assert_int_eq(sm_sort_rows(keys, n_keys, (uint64_t)n, order, &mem, &err), SM_OK);
            check_order(keys, n_keys, (uint64_t)n);
        }
    }
    ck_assert_uint_eq(atomic_load(&mem.used_bytes), 0);
}
END_TEST

START_TEST(out_of_memory)
{
    int32_t data[2] = {2, 1};
    sm_sort_key k = {.phys = SM_PHYS_I32, .data = data};
    atomic_store(&mem.fail_after, 0);
    ck_assert_int_eq(sm_sort_rows(&k, 1, 2, order, &mem, &err), SM_ERR_OUT_OF_MEMORY);
    ck_assert_int_eq(sm_sort_rows(&k, 1, SIZE_MAX / 2, order, &mem, NULL), SM_ERR_OUT_OF_MEMORY);
    ck_assert_int_eq(sm_sort_rows(&k, 1, 2, order, &mem, NULL), SM_OK);
    ck_assert(order[0] == 1 && order[1] == 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sort");
    TCase *c = tcase_create("sort");
    SRunner *r = srunner_create(s);
    int failed;
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, sorts, 0, SM_N_PHYS);
    tcase_add_test(c, out_of_memory);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
