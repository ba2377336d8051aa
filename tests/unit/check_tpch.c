/* The data generator of TPC-H against facts: check values of its random streams, the text pool, the
 * MD5 of dbgen's files at scale factor 0.01, and what must be refused. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tpch/gen_names.h"

START_TEST(streams_jump_to_any_row)
{
    ck_assert_uint_eq(tpch_power(TPCH_A, 10000), 1043618065); /* the usual check value */
    ck_assert_uint_eq(tpch_cursor_at(O_DATE, 0).row, 1066728069);
    ck_assert_uint_eq(tpch_cursor_at(O_DATE, 750000).row, 1130427907);
    ck_assert_uint_eq(tpch_cursor_at(L_COMMENT, 750000).row, 1995698510);
    ck_assert_uint_eq(tpch_cursor_at(P_NAME, 100000).row, 2061854529);
    ck_assert_uint_eq(tpch_cursor_at(C_ADDRESS, 75000).row, 227735488);
    for (uint64_t row = 0; row < 100; row++) {
        tpch_cursor step = tpch_cursor_at(L_TAX, 0), jump = tpch_cursor_at(L_TAX, row);
        for (uint64_t i = 0; i < row; i++) tpch_next_row(&step);
        ck_assert_uint_eq(step.row, jump.row);
    }
}
END_TEST

START_TEST(draws_are_those_of_dbgen)
{
    static const int64_t days[] = {1462, 1796, 652, 1379, 941, 51},
                         counts[] = {6, 1, 6, 1, 3, 1, 7, 6, 4, 3};
    tpch_cursor d = tpch_cursor_at(O_DATE, 0), n = tpch_cursor_at(O_LINES, 0);
    for (int i = 0; i < 6; i++) ck_assert_int_eq(tpch_row_draw(&d), days[i]);
    for (int i = 0; i < 10; i++) ck_assert_int_eq(tpch_row_draw(&n), counts[i]);
    /* one of the states where the exact quotient is another */
    ck_assert_int_eq(tpch_value(2060598198, 0, 314572758), 301845399);
    /* the integer form below 2^21, at states all over the range */
    for (uint64_t x = 1; x < TPCH_M; x += 1000003)
        for (uint64_t range = 1; range < 1u << 21; range = range * 3 + 1)
            ck_assert_int_eq(tpch_value(x, -5, range),
                             -5 + (int64_t)((double)x / 2147483647.0 * (double)range));
    ck_assert_int_eq(tpch_value(TPCH_M - 1, 0, (1u << 21) - 1), (1 << 21) - 2);
}
END_TEST

/* The first 8 MiB from the seed alone, against all of it from its starting points. */
START_TEST(the_pool_is_one_text)
{
    enum { BYTES = 8 << 20 };
    char *pool = tpch_pool_new(2), *part = malloc(BYTES + 512), digest[33];
    size_t at = 0;
    ck_assert(pool && part);
    tpch_pool_sentences(part, &at, BYTES, TPCH_POOL_SEED);
    ck_assert_mem_eq(pool, part, BYTES);
    ck_assert_mem_eq(pool + 314572740,
                     "essly bold excuses are carefully against the busy, express s", 60);
    tpch_md5 m;
    tpch_md5_init(&m);
    tpch_md5_add(&m, pool, (size_t)TPCH_POOL_BYTES);
    tpch_md5_end(&m, digest);
    ck_assert_str_eq(digest, "0f85e3af02482a7035e80b448c795a4c");
    free(part);
    tpch_pool_free(pool);
}
END_TEST

START_TEST(md5_of_known_texts)
{
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"},
    };
    for (size_t i = 0; i < 3; i++) {
        for (size_t piece = 1; piece < 90; piece += 8) {
            tpch_md5 m;
            char digest[33];
            tpch_md5_init(&m);
            for (size_t at = 0, n = strlen(cases[i].text); at < n; at += piece)
                tpch_md5_add(&m, cases[i].text + at, n - at < piece ? n - at : piece);
            tpch_md5_end(&m, digest);
            ck_assert_str_eq(digest, cases[i].digest);
        }
    }
}
END_TEST

/* ---- whole tables ---- */

typedef struct digests {
    tpch_scale scale;
    tpch_md5 md5;
    uint64_t rows;
    uint32_t n_tables;
} digests;

static bool take_digest(void *arg, const tpch_rows *rows)
{
    digests *d = arg;
    if (rows->first) {
        tpch_md5_init(&d->md5);
        d->rows = 0;
    }
    d->rows += rows->n_rows;
    tpch_md5_add(&d->md5, rows->text, rows->n_bytes);
    if (!rows->last) return true;
    uint64_t expected_rows = 0;
    char got[33];
    const char *expected = tpch_md5_expected(&d->scale, rows->table->name, &expected_rows);
    tpch_md5_end(&d->md5, got);
    ck_assert_ptr_nonnull(expected);
    ck_assert_msg(strcmp(got, expected) == 0, "%s: %s", rows->table->name, got);
    ck_assert_uint_eq(d->rows, expected_rows);
    d->n_tables++;
    return true;
}

START_TEST(tables_are_those_of_dbgen)
{
    const char *why = NULL;
    digests d = {.n_tables = 0};
    ck_assert(tpch_scale_read("0.01", &d.scale, &why));
    tpch_job job = {.scale = d.scale,
                    .tables = (1u << TPCH_N_TABLES) - 1,
                    .n_threads = _i == 0 ? 1 : 3,
                    .format = TPCH_TBL,
                    .take = take_digest,
                    .arg = &d};
    ck_assert(tpch_run(&job));
    ck_assert_uint_eq(d.n_tables, TPCH_N_TABLES);
}
END_TEST

/* ---- rows of large scales, which nobody would generate as a whole ---- */

static const struct chunk {
    const char *scale, *table;
    uint64_t first; /* of the rows that drive: parts, for partsupp; orders, for lineitem */
    uint32_t n_rows;
    const char *md5; /* as the TPC publishes it */
} chunks[] = {
    {"100", "lineitem", 149999975, 111, "b5a91159f25d26dad7593c0bbe3d89e0"},
    {"100", "orders", 149999900, 100, "1b4e8383c39091000f6855d2bd0dd96e"},
    {"100", "part", 19999900, 100, "928931c9d8a82255efe770ce00a51317"},
    {"100", "partsupp", 19999975, 100, "056ef5366dc1109ddd6c40832c17c5b7"},
    {"100", "supplier", 999900, 100, "6b98232e8bf2d434d2e9d5492ce89145"},
    {"100", "customer", 14999900, 100, "a4f86d4bdfccb728173e033ae5a94c44"},
    {"1000", "lineitem", 999999925, 99, "2eee76c7f909496f34075f4452102b1a"},
    {"1000", "orders", 999999700, 100, "cc439d003419240bb5a1030ee3062fec"},
    {"1000", "part", 133333100, 100, "1b22868e076d192e79e0f8f97bd63ac4"},
    {"1000", "partsupp", 133333275, 100, "c5819efd3964164127568a74f77ef4c4"},
    {"1000", "supplier", 6666300, 100, "31ea01f06e82e73edf055775e4f6a863"},
    {"1000", "customer", 99999700, 100, "0df7a9b8e2e987ca383af87c907292cc"},
    {"10000", "lineitem", 14999999975, 90, "ad008f87943ead5b556e5c828a7ffacf"},
    {"10000", "orders", 14999999900, 100, "b505b0d2d09a32b268cc04f6e362213b"},
    {"10000", "part", 1999999900, 100, "7fedeb865965a9cbc4ae0fb9111ed719"},
    {"10000", "partsupp", 1999999975, 100, "35be88a03dc98a78e56ea10152a0827b"},
    {"10000", "supplier", 99999900, 100, "0443f89422c079d8789848c98245ff63"},
    {"10000", "customer", 1499999900, 100, "0142f92ce02538ecbb193059745388dc"},
};
enum { N_CHUNKS = sizeof chunks / sizeof chunks[0] };

static void fill_chunk(tpch_piece *p, const struct chunk *c, tpch_shared *shared)
{
    const char *why = NULL;
    tpch_line_start start = {c->first, 0};
    ck_assert(tpch_scale_read(c->scale, &shared->scale, &why));
    shared->line_starts = &start;
    p->shared = shared;
    p->table = &tpch_tables[__builtin_ctz(tpch_tables_read(c->table))];
    p->n_rows = c->n_rows;
    p->first_row = c->first;
    if (strcmp(c->table, "partsupp") == 0) p->first_row *= 4;
    if (strcmp(c->table, "lineitem") == 0) p->first_row = 0; /* the first piece begins at start */
    p->table->fill(p);
}

START_TEST(rows_of_large_scales)
{
    static tpch_shared shared;
    tpch_writer w = {0};
    shared.pool = tpch_pool_new(2);
    ck_assert_ptr_nonnull(shared.pool);
    tpch_names_init(&shared);
    tpch_piece room = {0};
    for (int i = 0; i < TPCH_MAX_COLUMNS; i++) room.columns[i] = malloc(4096);
    for (int i = 0; i < 2; i++) room.spare[i] = malloc(4096);
    room.text = malloc(65536);
    for (int i = 0; i < N_CHUNKS; i++) {
        tpch_piece p = room;
        tpch_md5 m;
        char digest[33];
        fill_chunk(&p, &chunks[i], &shared);
        ck_assert(tpch_write(&w, &p, TPCH_TBL, false));
        tpch_md5_init(&m);
        tpch_md5_add(&m, w.bytes, w.n);
        tpch_md5_end(&m, digest);
        ck_assert_msg(strcmp(digest, chunks[i].md5) == 0, "%s of %s at %llu: %s", chunks[i].table,
                      chunks[i].scale, (unsigned long long)chunks[i].first, digest);
    }
    for (int i = 0; i < TPCH_MAX_COLUMNS; i++) free(room.columns[i]);
    for (int i = 0; i < 2; i++) free(room.spare[i]);
    free(room.text);
    free(w.bytes);
    tpch_pool_free(shared.pool);
}
END_TEST

static int64_t query(smelt_db *db, const char *sql)
{
    smelt_result *r = NULL;
    smelt_error e = {0};
    ck_assert_msg(smelt_run(db, sql, NULL, &r, &e) == SMELT_OK, "%s", e.message);
    ck_assert(smelt_result_step(r));
    int64_t n = smelt_result_int64(r, 0);
    smelt_result_free(r);
    return n;
}

/* Pieces of lineitem begin in the middle of orders at 0.1 (ten pieces); the tables must hold every
 * row once and in order. */
START_TEST(tables_of_a_database)
{
    const char *why = NULL;
    tpch_scale scale;
    smelt_db *db = NULL;
    ck_assert(tpch_scale_read("0.1", &scale, &why));
    ck_assert(smelt_db_open(NULL, &db, NULL) == SMELT_OK);
    ck_assert(tpch_load(db, &scale, tpch_tables_read("lineitem,nation"), 2));
    ck_assert_int_eq(query(db, "SELECT count(*) FROM lineitem"), 600572);
    ck_assert_int_eq(query(db, "SELECT count(*) FROM lineitem WHERE l_linenumber = 1"), 150000);
    ck_assert_int_eq(query(db, "SELECT sum(l_quantity) FROM lineitem WHERE l_shipdate <= "
                               "DATE '1998-09-02' AND l_returnflag = 'R'"),
                     3785523);
    ck_assert_int_eq(query(db, "SELECT n_regionkey FROM nation WHERE n_name = 'PERU'"), 1);
    smelt_db_close(db);
}
END_TEST

static bool refuse_second(void *arg, const tpch_rows *rows)
{
    (void)rows;
    return ++*(int *)arg < 2;
}

START_TEST(failure_ends_all_threads)
{
    const char *why = NULL;
    int n = 0;
    tpch_job job = {.tables = ~0u, .n_threads = 4, .take = refuse_second, .arg = &n};
    ck_assert(tpch_scale_read("0.1", &job.scale, &why));
    ck_assert(!tpch_run(&job));
    ck_assert_int_eq(n, 2);
}
END_TEST

/* ---- scale factors and names ---- */

START_TEST(scale_factors)
{
    static const char *const refused[] = {
        "",       "0",      "0.0",   "-1",     "1.5",
        "0.0333", "0.9999", "1e3",   "1.0.0",  ".",
        "abc",    "30000",  "1.001", "0.0001", "99999999999999999999"};
    static const struct {
        const char *text;
        int64_t suppliers, clerks;
    } read[] = {{"1", 10000, 1000},
                {"1.000", 10000, 1000},
                {"0.001", 10, 1000},
                {".043", 430, 1000},
                {"0.0430", 430, 1000},
                {"100", 1000000, 100000},
                {"29999", 299990000, 29999000}};
    tpch_scale s;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const char *why = NULL;
        ck_assert_msg(!tpch_scale_read(refused[i], &s, &why), "%s", refused[i]);
        ck_assert_ptr_nonnull(why);
    }
    for (size_t i = 0; i < sizeof read / sizeof read[0]; i++) {
        const char *why = NULL;
        ck_assert_msg(tpch_scale_read(read[i].text, &s, &why), "%s", read[i].text);
        ck_assert_int_eq(s.suppliers, read[i].suppliers);
        ck_assert_int_eq(s.customers, 15 * read[i].suppliers);
        ck_assert_int_eq(s.parts, 20 * read[i].suppliers);
        ck_assert_int_eq(s.orders, 150 * read[i].suppliers);
        ck_assert_int_eq(s.clerks, read[i].clerks);
    }
}
END_TEST

START_TEST(names_of_tables)
{
    ck_assert_uint_eq(tpch_tables_read("region"), 1);
    ck_assert_uint_eq(tpch_tables_read("lineitem,region"), 1u << 7 | 1);
    ck_assert_uint_eq(tpch_tables_read("part"), 1u << 4);
    ck_assert_uint_eq(tpch_tables_read("parts"), 0);
    ck_assert_uint_eq(tpch_tables_read("region,,part"), 0);
    ck_assert_uint_eq(tpch_tables_read(""), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tpch");
    TCase *t = tcase_create("tpch");
    tcase_set_timeout(t, 400);
    tcase_add_test(t, streams_jump_to_any_row);
    tcase_add_test(t, draws_are_those_of_dbgen);
    tcase_add_test(t, the_pool_is_one_text);
    tcase_add_test(t, md5_of_known_texts);
    tcase_add_loop_test(t, tables_are_those_of_dbgen, 0, 2);
    tcase_add_test(t, rows_of_large_scales);
    tcase_add_test(t, tables_of_a_database);
    tcase_add_test(t, failure_ends_all_threads);
    tcase_add_test(t, scale_factors);
    tcase_add_test(t, names_of_tables);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
