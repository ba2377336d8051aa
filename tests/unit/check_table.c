/* Chunks, versions and the catalog: decoding of every encoding at any offset, foreign memory
 * without copies, repeated and extended versions, and names under concurrent readers and writers.
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

/* ---- decoding ---- */

static sm_value value_of(sm_phys p, const sm_vec *v, uint32_t i)
{
    sm_value x = {.is_null = v->valid && !sm_bit_get(v->valid, i)};
    if (!x.is_null) memcpy(&x, (const char *)v->data + i * sm_phys_bytes(p), sm_phys_bytes(p));
    return x;
}

static bool same(sm_phys p, const sm_value *a, const sm_value *b)
{
    if (a->is_null || b->is_null) return a->is_null == b->is_null;
    return p == SM_PHYS_TEXT ? sm_text_eq(a->text, b->text) : memcmp(a, b, sm_phys_bytes(p)) == 0;
}

/* Decodes runs at odd places and compares with the values one by one. */
static void check_decode(const sm_chunk *chunk, uint32_t col, sm_type type)
{
    static const uint32_t lens[] = {1, 2, 31, 64, 1000, 1024};
    sm_phys p = sm_type_phys(type);
    const sm_chunk_col *c = &chunk->cols[col];
    sm_arena a;
    sm_arena_init(&a, &mem, "test");
    for (uint32_t from = 0, k = 0; from < chunk->n_rows; from += 777, k++) {
        uint32_t n = lens[k % SM_COUNT(lens)];
        sm_decode_room room;
        sm_vec v;
        if (n > chunk->n_rows - from) n = chunk->n_rows - from;
        sm_arena_rewind(&a);
        room = (sm_decode_room){.data = sm_arena_vector(&a, n * sm_phys_bytes(p)),
                                .codes = sm_arena_vector(&a, n * 2),
                                .valid = sm_arena_vector(&a, (sm_bit_words(n) + 1) * 8)};
        sm_chunk_col_decode(c, p, from, n, &room, &v);
        ck_assert_int_eq(v.phys, p);
        ck_assert_int_eq(v.codes != NULL, c->enc == SM_ENC_DICT);
        for (uint32_t i = 0; i < n; i++) {
            sm_value want, got = value_of(p, &v, i);
            sm_chunk_col_get(c, type, from + i, &want);
            ck_assert(same(p, &want, &got));
            if (v.codes && !want.is_null)
                ck_assert(sm_text_eq(c->dict->entries[v.codes[i]], want.text));
        }
        room.data = NULL; /* codes alone, views later; of narrow columns validity alone */
        sm_chunk_col_decode(c, p, from, n, &room, &v);
        ck_assert(c->enc == SM_ENC_PLAIN && p != SM_PHYS_BOOL ? v.data != NULL : v.data == NULL);
        if (c->valid)
            for (uint32_t i = 0; i < n; i++)
                ck_assert_int_eq(sm_bit_get(v.valid, i), sm_bit_get(c->valid, from + i));
        if (c->enc != SM_ENC_DICT) continue;
        sm_text *views = sm_arena_vector(&a, n * sizeof *views);
        sm_dict_gather(c->dict, v.codes, n, views);
        for (uint32_t i = 0; i < n; i++) {
            sm_value want;
            sm_chunk_col_get(c, type, from + i, &want);
            ck_assert(want.is_null || sm_text_eq(views[i], want.text));
        }
    }
    sm_arena_reset(&a);
}

typedef struct decode_case {
    sm_type_id id;
    uint8_t precision;
    int64_t span; /* of integers; number of words of text */
    uint8_t enc, width;
} decode_case;
static const decode_case decode_cases[] = {{SM_BOOL, 0, 2, SM_ENC_PLAIN, 0},
                                           {SM_INT16, 0, 200, SM_ENC_NARROW, 1},
                                           {SM_INT16, 0, 30000, SM_ENC_PLAIN, 2},
                                           {SM_INT32, 0, 200, SM_ENC_NARROW, 1},
                                           {SM_INT32, 0, 60000, SM_ENC_NARROW, 2},
                                           {SM_INT32, 0, 1000000000, SM_ENC_PLAIN, 4},
                                           {SM_INT64, 0, 200, SM_ENC_NARROW, 1},
                                           {SM_INT64, 0, 60000, SM_ENC_NARROW, 2},
                                           {SM_INT64, 0, 4000000000, SM_ENC_NARROW, 4},
                                           {SM_INT64, 0, INT64_MAX, SM_ENC_PLAIN, 8},
                                           {SM_DECIMAL, 15, 60000, SM_ENC_NARROW, 2},
                                           {SM_DECIMAL, 38, 200, SM_ENC_NARROW, 1},
                                           {SM_DECIMAL, 38, 60000, SM_ENC_NARROW, 2},
                                           {SM_DECIMAL, 38, 4000000000, SM_ENC_NARROW, 4},
                                           {SM_DECIMAL, 38, INT64_MAX, SM_ENC_NARROW, 8},
                                           {SM_FLOAT32, 0, 100, SM_ENC_PLAIN, 4},
                                           {SM_FLOAT64, 0, 100, SM_ENC_PLAIN, 8},
                                           {SM_DATE, 0, 60000, SM_ENC_NARROW, 2},
                                           {SM_TIMESTAMP, 0, INT64_MAX, SM_ENC_PLAIN, 8},
                                           {SM_INTERVAL, 0, 100, SM_ENC_PLAIN, 16},
                                           {SM_TEXT, 0, 100, SM_ENC_DICT, 1},
                                           {SM_TEXT, 0, 2000, SM_ENC_DICT, 2},
                                           {SM_TEXT, 0, INT64_MAX, SM_ENC_PLAIN, 16}};

static void make_value(const decode_case *c, sm_phys p, uint32_t r, sm_value *v, char *text)
{
    int64_t x =
        (int64_t)((uint64_t)c->span / 9999 * (r % 10000)) + (c->span < 9999 ? r % c->span : 0);
    *v = (sm_value){.is_null = false};
    if (r % 10000 == 9999) x = c->span;
    switch (p) {
    case SM_PHYS_BOOL: v->b = r % 3 == 0; break;
    case SM_PHYS_I16: v->i16 = (int16_t)(x - 5); break;
    case SM_PHYS_I32: v->i32 = (int32_t)(x - 5); break;
    case SM_PHYS_I64: v->i64 = x - 5; break;
    case SM_PHYS_I128: v->i128 = x - 5; break;
    case SM_PHYS_F32: v->f32 = (float)r / 3; break;
    case SM_PHYS_F64: v->f64 = (double)r / 3; break;
    case SM_PHYS_IV: v->iv = (sm_interval){(int32_t)r, 1, 2}; break;
    default:
        v->text =
            sm_text_view(text, (uint32_t)sprintf(text, r % 2 ? "w%u" : "some longer word %u",
                                                 c->span > 100000 ? r : (unsigned)(r % c->span)));
    }
}

START_TEST(decode_every_encoding)
{
    const decode_case *c = &decode_cases[_i];
    sm_table_col col = {.name = "c", .type = sm_type_of(c->id)};
    sm_phys p;
    if (c->id == SM_DECIMAL) col.type = sm_decimal(c->precision, 2);
    p = sm_type_phys(col.type);
    for (int with_nulls = 0; with_nulls < 2; with_nulls++) {
        sm_builder *b;
        sm_version *v;
        char text[64];
        ck_assert_int_eq(sm_builder_new(&mem, &col, 1, NULL, &b, &err), SM_OK);
        for (uint32_t r = 0; r < 20000; r++) {
            sm_value x;
            make_value(c, p, r, &x, text);
            x.is_null = with_nulls && r % 5 == 1;
            ck_assert_int_eq(sm_builder_row(b, &x, &err), SM_OK);
        }
        ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
        ck_assert(sm_version_validate(v));
        ck_assert_int_eq(v->chunks[0]->cols[0].enc, c->enc);
        ck_assert_int_eq(v->chunks[0]->cols[0].width, c->width);
        for (uint32_t r = 0; r < 20000; r++) { /* what went in */
            sm_value want, got;
            make_value(c, p, r, &want, text);
            want.is_null = with_nulls && r % 5 == 1;
            sm_chunk_col_get(&v->chunks[0]->cols[0], col.type, r, &got);
            ck_assert(same(p, &want, &got));
        }
        check_decode(v->chunks[0], 0, col.type);
        sm_version_unref(v);
    }
}
END_TEST

/* A decimal of more than 18 digits may be decoded to int64 when it is stored narrow. */
START_TEST(wide_decimal_as_int64)
{
    sm_table_col col = {.name = "c", .type = sm_decimal(38, 0)};
    sm_builder *b;
    sm_version *v;
    int64_t room_data[200];
    uint64_t room_valid[5];
    sm_decode_room room = {.data = room_data, .valid = room_valid};
    sm_vec vec;
    ck_assert_int_eq(sm_builder_new(&mem, &col, 1, NULL, &b, &err), SM_OK);
    for (int i = 0; i < 100; i++) {
        sm_value x = {.i128 = i * 1000 - 50};
        ck_assert_int_eq(sm_builder_row(b, &x, &err), SM_OK);
    }
    ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
    sm_chunk_col_decode(&v->chunks[0]->cols[0], SM_PHYS_I64, 10, 90, &room, &vec);
    for (int i = 0; i < 90; i++)
        ck_assert_int_eq(((const int64_t *)vec.data)[i], (i + 10) * 1000 - 50);
    sm_version_unref(v);
}
END_TEST

/* ---- foreign memory ---- */

static int released;
static void count_release(void *arg)
{
    released++;
    free(arg);
}

enum { FOREIGN_COLS = 8 };
static sm_table_col foreign_cols[FOREIGN_COLS] = {{.name = "b"}, {.name = "s"}, {.name = "i"},
                                                  {.name = "l"}, {.name = "f"}, {.name = "d"},
                                                  {.name = "w"}, {.name = "t"}};

/* Exactly sized allocations, so that the sanitizer sees a read behind the end; odd bit offsets. */
static void make_foreign(sm_foreign_col *data, uint64_t n, uint64_t bit_offset, bool nulls)
{
    static const sm_type_id ids[FOREIGN_COLS] = {SM_BOOL,    SM_INT16,   SM_INT32,   SM_INT64,
                                                 SM_FLOAT32, SM_FLOAT64, SM_DECIMAL, SM_TEXT};
    static const char bytes[] = "bytes that outlive the table: 0123456789";
    for (int c = 0; c < FOREIGN_COLS; c++) {
        sm_phys p;
        char *values;
        foreign_cols[c].type = ids[c] == SM_DECIMAL ? sm_decimal(38, 2) : sm_type_of(ids[c]);
        p = sm_type_phys(foreign_cols[c].type);
        values = malloc(n * sm_phys_bytes(p) + 1);
        for (uint64_t r = 0; r < n; r++) {
            sm_value v = {.is_null = false};
            switch (p) {
            case SM_PHYS_BOOL: v.b = r % 3 == 1 ? 7 : 0; break;
            case SM_PHYS_I16: v.i16 = (int16_t)r; break;
            case SM_PHYS_I32: v.i32 = (int32_t)r * -3; break;
            case SM_PHYS_I64: v.i64 = (int64_t)(r * r); break;
            case SM_PHYS_F32: v.f32 = -(float)r; break;
            case SM_PHYS_F64: v.f64 = (double)r / 7; break;
            case SM_PHYS_I128: v.i128 = (sm_i128)r << 70; break;
            default: v.text = sm_text_view(bytes, (uint32_t)(r % 40)); break;
            }
            memcpy(values + r * sm_phys_bytes(p), &v, sm_phys_bytes(p));
            if (p == SM_PHYS_TEXT && nulls && r % 7 == 3) /* garbage under a NULL */
                memset(values + r * sizeof(sm_text), 0xEE, sizeof(sm_text));
        }
        data[c] = (sm_foreign_col){.data = values, .release = count_release, .release_arg = values};
        if (!nulls) continue;
        uint8_t *bits = calloc((bit_offset + n + 7) / 8, 1);
        for (uint64_t r = 0; r < n; r++)
            if (r % 7 != 3) bits[(bit_offset + r) / 8] |= (uint8_t)(1 << ((bit_offset + r) % 8));
        data[c].valid = bits;
        data[c].valid_offset = bit_offset;
    }
}

static void free_bitmaps(const sm_foreign_col *data)
{
    for (int c = 0; c < FOREIGN_COLS; c++) free((void *)(uintptr_t)data[c].valid);
}

static void check_foreign(const sm_version *v, uint64_t skip, uint64_t n, bool nulls)
{
    ck_assert(sm_version_validate(v));
    ck_assert_uint_eq(v->n_rows, skip + n);
    for (uint64_t r = 0; r<n; r += n> 1000 ? 97 : 1) {
        uint64_t k = (skip + r) / 65536;
        uint32_t at = (uint32_t)((skip + r) % 65536);
        for (int c = 0; c < FOREIGN_COLS; c++) {
            sm_value x;
            sm_chunk_col_get(&v->chunks[k]->cols[c], v->cols[c].type, at, &x);
            ck_assert_int_eq(x.is_null, nulls && r % 7 == 3);
            if (x.is_null) continue;
            if (c == 0) ck_assert_uint_eq(x.b, r % 3 == 1);
            if (c == 1) ck_assert_int_eq(x.i16, (int16_t)r);
            if (c == 3) ck_assert_int_eq(x.i64, (int64_t)(r * r));
            if (c == 6) ck_assert(x.i128 == (sm_i128)r << 70);
            if (c == 7) ck_assert_uint_eq(x.text.len, r % 40);
        }
    }
    for (uint64_t k = 0; k < v->n_chunks; k++)
        for (uint32_t c = 0; c < FOREIGN_COLS; c++) check_decode(v->chunks[k], c, v->cols[c].type);
}

START_TEST(foreign_columns)
{
    static const uint64_t sizes[] = {1, 7, 64, 65536, 65537, 150000};
    uint64_t n = sizes[_i];
    for (int nulls = 0; nulls < 2; nulls++)
        for (uint64_t offset = 0; offset < 12; offset += 3) {
            sm_foreign_col data[FOREIGN_COLS];
            sm_version *v, *twice;
            released = 0;
            make_foreign(data, n, offset, nulls);
            ck_assert_int_eq(
                sm_version_from_foreign(&mem, foreign_cols, FOREIGN_COLS, data, n, NULL, &v, &err),
                SM_OK);
            ck_assert_ptr_eq(v->chunks[0]->cols[3].data, data[3].data); /* not copied */
            ck_assert(!v->chunks[0]->cols[3].padded);
            free_bitmaps(data);
            check_foreign(v, 0, n, nulls);
            ck_assert_int_ge(released, 1); /* the bools were packed */
            ck_assert_int_lt(released, FOREIGN_COLS);
            ck_assert_int_eq(sm_version_repeat(v, 2, &twice, &err), SM_OK);
            sm_version_unref(v);
            ck_assert_int_lt(released, FOREIGN_COLS);
            sm_version_unref(twice);
            ck_assert_int_eq(released, FOREIGN_COLS);
            if (n > 1000 && offset) break;
        }
}
END_TEST

START_TEST(foreign_after_a_partial_chunk)
{
    sm_foreign_col data[FOREIGN_COLS];
    sm_version *a, *b, *c;
    make_foreign(data, 100, 0, false);
    released = 0;
    ck_assert_int_eq(
        sm_version_from_foreign(&mem, foreign_cols, FOREIGN_COLS, data, 100, NULL, &a, &err),
        SM_OK);
    make_foreign(data, 70000, 5, true);
    ck_assert_int_eq(
        sm_version_from_foreign(&mem, foreign_cols, FOREIGN_COLS, data, 70000, a, &b, &err), SM_OK);
    free_bitmaps(data);
    ck_assert_int_eq(released, 1 + FOREIGN_COLS); /* copied, so done with */
    check_foreign(b, 100, 70000, true);
    make_foreign(data, 0, 0, false);
    ck_assert_int_eq(
        sm_version_from_foreign(&mem, foreign_cols, FOREIGN_COLS, data, 0, b, &c, &err), SM_OK);
    ck_assert_uint_eq(c->n_rows, 70100);
    sm_version_unref(a);
    sm_version_unref(b);
    sm_version_unref(c);
    ck_assert_int_eq(released, 3 * FOREIGN_COLS);
}
END_TEST

START_TEST(foreign_constraints_and_nan)
{
    double d[3] = {1, NAN, 2};
    uint8_t bits = 0x5;
    sm_table_col col = {.name = "d", .type = sm_type_of(SM_FLOAT64)};
    sm_foreign_col data = {.data = d};
    sm_version *v;
    ck_assert_int_eq(sm_version_from_foreign(&mem, &col, 1, &data, 3, NULL, &v, &err), SM_OK);
    ck_assert(sm_version_validate(v));
    ck_assert(!v->cols[0].has_minmax);
    sm_version_unref(v);
    data.valid = &bits; /* the NaN is NULL */
    ck_assert_int_eq(sm_version_from_foreign(&mem, &col, 1, &data, 3, NULL, &v, &err), SM_OK);
    ck_assert(v->cols[0].has_minmax && v->cols[0].min.f64 == 1 && v->cols[0].max.f64 == 2);
    sm_version_unref(v);
    col.not_null = true;
    data.release = count_release;
    released = 0;
    ck_assert_int_eq(sm_version_from_foreign(&mem, &col, 1, &data, 3, NULL, &v, &err),
                     SM_ERR_NOT_NULL);
    ck_assert_int_eq(released, 0); /* still the caller's */
}
END_TEST

/* ---- versions ---- */

static sm_version *small_table(int64_t from, int64_t n)
{
    sm_table_col col = {.name = "x", .type = sm_type_of(SM_INT64)};
    sm_builder *b;
    sm_version *v;
    ck_assert_int_eq(sm_builder_new(&mem, &col, 1, NULL, &b, &err), SM_OK);
    for (int64_t i = 0; i < n; i++) {
        sm_value x = {.i64 = from + i};
        ck_assert_int_eq(sm_builder_row(b, &x, &err), SM_OK);
    }
    ck_assert_int_eq(sm_builder_finish(b, &v, &err), SM_OK);
    return v;
}

START_TEST(repeat_and_extend)
{
    sm_version *v = small_table(5, 100), *w = small_table(-7, 10), *r, *e, *none;
    sm_chunk *chunk;
    ck_assert_int_eq(sm_version_repeat(v, 1000, &r, &err), SM_OK);
    ck_assert(sm_version_validate(r));
    ck_assert_int_eq(sm_version_repeat(v, ((uint64_t)1 << 61) + 1, &none, &err),
                     SM_ERR_BAD_ARGUMENT); /* the list's bytes would wrap */
    sm_error_reset(&err);
    ck_assert_uint_eq(r->n_rows, 100000);
    ck_assert_uint_eq(r->first_row[999], 99900);
    ck_assert_int_eq(sm_version_repeat(v, 0, &none, &err), SM_OK);
    ck_assert_uint_eq(none->n_rows, 0);
    chunk = sm_chunk_ref(w->chunks[0]);
    ck_assert_int_eq(sm_version_extend(v, &chunk, 1, &e, &err), SM_OK);
    ck_assert(sm_version_validate(e));
    ck_assert_uint_eq(e->n_rows, 110);
    ck_assert_int_eq(e->cols[0].min.i64, -7);
    ck_assert_int_eq(e->cols[0].max.i64, 104);
    sm_version_unref(v);
    sm_version_unref(w);
    ck_assert(sm_version_validate(e));
    sm_version_unref(e);
    sm_version_unref(r);
    sm_version_unref(none);
}
END_TEST

/* The validator is what the other tests rely on: it must see damage. */
START_TEST(validate_sees_damage)
{
    sm_version *v = small_table(0, 1000);
    sm_chunk_col *c = &v->chunks[0]->cols[0];
    ck_assert(sm_version_validate(v));
    c->min.i64 = -1;
    ck_assert(!sm_version_validate(v));
    c->min.i64 = 0;
    c->base = 1;
    ck_assert(!sm_version_validate(v));
    c->base = 0;
    c->null_count = 1;
    ck_assert(!sm_version_validate(v));
    c->null_count = 0;
    v->first_row[0] = 1;
    ck_assert(!sm_version_validate(v));
    v->first_row[0] = 0;
    v->cols[0].max.i64 = 5;
    ck_assert(!sm_version_validate(v));
    v->cols[0].max.i64 = 999;
    ck_assert(sm_version_validate(v));
    sm_version_unref(v);
}
END_TEST

/* ---- catalog ---- */

START_TEST(catalog)
{
    sm_catalog c;
    sm_version *v, *held;
    ck_assert_int_eq(sm_catalog_init(&c, &mem, &err), SM_OK);
    ck_assert_int_eq(sm_catalog_snapshot(&c, "t", &v, &err), SM_ERR_UNDEFINED_TABLE);
    ck_assert_str_eq(err.message, "relation \"t\" does not exist");
    ck_assert_str_eq(err.sqlstate, "42P01");
    sm_error_reset(&err);
    ck_assert_int_eq(sm_catalog_publish(&c, "t", small_table(0, 1), &err), SM_ERR_UNDEFINED_TABLE);
    sm_error_reset(&err);
    ck_assert_int_eq(sm_catalog_create(&c, "t", small_table(0, 1), &err), SM_OK);
    ck_assert_int_eq(sm_catalog_create(&c, "u", small_table(0, 2), &err), SM_OK);
    ck_assert_int_eq(sm_catalog_create(&c, "t", small_table(0, 3), &err), SM_ERR_DUPLICATE_TABLE);
    sm_error_reset(&err);
    ck_assert_int_eq(sm_catalog_snapshot(&c, "t", &held, &err), SM_OK);
    ck_assert_int_eq(sm_catalog_publish(&c, "t", small_table(0, 4), &err), SM_OK);
    ck_assert_int_eq(sm_catalog_snapshot(&c, "t", &v, &err), SM_OK);
    ck_assert_uint_eq(v->n_rows, 4);
    ck_assert_uint_eq(held->n_rows, 1); /* what a statement began with */
    sm_version_unref(v);
    ck_assert_int_eq(sm_catalog_drop(&c, "t", &err), SM_OK);
    ck_assert_int_eq(sm_catalog_drop(&c, "t", &err), SM_ERR_UNDEFINED_TABLE);
    ck_assert(sm_version_validate(held));
    sm_version_unref(held);
    sm_catalog_reset(&c);
}
END_TEST

typedef struct racer {
    sm_catalog *c;
    bool writes;
} racer;

static void *race(void *arg)
{
    racer *r = arg;
    for (int i = 0; i < 300; i++) {
        sm_version *v = NULL;
        if (r->writes) {
            pthread_mutex_lock(&r->c->write_lock);
            if (sm_catalog_publish(r->c, "t", small_table(i, 10), NULL) != SM_OK) abort();
            pthread_mutex_unlock(&r->c->write_lock);
        } else if (sm_catalog_snapshot(r->c, "t", &v, NULL) == SM_OK) {
            if (!sm_version_validate(v)) abort();
            sm_version_unref(v);
        }
    }
    return NULL;
}

START_TEST(catalog_under_threads)
{
    sm_catalog c;
    pthread_t threads[4];
    racer racers[4];
    ck_assert_int_eq(sm_catalog_init(&c, &mem, &err), SM_OK);
    ck_assert_int_eq(sm_catalog_create(&c, "t", small_table(0, 1), &err), SM_OK);
    for (int i = 0; i < 4; i++) {
        racers[i] = (racer){&c, i % 2 == 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    sm_catalog_reset(&c);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("table");
    TCase *t = tcase_create("table");
    SRunner *r;
    int failed;
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, decode_every_encoding, 0, (int)SM_COUNT(decode_cases));
    tcase_add_test(t, wide_decimal_as_int64);
    tcase_add_loop_test(t, foreign_columns, 0, 6);
    tcase_add_test(t, foreign_after_a_partial_chunk);
    tcase_add_test(t, foreign_constraints_and_nan);
    tcase_add_test(t, repeat_and_extend);
    tcase_add_test(t, validate_sees_damage);
    tcase_add_test(t, catalog);
    tcase_add_test(t, catalog_under_threads);
    suite_add_tcase(s, t);
    r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
