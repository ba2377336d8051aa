/* The builder: every type through every way in, encodings chosen, chunks cut, partial chunks filled
 * up, and what it does when a row or the memory fails. Every version is validated value by value.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/table.h"

static sm_mem mem;
static sm_error err;

static void setup(void)
{
    sm_mem_init(&mem, NULL, SIZE_MAX);
    sm_error_reset(&err);
}

static void teardown(void)
{
    ck_assert_uint_eq(atomic_load(&mem.used_bytes), 0);
}

enum { N_TYPES = 11 };
static sm_table_col all_cols[N_TYPES];
static const sm_type_id ids[N_TYPES] = {SM_BOOL,    SM_INT16,     SM_INT32,   SM_INT64,
                                        SM_FLOAT32, SM_FLOAT64,   SM_DECIMAL, SM_DECIMAL,
                                        SM_DATE,    SM_TIMESTAMP, SM_TEXT};

static void make_cols(void)
{
    static char names[N_TYPES][16];
    for (int i = 0; i < N_TYPES; i++) {
        snprintf(names[i], sizeof names[i], "c%d", i);
        all_cols[i] = (sm_table_col){.name = names[i], .type = sm_type_of(ids[i])};
    }
    all_cols[6].type = sm_decimal(15, 2);
    all_cols[7].type = sm_decimal(38, 10);
}

/* A row whose values depend on its number alone; every seventh value is NULL. */
static void make_row(uint64_t r, sm_value *v, char *text)
{
    int n = snprintf(text, 64, r % 3 ? "w%u" : "a longer word, number %u", (unsigned)(r % 50));
    for (int i = 0; i < N_TYPES; i++) v[i] = (sm_value){.is_null = (r + (uint64_t)i) % 7 == 0};
    v[0].b = r % 2;
    v[1].i16 = (int16_t)(r % 1000 - 500);
    v[2].i32 = (int32_t)(r * 3);
    v[3].i64 = (int64_t)(r * 1000003);
    v[4].f32 = (float)r / 2;
    v[5].f64 = -(double)r / 3;
    v[6].i64 = (int64_t)(r % 100);
    v[7].i128 = (sm_i128)r * 12345;
    v[8].i32 = 8000 + (int32_t)(r % 2500);
    v[9].i64 = INT64_C(1000000000000) + (int64_t)r;
    v[10].text = sm_text_view(text, (uint32_t)n);
}

static bool same(sm_phys p, const sm_value *a, const sm_value *b)
{
    if (a->is_null || b->is_null) return a->is_null == b->is_null;
    switch (p) {
    case SM_PHYS_F32: return a->f32 == b->f32;
    case SM_PHYS_F64: return a->f64 == b->f64;
    case SM_PHYS_TEXT: return sm_text_eq(a->text, b->text);
    default: return sm_value_int(a, p) == sm_value_int(b, p);
    }
}

static void check_rows(const sm_version *v, uint64_t times_rows)
{
    uint64_t r = 0;
    char text[64];
    ck_assert(sm_version_validate(v));
    for (uint64_t k = 0; k < v->n_chunks; k++) {
        for (uint32_t i = 0; i < v->chunks[k]->n_rows; i++, r++) {
            sm_value want[N_TYPES], got;
            make_row(r, want, text);
            for (int c = 0; c < N_TYPES; c++) {
                sm_chunk_col_get(&v->chunks[k]->cols[c], v->cols[c].type, i, &got);
                ck_assert_msg(same(sm_type_phys(v->cols[c].type), &want[c], &got),
                              "row %llu column %d", (unsigned long long)r, c);
            }
        }
    }
    ck_assert_uint_eq(r, times_rows);
}

static sm_version *append_rows(sm_version *base, uint64_t from, uint64_t to)
{
    sm_builder *b;
    sm_version *v;
    char text[64];
    ck_assert_int_eq(sm_builder_new(&mem, all_cols, N_TYPES, base, &b, &err), SM_OK);
    for (uint64_t r = from; r < to; r++) {
        sm_value row[N_TYPES];
        make_row(r, row, text);
        ck_assert_int_eq(sm_builder_row(b, row, &err), SM_OK);
    }
    ck_assert_uint_eq(sm_builder_rows(b), to - from);
    ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
    if (base) sm_version_unref(base);
    return v;
}

START_TEST(rows_come_back)
{
    static const uint64_t sizes[] = {0, 1, 2, 63, 64, 65, 1000, 65535, 65536, 65537, 140000};
    make_cols();
    sm_version *v = append_rows(NULL, 0, sizes[_i]);
    check_rows(v, sizes[_i]);
    ck_assert_uint_eq(v->n_chunks, (sizes[_i] + 65535) / 65536);
    sm_version_unref(v);
}
END_TEST

START_TEST(partial_chunks_are_filled_up)
{
    static const uint64_t steps[] = {1, 3, 64, 1000, 65530, 65536, 65540, 131072, 131080};
    sm_version *v = NULL;
    uint64_t at = 0;
    make_cols();
    for (size_t i = 0; i < SM_COUNT(steps); i++) {
        sm_version *before = v ? sm_version_ref(v) : NULL;
        uint64_t rows_before = at;
        v = append_rows(v, at, steps[i]);
        at = steps[i];
        check_rows(v, at);
        ck_assert_uint_eq(v->n_chunks, (at + 65535) / 65536);
        if (before) {
            check_rows(before, rows_before); /* what a reader holds does not change */
            sm_version_unref(before);
        }
    }
    sm_version_unref(v);
}
END_TEST

START_TEST(encodings)
{
    make_cols();
    sm_version *v = append_rows(NULL, 0, 140000);
    const sm_chunk_col *c = v->chunks[0]->cols;
    static const uint8_t enc[N_TYPES] = {SM_ENC_PLAIN,  SM_ENC_PLAIN,  SM_ENC_PLAIN,  SM_ENC_PLAIN,
                                         SM_ENC_PLAIN,  SM_ENC_PLAIN,  SM_ENC_NARROW, SM_ENC_NARROW,
                                         SM_ENC_NARROW, SM_ENC_NARROW, SM_ENC_DICT};
    static const uint8_t width[N_TYPES] = {0, 2, 4, 8, 4, 8, 1, 4, 2, 2, 1};
    for (int i = 0; i < N_TYPES; i++) {
        ck_assert_msg(c[i].enc == enc[i] && c[i].width == width[i], "column %d: %d %d", i, c[i].enc,
                      c[i].width);
        ck_assert(c[i].padded);
        ck_assert(v->cols[i].same_enc);
    }
    ck_assert_ptr_nonnull(v->cols[10].dict);
    ck_assert_uint_eq(v->cols[10].dict->n, 100);
    ck_assert_int_eq(v->cols[6].min.i64, 0);
    ck_assert_int_eq(v->cols[6].max.i64, 99);
    sm_version_unref(v);
}
END_TEST

/* One column of text through batches, as the tiers write it. */
static sm_version *text_table(uint64_t rows, uint64_t distinct, sm_version *base)
{
    sm_table_col col = {.name = "t", .type = sm_type_of(SM_TEXT)};
    sm_builder *b;
    sm_version *v;
    static char bytes[SM_BATCH_ROWS][32];
    ck_assert_int_eq(sm_builder_new(&mem, &col, 1, base, &b, &err), SM_OK);
    for (uint64_t r = 0; r < rows;) {
        sm_text texts[SM_BATCH_ROWS];
        sm_vec vec = {.data = texts, .phys = SM_PHYS_TEXT};
        sm_batch batch = {.cols = &vec, .n_cols = 1};
        uint32_t n = rows - r < SM_BATCH_ROWS ? (uint32_t)(rows - r) : SM_BATCH_ROWS;
        for (uint32_t i = 0; i < n; i++, r++) {
            int len =
                snprintf(bytes[i], 32, "text number %llu", (unsigned long long)(r % distinct));
            texts[i] = sm_text_view(bytes[i], (uint32_t)len);
        }
        batch.n_rows = batch.n_sel = n;
        ck_assert_int_eq(sm_builder_batch(b, &batch, &err), SM_OK);
    }
    ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
    if (base) sm_version_unref(base);
    return v;
}

static void check_text(const sm_version *v, uint64_t row, uint64_t number)
{
    char want[32];
    sm_value got;
    int len = snprintf(want, 32, "text number %llu", (unsigned long long)number);
    sm_chunk_col_get(&v->chunks[row / 65536]->cols[0], v->cols[0].type, (uint32_t)(row % 65536),
                     &got);
    ck_assert(sm_text_eq(got.text, sm_text_view(want, (uint32_t)len)));
}

START_TEST(text_of_high_cardinality_is_plain)
{
    sm_version *v = text_table(100000, 100000, NULL);
    ck_assert(sm_version_validate(v));
    ck_assert_int_eq(v->chunks[0]->cols[0].enc, SM_ENC_PLAIN);
    ck_assert_int_eq(v->chunks[1]->cols[0].enc, SM_ENC_PLAIN);
    ck_assert_ptr_null(v->cols[0].dict);
    for (uint64_t r = 0; r < 100000; r += 997) check_text(v, r, r);
    v = text_table(1000, 10, v); /* once plain, always plain; the tail's bytes live on */
    ck_assert(sm_version_validate(v));
    ck_assert_int_eq(v->chunks[1]->cols[0].enc, SM_ENC_PLAIN);
    check_text(v, 99999, 99999);
    check_text(v, 100999, 9);
    sm_version_unref(v);
}
END_TEST

START_TEST(dictionary_grows_and_overflows)
{
    sm_version *v = text_table(65536, 200, NULL);
    ck_assert_int_eq(v->chunks[0]->cols[0].enc, SM_ENC_DICT);
    ck_assert_int_eq(v->chunks[0]->cols[0].width, 1);
    v = text_table(65536, 30000, v);
    ck_assert(sm_version_validate(v));
    ck_assert_int_eq(v->chunks[1]->cols[0].width, 2);
    ck_assert_uint_eq(v->cols[0].dict->n, 30000);
    v = text_table(200000, 200000, v); /* 65,536 entries do not hold these */
    ck_assert(sm_version_validate(v));
    ck_assert_ptr_null(v->cols[0].dict);
    ck_assert_int_eq(v->chunks[v->n_chunks - 1]->cols[0].enc, SM_ENC_PLAIN);
    check_text(v, 100, 100);
    check_text(v, 65536 + 65535, 65535 % 30000);
    for (uint64_t r = 0; r < 200000; r += 991) check_text(v, 131072 + r, r);
    sm_version_unref(v);
}
END_TEST

START_TEST(many_small_inserts)
{
    sm_version *v = NULL;
    for (int i = 0; i < 300; i++) v = text_table(3, i % 2 ? 2 : 1000000 + (uint64_t)i, v);
    ck_assert(sm_version_validate(v));
    ck_assert_uint_eq(v->n_chunks, 1);
    ck_assert_uint_eq(v->n_rows, 900);
    sm_version_unref(v);
    v = text_table(5000, 5000, NULL); /* plain from here on */
    for (int i = 0; i < 100; i++) v = text_table(3, 1000000, v);
    ck_assert(sm_version_validate(v));
    check_text(v, 4999, 4999);
    check_text(v, 5299, 2);
    sm_version_unref(v);
}
END_TEST

START_TEST(all_null_and_constant_columns)
{
    sm_builder *b;
    sm_version *v;
    sm_value row[N_TYPES];
    make_cols();
    for (int i = 0; i < N_TYPES; i++) row[i] = (sm_value){.is_null = true};
    ck_assert_int_eq(sm_builder_new(&mem, all_cols, N_TYPES, NULL, &b, &err), SM_OK);
    for (int i = 0; i < 70000; i++) ck_assert_int_eq(sm_builder_row(b, row, &err), SM_OK);
    ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
    ck_assert(sm_version_validate(v));
    for (int i = 0; i < N_TYPES; i++) {
        ck_assert_uint_eq(v->cols[i].null_count, 70000);
        ck_assert(!v->cols[i].has_minmax);
    }
    ck_assert_uint_ge(v->cols[10].dict->n, 1);
    sm_version_unref(v);
}
END_TEST

static sm_version *int64_table(const int64_t *values, size_t n, sm_version *base)
{
    sm_table_col col = {.name = "x", .type = sm_type_of(SM_INT64)};
    sm_builder *b;
    sm_version *v;
    ck_assert_int_eq(sm_builder_new(&mem, &col, 1, base, &b, &err), SM_OK);
    for (size_t i = 0; i < n; i++) {
        sm_value x = {.i64 = values[i]};
        ck_assert_int_eq(sm_builder_row(b, &x, &err), SM_OK);
    }
    ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
    if (base) sm_version_unref(base);
    ck_assert(sm_version_validate(v));
    return v;
}

START_TEST(widths)
{
    static const struct {
        int64_t span;
        uint8_t enc, width;
    } cases[] = {{0, SM_ENC_NARROW, 1},
                 {255, SM_ENC_NARROW, 1},
                 {256, SM_ENC_NARROW, 2},
                 {65535, SM_ENC_NARROW, 2},
                 {65536, SM_ENC_NARROW, 4},
                 {UINT32_MAX, SM_ENC_NARROW, 4},
                 {(int64_t)UINT32_MAX + 1, SM_ENC_PLAIN, 8},
                 {INT64_MAX, SM_ENC_PLAIN, 8}};
    for (size_t i = 0; i < SM_COUNT(cases); i++) {
        int64_t v[2] = {-7, -7 + cases[i].span}, edge[2] = {INT64_MAX - cases[i].span, INT64_MAX};
        for (int k = 0; k < 2; k++) {
            sm_version *t = int64_table(k ? edge : v, 2, NULL);
            ck_assert_int_eq(t->chunks[0]->cols[0].enc, cases[i].enc);
            ck_assert_int_eq(t->chunks[0]->cols[0].width, cases[i].width);
            sm_version_unref(t);
        }
    }
    int64_t ends[2] = {INT64_MIN, INT64_MAX};
    sm_version_unref(int64_table(ends, 2, NULL));
}
END_TEST

START_TEST(width_never_shrinks)
{
    int64_t *v = calloc(65536, sizeof *v);
    v[0] = 100000;
    sm_version *t = int64_table(v, 65536, NULL);
    v[0] = 0;
    t = int64_table(v, 65536, t);
    ck_assert_int_eq(t->chunks[1]->cols[0].width, 4);
    ck_assert(t->cols[0].same_enc);
    v[0] = INT64_MAX;
    t = int64_table(v, 65536, t);
    v[0] = 0;
    t = int64_table(v, 65536, t);
    ck_assert_int_eq(t->chunks[3]->cols[0].enc, SM_ENC_PLAIN);
    ck_assert(!t->cols[0].same_enc);
    sm_version_unref(t);
    free(v);
}
END_TEST

/* A range that grows while loading: the first chunks are stored again if twice the bytes do. */
START_TEST(widths_are_evened_out)
{
    static const struct {
        int64_t first, last;
        uint8_t want_first, want_last;
    } cases[] = {{200, 60000, 2, 2}, {60000, 70000, 4, 4}, {200, 70000, 1, 4}, {5, 6, 1, 1}};
    for (size_t k = 0; k < SM_COUNT(cases); k++) {
        int64_t *v = calloc(100000, sizeof *v);
        sm_value got;
        v[77] = cases[k].first;
        v[99999] = cases[k].last;
        sm_version *t = int64_table(v, 100000, NULL);
        ck_assert_int_eq(t->chunks[0]->cols[0].width, cases[k].want_first);
        ck_assert_int_eq(t->chunks[1]->cols[0].width, cases[k].want_last);
        ck_assert_int_eq(t->cols[0].same_enc, cases[k].want_first == cases[k].want_last);
        sm_chunk_col_get(&t->chunks[0]->cols[0], t->cols[0].type, 77, &got);
        ck_assert_int_eq(got.i64, cases[k].first);
        sm_version_unref(t);
        free(v);
    }
}
END_TEST

START_TEST(code_widths_are_evened_out)
{
    sm_table_col col = {.name = "t", .type = sm_type_of(SM_TEXT)};
    sm_builder *b;
    sm_version *v;
    char text[32];
    ck_assert_int_eq(sm_builder_new(&mem, &col, 1, NULL, &b, &err), SM_OK);
    for (uint32_t r = 0; r < 70000; r++) {
        int len = snprintf(text, 32, "text number %u", r < 65536 ? r % 200 : r % 2000);
        sm_value x = {.text = sm_text_view(text, (uint32_t)len)};
        ck_assert_int_eq(sm_builder_row(b, &x, &err), SM_OK);
    }
    ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
    ck_assert(sm_version_validate(v));
    ck_assert_int_eq(v->chunks[0]->cols[0].width, 2);
    ck_assert(v->cols[0].same_enc);
    check_text(v, 199, 199);
    check_text(v, 69999, 69999 % 2000);
    sm_version_unref(v);
}
END_TEST

START_TEST(wide_decimals)
{
    sm_table_col col = {.name = "x", .type = sm_decimal(38, 0)};
    const sm_i128 big = (sm_i128)INT64_MAX + 1;
    const struct {
        sm_i128 a, b;
        uint8_t enc, width;
    } cases[] = {{0, 255, SM_ENC_NARROW, 1},
                 {INT64_MIN, INT64_MAX, SM_ENC_NARROW, 8},
                 {big, big + 1, SM_ENC_PLAIN, 16},
                 {-big * 1000, 0, SM_ENC_PLAIN, 16}};
    for (size_t i = 0; i < SM_COUNT(cases); i++) {
        sm_builder *b;
        sm_version *v;
        sm_value row[3] = {{.i128 = cases[i].a}, {.is_null = true}, {.i128 = cases[i].b}}, got;
        ck_assert_int_eq(sm_builder_new(&mem, &col, 1, NULL, &b, &err), SM_OK);
        for (int k = 0; k < 3; k++) ck_assert_int_eq(sm_builder_row(b, &row[k], &err), SM_OK);
        ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
        ck_assert(sm_version_validate(v));
        ck_assert_int_eq(v->chunks[0]->cols[0].enc, cases[i].enc);
        ck_assert_int_eq(v->chunks[0]->cols[0].width, cases[i].width);
        sm_chunk_col_get(&v->chunks[0]->cols[0], col.type, 2, &got);
        ck_assert(got.i128 == cases[i].b);
        sm_version_unref(v);
    }
}
END_TEST

START_TEST(nan_has_no_minmax)
{
    sm_table_col cols[2] = {{.name = "d", .type = sm_type_of(SM_FLOAT64)},
                            {.name = "f", .type = sm_type_of(SM_FLOAT32)}};
    for (int with_nan = 0; with_nan < 2; with_nan++) {
        sm_builder *b;
        sm_version *v;
        ck_assert_int_eq(sm_builder_new(&mem, cols, 2, NULL, &b, &err), SM_OK);
        for (int i = 0; i < 100; i++) {
            sm_value row[2] = {{.f64 = i == 37 && with_nan ? (double)NAN : i - 50},
                               {.f32 = i == 99 && with_nan ? NAN : (float)i}};
            row[0].is_null = i == 3;
            ck_assert_int_eq(sm_builder_row(b, row, &err), SM_OK);
        }
        ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
        ck_assert(sm_version_validate(v));
        ck_assert(v->cols[0].has_minmax == !with_nan && v->cols[1].has_minmax == !with_nan);
        if (!with_nan)
            ck_assert(v->cols[0].min.f64 == -50 && v->cols[0].max.f64 == 49 &&
                      v->cols[1].max.f32 == 99);
        sm_version_unref(v);
    }
}
END_TEST

START_TEST(constraints)
{
    sm_table_col cols[2] = {{.name = "k", .type = sm_type_of(SM_INT32), .not_null = true},
                            {.name = "s", .type = sm_type_of(SM_TEXT), .max_chars = 3}};
    sm_builder *b;
    sm_version *v;
    sm_value row[2] = {{.i32 = 1}, {.text = sm_text_view("\xC3\xA4\xC3\xB6\xC3\xBC", 6)}}, got;
    ck_assert_int_eq(sm_builder_new(&mem, cols, 2, NULL, &b, &err), SM_OK);
    sm_builder_set_relation(b, "rel");
    ck_assert_int_eq(sm_builder_row(b, row, &err), SM_OK); /* three characters, six bytes */
    row[1].text = sm_text_view("abc  ", 5);
    ck_assert_int_eq(sm_builder_row(b, row, &err), SM_OK); /* blanks are cut */
    row[1].text = sm_text_view("abcd", 4);
    ck_assert_int_eq(sm_builder_row(b, row, &err), SM_ERR_VARCHAR_LENGTH);
    ck_assert_str_eq(err.sqlstate, "22001");
    sm_error_reset(&err);
    row[0].is_null = true;
    row[1].is_null = true;
    ck_assert_int_eq(sm_builder_row(b, row, &err), SM_ERR_NOT_NULL);
    ck_assert_str_eq(err.message,
                     "null value in column \"k\" of relation \"rel\" violates not-null constraint");
    row[0].is_null = false;
    ck_assert_int_eq(sm_builder_row(b, row, &err), SM_OK); /* a failed row leaves no trace */
    ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
    ck_assert(sm_version_validate(v));
    ck_assert_uint_eq(v->n_rows, 3);
    ck_assert_uint_eq(v->cols[1].null_count, 1);
    sm_chunk_col_get(&v->chunks[0]->cols[1], cols[1].type, 1, &got);
    ck_assert(sm_text_eq(got.text, sm_text_view("abc", 3)));
    sm_version_unref(v);
}
END_TEST

START_TEST(batches_with_selection)
{
    sm_builder *b;
    sm_version *v, *w;
    sm_value got, want;
    make_cols();
    v = append_rows(NULL, 0, 70000);
    /* copy every third row through decoded batches */
    ck_assert_int_eq(sm_builder_new(&mem, all_cols, N_TYPES, NULL, &b, &err), SM_OK);
    sm_arena a;
    sm_arena_init(&a, &mem, "test");
    for (uint64_t k = 0; k < v->n_chunks; k++)
        for (uint32_t from = 0; from < v->chunks[k]->n_rows; from += 1000) {
            uint32_t n = v->chunks[k]->n_rows - from < 1000 ? v->chunks[k]->n_rows - from : 1000;
            sm_vec vecs[N_TYPES];
            uint16_t sel[1000];
            sm_batch batch = {.cols = vecs, .n_cols = N_TYPES, .n_rows = n, .sel = sel};
            sm_arena_rewind(&a);
            for (uint32_t i = 0; i < n; i++)
                if ((k * 65536 + from + i) % 3 == 0) sel[batch.n_sel++] = (uint16_t)i;
            for (int i = 0; i < N_TYPES; i++) {
                sm_phys p = sm_type_phys(all_cols[i].type);
                sm_decode_room room = {.data = sm_arena_vector(&a, n * sm_phys_bytes(p)),
                                       .codes = sm_arena_vector(&a, n * 2),
                                       .valid = sm_arena_vector(&a, (sm_bit_words(n) + 1) * 8)};
                sm_chunk_col_decode(&v->chunks[k]->cols[i], p, from, n, &room, &vecs[i]);
            }
            ck_assert_int_eq(sm_builder_batch(b, &batch, &err), SM_OK);
        }
    sm_arena_reset(&a);
    ck_assert_int_eq(sm_builder_finish(b, &w, &err), SM_OK);
    ck_assert(sm_version_validate(w));
    ck_assert_uint_eq(w->n_rows, 23334);
    for (uint32_t r = 0; r < w->n_rows; r += 7)
        for (int i = 0; i < N_TYPES; i++) {
            sm_chunk_col_get(&v->chunks[r * 3 / 65536]->cols[i], all_cols[i].type, r * 3 % 65536,
                             &want);
            sm_chunk_col_get(&w->chunks[0]->cols[i], all_cols[i].type, r, &got);
            ck_assert(same(sm_type_phys(all_cols[i].type), &want, &got));
        }
    sm_version_unref(v);
    sm_version_unref(w);
}
END_TEST

START_TEST(chunks_are_shared)
{
    sm_builder *b;
    sm_version *v, *w;
    make_cols();
    v = append_rows(NULL, 0, 140000);
    ck_assert_int_eq(sm_builder_new(&mem, all_cols, N_TYPES, NULL, &b, &err), SM_OK);
    for (uint64_t k = 0; k < v->n_chunks; k++)
        ck_assert_int_eq(sm_builder_chunk(b, v->chunks[k], &err), SM_OK);
    ck_assert_int_eq(sm_builder_finish(b, &w, &err), SM_OK);
    ck_assert_ptr_eq(w->chunks[0], v->chunks[0]);
    ck_assert_ptr_eq(w->chunks[1], v->chunks[1]);
    check_rows(w, 140000);
    sm_version_unref(w);
    /* behind a partial chunk nothing can be shared, and nothing may be lost */
    w = append_rows(NULL, 0, 5);
    ck_assert_int_eq(sm_builder_new(&mem, all_cols, N_TYPES, w, &b, &err), SM_OK);
    sm_version_unref(w);
    for (uint64_t k = 0; k < v->n_chunks; k++)
        ck_assert_int_eq(sm_builder_chunk(b, v->chunks[k], &err), SM_OK);
    ck_assert_int_eq(sm_builder_finish(b, &w, &err), SM_OK);
    ck_assert(sm_version_validate(w));
    ck_assert_uint_eq(w->n_rows, 140005);
    ck_assert_uint_eq(w->n_chunks, 3);
    sm_version_unref(v);
    sm_version_unref(w);
}
END_TEST

START_TEST(tiny_tables_are_cheap)
{
    make_cols();
    sm_version *v = append_rows(NULL, 0, 1);
    ck_assert_uint_lt(atomic_load(&mem.peak_bytes), 64 * 1024);
    sm_version_unref(v);
}
END_TEST

/* Memory fails at the n-th call, for every n: an error, no leak, base as it was. */
START_TEST(memory_fails_anywhere)
{
    int64_t n = 0;
    make_cols();
    for (bool done = false; !done; n++) {
        sm_version *base = append_rows(NULL, 0, 10), *v = NULL;
        sm_builder *b = NULL;
        sm_status status;
        char text[64];
        atomic_store(&mem.fail_after, n);
        status = sm_builder_new(&mem, all_cols, N_TYPES, base, &b, &err);
        for (uint64_t r = 10; status == SM_OK && r < 200; r++) {
            sm_value row[N_TYPES];
            make_row(r, row, text);
            status = sm_builder_row(b, row, &err);
        }
        if (status == SM_OK)
            status = sm_builder_finish(b, &v, &err);
        else
            sm_builder_free(b);
        atomic_store(&mem.fail_after, -1);
        done = status == SM_OK;
        if (!done) ck_assert_int_eq(status, SM_ERR_OUT_OF_MEMORY);
        sm_error_reset(&err);
        check_rows(base, 10);
        if (v) check_rows(v, 200);
        sm_version_unref(base);
        sm_version_unref(v);
        ck_assert_uint_eq(atomic_load(&mem.used_bytes), 0);
    }
    ck_assert_int_gt(n, 50);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("builder");
    TCase *t = tcase_create("builder");
    SRunner *r;
    int failed;
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, rows_come_back, 0, 11);
    tcase_add_test(t, partial_chunks_are_filled_up);
    tcase_add_test(t, encodings);
    tcase_add_test(t, text_of_high_cardinality_is_plain);
    tcase_add_test(t, dictionary_grows_and_overflows);
    tcase_add_test(t, many_small_inserts);
    tcase_add_test(t, all_null_and_constant_columns);
    tcase_add_test(t, widths);
    tcase_add_test(t, width_never_shrinks);
    tcase_add_test(t, widths_are_evened_out);
    tcase_add_test(t, code_widths_are_evened_out);
    tcase_add_test(t, wide_decimals);
    tcase_add_test(t, nan_has_no_minmax);
    tcase_add_test(t, constraints);
    tcase_add_test(t, batches_with_selection);
    tcase_add_test(t, chunks_are_shared);
    tcase_add_test(t, tiny_tables_are_cheap);
    tcase_add_test(t, memory_fails_anywhere);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
