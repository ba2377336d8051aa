/* What each operation does to ranges, which of its checks a range proves away, and how 128-bit
 * decimals become 64-bit ones. One switch over the operations; what is not in it keeps its type's
 * range, its check and its form. Read prove.c first. */
#include "plan/prove_parts.h"

#include "runtime/format.h"

static sm_range arg_range(const sm_expr *e, uint32_t i)
{
    return e->args[i]->range;
}

/* The operation's own check cannot fail (ok), or stays. */
static sm_expr *settle(sm_expr *e, sm_range range, bool ok)
{
    bool below = false;
    e->nullable = false;
    for (uint32_t i = 0; i < e->n_args; i++) {
        below |= e->args[i]->can_fail;
        e->nullable |= e->args[i]->nullable;
    }
    bool checks = sm_ops[e->op].can_fail;
    e->no_check = checks && ok;
    e->can_fail = below || (checks && !ok);
    e->range = range;
    return e;
}

/* An integer operation whose result must lie in [lo, hi]. */
static sm_expr *bounded(sm_expr *e, sm_range r, sm_i128 lo, sm_i128 hi)
{
    return settle(e, sm_range_cut(r, sm_range_of(lo, hi)), sm_range_within(r, lo, hi));
}

static sm_expr *integer(sm_expr *e, sm_range r)
{
    switch (e->phys) {
    case SM_PHYS_I16: return bounded(e, r, INT16_MIN, INT16_MAX);
    case SM_PHYS_I32: return bounded(e, r, INT32_MIN, INT32_MAX);
    default: return bounded(e, r, INT64_MIN, INT64_MAX);
    }
}

static sm_expr *integer_div(sm_expr *e)
{
    sm_range a = arg_range(e, 0), b = arg_range(e, 1), type = sm_range_of_type(e->type);
    bool wraps = a.lo <= type.lo && b.lo <= -1 && b.hi >= -1;
    bool ok = sm_range_nonzero(b) && a.known && type.known && !wraps;
    return settle(e, sm_range_cut(sm_range_div(a, b), type), ok);
}

static sm_expr *remainder_of(sm_expr *e)
{
    sm_range r = sm_range_mod(arg_range(e, 0), arg_range(e, 1));
    return settle(e, sm_range_cut(r, sm_range_of_type(e->type)), sm_range_nonzero(arg_range(e, 1)));
}

/* The argument stands for the operation: same bits, another type. */
static sm_expr *only_arg(sm_expr *e)
{
    sm_expr *x = e->args[0];
    x->type = e->type;
    return x;
}

/* ---- decimals ---- */

static sm_expr *widen_args(sm_arena *a, sm_expr *e)
{
    const sm_op_info *op = &sm_ops[e->op];
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (op->args[i] != SM_CODE_D128) continue;
        e->args[i] = sm_prove_widen(a, e->args[i]);
        if (!e->args[i]) return NULL;
    }
    return e;
}

static bool args_narrow(const sm_expr *e)
{
    for (uint32_t i = 0; i < e->n_args; i++)
        if (e->args[i]->phys != SM_PHYS_I64) return false;
    return true;
}

/* A d128 operation that has a d64 form: that one if arguments and result fit. nonzero: a further
 * condition of not failing (remainders). */
static sm_expr *decimal(sm_arena *a, sm_expr *e, sm_range r, sm_op narrow, bool nonzero)
{
    bool imm_fits = (narrow != SM_OP_up_d64 && narrow != SM_OP_down_d64) ||
                    (e->imm[0] >= 0 && e->imm[0] <= SM_DEC64_DIGITS);
    if (args_narrow(e) && sm_range_fits_i64(r) && imm_fits) {
        e->op = narrow;
        e->phys = SM_PHYS_I64;
        return settle(e, r, nonzero);
    }
    if (!widen_args(a, e)) return NULL;
    sm_i128 most = sm_pow10(SM_DEC_MAX_DIGITS) - 1;
    return settle(e, sm_range_cut(r, sm_range_of(-most, most)),
                  nonzero && sm_range_within(r, -most, most));
}

static sm_range up(const sm_expr *e)
{
    if (e->imm[0] < 0 || e->imm[0] > SM_DEC_MAX_DIGITS) return SM_RANGE_UNKNOWN;
    sm_i128 by = sm_pow10((unsigned)e->imm[0]);
    return sm_range_mul(arg_range(e, 0), sm_range_of(by, by));
}

static sm_range down(const sm_expr *e)
{
    return e->imm[0] < 0 ? SM_RANGE_UNKNOWN : sm_range_down(arg_range(e, 0), (unsigned)e->imm[0]);
}

/* The result type has room for every result, so the range is left as computed. */
static sm_expr *short_decimal(sm_expr *e, sm_range r)
{
    return settle(e, sm_range_fits_i64(r) ? r : sm_range_of_type(e->type), true);
}

static sm_expr *fit(sm_arena *a, sm_expr *e)
{
    if (e->imm[0] < 0 || e->imm[0] > SM_DEC_MAX_DIGITS) return widen_args(a, e);
    sm_i128 most = sm_pow10((unsigned)e->imm[0]) - 1;
    if (sm_range_within(arg_range(e, 0), -most, most)) return only_arg(e);
    if (e->op == SM_OP_fit_d128 && e->args[0]->phys == SM_PHYS_I64) {
        e->op = SM_OP_fit_d64;
        e->phys = SM_PHYS_I64;
    }
    return settle(e, sm_range_cut(arg_range(e, 0), sm_range_of(-most, most)), false);
}

/* round(x, n) with a constant n is a division by a power of ten. */
static sm_expr *round_decimal(sm_arena *a, sm_expr *e)
{
    const sm_expr *n = e->args[1];
    if (n->kind == SM_EXPR_CONST && !n->value.is_null && n->value.i32 == e->imm[1] &&
        e->imm[0] >= e->imm[1] && e->imm[1] >= 0) {
        e->n_args = 1;
        if (e->imm[0] == e->imm[1]) return only_arg(e);
        e->imm[0] -= e->imm[1];
        e->imm[1] = 0;
        e->op = SM_OP_down_d128;
        return decimal(a, e, down(e), SM_OP_down_d64, true);
    }
    if (!widen_args(a, e)) return NULL;
    return settle(e, sm_range_of_type(e->type), false);
}

static sm_range floor_range(sm_range r, unsigned scale, bool ceiling)
{
    if (!r.known || scale > SM_DEC_MAX_DIGITS) return SM_RANGE_UNKNOWN;
    sm_i128 by = sm_pow10(scale);
    sm_range q = {true, r.lo / by, r.hi / by};
    if (ceiling) {
        q.lo += r.lo % by > 0;
        q.hi += r.hi % by > 0;
    } else {
        q.lo -= r.lo % by < 0;
        q.hi -= r.hi % by < 0;
    }
    return q;
}

/* ---- comparison ---- */

/* relation: = <> < <= > >=, in the order of ops.def. */
static sm_range compare(sm_range a, sm_range b, unsigned relation)
{
    if (!a.known || !b.known) return sm_range_of(0, 1);
    bool less = a.hi<b.lo, more = a.lo> b.hi, same = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
    bool no_more = a.hi <= b.lo, no_less = a.lo >= b.hi;
    bool is = false, is_not = false;
    switch (relation) {
    case 0: is = same, is_not = less || more; break;
    case 1: is = less || more, is_not = same; break;
    case 2: is = less, is_not = no_less; break;
    case 3: is = no_more, is_not = more; break;
    case 4: is = more, is_not = no_more; break;
    default: is = no_less, is_not = less; break;
    }
    return sm_range_of(is, !is_not);
}

/* x, if e is x widened and nothing else: i16 and i32 to wider integers, dates to their midnight. */
static sm_expr *unwidened(sm_expr *e)
{
    if (e->kind != SM_EXPR_OP) return NULL;
    switch (e->op) {
    case SM_OP_i16_to_i32:
    case SM_OP_i16_to_i64:
    case SM_OP_i32_to_i64: return e->args[0];
    case SM_OP_date_to_ts: return e->no_check ? e->args[0] : NULL;
    default: return NULL;
    }
}

/* A constant on the right is compared in the left side's own width: `date < timestamp` as dates,
 * `smallint = 5` as smallints. relation as above. */
static void narrow_comparison(sm_expr *e)
{
    sm_expr *x = unwidened(e->args[0]), *c = e->args[1];
    if (!x || c->kind != SM_EXPR_CONST || c->value.is_null) return;
    unsigned relation = (unsigned)(e->op - SM_OP_eq_b) % 6;
    sm_i128 v = sm_value_int(&c->value, c->phys);
    if (e->args[0]->op == SM_OP_date_to_ts) {
        bool midnight = v % SM_DAY_US == 0;
        v = v / SM_DAY_US - (v % SM_DAY_US < 0);
        if (!midnight && relation < 2) return;
        if (!midnight && relation == 2)
            relation = 3; /* before noon of a day: on that day or earlier */
        if (!midnight && relation == 5) relation = 4;
    }
    bool is_short = x->phys == SM_PHYS_I16;
    if (is_short ? v < INT16_MIN || v > INT16_MAX : v < INT32_MIN || v > INT32_MAX) return;
    c->value = (sm_value){.is_null = false};
    if (is_short) {
        c->value.i16 = (int16_t)v;
    } else {
        c->value.i32 = (int32_t)v;
    }
    c->type = x->type;
    c->phys = x->phys;
    c->range = sm_range_of(v, v);
    e->args[0] = x;
    e->op = (sm_op)((is_short ? SM_OP_eq_i16 : SM_OP_eq_i32) + relation);
}

static sm_expr *comparison(sm_arena *a, sm_expr *e)
{
    sm_range r = sm_range_of(0, 1);
    if (e->op >= SM_OP_eq_d128 && e->op <= SM_OP_ge_d128) {
        r = compare(arg_range(e, 0), arg_range(e, 1), (unsigned)(e->op - SM_OP_eq_d128));
        if (args_narrow(e)) {
            e->op = (sm_op)(SM_OP_eq_i64 + (e->op - SM_OP_eq_d128));
        } else if (!widen_args(a, e)) {
            return NULL;
        }
    } else if (e->op >= SM_OP_eq_b && e->op <= SM_OP_ge_i64) {
        if (e->op >= SM_OP_eq_i32) narrow_comparison(e);
        r = compare(arg_range(e, 0), arg_range(e, 1), (unsigned)(e->op - SM_OP_eq_b) % 6);
    }
    return settle(e, r, true);
}
static_assert(SM_OP_ge_b == SM_OP_eq_b + 5 && SM_OP_eq_i16 == SM_OP_ge_b + 1 &&
                  SM_OP_eq_i32 == SM_OP_ge_i16 + 1 && SM_OP_eq_i64 == SM_OP_ge_i32 + 1 &&
                  SM_OP_eq_d128 == SM_OP_ge_i64 + 1 && SM_OP_ge_d128 == SM_OP_eq_d128 + 5,
              "order of SM_COMPARE");

/* ---- dates ---- */

/* A monotone function of a date or timestamp: the ends of its range by the operation's own body.
 * Unknown if one fails, or is no value that the calendar knows (foreign memory may hold any bits;
 * bodies may wrap around there). */
static sm_range by_ends(const sm_expr *e, sm_range in)
{
    sm_range r = {in.known, 0, 0};
    sm_phys from = e->args[0]->phys;
    bool valid = from == SM_PHYS_I32 ? sm_range_within(in, SM_DATE_MIN_DAYS, SM_DATE_MAX_DAYS)
                                     : sm_range_within(in, SM_TIMESTAMP_MIN_US, INT64_MAX);
    if (!valid) return SM_RANGE_UNKNOWN;
    for (int end = 0; end < 2; end++) {
        sm_i128 v = end ? in.hi : in.lo;
        sm_value arg = {.is_null = false}, out = {.is_null = false};
        const sm_value *args[1] = {&arg};
        if (from == SM_PHYS_I32) {
            arg.i32 = (int32_t)v;
        } else {
            arg.i64 = (int64_t)v;
        }
        sm_opctx cx = {{e->imm[0], e->imm[1]}, NULL, NULL};
        if (sm_ops[e->op].row(&cx, args, &out) != SM_OK) return SM_RANGE_UNKNOWN;
        *(end ? &r.hi : &r.lo) = sm_value_int(&out, e->phys);
    }
    return r.lo <= r.hi ? r : SM_RANGE_UNKNOWN;
}

static sm_expr *monotone(sm_expr *e)
{
    sm_range r = by_ends(e, arg_range(e, 0));
    return settle(e, r.known ? r : sm_range_of_type(e->type), r.known);
}

static sm_expr *extract(sm_expr *e)
{
    sm_range r;
    switch ((sm_date_field)e->imm[0]) {
    case SM_FIELD_MICROSECOND:
    case SM_FIELD_MILLISECOND:
    case SM_FIELD_SECOND: r = sm_range_of(0, 59999999); break;
    case SM_FIELD_MINUTE: r = sm_range_of(0, 59); break;
    case SM_FIELD_HOUR: r = sm_range_of(0, 23); break;
    case SM_FIELD_DAY: r = sm_range_of(1, 31); break;
    case SM_FIELD_DOW: r = sm_range_of(0, 6); break;
    case SM_FIELD_ISODOW: r = sm_range_of(1, 7); break;
    case SM_FIELD_DOY: r = sm_range_of(1, 366); break;
    case SM_FIELD_WEEK: r = sm_range_of(1, 53); break;
    case SM_FIELD_MONTH: r = sm_range_of(1, 12); break;
    case SM_FIELD_QUARTER: r = sm_range_of(1, 4); break;
    default: r = by_ends(e, arg_range(e, 0)); break;
    }
    return settle(e, sm_range_cut(r, sm_range_of(INT64_MIN, INT64_MAX)), false);
}

/* ---- text ---- */

/* A pattern fails only if it ends in its escape character. */
static bool like_is_safe(const sm_expr *e)
{
    const sm_expr *p = e->args[1];
    if (e->imm[0] < 0) return true;
    if (p->kind != SM_EXPR_CONST || p->value.is_null || e->imm[0] >= 0x80) return false;
    uint32_t len = p->value.text.len;
    return len == 0 || sm_text_bytes(&p->value.text)[len - 1] != (char)e->imm[0];
}

static bool nonzero_float(const sm_expr *e)
{
    if (e->kind != SM_EXPR_CONST || e->value.is_null) return false;
    return e->phys == SM_PHYS_F32 ? e->value.f32 != 0 : e->value.f64 != 0;
}

/* ---- the switch ---- */

static sm_expr *decimal_op(sm_arena *a, sm_expr *e)
{
    sm_range x = arg_range(e, 0), y = e->n_args > 1 ? arg_range(e, 1) : x;
    switch (e->op) {
    case SM_OP_add_d128: return decimal(a, e, sm_range_add(x, y), SM_OP_add_d64, true);
    case SM_OP_sub_d128: return decimal(a, e, sm_range_sub(x, y), SM_OP_sub_d64, true);
    case SM_OP_mul_d128: return decimal(a, e, sm_range_mul(x, y), SM_OP_mul_d64, true);
    case SM_OP_neg_d128: return decimal(a, e, sm_range_neg(x), SM_OP_neg_d64, true);
    case SM_OP_abs_d128: return decimal(a, e, sm_range_abs(x), SM_OP_abs_d64, true);
    case SM_OP_mod_d128:
        return decimal(a, e, sm_range_mod(x, y), SM_OP_mod_d64, sm_range_nonzero(y));
    case SM_OP_up_d128: return decimal(a, e, up(e), SM_OP_up_d64, true);
    case SM_OP_down_d128: return decimal(a, e, down(e), SM_OP_down_d64, true);
    case SM_OP_fit_d64:
    case SM_OP_fit_d128: return fit(a, e);
    case SM_OP_round_d128: return round_decimal(a, e);
    case SM_OP_i64_to_d128: return only_arg(e); /* whoever needs 128 bits asks for them */
    case SM_OP_d128_to_i64:
        if (e->args[0]->phys == SM_PHYS_I64) return only_arg(e);
        return bounded(e, x, INT64_MIN, INT64_MAX);
    case SM_OP_d128_to_f64:
        if (e->args[0]->phys == SM_PHYS_I64) e->op = SM_OP_d64_to_f64;
        return settle(e, SM_RANGE_UNKNOWN, true);
    default: break;
    }
    if (!widen_args(a, e)) return NULL;
    switch (e->op) {
    case SM_OP_floor_d128: return settle(e, floor_range(x, (unsigned)e->imm[0], false), true);
    case SM_OP_ceil_d128: return settle(e, floor_range(x, (unsigned)e->imm[0], true), true);
    case SM_OP_sign_d128: return settle(e, sm_range_of(-1, 1), true);
    case SM_OP_div_d128: return settle(e, SM_RANGE_UNKNOWN, sm_range_nonzero(y));
    default: return settle(e, sm_range_of_type(e->type), false);
    }
}

static bool takes_d128(const sm_op_info *op)
{
    bool any = op->result == SM_CODE_D128;
    for (unsigned i = 0; i < op->n_args; i++) any |= op->args[i] == SM_CODE_D128;
    return any;
}

sm_expr *sm_prove_op(sm_arena *a, sm_expr *e)
{
    sm_range x = arg_range(e, 0), y = e->n_args > 1 ? arg_range(e, 1) : x;
    sm_range type = sm_range_of_type(e->type);
    if (e->op >= SM_OP_eq_b && e->op <= SM_OP_ge_txt) return comparison(a, e);
    if (takes_d128(&sm_ops[e->op])) return decimal_op(a, e);
    switch (e->op) {
    case SM_OP_add_i16:
    case SM_OP_add_i32:
    case SM_OP_add_i64: return integer(e, sm_range_add(x, y));
    case SM_OP_sub_i16:
    case SM_OP_sub_i32:
    case SM_OP_sub_i64: return integer(e, sm_range_sub(x, y));
    case SM_OP_mul_i16:
    case SM_OP_mul_i32:
    case SM_OP_mul_i64: return integer(e, sm_range_mul(x, y));
    case SM_OP_neg_i16:
    case SM_OP_neg_i32:
    case SM_OP_neg_i64: return integer(e, sm_range_neg(x));
    case SM_OP_abs_i16:
    case SM_OP_abs_i32:
    case SM_OP_abs_i64: return integer(e, sm_range_abs(x));
    case SM_OP_div_i16:
    case SM_OP_div_i32:
    case SM_OP_div_i64: return integer_div(e);
    case SM_OP_mod_i16:
    case SM_OP_mod_i32:
    case SM_OP_mod_i64:
    case SM_OP_mod_d64: return remainder_of(e);
    case SM_OP_add_d64: return short_decimal(e, sm_range_add(x, y));
    case SM_OP_sub_d64: return short_decimal(e, sm_range_sub(x, y));
    case SM_OP_mul_d64: return short_decimal(e, sm_range_mul(x, y));
    case SM_OP_neg_d64: return short_decimal(e, sm_range_neg(x));
    case SM_OP_abs_d64: return short_decimal(e, sm_range_abs(x));
    case SM_OP_up_d64: return short_decimal(e, up(e));
    case SM_OP_down_d64: return short_decimal(e, down(e));
    case SM_OP_fit_d64: return fit(a, e);
    case SM_OP_i16_to_i32:
    case SM_OP_i16_to_i64:
    case SM_OP_i32_to_i64:
    case SM_OP_b_to_i32: return settle(e, x, true);
    case SM_OP_i32_to_i16:
    case SM_OP_i64_to_i16:
    case SM_OP_i64_to_i32: return integer(e, x);
    case SM_OP_not_b: return settle(e, x.known ? sm_range_of(1 - x.hi, 1 - x.lo) : type, true);
    case SM_OP_div_f32:
    case SM_OP_div_f64:
    case SM_OP_mod_f64: return settle(e, SM_RANGE_UNKNOWN, nonzero_float(e->args[1]));
    case SM_OP_add_date_i32:
    case SM_OP_add_i32_date:
        return bounded(e, sm_range_add(x, y), SM_DATE_MIN_DAYS, SM_DATE_MAX_DAYS);
    case SM_OP_sub_date_i32:
        return bounded(e, sm_range_sub(x, y), SM_DATE_MIN_DAYS, SM_DATE_MAX_DAYS);
    case SM_OP_sub_date_date: return integer(e, sm_range_sub(x, y));
    case SM_OP_date_to_ts:
    case SM_OP_ts_to_date:
    case SM_OP_trunc_ts: return monotone(e);
    case SM_OP_extract_ts:
    case SM_OP_extract_date: return extract(e);
    case SM_OP_length_txt:
    case SM_OP_octet_length_txt:
    case SM_OP_strpos_txt: return settle(e, sm_range_of(0, INT32_MAX), true);
    case SM_OP_substr3_txt:
        return settle(e, SM_RANGE_UNKNOWN, sm_range_within(arg_range(e, 2), 0, INT32_MAX));
    case SM_OP_like_txt:
    case SM_OP_ilike_txt: return settle(e, sm_range_of(0, 1), like_is_safe(e));
    default: return settle(e, type, false);
    }
}
