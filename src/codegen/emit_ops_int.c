/* Emitters of operations on integers, decimals, dates and booleans: one function per kind of
 * operation, one table by operation. The one idea: a result is computed in the lane width that its
 * proved range needs, for sums and products without looking at the arguments' upper bits, since
 * those cancel out; a checked operation is computed in its type's own width. A check may refuse a
 * row that is fine (the row tier looks again), never the reverse. Bodies: src/runtime/ops_number.h,
 * ops_decimal.h, ops_datetime.h. Read emit.h first. */
#include "emit.h"
#include "runtime/format.h"

#define DAY_US INT64_C(86400000000)
enum { DATE_MIN_DAYS = -2440588, TS_MAX_DAY = 106751991 };
#define DATE_MAX_DAYS INT64_C(2145042905)

static sm_ir arg(sm_emit *e, const sm_lanes *a, unsigned bits)
{
    return sm_emit_to_bits(e, a->v, a->form.bits, bits);
}

static sm_ir icmp(sm_emit *e, LLVMIntPredicate p, sm_ir a, sm_ir b)
{
    return LLVMBuildICmp(e->b, p, a, b, "");
}
static sm_ir kint(sm_emit *e, unsigned bits, sm_i128 v)
{
    return sm_emit_kvec128(e, v, bits);
}
static sm_ir ior(sm_emit *e, sm_ir a, sm_ir b)
{
    return LLVMBuildOr(e->b, a, b, "");
}
static sm_ir iand(sm_emit *e, sm_ir a, sm_ir b)
{
    return LLVMBuildAnd(e->b, a, b, "");
}
static sm_ir ixor(sm_emit *e, sm_ir a, sm_ir b)
{
    return LLVMBuildXor(e->b, a, b, "");
}
static sm_ir pick(sm_emit *e, sm_ir c, sm_ir a, sm_ir b)
{
    return LLVMBuildSelect(e->b, c, a, b, "");
}
static sm_ir negative(sm_emit *e, sm_ir v)
{
    return icmp(e, LLVMIntSLT, v, LLVMConstNull(LLVMTypeOf(v)));
}

static sm_i128 pow10_of(int n)
{
    sm_i128 p = 1;
    while (n-- > 0) p *= 10;
    return p;
}

/* Bits of the result code's type: 16, 32, 64 or 128. */
static unsigned type_bits(const sm_emit *e, const sm_op_site *at)
{
    sm_phys p = sm_jit_code_phys(e->host->ops[at->x->op].result);
    return (unsigned)sm_jit_phys_bytes(p) * 8;
}

static sm_ir outside(sm_emit *e, sm_ir v, unsigned bits, sm_i128 lo, sm_i128 hi)
{
    return ior(e, icmp(e, LLVMIntSLT, v, kint(e, bits, lo)),
               icmp(e, LLVMIntSGT, v, kint(e, bits, hi)));
}

static sm_i128 type_max(unsigned bits)
{
    return (sm_i128)(((sm_u128)1 << (bits - 1)) - 1);
}

/* Gives v (of `bits`) as the result; a small type's values, and 38 digits, are looked at here. */
static void finish(sm_emit *e, const sm_op_site *at, sm_lanes *out, sm_ir v, unsigned bits)
{
    unsigned t = type_bits(e, at);
    if (at->check && t < bits)
        sm_emit_fail(e, outside(e, v, bits, -type_max(t) - 1, type_max(t)), at->sub, at->m);
    if (at->check && t == 128) {
        sm_i128 limit = pow10_of(SM_DEC_MAX_DIGITS) - 1;
        sm_emit_fail(e, outside(e, v, bits, -limit, limit), at->sub, at->m);
    }
    out->v = sm_emit_to_bits(e, v, bits, out->form.bits);
}

/* Width to compute in: the result's, or the type's if overflow must be seen (16 bits: seen in 32).
 */
static unsigned work_bits(const sm_emit *e, const sm_op_site *at, const sm_lanes *out)
{
    if (!at->check) return out->form.bits;
    unsigned t = type_bits(e, at);
    return t < 32 ? 32 : t;
}

static void add_sub(sm_emit *e, const sm_op_site *at, sm_lanes *out, bool sub)
{
    unsigned bits = work_bits(e, at, out), t = type_bits(e, at);
    sm_ir a = arg(e, &at->a[0], bits), b = arg(e, &at->a[1], bits);
    sm_ir r = sub ? LLVMBuildSub(e->b, a, b, "") : LLVMBuildAdd(e->b, a, b, "");
    if (at->check && t == bits) {
        sm_ir wraps =
            sub ? iand(e, ixor(e, a, b), ixor(e, a, r)) : iand(e, ixor(e, a, r), ixor(e, b, r));
        sm_emit_fail(e, negative(e, wraps), at->sub, at->m);
    }
    finish(e, at, out, r, bits);
}

static void op_add(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    add_sub(e, at, out, false);
}
static void op_sub(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    add_sub(e, at, out, true);
}

static sm_ir magnitude(sm_emit *e, sm_ir v)
{
    return pick(e, negative(e, v), LLVMBuildNeg(e->b, v, ""), v);
}

/* Might |a| * |b| reach 2^126? By the number of their leading zeros. */
static sm_ir might_reach_126(sm_emit *e, sm_ir a, sm_ir b)
{
    LLVMTypeRef t = sm_emit_vec(e, e->i128);
    sm_ir no = LLVMConstInt(e->i1, 0, 0);
    sm_ir za = sm_emit_call(e, "llvm.ctlz", t, (sm_ir[]){magnitude(e, a), no}, 2);
    sm_ir zb = sm_emit_call(e, "llvm.ctlz", t, (sm_ir[]){magnitude(e, b), no}, 2);
    return icmp(e, LLVMIntULT, LLVMBuildAdd(e->b, za, zb, ""), kint(e, 128, 130));
}

static void op_mul(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    unsigned bits = work_bits(e, at, out), t = type_bits(e, at);
    if (at->check && t == 32) bits = 64; /* the product of two 32-bit numbers is looked at whole */
    sm_ir a = arg(e, &at->a[0], bits), b = arg(e, &at->a[1], bits);
    sm_ir r = LLVMBuildMul(e->b, a, b, "");
    if (at->check && bits == 64 && t == 64) {
        /* The float product is off by less than 2^-50 of itself: below this bound nothing wrapped.
         */
        LLVMTypeRef ft = sm_emit_vec(e, e->f64);
        sm_ir f = LLVMBuildFMul(e->b, LLVMBuildSIToFP(e->b, a, ft, ""),
                                LLVMBuildSIToFP(e->b, b, ft, ""), "");
        f = sm_emit_call(e, "llvm.fabs", ft, &f, 1);
        sm_emit_fail(e,
                     LLVMBuildFCmp(e->b, LLVMRealOGE, f,
                                   sm_emit_kreal(e, e->f64, 9223372036854700000.0), ""),
                     at->sub, at->m);
    }
    if (at->check && t == 128) sm_emit_fail(e, might_reach_126(e, a, b), at->sub, at->m);
    finish(e, at, out, r, bits);
}

static unsigned wider(const sm_lanes *a, const sm_lanes *b)
{
    return a->form.bits > b->form.bits ? a->form.bits : b->form.bits;
}

/* Quotients of 32-bit numbers are exact by way of doubles, and that is a vector operation. */
static sm_ir quotient(sm_emit *e, sm_ir a, sm_ir b, unsigned bits, unsigned out_bits)
{
    if (bits != 32) return sm_emit_to_bits(e, LLVMBuildSDiv(e->b, a, b, ""), bits, out_bits);
    unsigned int_bits = out_bits < 64 ? out_bits : 64;
    LLVMTypeRef ft = sm_emit_vec(e, e->f64), it = sm_emit_vec(e, sm_emit_int(e, int_bits));
    sm_ir q =
        LLVMBuildFDiv(e->b, LLVMBuildSIToFP(e->b, a, ft, ""), LLVMBuildSIToFP(e->b, b, ft, ""), "");
    return sm_emit_to_bits(e, LLVMBuildFPToSI(e->b, q, it, ""), int_bits, out_bits);
}

/* Dividing traps for a zero, and for the least number by -1: such divisors become 1, dead rows' and
 * NULLs' too. */
static void op_div(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    unsigned bits = wider(&at->a[0], &at->a[1]), t = type_bits(e, at);
    sm_ir a = arg(e, &at->a[0], bits), b = arg(e, &at->a[1], bits);
    sm_ir zero = icmp(e, LLVMIntEQ, b, kint(e, bits, 0)), bad = zero;
    if (bits >= t || out->form.bits <= bits) {
        unsigned least = bits < t ? bits : t;
        sm_ir wraps = iand(e, icmp(e, LLVMIntEQ, a, kint(e, bits, -type_max(least) - 1)),
                           icmp(e, LLVMIntEQ, b, kint(e, bits, -1)));
        bad = ior(e, zero, wraps);
    }
    if (at->check) sm_emit_fail(e, bad, at->sub, at->m);
    b = pick(e, bad, kint(e, bits, 1), b);
    out->v = quotient(e, a, b, bits, out->form.bits);
}

static void op_mod(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    unsigned bits = wider(&at->a[0], &at->a[1]);
    sm_ir a = arg(e, &at->a[0], bits), b = arg(e, &at->a[1], bits);
    sm_ir zero = icmp(e, LLVMIntEQ, b, kint(e, bits, 0)),
          minus = icmp(e, LLVMIntEQ, b, kint(e, bits, -1));
    if (at->check) sm_emit_fail(e, zero, at->sub, at->m);
    b = pick(e, ior(e, zero, minus), kint(e, bits, 1), b); /* x % -1 is x % 1 */
    sm_ir r = bits != 32
                  ? LLVMBuildSRem(e->b, a, b, "")
                  : LLVMBuildSub(e->b, a, LLVMBuildMul(e->b, quotient(e, a, b, 32, 32), b, ""), "");
    out->v = sm_emit_to_bits(e, r, bits, out->form.bits);
}

static void op_neg(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    unsigned bits = work_bits(e, at, out), t = type_bits(e, at);
    sm_ir a = arg(e, &at->a[0], bits);
    if (at->check && t == bits)
        sm_emit_fail(e, icmp(e, LLVMIntEQ, a, kint(e, bits, -type_max(t) - 1)), at->sub, at->m);
    finish(e, at, out, LLVMBuildNeg(e->b, a, ""), bits);
}

static void op_abs(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    unsigned bits = work_bits(e, at, out), t = type_bits(e, at);
    if (bits < at->a[0].form.bits) bits = at->a[0].form.bits; /* the sign must be there */
    sm_ir a = arg(e, &at->a[0], bits);
    if (at->check && t == bits)
        sm_emit_fail(e, icmp(e, LLVMIntEQ, a, kint(e, bits, -type_max(t) - 1)), at->sub, at->m);
    finish(e, at, out, magnitude(e, a), bits);
}

/* ---- decimals ---- */

static void op_up(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    unsigned bits = work_bits(e, at, out);
    sm_i128 p = pow10_of(at->x->imm[0]);
    sm_ir a = arg(e, &at->a[0], bits), k = kint(e, bits, p);
    if (at->check)
        sm_emit_fail(e, might_reach_126(e, a, k), at->sub, at->m); /* only D128 is checked */
    finish(e, at, out, LLVMBuildMul(e->b, a, k, ""), bits);
}

static void op_down(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    if (at->x->imm[0] > SM_DEC64_DIGITS) { /* less than half of the divisor */
        out->v = kint(e, out->form.bits, 0);
        return;
    }
    unsigned bits = 64;
    sm_i128 p = pow10_of(at->x->imm[0]);
    sm_ir a = arg(e, &at->a[0], bits), k = kint(e, bits, p), q = LLVMBuildSDiv(e->b, a, k, "");
    sm_ir r2 = LLVMBuildMul(e->b, LLVMBuildSub(e->b, a, LLVMBuildMul(e->b, q, k, ""), ""),
                            kint(e, bits, 2), "");
    LLVMTypeRef t = LLVMTypeOf(a);
    sm_ir up = LLVMBuildZExt(e->b, icmp(e, LLVMIntSGE, r2, k), t, "");
    sm_ir down = LLVMBuildZExt(e->b, icmp(e, LLVMIntSLE, r2, kint(e, bits, -p)), t, "");
    q = LLVMBuildSub(e->b, LLVMBuildAdd(e->b, q, up, ""), down, "");
    out->v = sm_emit_to_bits(e, q, bits, out->form.bits);
}

static void op_fit(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    unsigned bits = at->a[0].form.bits;
    sm_i128 limit = pow10_of(at->x->imm[0]) - 1;
    if (at->check && limit < type_max(bits))
        sm_emit_fail(e, outside(e, at->a[0].v, bits, -limit, limit), at->sub, at->m);
    out->v = sm_emit_to_bits(e, at->a[0].v, bits, out->form.bits);
}

/* ---- casts ---- */

static void op_same(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    out->v = sm_emit_to_bits(e, at->a[0].v, at->a[0].form.bits, out->form.bits);
}

static void op_narrow(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    unsigned bits = at->a[0].form.bits, t = type_bits(e, at);
    if (at->check && t < bits)
        sm_emit_fail(e, outside(e, at->a[0].v, bits, -type_max(t) - 1, type_max(t)), at->sub,
                     at->m);
    op_same(e, at, out);
}

static void op_b_to_i32(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    out->v = LLVMBuildZExt(e->b, at->a[0].v, sm_emit_vec(e, sm_emit_int(e, out->form.bits)), "");
}

static void op_i32_to_b(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    out->v = icmp(e, LLVMIntNE, at->a[0].v, kint(e, at->a[0].form.bits, 0));
}

static void op_not(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    out->v = LLVMBuildNot(e->b, at->a[0].v, "");
}

/* ---- dates ---- */

static void shift_date(sm_emit *e, const sm_op_site *at, sm_lanes *out, bool sub)
{
    unsigned bits = at->check ? 64 : out->form.bits;
    sm_ir a = arg(e, &at->a[0], bits), b = arg(e, &at->a[1], bits);
    sm_ir r = sub ? LLVMBuildSub(e->b, a, b, "") : LLVMBuildAdd(e->b, a, b, "");
    if (at->check)
        sm_emit_fail(e, outside(e, r, bits, DATE_MIN_DAYS, DATE_MAX_DAYS), at->sub, at->m);
    out->v = sm_emit_to_bits(e, r, bits, out->form.bits);
}

static void op_date_add(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    shift_date(e, at, out, false);
}
static void op_date_sub(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    shift_date(e, at, out, true);
}

static void op_date_to_ts(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    unsigned bits = at->a[0].form.bits;
    if (at->check)
        sm_emit_fail(e, outside(e, at->a[0].v, bits, DATE_MIN_DAYS, TS_MAX_DAY), at->sub, at->m);
    sm_ir r = LLVMBuildMul(e->b, arg(e, &at->a[0], 64), kint(e, 64, DAY_US), "");
    out->v = sm_emit_to_bits(e, r, 64, out->form.bits);
}

/* floor(a / 2^13 / 10546875): after the shift at most 51 bits are left, so the double quotient is
 * off by less than its distance to the next integer below. */
static void op_ts_to_date(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    static_assert(DAY_US == INT64_C(8192) * 10546875, "the day's factors");
    LLVMTypeRef ft = sm_emit_vec(e, e->f64);
    sm_ir a = LLVMBuildAShr(e->b, arg(e, &at->a[0], 64), kint(e, 64, 13), "");
    sm_ir q = LLVMBuildFDiv(e->b, LLVMBuildSIToFP(e->b, a, ft, ""),
                            sm_emit_kreal(e, e->f64, 10546875.0), "");
    q = sm_emit_call(e, "llvm.floor", ft, &q, 1);
    sm_ir r = LLVMBuildFPToSI(e->b, q, sm_emit_vec(e, e->i32), "");
    out->v = sm_emit_to_bits(e, r, 32, out->form.bits);
}

static sm_ir div_by(sm_emit *e, sm_ir v, int64_t k)
{
    return LLVMBuildUDiv(e->b, v, sm_emit_kvec(e, e->i32, k), "");
}

static sm_ir times(sm_emit *e, sm_ir v, int64_t k)
{
    return LLVMBuildMul(e->b, v, sm_emit_kvec(e, e->i32, k), "");
}

static sm_ir plus(sm_emit *e, sm_ir v, int64_t k)
{
    return LLVMBuildAdd(e->b, v, sm_emit_kvec(e, e->i32, k), "");
}

static sm_ir minus(sm_emit *e, sm_ir a, sm_ir b)
{
    return LLVMBuildSub(e->b, a, b, "");
}

/* Years of 400 that begin on the first of March, so that a leap day is a year's last. With d in such
 * a year, counted from 0, (5 d + 2) / 153 is its month.
 * source  Hinnant, "chrono-compatible low-level date algorithms" */
void sm_emit_date_field(sm_emit *e, const sm_lanes *date, int32_t field, sm_lanes *out)
{
    sm_ir z = plus(e, arg(e, date, 32), 719468), era = div_by(e, z, 146097);
    sm_ir day_of_era = minus(e, z, times(e, era, 146097));
    sm_ir leaps = minus(e, div_by(e, day_of_era, 36524), div_by(e, day_of_era, 1460));
    leaps = minus(e, leaps, div_by(e, day_of_era, 146096));
    sm_ir year = div_by(e, LLVMBuildAdd(e->b, day_of_era, leaps, ""), 365);
    sm_ir before = LLVMBuildAdd(e->b, times(e, year, 365), div_by(e, year, 4), "");
    sm_ir day = minus(e, day_of_era, minus(e, before, div_by(e, year, 100)));
    sm_ir from_march = div_by(e, plus(e, times(e, day, 5), 2), 153);
    sm_ir early = icmp(e, LLVMIntULT, from_march, sm_emit_kvec(e, e->i32, 10));
    sm_ir month = pick(e, early, plus(e, from_march, 3), plus(e, from_march, -9)), r = month;
    if (field == SM_FIELD_DAY)
        r = plus(e, minus(e, day, div_by(e, plus(e, times(e, from_march, 153), 2), 5)), 1);
    if (field == SM_FIELD_QUARTER) r = div_by(e, plus(e, month, 2), 3);
    if (field == SM_FIELD_YEAR) {
        sm_ir march_year = LLVMBuildAdd(e->b, year, times(e, era, 400), "");
        r = pick(e, early, march_year, plus(e, march_year, 1));
    }
    out->v = sm_emit_to_bits(e, r, 32, out->form.bits);
}

/* ---- comparison ---- */

static void compare(sm_emit *e, const sm_op_site *at, sm_lanes *out, LLVMIntPredicate p)
{
    unsigned bits = wider(&at->a[0], &at->a[1]);
    out->v = icmp(e, p, arg(e, &at->a[0], bits), arg(e, &at->a[1], bits));
}

#define COMPARE(name, P, U)                                                                        \
    static void op_##name(sm_emit *e, const sm_op_site *at, sm_lanes *out)                         \
    {                                                                                              \
        compare(e, at, out, P);                                                                    \
    }                                                                                              \
    static void op_##name##_b(sm_emit *e, const sm_op_site *at, sm_lanes *out)                     \
    {                                                                                              \
        compare(e, at, out, U);                                                                    \
    }
COMPARE(eq, LLVMIntEQ, LLVMIntEQ)
COMPARE(ne, LLVMIntNE, LLVMIntNE)
COMPARE(lt, LLVMIntSLT, LLVMIntULT)
COMPARE(le, LLVMIntSLE, LLVMIntULE)
COMPARE(gt, LLVMIntSGT, LLVMIntUGT)
COMPARE(ge, LLVMIntSGE, LLVMIntUGE)
#undef COMPARE

/* ---- the table ---- */

#define ARITH(n)                                                                                   \
    [SM_OP_add_##n] = op_add, [SM_OP_sub_##n] = op_sub, [SM_OP_mul_##n] = op_mul,                  \
    [SM_OP_neg_##n] = op_neg, [SM_OP_abs_##n] = op_abs
#define COMPARISONS(n)                                                                             \
    [SM_OP_eq_##n] = op_eq, [SM_OP_ne_##n] = op_ne, [SM_OP_lt_##n] = op_lt,                        \
    [SM_OP_le_##n] = op_le, [SM_OP_gt_##n] = op_gt, [SM_OP_ge_##n] = op_ge

sm_op_emit sm_emit_int_op(sm_op op)
{
    static const sm_op_emit table[SM_N_OPS] = {
        ARITH(i16),
        ARITH(i32),
        ARITH(i64),
        ARITH(d64),
        ARITH(d128),
        [SM_OP_div_i16] = op_div,
        [SM_OP_div_i32] = op_div,
        [SM_OP_div_i64] = op_div,
        [SM_OP_mod_i16] = op_mod,
        [SM_OP_mod_i32] = op_mod,
        [SM_OP_mod_i64] = op_mod,
        [SM_OP_mod_d64] = op_mod,
        [SM_OP_up_d64] = op_up,
        [SM_OP_up_d128] = op_up,
        [SM_OP_down_d64] = op_down,
        [SM_OP_fit_d64] = op_fit,
        [SM_OP_fit_d128] = op_fit,
        COMPARISONS(i16),
        COMPARISONS(i32),
        COMPARISONS(i64),
        COMPARISONS(d128),
        [SM_OP_eq_b] = op_eq_b,
        [SM_OP_ne_b] = op_ne_b,
        [SM_OP_lt_b] = op_lt_b,
        [SM_OP_le_b] = op_le_b,
        [SM_OP_gt_b] = op_gt_b,
        [SM_OP_ge_b] = op_ge_b,
        [SM_OP_not_b] = op_not,
        [SM_OP_b_to_i32] = op_b_to_i32,
        [SM_OP_i32_to_b] = op_i32_to_b,
        [SM_OP_i16_to_i32] = op_same,
        [SM_OP_i16_to_i64] = op_same,
        [SM_OP_i32_to_i64] = op_same,
        [SM_OP_i64_to_d128] = op_same,
        [SM_OP_i32_to_i16] = op_narrow,
        [SM_OP_i64_to_i16] = op_narrow,
        [SM_OP_i64_to_i32] = op_narrow,
        [SM_OP_d128_to_i64] = op_narrow,
        [SM_OP_date_to_ts] = op_date_to_ts,
        [SM_OP_ts_to_date] = op_ts_to_date,
        [SM_OP_add_date_i32] = op_date_add,
        [SM_OP_add_i32_date] = op_date_add,
        [SM_OP_sub_date_i32] = op_date_sub,
        [SM_OP_sub_date_date] = op_sub,
    };
    return table[op];
}
