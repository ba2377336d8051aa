/* Emitters of operations on floats. NaN equals NaN and is above all numbers, so comparisons need
 * one more test unless an operand is known not to be NaN (literals, columns with statistics).
 * Bodies: src/runtime/ops_number.h. Read emit.h first. */
#include "emit.h"

static sm_ir fcmp(sm_emit *e, LLVMRealPredicate p, sm_ir a, sm_ir b)
{
    return LLVMBuildFCmp(e->b, p, a, b, "");
}
static sm_ir is_nan(sm_emit *e, sm_ir v)
{
    return fcmp(e, LLVMRealUNO, v, v);
}

static LLVMTypeRef float_of(const sm_emit *e, const sm_lanes *l)
{
    return l->form.kind == SM_FORM_F32 ? e->f32 : e->f64;
}

static LLVMTypeRef out_vec(const sm_emit *e, const sm_lanes *out)
{
    return sm_emit_vec(e, sm_emit_form_type(e, out->form));
}

static void op_add(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    out->v = LLVMBuildFAdd(e->b, at->a[0].v, at->a[1].v, "");
}

static void op_sub(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    out->v = LLVMBuildFSub(e->b, at->a[0].v, at->a[1].v, "");
}

static void op_mul(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    out->v = LLVMBuildFMul(e->b, at->a[0].v, at->a[1].v, "");
}

static void op_div(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    sm_ir a = at->a[0].v, b = at->a[1].v;
    if (at->check) {
        sm_ir bad = fcmp(e, LLVMRealOEQ, b, sm_emit_kreal(e, float_of(e, &at->a[1]), 0.0));
        if (!at->a[0].no_nan)
            bad = LLVMBuildAnd(e->b, bad, fcmp(e, LLVMRealORD, a, a), ""); /* NaN / 0 is NaN */
        sm_emit_fail(e, bad, at->sub, at->m);
    }
    out->v = LLVMBuildFDiv(e->b, a, b, "");
}

static void op_neg(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    out->v = LLVMBuildFNeg(e->b, at->a[0].v, "");
    out->no_nan = at->a[0].no_nan;
}

static void one(sm_emit *e, const sm_op_site *at, sm_lanes *out, const char *intrinsic)
{
    sm_ir a = at->a[0].v;
    out->v = sm_emit_call(e, intrinsic, LLVMTypeOf(a), &a, 1);
    out->no_nan = at->a[0].no_nan;
}

static void op_abs(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    one(e, at, out, "llvm.fabs");
}
static void op_floor(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    one(e, at, out, "llvm.floor");
}
static void op_ceil(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    one(e, at, out, "llvm.ceil");
}
static void op_trunc(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    one(e, at, out, "llvm.trunc");
}
static void op_round(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    one(e, at, out, "llvm.rint");
}

static void op_sqrt(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    if (at->check)
        sm_emit_fail(e, fcmp(e, LLVMRealOLT, at->a[0].v, sm_emit_kreal(e, e->f64, 0.0)), at->sub,
                     at->m);
    one(e, at, out, "llvm.sqrt");
    out->no_nan = false;
}

/* (a > 0) - (a < 0), so NaN and zeros give 0.0 */
static void op_sign(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    sm_ir zero = sm_emit_kreal(e, e->f64, 0.0), a = at->a[0].v;
    sm_ir low = LLVMBuildSelect(e->b, fcmp(e, LLVMRealOLT, a, zero), sm_emit_kreal(e, e->f64, -1.0),
                                zero, "");
    out->v = LLVMBuildSelect(e->b, fcmp(e, LLVMRealOGT, a, zero), sm_emit_kreal(e, e->f64, 1.0),
                             low, "");
    out->no_nan = true;
}

/* ---- comparison ---- */

static void op_eq(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    const sm_lanes *a = &at->a[0], *b = &at->a[1];
    out->v = fcmp(e, LLVMRealOEQ, a->v, b->v);
    if (!a->no_nan && !b->no_nan)
        out->v =
            LLVMBuildOr(e->b, out->v, LLVMBuildAnd(e->b, is_nan(e, a->v), is_nan(e, b->v), ""), "");
}

static void op_ne(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    op_eq(e, at, out);
    out->v = LLVMBuildNot(e->b, out->v, "");
}

/* a > b: a is NaN or above, and b is not NaN. */
static void greater(sm_emit *e, const sm_lanes *a, const sm_lanes *b, sm_lanes *out)
{
    out->v = fcmp(e, LLVMRealUGT, a->v, b->v);
    if (!b->no_nan) out->v = LLVMBuildAnd(e->b, out->v, fcmp(e, LLVMRealORD, b->v, b->v), "");
}

/* a >= b: in order, or a is NaN. */
static void at_least(sm_emit *e, const sm_lanes *a, const sm_lanes *b, sm_lanes *out)
{
    if (b->no_nan) {
        out->v = fcmp(e, LLVMRealUGE, a->v, b->v);
    } else {
        out->v = fcmp(e, LLVMRealOGE, a->v, b->v);
        if (!a->no_nan) out->v = LLVMBuildOr(e->b, out->v, is_nan(e, a->v), "");
    }
}

static void op_gt(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    greater(e, &at->a[0], &at->a[1], out);
}
static void op_lt(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    greater(e, &at->a[1], &at->a[0], out);
}
static void op_ge(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    at_least(e, &at->a[0], &at->a[1], out);
}
static void op_le(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    at_least(e, &at->a[1], &at->a[0], out);
}

/* ---- casts ---- */

static void op_from_int(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    out->v = LLVMBuildSIToFP(e->b, at->a[0].v, out_vec(e, out), "");
    out->no_nan = true;
}

static void op_widen(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    out->v = LLVMBuildFPExt(e->b, at->a[0].v, out_vec(e, out), "");
    out->no_nan = at->a[0].no_nan;
}

static void op_shorten(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    sm_ir a = at->a[0].v;
    out->v = LLVMBuildFPTrunc(e->b, a, out_vec(e, out), "");
    out->no_nan = at->a[0].no_nan;
    if (!at->check) return;
    sm_ir big = sm_emit_call(e, "llvm.fabs", LLVMTypeOf(out->v), &out->v, 1);
    sm_ir was = sm_emit_call(e, "llvm.fabs", LLVMTypeOf(a), &a, 1);
    sm_ir inf = fcmp(e, LLVMRealOEQ, big, sm_emit_kreal(e, e->f32, __builtin_inf()));
    sm_ir had = fcmp(e, LLVMRealOEQ, was, sm_emit_kreal(e, e->f64, __builtin_inf()));
    sm_emit_fail(e, LLVMBuildAnd(e->b, inf, LLVMBuildNot(e->b, had, ""), ""), at->sub, at->m);
}

/* Rounded half to even; out of range (NaN too) becomes 0, so that the cast is defined for every
 * row. */
static void op_to_int(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    LLVMTypeRef t = float_of(e, &at->a[0]);
    unsigned bits =
        (unsigned)sm_jit_phys_bytes(sm_jit_code_phys(e->host->ops[at->x->op].result)) * 8;
    double half = bits == 16 ? 0x1p15 : bits == 32 ? 0x1p31 : 0x1p63;
    sm_ir a = at->a[0].v, r = sm_emit_call(e, "llvm.rint", LLVMTypeOf(a), &a, 1);
    sm_ir fits = LLVMBuildAnd(e->b, fcmp(e, LLVMRealOGE, r, sm_emit_kreal(e, t, -half)),
                              fcmp(e, LLVMRealOLT, r, sm_emit_kreal(e, t, half)), "");
    if (at->check) sm_emit_fail(e, LLVMBuildNot(e->b, fits, ""), at->sub, at->m);
    r = LLVMBuildSelect(e->b, fits, r, sm_emit_kreal(e, t, 0.0), "");
    unsigned int_bits = bits < 32 ? 32 : bits;
    sm_ir v = LLVMBuildFPToSI(e->b, r, sm_emit_vec(e, sm_emit_int(e, int_bits)), "");
    out->v = sm_emit_to_bits(e, v, int_bits, out->form.bits);
}

/* ---- the table ---- */

#define FLOAT(n)                                                                                   \
    [SM_OP_add_##n] = op_add, [SM_OP_sub_##n] = op_sub, [SM_OP_mul_##n] = op_mul,                  \
    [SM_OP_div_##n] = op_div, [SM_OP_neg_##n] = op_neg, [SM_OP_abs_##n] = op_abs,                  \
    [SM_OP_eq_##n] = op_eq, [SM_OP_ne_##n] = op_ne, [SM_OP_lt_##n] = op_lt,                        \
    [SM_OP_le_##n] = op_le, [SM_OP_gt_##n] = op_gt, [SM_OP_ge_##n] = op_ge,                        \
    [SM_OP_i16_to_##n] = op_from_int, [SM_OP_i32_to_##n] = op_from_int,                            \
    [SM_OP_i64_to_##n] = op_from_int, [SM_OP_##n##_to_i16] = op_to_int,                            \
    [SM_OP_##n##_to_i32] = op_to_int, [SM_OP_##n##_to_i64] = op_to_int

sm_op_emit sm_emit_float_op(sm_op op)
{
    static const sm_op_emit table[SM_N_OPS] = {
        FLOAT(f32),
        FLOAT(f64),
        [SM_OP_f32_to_f64] = op_widen,
        [SM_OP_f64_to_f32] = op_shorten,
        [SM_OP_floor_f64] = op_floor,
        [SM_OP_ceil_f64] = op_ceil,
        [SM_OP_trunc_f64] = op_trunc,
        [SM_OP_round_f64] = op_round,
        [SM_OP_sign_f64] = op_sign,
        [SM_OP_sqrt_f64] = op_sqrt,
    };
    return table[op];
}
