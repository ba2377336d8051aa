/* The table of a join's build side: every probe finds what a loop over all rows finds, in build
 * order, for keys of all forms, with NULLs, duplicates, and all hashes forced to 0. */
#include "plan_run.h"

typedef struct build_side {
    sm_pipeline p;
    bool null_safe[3];
    sm_type types[4];
    sm_value *values; /* n_rows x n_cols */
    uint32_t n_cols;
    uint64_t n_rows;
    sm_join_table *t;
} build_side;

static sm_status make_table(build_side *b, sm_join_table **out)
{
    b->p.sink = SM_SINK_BUILD;
    b->p.build.null_safe = b->null_safe;
    sm_version *v = table(b->types, b->n_cols, b->values, b->n_rows);
    return sm_join_table_build(&b->p, v, &mem, out, &err);
}

static void build_side_make(build_side *b)
{
    OK(make_table(b, &b->t));
    ck_assert(sm_join_table_validate(b->t));
    ck_assert(sm_arena_on_reset(&arena, drop_table, b->t));
}

static uint64_t seed = 88172645463325252u;
static uint32_t rnd(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % n;
}

/* One of `domain` values of the type. */
static sm_value value_of(sm_type type, uint32_t domain)
{
    static const double floats[] = {0.0, -0.0, 1.5, -7, 1e300};
    uint32_t x = rnd(domain);
    if (rnd(8) == 0) return NIL;
    switch (sm_type_phys(type)) {
    case SM_PHYS_I32: return V32((int32_t)x - 3);
    case SM_PHYS_I64: return V64((int64_t)x * 1000000007);
    case SM_PHYS_I128: return (sm_value){.i128 = ((sm_i128)x << (x % 2 ? 70 : 0)) - 5};
    case SM_PHYS_F64: return VF(x == 7 ? 0.0 / 0.0 : x < 5 ? floats[x] : (double)x);
    case SM_PHYS_IV: return (sm_value){.iv = {x % 2 ? 1 : 0, x % 2 ? 0 : 30, (int64_t)(x / 2)}};
    default:
        return vtext(sm_arena_printf(&arena, x % 2 ? "%u" : "a text that is not inline %u", x));
    }
}

static bool same_value(sm_phys p, const sm_value *a, const sm_value *b)
{
    switch (p) {
    case SM_PHYS_F64: return a->f64 == b->f64 || (a->f64 != a->f64 && b->f64 != b->f64);
    case SM_PHYS_IV: return sm_interval_total(a->iv) == sm_interval_total(b->iv);
    case SM_PHYS_TEXT: return sm_text_eq(a->text, b->text);
    default: return sm_value_int(a, p) == sm_value_int(b, p);
    }
}

/* 1 equal, 0 different, -1 NULL. */
static int compare_all(const build_side *b, const sm_value *keys, uint64_t row)
{
    int all = 1;
    for (uint32_t k = 0; k < b->p.build.n_keys; k++) {
        const sm_value *own = &b->values[row * b->n_cols + k];
        int c = -1;
        if (!own->is_null && !keys[k].is_null)
            c = same_value(sm_type_phys(b->types[k]), own, &keys[k]);
        else if (b->null_safe[k])
            c = own->is_null == keys[k].is_null;
        if (c == 0) return 0;
        if (c < 0) all = -1;
    }
    return all;
}

static void check_probe(const build_side *b, const sm_value *keys)
{
    const sm_join_table *t = b->t;
    uint32_t n_keys = b->p.build.n_keys;
    uint64_t hash = sm_join_hash(keys, b->types, n_keys), at, end, any = 0;
    uint64_t batch_hash;
    sm_vec vecs[3];
    uint64_t valid[3];
    for (uint32_t k = 0; k < n_keys; k++) {
        valid[k] = !keys[k].is_null;
        vecs[k] = (sm_vec){.data = (void *)(uintptr_t)&keys[k],
                           .valid = &valid[k],
                           .phys = sm_type_phys(b->types[k])};
    }
    sm_join_hash_batch(vecs, n_keys, NULL, 1, &batch_hash);
    ck_assert_uint_eq(hash, batch_hash);
    sm_join_find(t, hash, &at, &end);
    for (uint64_t r = 0; r < b->n_rows; r++) {
        int c = compare_all(b, keys, r);
        if (c == 1) ck_assert_uint_eq(sm_join_next(t, hash, keys, b->null_safe, &at, end), r);
        if (c == -1) ck_assert_uint_eq(sm_join_next_unknown(t, keys, b->null_safe, &any), r);
    }
    ck_assert_uint_eq(sm_join_next(t, hash, keys, b->null_safe, &at, end), UINT32_MAX);
    ck_assert_uint_eq(sm_join_next_unknown(t, keys, b->null_safe, &any), UINT32_MAX);
}

static bool really_unique(const build_side *b)
{
    for (uint64_t r = 0; r < b->n_rows; r++)
        for (uint64_t q = 0; q < r; q++)
            if (compare_all(b, &b->values[r * b->n_cols], q) == 1) return false;
    return true;
}

static void check_random(uint64_t n_rows, uint32_t n_keys, uint32_t domain)
{
    const sm_type types[] = {T(INT32),   T(TEXT),           T(INT64),
                             T(FLOAT64), sm_decimal(30, 2), T(INTERVAL)};
    build_side b = {.n_rows = n_rows, .n_cols = n_keys + 1};
    b.p.build.n_keys = n_keys;
    b.values = SM_NEW_N(&arena, sm_value, n_rows * b.n_cols + 1);
    for (uint32_t k = 0; k < b.n_cols; k++) b.types[k] = types[rnd(SM_COUNT(types))];
    for (uint32_t k = 0; k < n_keys; k++) b.null_safe[k] = rnd(3) == 0;
    for (uint64_t i = 0; i < n_rows * b.n_cols; i++)
        b.values[i] = value_of(b.types[i % b.n_cols], domain);
    build_side_make(&b);
    ck_assert_uint_eq(b.t->n_rows, n_rows);
    ck_assert_msg(!b.t->unique || really_unique(&b), "unique, but there are duplicates");
    ck_assert_msg(sm_hash_zero() || n_rows > 64 || b.t->unique == really_unique(&b),
                  "rows without duplicates are unique");
    for (uint32_t i = 0; i < 40; i++) {
        sm_value keys[3];
        for (uint32_t k = 0; k < n_keys; k++) keys[k] = value_of(b.types[k], domain + 2);
        check_probe(&b, keys);
    }
}

START_TEST(probes_find_all_rows_in_order)
{
    static const uint64_t sizes[] = {0, 1, 2, 3, 30, 64, 300};
    for (int i = 0; i < 140; i++) {
        check_random(sizes[i % 7], rnd(4), 1 + rnd(i % 2 ? 4 : 1000));
    }
}
END_TEST

START_TEST(one_hash_for_all)
{
    sm_hash_zero_set(true);
    for (int i = 0; i < 40; i++) check_random(1 + rnd(200), 1 + rnd(3), 1 + rnd(30));
    sm_hash_zero_set(false);
}
END_TEST

/* Rows i, i * 2, ... of three chunks. */
static build_side large(uint64_t n_rows, bool marks)
{
    build_side b = {.n_rows = n_rows, .n_cols = 2, .types = {T(INT64), T(TEXT)}};
    b.p.build.n_keys = 1;
    b.p.build.marks_matches = marks;
    b.values = SM_NEW_N(&arena, sm_value, 2 * n_rows);
    for (uint64_t r = 0; r < n_rows; r++) {
        b.values[2 * r] = r % 1000 == 999 ? NIL : V64((int64_t)(r * 2));
        b.values[2 * r + 1] = r % 3 ? vtext("some word") : NIL;
    }
    return b;
}

START_TEST(many_chunks)
{
    build_side b = large(140000, false);
    build_side_make(&b);
    ck_assert(b.t->unique && b.t->has_null_key && b.t->n_null_rows == 140);
    ck_assert(!b.t->matched);
    for (uint64_t r = 0; r < b.n_rows; r += 17) {
        sm_value key = V64((int64_t)r);
        uint64_t at, end, hash = sm_join_hash(&key, b.types, 1);
        sm_join_find(b.t, hash, &at, &end);
        bool there = r % 2 == 0 && r / 2 % 1000 != 999;
        uint32_t row = sm_join_next(b.t, hash, &key, b.null_safe, &at, end);
        ck_assert_uint_eq(row, there ? r / 2 : UINT32_MAX);
        if (there) ck_assert(flat_value(&b.t->cols[1], row).is_null == (row % 3 == 0));
    }
}
END_TEST

START_TEST(rows_that_nothing_matched)
{
    build_side b = large(70000, true);
    build_side_make(&b);
    for (uint64_t r = 0; r < b.n_rows; r++)
        if (r % 7) atomic_store(&b.t->matched[r], 1);
    sm_version *v;
    OK(sm_join_unmatched(b.t, &v, &err));
    ck_assert(sm_version_validate(v));
    ck_assert_uint_eq(v->n_rows, 10000);
    for (uint64_t i = 0; i < v->n_rows; i++) {
        sm_value key, word;
        sm_chunk_col_get(&v->chunks[0]->cols[0], b.types[0], (uint32_t)i, &key);
        sm_chunk_col_get(&v->chunks[0]->cols[1], b.types[1], (uint32_t)i, &word);
        ck_assert(key.is_null == (i * 7 % 1000 == 999));
        if (!key.is_null) ck_assert_int_eq(key.i64, (int64_t)i * 14);
        ck_assert(word.is_null == (i * 7 % 3 == 0));
    }
    sm_version_unref(v);
}
END_TEST

START_TEST(memory_may_run_out_anywhere)
{
    build_side b = large(3000, true);
    sm_version *v = table(b.types, b.n_cols, b.values, b.n_rows);
    b.p.sink = SM_SINK_BUILD;
    b.p.build.null_safe = b.null_safe;
    size_t before = atomic_load(&mem.used_bytes);
    int failures = 0;
    for (int64_t calls = 0;; calls++) {
        sm_join_table *t;
        atomic_store(&mem.fail_after, calls);
        sm_status s = sm_join_table_build(&b.p, v, &mem, &t, &err);
        atomic_store(&mem.fail_after, -1);
        sm_join_table_unref(t);
        ck_assert_uint_eq(atomic_load(&mem.used_bytes), before);
        if (s == SM_OK) break;
        ck_assert_int_eq(s, SM_ERR_OUT_OF_MEMORY);
        failures++;
    }
    ck_assert_int_gt(failures, 8);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("join_table");
    TCase *c = tcase_create("join_table");
    suite_add_tcase(s, c);
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, probes_find_all_rows_in_order);
    tcase_add_test(c, one_hash_for_all);
    tcase_add_test(c, many_chunks);
    tcase_add_test(c, rows_that_nothing_matched);
    tcase_add_test(c, memory_may_run_out_anywhere);
    return run_suite(s);
}
