/* Proofs, by trying: random typed expressions over columns of random ranges are evaluated as bound
 * and as proved, for rows of edge values, and must agree; and every node of the proved tree must
 * keep what it claims (range, phys, nullable, can_fail, no_check). SMELT_SEED chooses another
 * sequence. */
#include "plan_parts.h"

enum { N_COLS = 9, ROWS = 24, MOST_DEC = 38 };

static uint64_t state;

static uint64_t rnd(void)
{
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)(rnd() % n);
}

/* ---- columns ---- */

static sm_type col_types[N_COLS];
static sm_range limits[N_COLS], ranges[N_COLS];
static bool nulls[N_COLS];
static const sm_expr *inputs[N_COLS];

static sm_i128 in_range(sm_range r)
{
    sm_u128 width = (sm_u128)(r.hi - r.lo) + 1;
    sm_u128 bits = (sm_u128)rnd() << 64 | rnd();
    switch (below(4)) {
    case 0: return r.lo;
    case 1: return r.hi;
    case 2: return r.lo <= 0 && r.hi >= 0 ? 0 : r.hi;
    default: return r.lo + (sm_i128)(width ? bits % width : bits);
    }
}

static sm_range random_range(sm_range limit)
{
    unsigned bits = 1 + below(126);
    sm_i128 a = in_range(limit);
    sm_i128 width = (sm_i128)(((sm_u128)rnd() << 64 | rnd()) >> (128 - bits));
    if (below(3) == 0) a = (sm_i128)below(100) - 50;
    if (a < limit.lo) a = limit.lo;
    if (a > limit.hi) a = limit.hi;
    return (sm_range){true, a, limit.hi - a < width ? limit.hi : a + width};
}

static sm_range limit_of(sm_type t)
{
    sm_i128 most;
    switch (t.id) {
    case SM_BOOL: return (sm_range){true, 0, 1};
    case SM_INT16: return (sm_range){true, INT16_MIN, INT16_MAX};
    case SM_INT32: return (sm_range){true, INT32_MIN, INT32_MAX};
    case SM_DATE: return (sm_range){true, SM_DATE_MIN_DAYS, SM_DATE_MAX_DAYS};
    case SM_TIMESTAMP: return (sm_range){true, SM_TIMESTAMP_MIN_US, INT64_MAX};
    case SM_DECIMAL: most = sm_pow10(t.precision) - 1; return (sm_range){true, -most, most};
    default: return (sm_range){true, INT64_MIN, INT64_MAX};
    }
}

static void make_columns(void)
{
    const sm_type types[N_COLS] = {T(BOOL),          T(INT16),          T(INT32),
                                   T(INT64),         T(DATE),           T(TIMESTAMP),
                                   sm_decimal(9, 2), sm_decimal(18, 3), sm_decimal(30, 2)};
    for (uint32_t i = 0; i < N_COLS; i++) {
        col_types[i] = types[i];
        limits[i] = limit_of(types[i]);
        ranges[i] = random_range(limits[i]);
        nulls[i] = below(2);
        sm_expr *c = sm_expr_column(&arena, i, types[i], nulls[i]);
        c->range = below(8) ? ranges[i] : limits[i];
        bool fits = c->range.lo >= INT64_MIN && c->range.hi <= INT64_MAX;
        if (c->phys == SM_PHYS_I128 && fits && below(2)) c->phys = SM_PHYS_I64;
        inputs[i] = c;
    }
}

static void put_int(sm_value *v, sm_phys p, sm_i128 x)
{
    *v = (sm_value){.is_null = false};
    switch (p) {
    case SM_PHYS_BOOL: v->b = (uint8_t)x; break;
    case SM_PHYS_I16: v->i16 = (int16_t)x; break;
    case SM_PHYS_I32: v->i32 = (int32_t)x; break;
    case SM_PHYS_I64: v->i64 = (int64_t)x; break;
    default: v->i128 = x; break;
    }
}

/* ---- expressions ---- */

static sm_expr *gen(sm_type_id id, int depth);

static sm_expr *constant(sm_type t)
{
    sm_value v;
    if (below(12) == 0) return sm_expr_null(&arena, t);
    sm_range r = below(2) ? random_range(limit_of(t)) : (sm_range){true, -3, 10};
    if (t.id == SM_BOOL) r = limit_of(t);
    sm_range cut = limit_of(t);
    sm_i128 x = in_range(r);
    if (x < cut.lo) x = cut.lo;
    if (x > cut.hi) x = cut.hi;
    put_int(&v, sm_type_phys(t), x);
    return sm_expr_const(&arena, t, &v);
}

static sm_expr *leaf(sm_type_id id)
{
    uint32_t first = 0, n = 0;
    for (uint32_t i = 0; i < N_COLS; i++) {
        if (col_types[i].id != id) continue;
        if (!n) first = i;
        n++;
    }
    uint32_t i = first + below(n);
    if (below(3) == 0) return constant(col_types[i]);
    return sm_expr_column(&arena, i, col_types[i], nulls[i]);
}

static sm_expr *with_imm(sm_expr *e, int32_t a, int32_t b)
{
    e->imm[0] = a;
    e->imm[1] = b;
    return e;
}

static sm_expr *gen_int(sm_type_id id, int depth)
{
    static const sm_op first[] = {SM_OP_add_i16, SM_OP_add_i32, SM_OP_add_i64};
    static const sm_op widen[3][3] = {{SM_N_OPS, SM_OP_i32_to_i16, SM_OP_i64_to_i16},
                                      {SM_OP_i16_to_i32, SM_N_OPS, SM_OP_i64_to_i32},
                                      {SM_OP_i16_to_i64, SM_OP_i32_to_i64, SM_N_OPS}};
    unsigned w = id - SM_INT16, from = below(3), which = below(9);
    sm_type t = sm_type_of(id);
    if (which < 5) return op2((sm_op)(first[w] + which), t, gen(id, depth), gen(id, depth));
    if (which < 7) return op1((sm_op)(first[w] + which), t, gen(id, depth));
    if (id == SM_INT32 && which == 7) {
        return below(2) ? op2(SM_OP_sub_date_date, t, gen(SM_DATE, depth), gen(SM_DATE, depth))
                        : op1(SM_OP_b_to_i32, t, gen(SM_BOOL, depth));
    }
    if (widen[w][from] == SM_N_OPS) return gen(id, depth);
    return op1(widen[w][from], t, gen((sm_type_id)(SM_INT16 + from), depth));
}
static_assert(SM_OP_abs_i16 == SM_OP_add_i16 + 6, "order of SM_INT_ARITH");

static bool is_short(const sm_expr *e)
{
    return e->type.precision <= SM_DEC64_DIGITS;
}

static sm_expr *widened(sm_expr *e)
{
    if (!is_short(e)) return e;
    return op1(SM_OP_i64_to_d128, sm_decimal(SM_DEC64_DIGITS + 1, e->type.scale), e);
}

static unsigned at_most(unsigned a, unsigned most)
{
    return a < most ? a : most;
}

static sm_expr *scaled_up(sm_expr *e, unsigned by)
{
    unsigned p = at_most(e->type.precision + by, MOST_DEC);
    if (p <= SM_DEC64_DIGITS)
        return with_imm(op1(SM_OP_up_d64, sm_decimal(p, e->type.scale + by), e), (int32_t)by, 0);
    return with_imm(op1(SM_OP_up_d128, sm_decimal(p, e->type.scale + by), widened(e)), (int32_t)by,
                    0);
}

/* As the binder would: 64 bits where the result's digits allow. */
static sm_expr *gen_decimal(int depth)
{
    sm_expr *a = gen(SM_DECIMAL, depth), *b = gen(SM_DECIMAL, depth);
    unsigned which = below(10), p = a->type.precision, s = a->type.scale;
    bool narrow;
    switch (which) {
    case 0:
    case 1:
    case 2:
    case 3: {
        static const sm_op ops[4][2] = {{SM_OP_add_d64, SM_OP_add_d128},
                                        {SM_OP_sub_d64, SM_OP_sub_d128},
                                        {SM_OP_mod_d64, SM_OP_mod_d128},
                                        {SM_OP_mul_d64, SM_OP_mul_d128}};
        if (which < 3) {
            if (a->type.scale < b->type.scale)
                a = scaled_up(a, (unsigned)(b->type.scale - a->type.scale));
            if (b->type.scale < a->type.scale)
                b = scaled_up(b, (unsigned)(a->type.scale - b->type.scale));
            p = (a->type.precision > b->type.precision ? a : b)->type.precision + 1u;
            s = a->type.scale;
        } else {
            p = a->type.precision + b->type.precision + 0u;
            s = a->type.scale + b->type.scale + 0u;
        }
        if (s > MOST_DEC) return a;
        narrow = p <= SM_DEC64_DIGITS;
        if (!narrow) a = widened(a), b = widened(b);
        return op2(ops[which][!narrow], sm_decimal(at_most(p, MOST_DEC), s), a, b);
    }
    case 4: return op1(is_short(a) ? SM_OP_neg_d64 : SM_OP_neg_d128, a->type, a);
    case 5: return op1(is_short(a) ? SM_OP_abs_d64 : SM_OP_abs_d128, a->type, a);
    case 6: {
        unsigned by = s ? 1 + below(s) : 0, digits = p > by ? p - by + 1 : 1;
        if (!by) return a;
        if (!is_short(a) && digits <= SM_DEC64_DIGITS) digits = SM_DEC64_DIGITS + 1;
        sm_type t = sm_decimal(digits, s - by);
        if (below(2))
            return with_imm(op1(is_short(a) ? SM_OP_down_d64 : SM_OP_down_d128, t, a), (int32_t)by,
                            0);
        sm_expr *n = i32c((int32_t)(s - by));
        t = sm_decimal(digits > SM_DEC64_DIGITS ? digits : SM_DEC64_DIGITS + 1, s - by);
        return with_imm(op2(SM_OP_round_d128, t, widened(a), n), (int32_t)s, (int32_t)(s - by));
    }
    case 7: {
        unsigned to = 1 + below(p);
        sm_type t = is_short(a) ? sm_decimal(to, at_most(s, to)) : a->type;
        t.scale = (uint8_t)s;
        return with_imm(op1(is_short(a) ? SM_OP_fit_d64 : SM_OP_fit_d128, t, a), (int32_t)to, 0);
    }
    case 8:
        return below(2) ? op1(SM_OP_i64_to_d128, sm_decimal(19, 0), gen(SM_INT64, depth))
                        : with_imm(op1(SM_OP_floor_d128, sm_decimal(MOST_DEC, 0), widened(a)),
                                   (int32_t)s, 0);
    default: {
        static const int fields[] = {SM_FIELD_YEAR,    SM_FIELD_MONTH, SM_FIELD_DOW,
                                     SM_FIELD_DOY,     SM_FIELD_WEEK,  SM_FIELD_CENTURY,
                                     SM_FIELD_QUARTER, SM_FIELD_DAY};
        int32_t f = fields[below(SM_COUNT(fields))];
        sm_type t = sm_decimal(SM_DEC64_DIGITS, 0);
        return with_imm(below(2) ? op1(SM_OP_extract_date, t, gen(SM_DATE, depth))
                                 : op1(SM_OP_extract_ts, t, gen(SM_TIMESTAMP, depth)),
                        f, 0);
    }
    }
}

static sm_expr *gen_bool(int depth)
{
    static const sm_type_id ids[] = {SM_BOOL, SM_INT16, SM_INT32, SM_INT64, SM_DATE, SM_TIMESTAMP};
    static const sm_op first[] = {SM_OP_eq_b,   SM_OP_eq_i16, SM_OP_eq_i32,
                                  SM_OP_eq_i64, SM_OP_eq_i32, SM_OP_eq_i64};
    uint32_t which = below(8), i = below(SM_COUNT(ids));
    sm_type t = T(BOOL);
    switch (which) {
    case 0: return node2(SM_EXPR_AND, t, gen(SM_BOOL, depth), gen(SM_BOOL, depth));
    case 1: return node2(SM_EXPR_OR, t, gen(SM_BOOL, depth), gen(SM_BOOL, depth));
    case 2: return op1(SM_OP_not_b, t, gen(SM_BOOL, depth));
    case 3: return is_null(gen(ids[i], depth));
    case 4: {
        sm_expr *a = gen(SM_DECIMAL, depth), *b = gen(SM_DECIMAL, depth);
        return op2((sm_op)(SM_OP_eq_d128 + below(6)), t, widened(a), widened(b));
    }
    default: return op2((sm_op)(first[i] + below(6)), t, gen(ids[i], depth), gen(ids[i], depth));
    }
}

static sm_expr *gen_date(int depth)
{
    sm_type t = T(DATE);
    switch (below(4)) {
    case 0: return op2(SM_OP_add_date_i32, t, gen(SM_DATE, depth), gen(SM_INT32, depth));
    case 1: return op2(SM_OP_sub_date_i32, t, gen(SM_DATE, depth), gen(SM_INT32, depth));
    case 2: return op2(SM_OP_add_i32_date, t, gen(SM_INT32, depth), gen(SM_DATE, depth));
    default: return op1(SM_OP_ts_to_date, t, gen(SM_TIMESTAMP, depth));
    }
}

static sm_expr *gen_timestamp(int depth)
{
    static const int fields[] = {SM_FIELD_YEAR, SM_FIELD_MONTH, SM_FIELD_DAY, SM_FIELD_HOUR,
                                 SM_FIELD_WEEK};
    if (below(2)) return op1(SM_OP_date_to_ts, T(TIMESTAMP), gen(SM_DATE, depth));
    return with_imm(op1(SM_OP_trunc_ts, T(TIMESTAMP), gen(SM_TIMESTAMP, depth)),
                    fields[below(SM_COUNT(fields))], 0);
}

static sm_expr *gen(sm_type_id id, int depth)
{
    if (depth <= 0 || below(6) == 0) return leaf(id);
    depth--;
    if (id != SM_DECIMAL && below(7) == 0) {
        sm_expr *a = gen(id, depth), *b = gen(id, depth);
        return below(2) ? case3(sm_type_of(id), gen(SM_BOOL, depth), a, b)
                        : node2(SM_EXPR_COALESCE, sm_type_of(id), a, b);
    }
    switch (id) {
    case SM_BOOL: return gen_bool(depth);
    case SM_DATE: return gen_date(depth);
    case SM_TIMESTAMP: return gen_timestamp(depth);
    case SM_DECIMAL:
        if (below(7) == 0) { /* choices of wide values, some of which will be narrow */
            sm_expr *a = widened(gen(SM_DECIMAL, depth)), *b = widened(gen(SM_DECIMAL, depth));
            return below(2) ? case3(a->type, gen(SM_BOOL, depth), a, b)
                            : node2(SM_EXPR_COALESCE, a->type, a, b);
        }
        return gen_decimal(depth);
    default: return gen_int(id, depth);
    }
}

/* ---- the check ---- */

typedef struct rows_of {
    sm_value row[N_COLS];
    const sm_expr *whole;
} rows_of;

static char *shown(const sm_expr *e)
{
    sm_col cols[N_COLS];
    char *out = NULL;
    for (uint32_t i = 0; i < N_COLS; i++)
        cols[i] = (sm_col){sm_arena_printf(&arena, "c%u", i), col_types[i], true};
    ck_assert_int_eq(sm_expr_print(e, cols, N_COLS, &arena, &out, NULL), SM_OK);
    return out;
}

/* Every claim of a proved node holds for this row. */
static bool claims_hold(const sm_expr *e, void *arg)
{
    const rows_of *r = arg;
    sm_value v;
    sm_status s = eval(e, r->row, &v);
    ck_assert_msg(s == SM_OK || e->can_fail, "can_fail is wrong for %s in %s", shown(e),
                  shown(r->whole));
    if (s != SM_OK) return true;
    ck_assert_msg(!v.is_null || e->nullable, "nullable is wrong for %s in %s", shown(e),
                  shown(r->whole));
    if (v.is_null || !e->range.known) return true;
    sm_i128 x = sm_value_int(&v, e->phys);
    ck_assert_msg(x >= e->range.lo && x <= e->range.hi,
                  "range is wrong for %s in %s: %g, not in %g to %g", shown(e), shown(r->whole),
                  (double)x, (double)e->range.lo, (double)e->range.hi);
    return true;
}

static bool no_check_is_claimed(const sm_expr *e, void *arg)
{
    uint32_t *n = arg;
    *n += e->no_check;
    return true;
}

static uint32_t n_proved, n_narrowed;

static void compare_once(const sm_expr *bound, const sm_expr *proved)
{
    sm_value full[N_COLS], a, b;
    rows_of r = {.whole = bound};
    for (uint32_t i = 0; i < N_COLS; i++) {
        if (nulls[i] && below(5) == 0) {
            full[i] = r.row[i] = (sm_value){.is_null = true};
            continue;
        }
        sm_i128 x = in_range(ranges[i]);
        put_int(&full[i], sm_type_phys(col_types[i]), x);
        put_int(&r.row[i], inputs[i]->phys, x);
    }
    sm_status sa = eval(bound, full, &a), sb = eval(proved, r.row, &b);
    ck_assert_msg(sa == sb, "%s: bound gives status %d, proved %d", shown(bound), sa, sb);
    if (sa == SM_OK) {
        ck_assert_msg(a.is_null == b.is_null, "NULL differs: %s", shown(bound));
        if (!a.is_null)
            ck_assert_msg(sm_value_int(&a, bound->phys) == sm_value_int(&b, proved->phys),
                          "value differs: %s", shown(bound));
    }
    sm_expr_walk(proved, claims_hold, &r);
}

START_TEST(proved_is_bound)
{
    static const sm_type_id ids[] = {SM_BOOL,    SM_INT16,   SM_INT32, SM_INT64,
                                     SM_DECIMAL, SM_DECIMAL, SM_DATE,  SM_TIMESTAMP};
    const char *seed = getenv("SMELT_SEED");
    state = (uint64_t)_i * 1000003u + (seed ? strtoull(seed, NULL, 10) : 1);
    for (int trial = 0; trial < 200; trial++) {
        sm_expr *proved;
        make_columns();
        sm_expr *bound = gen(ids[below(SM_COUNT(ids))], 1 + (int)below(4));
        OK(sm_prove(&arena, bound, inputs, &proved, &err));
        sm_expr_walk(proved, no_check_is_claimed, &n_proved);
        n_narrowed += proved->phys != bound->phys;
        for (int i = 0; i < ROWS; i++) compare_once(bound, proved);
        sm_arena_rewind(&arena);
    }
    ck_assert_msg(n_proved > 10 && n_narrowed > 2, "the proofs are hardly exercised: %u, %u",
                  n_proved, n_narrowed);
}
END_TEST

static sm_expr *proved_of(const sm_expr *e)
{
    sm_expr *out;
    OK(sm_prove(&arena, e, inputs, &out, &err));
    return out;
}

static const sm_expr *input(uint32_t i, sm_type t, sm_phys phys, sm_i128 lo, sm_i128 hi)
{
    sm_expr *c = sm_expr_column(&arena, i, t, false);
    c->phys = phys;
    c->range = (sm_range){true, lo, hi};
    inputs[i] = c;
    return c;
}

START_TEST(tpch_price_is_computed_in_64_bits)
{
    sm_type d = sm_decimal(15, 2), wide = sm_decimal(19, 2);
    input(0, d, SM_PHYS_I64, 90000, 10500000);
    input(1, d, SM_PHYS_I64, 0, 10);
    sm_expr *one = decc(100, 3, 2);
    sm_expr *rest = op2(SM_OP_sub_d64, sm_decimal(16, 2), one, col(1, d));
    sm_expr *e = op2(SM_OP_mul_d128, sm_decimal(31, 4), op1(SM_OP_i64_to_d128, wide, col(0, d)),
                     op1(SM_OP_i64_to_d128, wide, rest));
    sm_expr *p = proved_of(e);
    ck_assert_int_eq(p->op, SM_OP_mul_d64);
    ck_assert_int_eq(p->phys, SM_PHYS_I64);
    ck_assert(!p->can_fail && !p->nullable);
    ck_assert_int_eq(p->args[0]->kind, SM_EXPR_COLUMN);
    ck_assert(p->range.lo == 90000 * 90 && p->range.hi == (sm_i128)10500000 * 100);
}
END_TEST

START_TEST(checks_stay_where_they_may_fail)
{
    input(0, T(INT32), SM_PHYS_I32, 0, INT32_MAX);
    input(1, T(INT32), SM_PHYS_I32, 0, 5);
    input(2, T(INT32), SM_PHYS_I32, 1, 5);
    sm_type t = T(INT32);
    sm_expr *p = proved_of(op2(SM_OP_add_i32, t, col(0, t), i32c(1)));
    ck_assert(p->can_fail && !p->no_check);
    p = proved_of(op2(SM_OP_add_i32, t, col(1, t), i32c(1)));
    ck_assert(!p->can_fail && p->no_check);
    p = proved_of(op2(SM_OP_div_i32, t, col(0, t), col(1, t)));
    ck_assert(p->can_fail);
    p = proved_of(op2(SM_OP_div_i32, t, col(0, t), col(2, t)));
    ck_assert(!p->can_fail && p->no_check);
    p = proved_of(op2(SM_OP_lt_i32, T(BOOL), col(1, t), i32c(6)));
    ck_assert(p->range.lo == 1 && p->range.hi == 1);
}
END_TEST

START_TEST(constants_are_compared_in_the_narrow_width)
{
    static const int64_t day = SM_DAY_US;
    input(0, T(DATE), SM_PHYS_I32, -1000, 1000);
    input(1, T(INT16), SM_PHYS_I16, INT16_MIN, INT16_MAX);
    int64_t moments[] = {0, 1, -1, day, -day, day / 2, -day / 2, 7 * day - 1, 7 * day + 1};
    for (size_t m = 0; m < SM_COUNT(moments); m++) {
        for (unsigned relation = 0; relation < 6; relation++) {
            sm_expr *c = sm_expr_const(&arena, T(TIMESTAMP), &(sm_value){.i64 = moments[m]});
            sm_expr *bound = op2((sm_op)(SM_OP_eq_i64 + relation), T(BOOL),
                                 op1(SM_OP_date_to_ts, T(TIMESTAMP), col(0, T(DATE))), c);
            sm_expr *p = proved_of(bound);
            bool narrow = relation >= 2 || moments[m] % day == 0;
            ck_assert_int_eq(p->args[0]->kind, narrow ? SM_EXPR_COLUMN : SM_EXPR_OP);
            for (int32_t d = -9; d <= 9; d++) {
                sm_value row = {.i32 = d}, x, y;
                OK(eval(bound, &row, &x));
                OK(eval(p, &row, &y));
                ck_assert_msg(x.b == y.b, "day %d, moment %ld, relation %u", d, (long)moments[m],
                              relation);
            }
        }
    }
    sm_expr *p = proved_of(
        op2(SM_OP_lt_i64, T(BOOL), op1(SM_OP_i16_to_i64, T(INT64), col(1, T(INT16))), i64c(7)));
    ck_assert_int_eq(p->op, SM_OP_lt_i16);
    p = proved_of(
        op2(SM_OP_lt_i64, T(BOOL), op1(SM_OP_i16_to_i64, T(INT64), col(1, T(INT16))), i64c(70000)));
    ck_assert_int_eq(p->op, SM_OP_lt_i64);
    ck_assert(p->range.lo == 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("prove");
    TCase *c = tcase_create("prove");
    suite_add_tcase(s, c);
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, proved_is_bound, 0, 12);
    tcase_add_test(c, tpch_price_is_computed_in_64_bits);
    tcase_add_test(c, constants_are_compared_in_the_narrow_width);
    tcase_add_test(c, checks_stay_where_they_may_fail);
    return run_suite(s);
}
