/* Every operation of ops.def, crossed with the edge values of its types: the row form is the
 * reference, and the lanes form and the dense and selected kernels of every instruction-set level
 * that this CPU has must give the same bits and fail for the same rows. Failures must be among
 * those that ops.def announces. What the operations mean is checked by the examples of ops.def,
 * through SQL. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/cpu.h"
#include "runtime/format.h"
#include "runtime/ops.h"

#if defined(__x86_64__)
extern const sm_op_kernels sm_op_kernels_v2, sm_op_kernels_v3, sm_op_kernels_v4;
static const sm_op_kernels *const levels[] = {&sm_op_kernels_v2, &sm_op_kernels_v3,
                                              &sm_op_kernels_v4};
#else
extern const sm_op_kernels sm_op_kernels_base;
static const sm_op_kernels *const levels[] = {&sm_op_kernels_base};
#endif

enum { MAX_EDGES = 40, MAX_BYTES = 16 };

static uint32_t n_levels(void)
{
    uint32_t n = (uint32_t)sm_cpu_isa() + 1;
    return n < SM_COUNT(levels) ? n : (uint32_t)SM_COUNT(levels);
}

/* ---- edge values ---- */

typedef struct edges {
    sm_value v[MAX_EDGES];
    uint32_t n;
} edges;

static void add_int(edges *e, sm_phys p, sm_i128 x)
{
    sm_value v = {.i128 = 0};
    switch (p) {
    case SM_PHYS_BOOL: v.b = (uint8_t)x; break;
    case SM_PHYS_I16: v.i16 = (int16_t)x; break;
    case SM_PHYS_I32: v.i32 = (int32_t)x; break;
    case SM_PHYS_I64: v.i64 = (int64_t)x; break;
    default: v.i128 = x; break;
    }
    e->v[e->n++] = v;
}

static void add_ints(edges *e, sm_phys p, sm_i128 min, sm_i128 max)
{
    const sm_i128 all[] = {0,   1,   -1,      2,   -2,      3,       7,          -10,
                           100, min, min + 1, max, max - 1, min / 2, max / 2 + 1};
    for (size_t i = 0; i < SM_COUNT(all); i++) add_int(e, p, all[i]);
}

static void add_floats(edges *e, bool wide)
{
    const double all[] = {0.0,
                          -0.0,
                          1,
                          -1,
                          0.5,
                          -0.5,
                          1.5,
                          2.5,
                          -2.5,
                          1e-300,
                          4.9e-324,
                          1e300,
                          3.4028234663852886e38,
                          3.4028236e38,
                          32767.5,
                          -32768.5,
                          2147483647.0,
                          2147483648.0,
                          -2147483648.5,
                          9223372036854774784.0,
                          9223372036854775808.0,
                          -9223372036854775808.0,
                          1.15,
                          1e15,
                          27,
                          (double)INFINITY,
                          -(double)INFINITY,
                          (double)NAN,
                          -(double)NAN};
    for (size_t i = 0; i < SM_COUNT(all); i++) {
        sm_value v = {.i128 = 0};
        if (wide)
            v.f64 = all[i];
        else
            v.f32 = (float)all[i];
        e->v[e->n++] = v;
    }
}

static void add_intervals(edges *e)
{
    const sm_interval all[] = {{0, 0, 0},
                               {1, 0, 0},
                               {-1, 0, 0},
                               {0, 30, 0},
                               {0, -30, 0},
                               {0, 1, 0},
                               {0, 0, SM_DAY_US},
                               {0, 0, -1},
                               {13, 40, 3723000001},
                               {-13, -40, -3723000001},
                               {INT32_MAX, INT32_MAX, INT64_MAX},
                               {INT32_MIN, INT32_MIN, INT64_MIN},
                               {INT32_MAX, 0, 0},
                               {0, INT32_MIN, 0},
                               {0, 0, INT64_MIN}};
    for (size_t i = 0; i < SM_COUNT(all); i++) e->v[e->n++].iv = all[i];
}

static void add_texts(edges *e)
{
    static const char hundred[] =
        "The quick brown fox jumps over the lazy dog, \xC3\xA9t\xC3\xA9 comme hiver; "
        "the quick brown FOX jumps again.";
    static const char *const all[] = {"",
                                      "a",
                                      "ab",
                                      "A%",
                                      "%",
                                      "%b_%",
                                      "\\",
                                      "a\\",
                                      "\\%",
                                      " 42 ",
                                      "-7.5",
                                      "true",
                                      "123456789012",
                                      "1234567890123",
                                      "\xC3\xA9",
                                      "\xE6\x97\xA5\xF0\x9F\x99\x82x",
                                      "2024-02-29",
                                      "2024-02-30",
                                      "1 day 02:00:00",
                                      "nan",
                                      "aaaaaaaaaaaaaab",
                                      "%aaaaaaaaaaaaaaab",
                                      "\xFF\xC3",
                                      hundred};
    for (size_t i = 0; i < SM_COUNT(all); i++) {
        e->v[e->n++].text = sm_text_view(all[i], (uint32_t)strlen(all[i]));
    }
    e->v[e->n++].text = sm_text_view("a\0b", 3);
}

/* any_bits: also what only a dead row can hold. */
static void edges_of(sm_code c, bool any_bits, edges *e)
{
    const sm_i128 e38 = sm_pow10(38) - 1, e18 = sm_pow10(18) - 1;
    sm_phys p = sm_code_phys(c);
    memset(e, 0, sizeof *e);
    switch (c) {
    case SM_CODE_B:
        add_int(e, p, 0);
        add_int(e, p, 1);
        break;
    case SM_CODE_I16: add_ints(e, p, INT16_MIN, INT16_MAX); break;
    case SM_CODE_I32: add_ints(e, p, INT32_MIN, INT32_MAX); break;
    case SM_CODE_I64: add_ints(e, p, INT64_MIN, INT64_MAX); break;
    case SM_CODE_D64:
        add_ints(e, p, -e18, e18);
        if (any_bits) add_int(e, p, INT64_MIN);
        break;
    case SM_CODE_D128:
        add_ints(e, p, -e38, e38);
        add_int(e, p, INT64_MIN);
        add_int(e, p, e18);
        if (any_bits) add_int(e, p, (sm_i128)1 << 126);
        if (any_bits) add_int(e, p, (sm_i128)((sm_u128)1 << 127));
        break;
    case SM_CODE_DATE:
        add_ints(e, p, SM_DATE_MIN_DAYS, SM_DATE_MAX_DAYS);
        add_int(e, p, 106751991); /* the last day that is a timestamp */
        add_int(e, p, 106751992);
        add_int(e, p, 19782); /* 2024-02-29 */
        if (any_bits) add_ints(e, p, INT32_MIN, INT32_MAX);
        break;
    case SM_CODE_TS:
        add_ints(e, p, SM_TIMESTAMP_MIN_US, INT64_MAX);
        add_int(e, p, 19782 * SM_DAY_US + 3723000004);
        if (any_bits) add_int(e, p, INT64_MIN);
        break;
    case SM_CODE_IV: add_intervals(e); break;
    case SM_CODE_TXT: add_texts(e); break;
    case SM_CODE_F32:
    case SM_CODE_F64: add_floats(e, c == SM_CODE_F64); break;
    case SM_CODE_NONE: break;
    }
}

/* Immediates to try, within what the binder may pass; returns their number. */
static uint32_t immediates(const sm_op_info *op, int32_t (*out)[2])
{
    static const int32_t decimals[][2] = {{0, 0},   {2, 2},   {0, 5},  {5, 0},
                                          {10, 38}, {18, 18}, {38, 38}};
    static const int32_t lengths[][2] = {{0, 0}, {1, 0}, {12, 0}, {13, 0}, {1000, 0}};
    static const int32_t escapes[][2] = {{'\\', 0}, {-1, 0}, {0xE9, 0}, {'%', 0}};
    bool decimal =
        op->result == SM_CODE_D128 || op->args[0] == SM_CODE_D128 || op->args[0] == SM_CODE_D64;
    const int32_t(*from)[2] = decimals;
    uint32_t n = 1;
    if (strncmp(op->id, "extract", 7) == 0 || strcmp(op->id, "trunc_ts") == 0) {
        for (int32_t f = 0; f < SM_N_DATE_FIELDS; f++) out[f][0] = f, out[f][1] = 0;
        return SM_N_DATE_FIELDS;
    }
    if (strstr(op->id, "like_txt")) {
        from = escapes, n = SM_COUNT(escapes);
    } else if (strcmp(op->id, "varchar_txt") == 0 || strcmp(op->id, "fit_txt") == 0 ||
               strcmp(op->id, "char_txt") == 0) {
        from = lengths, n = SM_COUNT(lengths);
    } else if (decimal) {
        n = op->args[0] == SM_CODE_D64 ? SM_COUNT(decimals) - 1 : SM_COUNT(decimals);
    }
    memcpy(out, from, n * sizeof *out);
    return n;
}

/* ---- a batch of rows ---- */

typedef struct rows {
    const sm_op_info *op;
    sm_op id;
    sm_opctx cx;
    uint32_t n;
    sm_value args[3][SM_BATCH_ROWS], results[SM_BATCH_ROWS];
    sm_status status[SM_BATCH_ROWS];
    _Alignas(64) char columns[3][SM_BATCH_ROWS * MAX_BYTES];
    _Alignas(64) char out[SM_BATCH_ROWS * MAX_BYTES];
} rows;

static size_t bytes_of(sm_code c)
{
    return sm_phys_bytes(sm_code_phys(c));
}

static void fill_columns(rows *r)
{
    for (uint32_t a = 0; a < r->op->n_args; a++) {
        size_t bytes = bytes_of((sm_code)r->op->args[a]);
        for (uint32_t i = 0; i < r->n; i++)
            memcpy(r->columns[a] + i * bytes, &r->args[a][i], bytes);
    }
}

static void poison(rows *r)
{
    memset(r->out, 0x5A, sizeof r->out);
}

static bool untouched(const rows *r, uint32_t i)
{
    size_t bytes = bytes_of((sm_code)r->op->result);
    for (size_t b = 0; b < bytes; b++) {
        if (r->out[i * bytes + b] != 0x5A) return false;
    }
    return true;
}

/* Whether out[i] has the bits of the row form's result; every NaN is one (sinks make them so). */
static bool same(const rows *r, uint32_t i)
{
    size_t bytes = bytes_of((sm_code)r->op->result);
    sm_value got = {.i128 = 0};
    const sm_value *want = &r->results[i];
    memcpy(&got, r->out + i * bytes, bytes);
    switch (r->op->result) {
    case SM_CODE_TXT: return sm_text_eq(got.text, want->text);
    case SM_CODE_F64:
        return (isnan(got.f64) && isnan(want->f64)) || memcmp(&got.f64, &want->f64, 8) == 0;
    case SM_CODE_F32:
        return (isnan(got.f32) && isnan(want->f32)) || memcmp(&got.f32, &want->f32, 4) == 0;
    default: return memcmp(&got, want, bytes) == 0;
    }
}

static const void *const *pointers(const rows *r, const void *out[3])
{
    for (int a = 0; a < 3; a++) out[a] = r->columns[a];
    return out;
}

#define expect(condition, r, i, what)                                                              \
    ck_assert_msg((condition), "%s(imm %d, %d): %s, row %u", (r)->op->id, (r)->cx.imm[0],          \
                  (r)->cx.imm[1], what, i)

static void run_rows(rows *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        const sm_value *args[3] = {&r->args[0][i], &r->args[1][i], &r->args[2][i]};
        sm_error err;
        sm_error_reset(&err);
        r->cx.err = &err;
        memset(&r->results[i], 0, sizeof r->results[i]);
        r->results[i].is_null = true;
        r->status[i] = r->op->row(&r->cx, args, &r->results[i]);
        expect(r->results[i].is_null, r, i, "the row form touched is_null");
        if (r->status[i] != SM_OK) {
            expect(strstr(r->op->fails, sm_status_sqlstate(r->status[i])), r, i,
                   "unannounced failure");
            expect(err.status == r->status[i] && err.message[0], r, i, "no detail");
        }
        r->cx.err = NULL;
        sm_value quiet;
        expect(r->op->row(&r->cx, args, &quiet) == r->status[i], r, i, "status depends on err");
    }
}

static void check_lanes(rows *r)
{
    static const uint32_t masks[] = {0xFFFFFFFF, 0x55555555, 0x80000001, 0};
    for (size_t m = 0; m < SM_COUNT(masks); m++) {
        poison(r);
        for (uint32_t at = 0; at < r->n; at += SM_BLOCK_ROWS) {
            uint32_t rest = r->n - at, live = rest < 32 ? ((uint32_t)1 << rest) - 1 : 0xFFFFFFFF;
            const void *args[3];
            for (uint32_t a = 0; a < r->op->n_args; a++) {
                args[a] = r->columns[a] + at * bytes_of((sm_code)r->op->args[a]);
            }
            uint32_t mask = masks[m] & live;
            uint32_t failed =
                r->op->lanes(&r->cx, mask, args, r->out + at * bytes_of((sm_code)r->op->result));
            for (uint32_t i = at; i < r->n && i < at + 32; i++) {
                bool in_mask = mask >> (i - at) & 1, fails = failed >> (i - at) & 1;
                expect(in_mask || untouched(r, i), r, i, "lanes wrote outside the mask");
                expect(fails == (in_mask && r->status[i] != SM_OK), r, i, "lanes fail elsewhere");
                expect(!in_mask || fails || same(r, i), r, i, "lanes differ");
            }
        }
    }
}

/* At all rows, and at those alone that do not fail, also in place. */
static void check_dense(const rows *all, const sm_op_kernels *k)
{
    static rows r;
    const void *args[3];
    bool any = false;
    for (uint32_t i = 0; i < all->n; i++) any |= all->status[i] != SM_OK;
    r = *all;
    poison(&r);
    bool ok = k->dense[r.id](&r.cx, pointers(&r, args), r.out, r.n);
    expect(ok == !any, &r, 0, "dense fails elsewhere");
    for (uint32_t i = 0; i < r.n; i++)
        expect(r.status[i] != SM_OK || same(&r, i), &r, i, "dense differs");

    r.n = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        if (all->status[i] != SM_OK) continue;
        for (int a = 0; a < 3; a++) r.args[a][r.n] = all->args[a][i];
        r.results[r.n++] = all->results[i];
    }
    fill_columns(&r);
    expect(k->dense[r.id](&r.cx, pointers(&r, args), r.out, r.n), &r, 0,
           "dense fails without a failing row");
    for (uint32_t i = 0; i < r.n; i++)
        expect(same(&r, i), &r, i, "dense differs without failing rows");
    if (bytes_of((sm_code)r.op->args[0]) == bytes_of((sm_code)r.op->result)) {
        memcpy(r.out, r.columns[0], sizeof r.out);
        args[0] = r.out;
        expect(k->dense[r.id](&r.cx, args, r.out, r.n), &r, 0, "dense in place fails");
        for (uint32_t i = 0; i < r.n; i++) expect(same(&r, i), &r, i, "dense in place differs");
    }
}

/* Rows that are not valid hold garbage, which must not be looked at (text) or not matter. */
static void check_selected(const rows *all, const sm_op_kernels *k, bool with_sel, bool with_valid,
                           bool may_fail)
{
    static rows r;
    uint64_t valid[SM_BATCH_ROWS / 64] = {0};
    uint16_t sel[SM_BATCH_ROWS];
    static bool chosen[SM_BATCH_ROWS];
    uint32_t n_sel = 0, first = UINT32_MAX, failed_row = UINT32_MAX;
    r = *all;
    for (uint32_t i = 0; i < r.n; i++) {
        bool fails = r.status[i] != SM_OK;
        chosen[i] = true;
        if (with_valid && i % 5 != 3 && (may_fail || !fails)) sm_bit_set(valid, i);
        if (with_valid && !sm_bit_get(valid, i)) chosen[i] = false;
        if (with_sel && (i % 3 == 1 || (!may_fail && fails)))
            chosen[i] = false;
        else
            sel[n_sel++] = (uint16_t)i;
        if (chosen[i] && fails && first == UINT32_MAX) first = i;
        if (chosen[i]) continue;
        for (uint32_t a = 0; a < r.op->n_args; a++) {
            size_t bytes = bytes_of((sm_code)r.op->args[a]);
            memset(r.columns[a] + i * bytes, r.op->args[a] == SM_CODE_B ? 1 : 0xA5, bytes);
        }
    }
    const void *args[3];
    sm_error err;
    sm_error_reset(&err);
    r.cx.err = &err;
    poison(&r);
    sm_status status =
        k->selected[r.id](&r.cx, pointers(&r, args), r.out, with_sel ? sel : NULL,
                          with_sel ? n_sel : r.n, with_valid ? valid : NULL, &failed_row);
    sm_status want = first == UINT32_MAX ? SM_OK : r.status[first];
    expect(status == want && err.status == want, &r, first, "selected fails elsewhere");
    expect(want == SM_OK || failed_row == first, &r, failed_row, "selected stops at another row");
    for (uint32_t i = 0; i < r.n && i < first; i++)
        expect(!chosen[i] || same(&r, i), &r, i, "selected differs");
}

static void check_batch(rows *r)
{
    fill_columns(r);
    run_rows(r);
    check_lanes(r);
    for (uint32_t l = 0; l < n_levels(); l++) {
        ck_assert_int_eq(levels[l]->dense[r->id] != NULL, r->op->emit);
        if (r->op->emit) check_dense(r, levels[l]);
        for (int v = 0; v < 8; v++) check_selected(r, levels[l], v & 1, v & 2, v & 4);
    }
}

/* ---- tests ---- */

static void cross(rows *r, const edges e[3])
{
    r->n = 0;
    for (uint32_t i = 0; i < e[0].n; i++) {
        for (uint32_t j = 0; j < (r->op->n_args > 1 ? e[1].n : 1); j++) {
            for (uint32_t k = 0; k < (r->op->n_args > 2 ? e[2].n : 1); k++) {
                r->args[0][r->n] = e[0].v[i];
                r->args[1][r->n] = e[1].v[j];
                r->args[2][r->n++] = e[2].v[k];
                if (r->n < SM_BATCH_ROWS) continue;
                check_batch(r);
                r->n = 0;
            }
        }
    }
    if (r->n) check_batch(r);
}

START_TEST(all_forms_agree)
{
    static rows r;
    static edges e[3];
    sm_mem mem;
    sm_arena scratch;
    sm_mem_init(&mem, NULL, SIZE_MAX);
    sm_arena_init(&scratch, &mem, "test");
    for (r.id = 0; r.id < SM_N_OPS; r.id++) {
        r.op = &sm_ops[r.id];
        for (int a = 0; a < 3; a++) {
            edges_of((sm_code)r.op->args[a], r.op->emit, &e[a]);
            bool length = r.op->result == SM_CODE_TXT && r.op->args[a] == SM_CODE_I32;
            if (length) e[a].n -= 2; /* half a GiB of text each */
        }
        int32_t imm[SM_N_DATE_FIELDS][2];
        uint32_t n = immediates(r.op, imm);
        for (uint32_t i = 0; i < n; i++) {
            r.cx = (sm_opctx){{imm[i][0], imm[i][1]}, &scratch, NULL};
            cross(&r, e);
            sm_arena_reset(&scratch);
        }
    }
}
END_TEST

/* Without memory an operation that needs some says so, and no other dies of it. */
static void run_without_memory(const sm_op_info *op, sm_arena *scratch)
{
    static edges e[3];
    int32_t imm[SM_N_DATE_FIELDS][2];
    immediates(op, imm);
    for (int a = 0; a < 3; a++) edges_of((sm_code)op->args[a], false, &e[a]);
    for (uint32_t i = 0; i < MAX_EDGES; i++) {
        const sm_value *args[3];
        for (int a = 0; a < 3; a++) args[a] = &e[a].v[e[a].n ? i % e[a].n : 0];
        sm_error err;
        sm_error_reset(&err);
        sm_opctx cx = {{imm[0][0], imm[0][1]}, scratch, &err};
        sm_value out;
        sm_status status = op->row(&cx, args, &out);
        ck_assert_msg(status == SM_OK || status == SM_ERR_OUT_OF_MEMORY ||
                          strstr(op->fails, err.sqlstate),
                      "%s fails with %s", op->id, err.message);
        ck_assert_int_eq(status, err.status);
    }
}

START_TEST(no_memory)
{
    sm_mem mem;
    sm_arena scratch;
    sm_mem_init(&mem, NULL, 0);
    sm_arena_init(&scratch, &mem, "test");
    for (int i = 0; i < SM_N_OPS; i++) run_without_memory(&sm_ops[i], &scratch);
    sm_text text = sm_text_view("more than twelve", 16);
    sm_value v = {.text = text}, out;
    const sm_value *args[3] = {&v, &v, &v};
    sm_opctx cx = {{0, 0}, &scratch, NULL};
    ck_assert_int_eq(sm_ops[SM_OP_concat_txt].row(&cx, args, &out), SM_ERR_OUT_OF_MEMORY);
    sm_arena_reset(&scratch);
}
END_TEST

START_TEST(tables_fit_together)
{
    static const char *const order[] = {"=", "<>", "<", "<=", ">", ">="};
    for (int p = 0; p < SM_N_PHYS; p++) {
        for (size_t c = 0; c < SM_COUNT(order); c++) {
            const sm_op_info *op = &sm_ops[sm_op_compare(order[c], (sm_phys)p)];
            ck_assert_str_eq(op->sql, order[c]);
            ck_assert_int_eq(sm_code_phys((sm_code)op->args[0]), p);
            ck_assert_int_eq(op->result, SM_CODE_B);
        }
    }
    for (int i = 0; i < SM_N_OPS; i++) {
        ck_assert_int_eq(sm_ops[i].can_fail, sm_ops[i].fails[0] != 0);
        for (int j = 0; j < i; j++) ck_assert_str_ne(sm_ops[i].id, sm_ops[j].id);
        for (int a = 0; a < 3; a++)
            ck_assert_int_eq(sm_ops[i].args[a] != SM_CODE_NONE, a < sm_ops[i].n_args);
    }
    ck_assert_ptr_eq(sm_op_kernels_get(), levels[n_levels() - 1]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ops");
    TCase *t = tcase_create("ops");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, tables_fit_together);
    tcase_add_test(t, all_forms_agree);
    tcase_add_test(t, no_memory);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
