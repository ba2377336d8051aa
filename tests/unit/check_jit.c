/* Compiled code against the row tier, bit by bit: pipelines made from nodes, over columns with
 * NULLs and edge values, in all ways of grouping, at every step width, for the host's CPU and for
 * one without mask registers. Then the module's own promises: the cache, constants that are not
 * shape, code that goes when nobody holds it. */
#include <check.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "codegen/jit.h"
#include "interp/interp.h"

/* The helpers run a morsel through sm_row_run; here that is compiled code while jit_step is set. */
static sm_status run_rows(sm_worker *w, const sm_pin *pin, uint32_t from, uint32_t to);
#define sm_row_run run_rows
#pragma GCC diagnostic ignored "-Wunused-function" /* not all helpers are wanted here */
#include "interp_plans.h"
#undef sm_row_run

static uint32_t jit_step, jit_span;
static const sm_jit_module *jit;
static sm_mem jit_mem;
static uint64_t compiled_pipelines, refused_blocks;

/* ---- the host table, as the executor's --------------------------------------------------------
 */

static void *host_alloc(size_t bytes)
{
    void *p = NULL;
    return sm_alloc(&jit_mem, bytes, "compiler", &p, NULL) == SM_OK ? p : NULL;
}
static void host_free(void *p, size_t bytes)
{
    sm_free(&jit_mem, p, bytes);
}

static int32_t host_find_rows(sm_agg_local *l, const sm_vec *keys, uint32_t mask,
                              uint64_t first_row, void **rows)
{
    uint16_t sel[SM_BLOCK_ROWS];
    sm_vec cols[SM_GROUP_MAX_KEYS];
    uint32_t n = 0;
    for (; mask; mask &= mask - 1) sel[n++] = (uint16_t)__builtin_ctz(mask);
    memcpy(cols, keys, sizeof(sm_vec) * l->sink->layout.n_keys);
    sm_batch b = {.cols = cols,
                  .n_cols = l->sink->layout.n_keys,
                  .n_rows = SM_BLOCK_ROWS,
                  .sel = sel,
                  .n_sel = n,
                  .first_row = first_row};
    return (int32_t)sm_agg_find_rows(l, &b, rows, NULL);
}

static int32_t host_acc_add(sm_agg_local *l, uint32_t accum, const sm_vec *v, uint32_t mask,
                            uint32_t lane_mask, void **states)
{
    const sm_accum *acc = &l->sink->layout.accums[accum];
    for (; mask; mask &= mask - 1) {
        unsigned lane = (unsigned)__builtin_ctz(mask);
        size_t bytes = sm_phys_bytes(v->phys);
        sm_value x = {.is_null = false};
        memcpy(&x, (const char *)v->data + lane * bytes, bytes);
        sm_status s = sm_acc_add(acc, states[lane], lane & lane_mask, &x, &l->arena, NULL);
        if (s != SM_OK) return (int32_t)s;
    }
    return 0;
}

static const sm_jit_host host = {.abi = SM_JIT_ABI,
                                 .ops = sm_ops,
                                 .alloc = host_alloc,
                                 .free = host_free,
                                 .raise = sm_raise,
                                 .eval = sm_expr_eval,
                                 .find_rows = host_find_rows,
                                 .acc_add = host_acc_add};

static void load_module(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    if (n <= 0) return;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (!slash) return;
    strcpy(slash, "/libsmelt_jit.so");
    sm_mem_init(&jit_mem, NULL, SIZE_MAX);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = so ? dlsym(so, "smelt_jit_init") : NULL;
    const sm_jit_module *(*init)(const sm_jit_host *);
    memcpy(&init, &symbol, sizeof init);
    if (init) jit = init(&host);
}

/* ---- running a pipeline compiled ---------------------------------------------------------------
 */

static const uint32_t *all_valid(void)
{
    static uint32_t words[SM_CHUNK_ROWS / 32 + 16];
    memset(words, 0xff, sizeof words);
    return words;
}

typedef struct jit_run {
    sm_worker *w;
    sm_jit_code *code;
    void *consts;
    sm_jit_col cols[T_N_COLUMNS];
    sm_jit_out outs[64];
    sm_vec vecs[64];
    uint32_t live[SM_BATCH_ROWS / 32];
    uint64_t step_rows[SM_MAX_STEPS];
} jit_run;

static void open_run(jit_run *r, sm_worker *w, const sm_chunk *chunk, uint32_t step)
{
    const sm_pipeline *p = w->p;
    sm_jit_sig_col sig[T_N_COLUMNS] = {{0, 0}};
    sm_jit_options o = {.step = step};
    ck_assert_uint_le(p->n_in, 64);
    r->w = w;
    for (uint32_t c = 0; c < p->source.n_cols; c++) {
        const sm_chunk_col *col = &chunk->cols[c];
        if (p->used[c]) sig[c] = (sm_jit_sig_col){col->enc, col->width};
        r->cols[c] = (sm_jit_col){col->data, col->valid ? (const void *)col->valid : all_valid(),
                                  col->base, col->dict ? col->dict->entries : NULL};
    }
    ck_assert_msg(jit->compile(p, sig, &o, &r->code, &w->err) == SM_OK, "%s", w->err.message);
    ck_assert_msg(jit->bind(r->code, p, &w->arena, sm_arena_vector, &r->consts, &w->err) == SM_OK,
                  "%s", w->err.message);
    for (uint32_t c = 0; p->sink == SM_SINK_ROWS && c < p->n_in; c++) {
        sm_phys phys = sm_type_phys(p->in_cols[c].type);
        r->outs[c].data = sm_arena_vector(&w->arena, SM_BATCH_ROWS * sm_phys_bytes(phys));
        r->outs[c].valid = sm_arena_vector(&w->arena, SM_BATCH_ROWS / 8);
        r->vecs[c] =
            (sm_vec){.data = r->outs[c].data, .valid = (void *)r->outs[c].valid, .phys = phys};
    }
    compiled_pipelines++;
}

static sm_status take_rows(jit_run *r, uint32_t n_blocks)
{
    uint16_t sel[SM_BATCH_ROWS];
    uint32_t n = 0;
    for (uint32_t b = 0; b < n_blocks; b++)
        for (uint32_t m = r->live[b]; m; m &= m - 1)
            sel[n++] = (uint16_t)(b * 32 + (uint32_t)__builtin_ctz(m));
    if (n > r->w->rows_left) n = (uint32_t)r->w->rows_left;
    if (r->w->rows_left != UINT64_MAX) r->w->rows_left -= n;
    sm_batch batch = {
        .cols = r->vecs, .n_cols = r->w->p->n_in, .n_rows = n_blocks * 32, .sel = sel, .n_sel = n};
    return n ? sm_builder_batch(r->w->rows, &batch, &r->w->err) : SM_OK;
}

/* One morsel in pieces of `span` blocks; a refused block is replayed by the row tier. */
static sm_status jit_rows_of_pin(sm_worker *w, const sm_pin *pin)
{
    jit_run *r = SM_NEW(&w->arena, jit_run);
    const sm_pipeline *p = w->p;
    uint32_t n = pin->chunk->n_rows, n_blocks = (n + 31) / 32, at = 0;
    sm_opctx cx = {.scratch = &w->scratch};
    sm_jit_args args = {.cols = r->cols,
                        .agg = w->agg,
                        .out = r->outs,
                        .out_live = r->live,
                        .first_row = pin->first_row,
                        .cx = &cx,
                        .step_rows = r->step_rows};
    sm_status s = SM_OK;
    open_run(r, w, pin->chunk, jit_step - 1);
    args.consts = r->consts;
    if (p->sink == SM_SINK_AGG)
        args.lanes = p->agg.mode <= SM_GROUPS_TINY ? w->agg->lanes : w->agg->direct;
    while (at < n_blocks && s == SM_OK && w->rows_left) {
        args.block = at;
        args.n_blocks = n_blocks - at > jit_span ? at + jit_span : n_blocks;
        args.last_mask = args.n_blocks == n_blocks && n % 32 ? (1u << n % 32) - 1 : UINT32_MAX;
        int result = jit->info(r->code)->run(&args);
        ck_assert_int_ne(result, SM_JIT_FAILED);
        uint32_t stop = result == SM_JIT_REFUSED ? args.block : args.n_blocks;
        if (p->sink == SM_SINK_ROWS) s = take_rows(r, stop - at);
        at = stop;
        if (result == SM_JIT_REFUSED && s == SM_OK && w->rows_left) {
            refused_blocks++;
            s = sm_row_run(w, pin, at * 32, at * 32 + 32 < n ? at * 32 + 32 : n);
            at++;
        }
        sm_arena_rewind(&w->scratch);
    }
    for (uint32_t i = 0; i < p->n_steps; i++) w->stats[i + 1].rows_out += r->step_rows[i];
    jit->release(r->code);
    return s;
}

static sm_status run_rows(sm_worker *w, const sm_pin *pin, uint32_t from, uint32_t to)
{
    return jit_step ? jit_rows_of_pin(w, pin) : sm_row_run(w, pin, from, to);
}

static t_result run_jit(const sm_pipeline *p, uint32_t step, uint32_t span)
{
    jit_step = step + 1; /* 0 means the row tier */
    jit_span = p->sink == SM_SINK_ROWS && span > SM_BATCH_ROWS / 32 ? SM_BATCH_ROWS / 32 : span;
    t_result r = t_run_prepared(p, T_ROW_TIER, 1, -1);
    jit_step = 0;
    return r;
}

/* Row tier against compiled code of every width, in one piece and in many, for both kinds of CPU.
 */
static int compare_jit(sm_node *plan)
{
    static const struct {
        const char *cpu;
        uint32_t step, span;
    } ways[] = {{"", 0, 2048}, {"", 0, 3}, {"haswell", 8, 2048}, {"haswell", 16, 5}};
    const sm_pipeline *p = t_prepare(plan);
    t_result row = t_run_prepared(p, T_ROW_TIER, 1, -1);
    int mode = row.mode;
    char why[256];
    ck_assert_msg(jit->can(p, why, sizeof why) || !strcmp(why, "nothing to compute"), "%s", why);
    for (size_t i = 0; i < SM_COUNT(ways); i++) {
        setenv("SMELT_JIT_CPU", ways[i].cpu, 1);
        t_result got = run_jit(p, ways[i].step, ways[i].span);
        t_same(&row, &got, ways[i].step + 1000 * (uint32_t)i);
        for (uint32_t k = 0; k < p->n_steps && row.status == SM_OK; k++)
            if (p->steps[k].kind == SM_STEP_FILTER)
                ck_assert_uint_eq(row.stats[k + 1].rows_out, got.stats[k + 1].rows_out);
        t_result_reset(&got);
    }
    setenv("SMELT_JIT_CPU", "", 1);
    t_result_reset(&row);
    return mode;
}

/* ---- known answers -----------------------------------------------------------------------------
 */

START_TEST(sum_of_known_values)
{
    sm_node *scan = t_scan(5000);
    t_agg aggs[] = {{.fn = SM_AGG_COUNT_ALL}, {.fn = SM_AGG_SUM, .arg = t_column(scan, T_ROW)}};
    t_result r = run_jit(t_prepare(t_aggregate(scan, NULL, 0, aggs, 2)), 8, 2048);
    ck_assert_int_eq(r.status, SM_OK);
    ck_assert_int_eq(t_value(r.out, 0, 0).i64, 5000);
    ck_assert(t_value(r.out, 1, 0).i128 == 5000 * 4999 / 2);
    t_result_reset(&r);
}
END_TEST

/* ---- every accumulator, every way of grouping --------------------------------------------------
 */

static sm_expr *key_of(sm_node *scan, int mode)
{
    switch (mode) {
    case SM_GROUPS_TINY: return t_column(scan, T_DICT);
    case SM_GROUPS_DIRECT: return t_column(scan, T_I16);
    default: return t_op(SM_OP_upper_txt, t_column(scan, T_TEXT), NULL);
    }
}

static void check_modes(uint32_t rows, sm_expr *(*condition)(sm_node *scan))
{
    for (int mode = SM_GROUPS_NONE; mode <= SM_GROUPS_HASH; mode++) {
        sm_node *scan = t_scan(rows), *n = condition ? t_filter(scan, condition(scan)) : scan;
        sm_expr *key = key_of(scan, mode), *flag = t_column(scan, T_BOOL);
        t_agg aggs[] = {{.fn = SM_AGG_COUNT_ALL},
                        {.fn = SM_AGG_COUNT_ALL, .filter = flag},
                        {.fn = SM_AGG_COUNT, .arg = t_column(scan, T_TEXT)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_F64)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_F64_FULL)},
                        {.fn = SM_AGG_AVG, .arg = t_column(scan, T_F64), .filter = flag},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_F32)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_I16)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_I32)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_I64)},
                        {.fn = SM_AGG_AVG, .arg = t_column(scan, T_ROW), .filter = flag},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_D64)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_D128)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_D128_BIG)},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_I32), .distinct = true},
                        {.fn = SM_AGG_COUNT, .arg = t_column(scan, T_DICT), .distinct = true},
                        {.fn = SM_AGG_STDDEV_SAMP, .arg = t_column(scan, T_F64_FULL)},
                        {.fn = SM_AGG_VAR_POP, .arg = t_column(scan, T_D64), .filter = flag},
                        {.fn = SM_AGG_VAR_POP, .arg = t_column(scan, T_I16)},
                        {.fn = SM_AGG_STDDEV_POP, .arg = t_column(scan, T_D128_BIG)},
                        {.fn = SM_AGG_MIN, .arg = t_column(scan, T_F64)},
                        {.fn = SM_AGG_MAX, .arg = t_column(scan, T_F64)},
                        {.fn = SM_AGG_MIN, .arg = t_column(scan, T_F32)},
                        {.fn = SM_AGG_MIN, .arg = t_column(scan, T_I16)},
                        {.fn = SM_AGG_MAX, .arg = t_column(scan, T_I64)},
                        {.fn = SM_AGG_MIN, .arg = t_column(scan, T_DATE), .filter = flag},
                        {.fn = SM_AGG_MAX, .arg = t_column(scan, T_D128)},
                        {.fn = SM_AGG_MIN, .arg = t_column(scan, T_TEXT)},
                        {.fn = SM_AGG_MAX, .arg = t_column(scan, T_DICT)},
                        {.fn = SM_AGG_BOOL_AND, .arg = flag},
                        {.fn = SM_AGG_BOOL_OR, .arg = flag}};
        ck_assert_int_eq(
            compare_jit(t_aggregate(n, &key, mode != SM_GROUPS_NONE, aggs, SM_COUNT(aggs))), mode);
    }
}

static sm_expr *few(sm_node *scan)
{
    return t_op(SM_OP_gt_i32, t_column(scan, T_I32), t_const_i32(950));
}
static sm_expr *most(sm_node *scan)
{
    return t_op(SM_OP_gt_i32, t_column(scan, T_I32), t_const_i32(-900));
}
static sm_expr *none(sm_node *scan)
{
    return t_op(SM_OP_gt_i32, t_column(scan, T_I32), t_const_i32(2000));
}

START_TEST(all_accumulators_all_rows)
{
    check_modes(3000, NULL);
}
END_TEST
START_TEST(all_accumulators_few_rows)
{
    check_modes(3000, few);
}
END_TEST
START_TEST(all_accumulators_no_rows)
{
    check_modes(700, none);
}
END_TEST
START_TEST(more_than_one_chunk)
{
    check_modes(SM_CHUNK_ROWS + 777, most);
}
END_TEST

START_TEST(keys_alone_and_together)
{
    sm_node *scan = t_scan(2500);
    for (int mode = SM_GROUPS_TINY; mode <= SM_GROUPS_HASH; mode++) {
        sm_expr *keys[4] = {key_of(scan, mode), t_column(scan, T_BOOL), t_column(scan, T_D128),
                            t_column(scan, T_F64)};
        ck_assert_int_eq(compare_jit(t_aggregate(scan, keys, 1, NULL, 0)), mode);
        compare_jit(t_aggregate(t_filter(scan, few(scan)), keys, 4, NULL, 0));
    }
    sm_expr *two[2] = {t_column(scan, T_DICT), t_column(scan, T_BOOL)};
    t_agg aggs[] = {{.fn = SM_AGG_SUM, .arg = t_column(scan, T_F64_FULL)},
                    {.fn = SM_AGG_COUNT_ALL}};
    compare_jit(t_aggregate(scan, two, 2, aggs, 2));
}
END_TEST

/* ---- rows --------------------------------------------------------------------------------------
 */

START_TEST(rows_of_every_type)
{
    sm_node *scan = t_scan(3000);
    compare_jit(scan);
    compare_jit(t_filter(scan, few(scan)));
    compare_jit(
        t_filter(t_filter(scan, most(scan)), t_op(SM_OP_not_b, t_column(scan, T_BOOL), NULL)));
}
END_TEST

START_TEST(chains_of_steps)
{
    sm_node *scan = t_scan(3000);
    sm_expr *first[4] = {
        t_column(scan, T_I32), t_op(SM_OP_add_f64, t_column(scan, T_F64), t_const_f64(1)),
        t_column(scan, T_DICT), t_op(SM_OP_lower_txt, t_column(scan, T_DICT), NULL)};
    sm_node *p = t_project(scan, first, 4);
    sm_node *f = t_filter(p, t_op(SM_OP_lt_i32, t_column(p, 0), t_const_i32(500)));
    sm_expr *second[3] = {t_column(f, 3), t_column(f, 2),
                          t_op(SM_OP_mul_f64, t_column(f, 1), t_column(f, 1))};
    sm_node *q = t_project(f, second, 3);
    compare_jit(q);
    sm_expr *keys[2] = {t_column(q, 0), t_column(q, 1)};
    t_agg aggs[] = {{.fn = SM_AGG_SUM, .arg = t_column(q, 2)}};
    compare_jit(t_aggregate(q, keys, 2, aggs, 1));
    sm_expr *keep = t_op(SM_OP_eq_txt, t_column(q, 1), t_const_text("bravo"));
    compare_jit(t_aggregate(t_filter(q, keep), keys, 1, aggs, 1));
}
END_TEST

/* ---- errors ------------------------------------------------------------------------------------
 */

START_TEST(error_at_any_row)
{
    static const int64_t at[] = {0, 1, 31, 32, 63, 64, 1023, 1024, 1500, 2999};
    sm_node *scan = t_scan(3000);
    for (size_t i = 0; i < SM_COUNT(at); i++) {
        sm_expr *d = t_op(SM_OP_sub_i64, t_column(scan, T_ROW), t_const_i64(at[i]));
        sm_expr *q = t_op(SM_OP_div_i64, t_const_i64(1000), d);
        q->position = 17;
        t_agg aggs[] = {{.fn = SM_AGG_SUM, .arg = q},
                        {.fn = SM_AGG_SUM, .arg = t_column(scan, T_F64)}};
        uint64_t before = refused_blocks;
        compare_jit(t_aggregate(scan, NULL, 0, aggs, 2));
        ck_assert_uint_gt(refused_blocks, before);
        sm_expr *saved = t_op(SM_OP_ne_i64, t_column(scan, T_ROW), t_const_i64(at[i]));
        sm_expr *guard[3] = {saved, q, t_const_i64(0)};
        sm_expr *safe = t_node(SM_EXPR_CASE, sm_type_of(SM_INT64), guard, 3);
        t_agg guarded[] = {{.fn = SM_AGG_SUM, .arg = safe}};
        before = refused_blocks;
        compare_jit(t_aggregate(t_filter(scan, saved), NULL, 0, aggs, 2));
        compare_jit(t_aggregate(scan, NULL, 0, guarded, 1));
        ck_assert_uint_eq(refused_blocks, before);
    }
}
END_TEST

START_TEST(first_error_wins)
{
    sm_node *scan = t_scan(2000);
    sm_expr *late = t_op(SM_OP_div_i64, t_const_i64(1),
                         t_op(SM_OP_sub_i64, t_column(scan, T_ROW), t_const_i64(900)));
    sm_expr *soon = t_op(SM_OP_add_i64, t_const_i64(INT64_MAX),
                         t_op(SM_OP_sub_i64, t_column(scan, T_ROW), t_const_i64(899)));
    late->position = 5;
    soon->position = 9;
    sm_expr *both[2] = {late, soon};
    compare_jit(t_project(scan, both, 2));
    sm_expr *args[2] = {t_column(scan, T_BOOL), t_op(SM_OP_eq_i64, late, t_const_i64(7))};
    compare_jit(t_filter(scan, t_node(SM_EXPR_AND, sm_type_of(SM_BOOL), args, 2)));
    compare_jit(t_filter(scan, t_node(SM_EXPR_OR, sm_type_of(SM_BOOL), args, 2)));
    for (int64_t limit = 0; limit < 1000; limit += 170)
        compare_jit(t_limit(t_project(scan, both, 1), limit));
}
END_TEST

/* ---- any expressions ---------------------------------------------------------------------------
 */

START_TEST(random_expressions)
{
    enum { EXPRS = 4 };
    t_seed((unsigned)_i + 1000);
    for (int round = 0; round < 4; round++) {
        sm_node *scan = t_scan(500), *n = scan;
        if (round % 2) n = t_filter(n, t_random(scan, SM_CODE_B, 3));
        sm_expr *out[EXPRS];
        for (int i = 0; i < EXPRS; i++)
            out[i] = t_random(scan, (sm_code)(1 + t_pick(SM_CODE_TXT)), 4);
        compare_jit(t_project(n, out, EXPRS));
    }
}
END_TEST

/* ---- the module --------------------------------------------------------------------------------
 */

/* Only the step width 1 adds in one accumulator: near, not equal. */
START_TEST(scalar_step)
{
    sm_node *scan = t_scan(5003);
    t_agg aggs[] = {{.fn = SM_AGG_SUM, .arg = t_column(scan, T_F64_FULL)},
                    {.fn = SM_AGG_COUNT_ALL},
                    {.fn = SM_AGG_MAX, .arg = t_column(scan, T_I64)},
                    {.fn = SM_AGG_SUM, .arg = t_column(scan, T_I32)}};
    const sm_pipeline *p = t_prepare(t_aggregate(t_filter(scan, most(scan)), NULL, 0, aggs, 4));
    t_result want = t_run_prepared(p, T_ROW_TIER, 1, -1), got = run_jit(p, 1, 2048);
    double x = t_value(want.out, 0, 0).f64, y = t_value(got.out, 0, 0).f64;
    ck_assert(fabs(x - y) <= fabs(x) * 1e-9);
    for (uint32_t c = 1; c < 4; c++) {
        sm_value a = t_value(want.out, c, 0), b = t_value(got.out, c, 0);
        ck_assert(t_same_value(sm_type_phys(want.out->cols[c].type), &a, &b));
    }
    t_result_reset(&want);
    t_result_reset(&got);
}
END_TEST

static void compile_once(sm_node *plan, bool expect_hit)
{
    const sm_pipeline *p = t_prepare(plan);
    sm_jit_sig_col sig[T_N_COLUMNS] = {{0, 0}};
    const sm_chunk *chunk = p->source.version->chunks[0];
    for (uint32_t c = 0; c < p->source.n_cols; c++)
        sig[c] = (sm_jit_sig_col){chunk->cols[c].enc, chunk->cols[c].width};
    sm_jit_code *code = NULL;
    ck_assert_int_eq(jit->compile(p, sig, &(sm_jit_options){0}, &code, &t_err), SM_OK);
    ck_assert(jit->info(code)->cache_hit == expect_hit);
    ck_assert(jit->cached(p, sig, &(sm_jit_options){0}));
    jit->release(code);
}

static sm_node *literal_query(sm_node *scan, double k, bool extra)
{
    t_agg aggs[] = {{.fn = SM_AGG_SUM, .arg = t_column(scan, T_F64)}, {.fn = SM_AGG_COUNT_ALL}};
    sm_expr *keep = t_op(SM_OP_gt_f64, t_column(scan, T_F64_FULL), t_const_f64(k));
    return t_aggregate(t_filter(scan, keep), NULL, 0, aggs, extra ? 2 : 1);
}

START_TEST(literals_are_not_shape)
{
    sm_node *scan = t_scan(1000);
    compile_once(literal_query(scan, 0.125, true), false);
    compile_once(literal_query(scan, 777.0, true), true);
    compile_once(literal_query(scan, NAN, true), false); /* what is known of a literal is */
    compile_once(literal_query(scan, 0.125, false), false);
    compile_once(literal_query(scan, 0.125, true), true);
}
END_TEST

START_TEST(text_is_kept_on_request)
{
    sm_node *scan = t_scan(1000);
    const sm_pipeline *p = t_prepare(literal_query(scan, 0.5, true));
    sm_jit_sig_col sig[T_N_COLUMNS] = {{0, 0}};
    sm_jit_code *code = NULL;
    ck_assert_int_eq(jit->compile(p, sig, &(sm_jit_options){.keep_text = true}, &code, &t_err),
                     SM_OK);
    ck_assert_ptr_nonnull(strstr(jit->info(code)->ir, "define i32 @pipeline_"));
    ck_assert_ptr_nonnull(strstr(jit->info(code)->assembly, "ret"));
    jit->release(code);
}
END_TEST

static long resident_kb(void)
{
    long pages = 0, ignored;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &ignored, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Code that is not cached goes with its last holder. */
START_TEST(dropped_code_gives_its_memory_back)
{
    sm_node *scan = t_scan(1000);
    const sm_pipeline *p = t_prepare(literal_query(scan, 0.5, true));
    sm_jit_sig_col sig[T_N_COLUMNS] = {{0, 0}};
    long start = 0;
    size_t counted = 0;
    for (int i = 0; i < 200; i++) {
        sm_jit_code *code = NULL;
        ck_assert_int_eq(jit->compile(p, sig, &(sm_jit_options){.keep_text = true}, &code, &t_err),
                         SM_OK);
        jit->release(code);
        if (i == 50) start = resident_kb(), counted = atomic_load(&jit_mem.used_bytes);
    }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they keep what is freed */
    ck_assert_int_lt(resident_kb() - start, 1024);
#else
    (void)start;
#endif
    ck_assert_uint_eq(atomic_load(&jit_mem.used_bytes), counted);
}
END_TEST

static TCase *add_case(Suite *s, const char *name)
{
    TCase *t = tcase_create(name);
    tcase_add_checked_fixture(t, t_setup, t_teardown);
    tcase_set_timeout(t, 600);
    suite_add_tcase(s, t);
    return t;
}

int main(void)
{
    load_module();
    if (!jit) {
        printf("check_jit: skipped, there is no libsmelt_jit.so\n");
        return 0;
    }
    Suite *s = suite_create("jit");
    TCase *t = add_case(s, "rows");
    tcase_add_test(t, sum_of_known_values);
    tcase_add_test(t, rows_of_every_type);
    tcase_add_test(t, chains_of_steps);
    t = add_case(s, "groups");
    tcase_add_test(t, all_accumulators_all_rows);
    tcase_add_test(t, all_accumulators_few_rows);
    tcase_add_test(t, all_accumulators_no_rows);
    tcase_add_test(t, more_than_one_chunk);
    tcase_add_test(t, keys_alone_and_together);
    t = add_case(s, "errors");
    tcase_add_test(t, error_at_any_row);
    tcase_add_test(t, first_error_wins);
    t = add_case(s, "random");
    tcase_add_loop_test(t, random_expressions, 0, 8);
    t = add_case(s, "module");
    tcase_add_test(t, scalar_step);
    tcase_add_test(t, literals_are_not_shape);
    tcase_add_test(t, text_is_kept_on_request);
    tcase_add_test(t, dropped_code_gives_its_memory_back);
    SRunner *runner = srunner_create(s);
    srunner_set_fork_status(runner, CK_NOFORK); /* the cache lives in one process */
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    printf("check_jit: %llu pipelines, %llu refused blocks\n",
           (unsigned long long)compiled_pipelines, (unsigned long long)refused_blocks);
    return failed ? 1 : 0;
}
