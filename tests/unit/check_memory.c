/* Accounts, arenas and buffers: what is charged is given back, limits and injected failures are
 * statuses, and everything has the alignment and padding that vector code relies on. */
#include <check.h>
#include <pthread.h>
#include <string.h>

#include "runtime/memory.h"

static sm_mem top, mem;
static sm_error err;

static size_t used(const sm_mem *m)
{
    return atomic_load(&((sm_mem *)(uintptr_t)m)->used_bytes);
}

static void setup(void)
{
    sm_mem_init(&top, NULL, 1 << 20);
    sm_mem_init(&mem, &top, SIZE_MAX);
    sm_error_reset(&err);
}

static void nothing_left(void)
{
    ck_assert_uint_eq(used(&mem), 0);
    ck_assert_uint_eq(used(&top), 0);
}

START_TEST(charges_every_level)
{
    void *p, *q;
    ck_assert_int_eq(sm_alloc(&mem, 1000, "x", &p, &err), SM_OK);
    ck_assert_int_eq(sm_alloc_zero(&mem, 24, "x", &q, &err), SM_OK);
    ck_assert_uint_eq(used(&mem), 1024);
    ck_assert_uint_eq(used(&top), 1024);
    for (int i = 0; i < 24; i++) ck_assert_int_eq(((char *)q)[i], 0);
    sm_free(&mem, p, 1000);
    sm_free(&mem, q, 24);
    sm_free(&mem, NULL, 24);
    nothing_left();
    ck_assert_uint_eq(atomic_load(&top.peak_bytes), 1024);
}
END_TEST

START_TEST(limit_is_an_error_that_names_the_operator)
{
    void *p;
    ck_assert_int_eq(sm_alloc(&mem, (1 << 20) + 1, "sort", &p, &err), SM_ERR_OUT_OF_MEMORY);
    ck_assert_ptr_null(p);
    ck_assert_str_eq(err.sqlstate, "53200");
    ck_assert_str_eq(err.message,
                     "out of memory: sort needs 1048577 bytes, memory_limit is 1048576");
    nothing_left();
    ck_assert_int_eq(sm_alloc(&mem, 1 << 20, "sort", &p, NULL), SM_OK);
    sm_free(&mem, p, 1 << 20);
}
END_TEST

START_TEST(realloc_keeps_the_old_on_failure)
{
    void *p = NULL;
    ck_assert_int_eq(sm_realloc(&mem, &p, 0, 8, "x", &err), SM_OK);
    memcpy(p, "1234567", 8);
    ck_assert_int_eq(sm_realloc(&mem, &p, 8, 1 << 21, "x", &err), SM_ERR_OUT_OF_MEMORY);
    ck_assert_str_eq(p, "1234567");
    ck_assert_uint_eq(used(&mem), 8);
    ck_assert_int_eq(sm_realloc(&mem, &p, 8, 4096, "x", &err), SM_OK);
    ck_assert_str_eq(p, "1234567");
    ck_assert_int_eq(sm_realloc(&mem, &p, 4096, 8, "x", &err), SM_OK);
    ck_assert_uint_eq(used(&top), 8);
    sm_free(&mem, p, 8);
    nothing_left();
}
END_TEST

START_TEST(injected_failure_hits_once)
{
    void *p;
    atomic_store(&mem.fail_after, 1);
    ck_assert_int_eq(sm_alloc(&mem, 8, "x", &p, NULL), SM_OK);
    sm_free(&mem, p, 8);
    ck_assert_int_eq(sm_alloc(&mem, 8, "x", &p, NULL), SM_ERR_OUT_OF_MEMORY);
    ck_assert_int_eq(sm_alloc(&mem, 8, "x", &p, NULL), SM_OK);
    sm_free(&mem, p, 8);
    nothing_left();
}
END_TEST

static void count(void *p)
{
    ++*(int *)p;
}

static int order[3], n_order;
static void note(void *p)
{
    order[n_order++] = *(int *)p;
}

START_TEST(arena_aligns_and_cleans_up)
{
    sm_arena a;
    int one = 1, two = 2, three = 3;
    n_order = 0;
    sm_arena_init(&a, &mem, "x");
    for (size_t bytes = 0; bytes < 3000; bytes += 37) {
        char *p = sm_arena_alloc(&a, bytes), *v = sm_arena_vector(&a, bytes);
        char *z = sm_arena_zero(&a, bytes);
        ck_assert_uint_eq((uintptr_t)p % 16, 0);
        ck_assert_uint_eq((uintptr_t)v % 64, 0);
        memset(p, 0xAB, bytes);
        for (size_t i = 0; i < bytes + SM_PAD_BYTES; i++) ck_assert_int_eq(v[i], 0);
        for (size_t i = 0; i < bytes; i++) ck_assert_int_eq(z[i], 0);
        memset(z, 0xCD, bytes);
    }
    ck_assert_str_eq(sm_arena_strdup(&a, "abc"), "abc");
    ck_assert_str_eq(sm_arena_strndup(&a, "abcdef", 2), "ab");
    ck_assert_str_eq(sm_arena_printf(&a, "%d-%s", 7, "x"), "7-x");
    ck_assert(sm_arena_on_reset(&a, note, &one));
    ck_assert(sm_arena_on_reset(&a, note, &two));
    ck_assert(sm_arena_on_reset(&a, note, &three));
    sm_arena_reset(&a);
    ck_assert_int_eq(n_order, 3);
    ck_assert(order[0] == 3 && order[1] == 2 && order[2] == 1);
    nothing_left();
    ck_assert_ptr_nonnull(sm_arena_alloc(&a, 1));
    sm_arena_reset(&a);
    nothing_left();
}
END_TEST

START_TEST(rewound_arena_allocates_nothing_new)
{
    sm_arena a;
    size_t after_first = 0;
    int cleaned = 0;
    sm_arena_init(&a, &mem, "x");
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 50; i++) memset(sm_arena_alloc(&a, 3000), round, 3000);
        ck_assert_ptr_nonnull(sm_arena_vector(&a, 40000));
        ck_assert(sm_arena_on_reset(&a, count, &cleaned));
        if (round == 0) after_first = used(&mem);
        ck_assert_uint_eq(used(&mem), after_first);
        sm_arena_rewind(&a);
    }
    ck_assert_int_eq(cleaned, 100);
    sm_arena_reset(&a);
    nothing_left();
}
END_TEST

START_TEST(arena_out_of_memory)
{
    sm_arena a;
    int cleaned = 0;
    sm_arena_init(&a, &mem, "hash join");
    ck_assert_ptr_null(sm_arena_alloc(&a, 1 << 21));
    ck_assert_int_eq(sm_arena_failed(&a, &err), SM_ERR_OUT_OF_MEMORY);
    ck_assert_str_eq(err.message,
                     "out of memory: hash join needs 2097152 bytes, memory_limit is 1048576");
    ck_assert_ptr_null(sm_arena_alloc(&a, SIZE_MAX));
    ck_assert_ptr_null(sm_arena_vector(&a, SIZE_MAX - 3));
    atomic_store(&mem.fail_after, 0);
    ck_assert(!sm_arena_on_reset(&a, count, &cleaned));
    ck_assert_int_eq(cleaned, 1);
    sm_arena_reset(&a);
    nothing_left();
}
END_TEST

START_TEST(buffers)
{
    static const char foreign[] = "foreign";
    sm_buffer *b, *w;
    int released = 0;
    ck_assert_int_eq(sm_buffer_new(&mem, 1001, "x", &b, &err), SM_OK);
    ck_assert_uint_eq((uintptr_t)b->data % 64, 0);
    for (size_t i = 0; i < 1001 + SM_PAD_BYTES; i++) ck_assert_int_eq(b->data[i], 0);
    memset(b->data, 1, 1001 + SM_PAD_BYTES);
    ck_assert_ptr_eq(sm_buffer_ref(b), b);
    sm_buffer_unref(b);
    ck_assert_int_eq(b->data[1000], 1);
    ck_assert_int_eq(sm_buffer_wrap(&mem, foreign, sizeof foreign, count, &released, &w, &err),
                     SM_OK);
    ck_assert_ptr_eq(w->data, foreign);
    sm_buffer_ref(w);
    sm_buffer_unref(w);
    ck_assert_int_eq(released, 0);
    sm_buffer_unref(w);
    ck_assert_int_eq(released, 1);
    sm_buffer_unref(b);
    sm_buffer_unref(NULL);
    ck_assert_int_eq(sm_buffer_new(&mem, SIZE_MAX - 10, "x", &b, &err), SM_ERR_OUT_OF_MEMORY);
    ck_assert_ptr_null(b);
    nothing_left();
}
END_TEST

static void *hammer(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000; i++) {
        void *p;
        if (sm_alloc(&mem, 200000, "x", &p, NULL) != SM_OK) continue;
        sm_free(&mem, p, 200000);
    }
    return NULL;
}

START_TEST(threads_never_pass_the_limit)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, NULL), 0);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    ck_assert_uint_le(atomic_load(&top.peak_bytes), 1 << 20);
    nothing_left();
}
END_TEST

START_TEST(first_error_stays)
{
    ck_assert_int_eq(sm_raise_at(&err, 7, SM_ERR_UNDEFINED_TABLE, "t"), SM_ERR_UNDEFINED_TABLE);
    ck_assert_int_eq(sm_raise(&err, SM_ERR_INT_RANGE), SM_ERR_INT_RANGE);
    sm_error_hint(&err, "did you mean %s?", "u");
    ck_assert_int_eq(err.status, SM_ERR_UNDEFINED_TABLE);
    ck_assert_str_eq(err.sqlstate, "42P01");
    ck_assert_str_eq(err.message, "relation \"t\" does not exist");
    ck_assert_str_eq(err.hint, "did you mean u?");
    ck_assert_int_eq(err.position, 7);
    sm_error_reset(&err);
    ck_assert_int_eq(err.status, SM_OK);
    ck_assert_int_eq(sm_raise(NULL, SM_ERR_INT_RANGE), SM_ERR_INT_RANGE);
    sm_error_hint(&err, "no error, no hint");
    ck_assert_str_eq(err.hint, "");
}
END_TEST

START_TEST(every_error_has_a_state)
{
    for (int s = SM_OK + 1; s < SM_N_STATUS; s++) {
        ck_assert_uint_eq(strlen(sm_status_sqlstate((sm_status)s)), 5);
        ck_assert_uint_gt(strlen(sm_status_message((sm_status)s)), 0);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("memory");
    TCase *c = tcase_create("memory");
    SRunner *r = srunner_create(s);
    int failed;
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(c, setup, NULL);
    tcase_add_test(c, charges_every_level);
    tcase_add_test(c, limit_is_an_error_that_names_the_operator);
    tcase_add_test(c, realloc_keeps_the_old_on_failure);
    tcase_add_test(c, injected_failure_hits_once);
    tcase_add_test(c, arena_aligns_and_cleans_up);
    tcase_add_test(c, rewound_arena_allocates_nothing_new);
    tcase_add_test(c, arena_out_of_memory);
    tcase_add_test(c, buffers);
    tcase_add_test(c, threads_never_pass_the_limit);
    tcase_add_test(c, first_error_stays);
    tcase_add_test(c, every_error_has_a_state);
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
