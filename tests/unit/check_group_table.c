/* The group table against a plain search over all rows: random keys of every type with nulls, by
 * values and by columns, merged, with real hashes and with all hashes 0; and with memory running
 * out at every call. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/group_table.h"

enum { N_KEYS = 6, N_ROWS = 3000 };

static sm_mem mem;
static sm_error err;
static sm_group_key keys[N_KEYS];
static sm_accum accums[2];
static sm_group_layout layout;

/* The same rows by column. */
static int32_t col_i32[N_ROWS];
static double col_f64[N_ROWS];
static sm_text col_text[N_ROWS];
static sm_i128 col_dec[N_ROWS];
static sm_interval col_iv[N_ROWS];
static uint8_t col_bool[N_ROWS];
static uint64_t valid[N_KEYS][N_ROWS / 64 + 1];
static sm_vec cols[N_KEYS];
static char texts[16][40];

static void setup(void)
{
    static const sm_type_id ids[N_KEYS] = {SM_INT32,   SM_FLOAT64,  SM_TEXT,
                                           SM_DECIMAL, SM_INTERVAL, SM_BOOL};
    void *data[N_KEYS] = {col_i32, col_f64, col_text, col_dec, col_iv, col_bool};
    static const double floats[] = {0.0, -0.0, 1.5, NAN, -NAN, INFINITY};
    sm_mem_init(&mem, NULL, SIZE_MAX);
    sm_error_reset(&err);
    srand(7);
    for (int i = 0; i < 16; i++)
        snprintf(texts[i], sizeof texts[i], i % 2 ? "t%d" : "text number %d of sixteen", i);
    memset(valid, 0, sizeof valid);
    for (int k = 0; k < N_KEYS; k++) {
        keys[k] =
            (sm_group_key){.type = ids[k] == SM_DECIMAL ? sm_decimal(38, 2) : sm_type_of(ids[k])};
        cols[k] = (sm_vec){data[k], valid[k], NULL, sm_type_phys(keys[k].type)};
        for (size_t i = 0; i < N_ROWS; i++)
            if (rand() % 10) sm_bit_set(valid[k], i);
    }
    for (int i = 0; i < N_ROWS; i++) {
        int t = rand() % 16;
        col_i32[i] = rand() % 3 - 1;
        col_f64[i] = floats[rand() % 6];
        col_text[i] = sm_text_view(texts[t], (uint32_t)strlen(texts[t]));
        col_dec[i] = (rand() % 2 - 1) * ((sm_i128)1 << 100);
        col_iv[i] = rand() % 2 ? (sm_interval){1, 0, 0} : (sm_interval){0, 30, 0};
        col_bool[i] = (uint8_t)(rand() % 2);
    }
    accums[0] = (sm_accum){.kind = SM_ACC_COUNT, .arg_col = -1, .filter_col = -1};
    accums[1] = (sm_accum){.kind = SM_ACC_MAX, .type = sm_type_of(SM_TEXT), .filter_col = -1};
    layout = (sm_group_layout){.n_keys = N_KEYS, .n_accums = 2, .keys = keys, .accums = accums};
    sm_group_layout_init(&layout, 1);
}

static void row_values(uint32_t i, sm_value *v)
{
    for (int k = 0; k < N_KEYS; k++) {
        size_t bytes = sm_phys_bytes(cols[k].phys);
        v[k] = (sm_value){.is_null = !sm_bit_get(valid[k], i)};
        memcpy(&v[k], (char *)cols[k].data + i * bytes, bytes);
    }
}

static bool same_value(sm_phys p, const sm_value *a, const sm_value *b)
{
    if (a->is_null || b->is_null) return a->is_null && b->is_null;
    switch (p) {
    case SM_PHYS_F64: return sm_float_key(a->f64) == sm_float_key(b->f64);
    case SM_PHYS_TEXT: return sm_text_eq(a->text, b->text);
    case SM_PHYS_IV: return sm_interval_total(a->iv) == sm_interval_total(b->iv);
    default: return sm_value_int(a, p) == sm_value_int(b, p);
    }
}

static bool same_row(const sm_value *a, const sm_value *b)
{
    for (int k = 0; k < N_KEYS; k++)
        if (!same_value(cols[k].phys, &a[k], &b[k])) return false;
    return true;
}

static sm_status add_row(sm_group_table *t, uint32_t i, uint64_t hash, bool by_column,
                         const sm_value *v)
{
    void *row;
    sm_value text = {.text = col_text[i]};
    if (by_column)
        SM_TRY(sm_group_find_batch(t, hash, cols, i, i, &row, &err));
    else
        SM_TRY(sm_group_find(t, hash, v, i, &row, &err));
    SM_TRY(sm_acc_add(&accums[1], (char *)row + accums[1].offset, 0, &text, &t->arena, &err));
    ((sm_acc_count *)(void *)((char *)row + accums[0].offset))->n++;
    return SM_OK;
}

static sm_status fill(sm_group_table *t, uint32_t from, uint32_t step, bool by_column)
{
    static uint64_t hashes[N_ROWS];
    sm_group_hash_batch(&layout, cols, NULL, N_ROWS, hashes);
    for (uint32_t i = from; i < N_ROWS; i += step) {
        sm_value v[N_KEYS];
        row_values(i, v);
        ck_assert_uint_eq(sm_group_hash(&layout, v), hashes[i]);
        SM_TRY(add_row(t, i, hashes[i], by_column, v));
    }
    return SM_OK;
}

/* Every group is the set of rows that equal its first row. */
static void compare(const sm_group_table *t)
{
    uint64_t rows = 0;
    ck_assert(sm_group_table_validate(t));
    for (uint64_t g = 0; g < t->n_groups; g++) {
        sm_value own[N_KEYS], other[N_KEYS];
        uint64_t first = *(uint64_t *)(void *)t->rows[g];
        int64_t n = 0, counted = ((sm_acc_count *)(void *)(t->rows[g] + accums[0].offset))->n;
        for (uint32_t k = 0; k < N_KEYS; k++) sm_group_key_get(&layout, t->rows[g], k, &own[k]);
        for (uint32_t i = 0; i < N_ROWS; i++) {
            row_values(i, other);
            if (!same_row(own, other)) continue;
            if (n++ == 0) ck_assert_uint_eq(first, i);
            if (i == first && !own[4].is_null)
                ck_assert_int_eq(own[4].iv.months, other[4].iv.months);
        }
        ck_assert_int_eq(n, counted);
        rows += (uint64_t)n;
    }
    ck_assert_uint_eq(rows, N_ROWS);
}

START_TEST(finds_and_makes)
{
    sm_group_table t;
    sm_hash_zero_set(_i >= 2);
    ck_assert_int_eq(sm_group_table_init(&t, &layout, &mem, &err), SM_OK);
    ck_assert_int_eq(fill(&t, 0, 1, _i & 1), SM_OK);
    compare(&t);
    sm_group_table_reset(&t);
    ck_assert_uint_eq(atomic_load(&mem.used_bytes), 0);
}
END_TEST

/* The same table as by single rows, with and without selection vectors, and of one plain integer
 * key. */
START_TEST(finds_many_rows)
{
    static uint64_t hashes[N_ROWS];
    static void *rows[N_ROWS];
    uint16_t sel[N_ROWS];
    sm_group_layout l = layout;
    sm_group_table t, u;
    sm_vec own[N_KEYS];
    uint32_t n = 0;
    sm_hash_zero_set(_i >= 2);
    memcpy(own, cols, sizeof own);
    if (_i & 1) {
        l.n_keys = 1;
        own[0].valid = NULL;
        sm_group_layout_init(&l, 1);
    }
    for (uint32_t i = 0; i < N_ROWS; i++)
        if (rand() % 4) sel[n++] = (uint16_t)i;
    sm_group_hash_batch(&l, own, NULL, N_ROWS, hashes);
    ck_assert_int_eq(sm_group_table_init(&t, &l, &mem, &err), SM_OK);
    ck_assert_int_eq(sm_group_table_init(&u, &l, &mem, &err), SM_OK);
    for (int pass = 0; pass < 2; pass++) {
        const uint16_t *s = pass ? NULL : sel;
        uint32_t n_pass = pass ? N_ROWS : n;
        ck_assert_int_eq(sm_group_find_rows(&t, hashes, own, s, n_pass, 1000, NULL, rows, &err), SM_OK);
        for (uint32_t j = 0; j < n_pass; j++) {
            uint32_t i = s ? s[j] : j;
            void *row;
            ck_assert_int_eq(sm_group_find_batch(&u, hashes[i], own, i, 1000 + i, &row, &err),
                             SM_OK);
            ck_assert_uint_eq(*(uint64_t *)row, *(uint64_t *)rows[i]);
        }
        ck_assert_uint_eq(t.n_groups, u.n_groups);
        for (uint64_t g = 0; g < t.n_groups; g++)
            ck_assert_uint_eq(*(uint64_t *)(void *)t.rows[g], *(uint64_t *)(void *)u.rows[g]);
        ck_assert(sm_group_table_validate(&t));
    }
    sm_group_table_reset(&t);
    sm_group_table_reset(&u);
    sm_hash_zero_set(false);
}
END_TEST

START_TEST(merges_in_any_order)
{
    sm_group_table part[3];
    sm_hash_zero_set(_i >= 2);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_int_eq(sm_group_table_init(&part[i], &layout, &mem, &err), SM_OK);
        ck_assert_int_eq(fill(&part[i], i, 3, true), SM_OK);
    }
    if (_i & 1) {
        ck_assert_int_eq(sm_group_table_merge(&part[2], &part[1], &err), SM_OK);
        ck_assert_int_eq(sm_group_table_merge(&part[2], &part[0], &err), SM_OK);
        sm_group_table_reset(&part[1]);
        sm_group_table_reset(&part[0]);
        compare(&part[2]);
        sm_group_table_reset(&part[2]);
    } else {
        ck_assert_int_eq(sm_group_table_merge(&part[0], &part[1], &err), SM_OK);
        ck_assert_int_eq(sm_group_table_merge(&part[0], &part[2], &err), SM_OK);
        sm_group_table_reset(&part[1]);
        sm_group_table_reset(&part[2]);
        compare(&part[0]);
        sm_group_table_reset(&part[0]);
    }
    ck_assert_uint_eq(atomic_load(&mem.used_bytes), 0);
}
END_TEST

START_TEST(selected_rows_hash_alike)
{
    static uint64_t all[N_ROWS], some[N_ROWS];
    uint16_t sel[N_ROWS / 7 + 1];
    uint32_t n = 0;
    sm_hash_zero_set(false);
    sm_group_hash_batch(&layout, cols, NULL, N_ROWS, all);
    for (uint32_t i = 3; i < N_ROWS; i += 7) sel[n++] = (uint16_t)i;
    sm_group_hash_batch(&layout, cols, sel, n, some);
    for (uint32_t j = 0; j < n; j++) ck_assert_uint_eq(all[sel[j]], some[sel[j]]);
}
END_TEST

/* A tier may hold a decimal(38) in 64 bits, or an integer in 16. */
START_TEST(width_is_no_part_of_a_hash)
{
    for (int v = -3; v < 3; v++) {
        sm_value a = {.i16 = (int16_t)v}, b = {.i32 = v}, c = {.i64 = v}, d = {.i128 = v};
        uint64_t h = sm_hash_value(SM_PHYS_I64, &c);
        ck_assert_uint_eq(sm_hash_value(SM_PHYS_I16, &a), h);
        ck_assert_uint_eq(sm_hash_value(SM_PHYS_I32, &b), h);
        ck_assert_uint_eq(sm_hash_value(SM_PHYS_I128, &d), h);
    }
}
END_TEST

START_TEST(out_of_memory_is_a_status)
{
    int failures = 0;
    for (int64_t after = 0;; after++) {
        sm_group_table t;
        sm_status s;
        sm_error_reset(&err);
        atomic_store(&mem.fail_after, after);
        s = sm_group_table_init(&t, &layout, &mem, &err);
        if (s == SM_OK) s = fill(&t, 0, 1, true);
        if (s != SM_OK) {
            ck_assert_int_eq(s, SM_ERR_OUT_OF_MEMORY);
            ck_assert_str_eq(err.sqlstate, "53200");
            failures++;
        }
        if (t.slots) ck_assert(sm_group_table_validate(&t));
        sm_group_table_reset(&t);
        ck_assert_uint_eq(atomic_load(&mem.used_bytes), 0);
        if (s == SM_OK) break;
    }
    atomic_store(&mem.fail_after, -1);
    ck_assert_int_gt(failures, 5);
}
END_TEST

START_TEST(no_keys_is_one_group)
{
    sm_group_layout l = {.n_accums = 2, .accums = accums};
    sm_group_table t;
    void *a, *b;
    sm_group_layout_init(&l, 32);
    ck_assert_int_eq(sm_group_table_init(&t, &l, &mem, &err), SM_OK);
    ck_assert_int_eq(sm_group_find(&t, 0, NULL, 5, &a, &err), SM_OK);
    ck_assert_int_eq(sm_group_find(&t, 0, NULL, 6, &b, &err), SM_OK);
    ck_assert_ptr_eq(a, b);
    ck_assert_uint_eq(t.n_groups, 1);
    sm_group_table_reset(&t);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("group_table");
    TCase *c = tcase_create("group_table");
    SRunner *r = srunner_create(s);
    int failed;
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, finds_and_makes, 0, 4);
    tcase_add_loop_test(c, finds_many_rows, 0, 4);
    tcase_add_loop_test(c, merges_in_any_order, 0, 4);
    tcase_add_test(c, selected_rows_hash_alike);
    tcase_add_test(c, width_is_no_part_of_a_hash);
    tcase_add_test(c, out_of_memory_is_a_status);
    tcase_add_test(c, no_keys_is_one_group);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
