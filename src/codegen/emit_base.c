/* Vectors, masks and memory: what every emitter is made of. With step 1 a vector is a scalar, and
 * all of this still works. Read emit.h first. */
#include "emit.h"

/* ---- types and constants ---- */

LLVMTypeRef sm_emit_vec_n(LLVMTypeRef t, uint32_t n)
{
    return n == 1 ? t : LLVMVectorType(t, n);
}

LLVMTypeRef sm_emit_vec(const sm_emit *e, LLVMTypeRef t)
{
    return sm_emit_vec_n(t, e->step);
}

LLVMTypeRef sm_emit_int(const sm_emit *e, unsigned bits)
{
    return LLVMIntTypeInContext(e->ctx, bits);
}

LLVMTypeRef sm_emit_form_type(const sm_emit *e, sm_form f)
{
    switch ((sm_form_kind)f.kind) {
    case SM_FORM_F32: return e->f32;
    case SM_FORM_F64: return e->f64;
    case SM_FORM_PAIR: return e->i64;
    default: return sm_emit_int(e, f.bits);
    }
}

LLVMTypeRef sm_emit_form_vec(const sm_emit *e, sm_form f)
{
    if (f.kind == SM_FORM_PAIR) return LLVMVectorType(e->i64, 2 * e->step);
    return sm_emit_vec(e, sm_emit_form_type(e, f));
}

sm_ir sm_emit_k32(const sm_emit *e, uint32_t v)
{
    return LLVMConstInt(e->i32, v, 0);
}
sm_ir sm_emit_k64(const sm_emit *e, uint64_t v)
{
    return LLVMConstInt(e->i64, v, 0);
}

static sm_ir repeat(sm_ir k, uint32_t n)
{
    sm_ir ks[SM_BLOCK_ROWS];
    if (n == 1) return k;
    for (uint32_t i = 0; i < n; i++) ks[i] = k;
    return LLVMConstVector(ks, n);
}

sm_ir sm_emit_ksplat(const sm_emit *e, sm_ir k)
{
    return repeat(k, e->step);
}

sm_ir sm_emit_kvec(const sm_emit *e, LLVMTypeRef t, int64_t v)
{
    return repeat(LLVMConstInt(t, (uint64_t)v, 1), e->step);
}

sm_ir sm_emit_true(const sm_emit *e)
{
    return repeat(LLVMConstAllOnes(e->i1), e->step);
}

sm_ir sm_emit_kvec128(const sm_emit *e, sm_i128 v, unsigned bits)
{
    uint64_t words[2] = {(uint64_t)v, (uint64_t)((sm_u128)v >> 64)};
    return repeat(LLVMConstIntOfArbitraryPrecision(sm_emit_int(e, bits), bits > 64 ? 2 : 1, words),
                  e->step);
}

sm_ir sm_emit_kreal(const sm_emit *e, LLVMTypeRef t, double v)
{
    return repeat(LLVMConstReal(t, v), e->step);
}

sm_ir sm_emit_splat(const sm_emit *e, LLVMBuilderRef b, sm_ir x)
{
    if (e->step == 1) return x;
    LLVMTypeRef vt = sm_emit_vec(e, LLVMTypeOf(x));
    sm_ir v = LLVMBuildInsertElement(b, LLVMGetPoison(vt), x, sm_emit_k64(e, 0), "");
    return LLVMBuildShuffleVector(b, v, LLVMGetPoison(vt), LLVMConstNull(sm_emit_vec(e, e->i32)),
                                  "");
}

sm_ir sm_emit_piece(const sm_emit *e, sm_ir v, uint32_t have, uint32_t from, uint32_t n)
{
    sm_ir at[SM_BLOCK_ROWS];
    if (have == n) return v;
    for (uint32_t i = 0; i < n; i++) at[i] = sm_emit_k32(e, from + i);
    return LLVMBuildShuffleVector(e->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(at, n),
                                  "");
}

sm_ir sm_emit_call(sm_emit *e, const char *intrinsic, LLVMTypeRef overload, sm_ir *args, unsigned n)
{
    unsigned id = LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic));
    sm_ir f = LLVMGetIntrinsicDeclaration(e->mod, id, &overload, 1);
    return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->ctx, id, &overload, 1), f, args, n, "");
}

/* ---- masks ---- */

sm_ir sm_emit_mask_from_bits(sm_emit *e, sm_ir word, uint32_t sub)
{
    if (e->step == 1) {
        sm_ir lane =
            LLVMBuildAnd(e->b, LLVMBuildTrunc(e->b, e->row[0], e->i32, ""), sm_emit_k32(e, 31), "");
        return LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, word, lane, ""), e->i1, "");
    }
    sm_ir w = sub ? LLVMBuildLShr(e->b, word, sm_emit_k32(e, sub * e->step), "") : word;
    if (e->s->mask_regs) {
        sm_ir t = e->step < 32 ? LLVMBuildTrunc(e->b, w, sm_emit_int(e, e->step), "") : w;
        return LLVMBuildBitCast(e->b, t, sm_emit_vec(e, e->i1), "");
    }
    /* Without mask registers a bitcast goes bit by bit. */
    sm_ir bit[SM_BLOCK_ROWS];
    for (uint32_t i = 0; i < e->step; i++) bit[i] = sm_emit_k32(e, 1u << i);
    sm_ir hit = LLVMBuildAnd(e->b, sm_emit_splat(e, e->b, w), LLVMConstVector(bit, e->step), "");
    return LLVMBuildICmp(e->b, LLVMIntNE, hit, LLVMConstNull(LLVMTypeOf(hit)), "");
}

sm_ir sm_emit_bits(sm_emit *e, sm_ir mask, uint32_t sub)
{
    if (e->step == 1) return mask ? LLVMBuildZExt(e->b, mask, e->i32, "") : sm_emit_k32(e, 1);
    uint32_t all = e->step == 32 ? UINT32_MAX : (1u << e->step) - 1;
    if (!mask) return sm_emit_k32(e, all << (sub * e->step));
    sm_ir bits = LLVMBuildBitCast(e->b, mask, sm_emit_int(e, e->step), "");
    if (e->step < 32) bits = LLVMBuildZExt(e->b, bits, e->i32, "");
    return sub ? LLVMBuildShl(e->b, bits, sm_emit_k32(e, sub * e->step), "") : bits;
}

sm_ir sm_emit_and(const sm_emit *e, sm_ir a, sm_ir b)
{
    if (!a || a == b) return b;
    return b ? LLVMBuildAnd(e->b, a, b, "") : a;
}

sm_ir sm_emit_or(const sm_emit *e, sm_ir a, sm_ir b)
{
    if (!a || a == b) return b;
    return b ? LLVMBuildOr(e->b, a, b, "") : a;
}

sm_ir sm_emit_andnot(const sm_emit *e, sm_ir a, sm_ir b)
{
    sm_ir not = LLVMBuildNot(e->b, b, "");
    return a ? LLVMBuildAnd(e->b, a, not, "") : not ;
}

const sm_mask *sm_emit_narrow(sm_emit *e, const sm_mask *m, sm_ir by)
{
    if (!by) return m;
    sm_mask *n = sm_jit_pool_get(e->pool, sizeof *n);
    if (!n) return m;
    n->bits = sm_emit_and(e, m->bits, by);
    n->wider = m;
    return n;
}

/* ---- memory ---- */

sm_ir sm_emit_at(const sm_emit *e, LLVMBuilderRef b, sm_ir p, uint64_t bytes)
{
    if (!bytes) return p;
    sm_ir off = sm_emit_k64(e, bytes); /* GEP indexes are i64: an i8 index would be signed */
    return LLVMBuildInBoundsGEP2(b, e->i8, p, &off, 1, "");
}

sm_ir sm_emit_load(const sm_emit *e, LLVMBuilderRef b, LLVMTypeRef t, sm_ir p, unsigned align)
{
    (void)e;
    sm_ir v = LLVMBuildLoad2(b, t, p, "");
    LLVMSetAlignment(v, align);
    return v;
}

void sm_emit_store(const sm_emit *e, sm_ir v, sm_ir p, unsigned align)
{
    LLVMSetAlignment(LLVMBuildStore(e->b, v, p), align);
}

sm_ir sm_emit_room(const sm_emit *e, size_t bytes, unsigned align)
{
    sm_ir a = LLVMBuildAlloca(e->hoist, LLVMArrayType2(e->i8, bytes), "");
    LLVMSetAlignment(a, align);
    return a;
}

sm_ir sm_emit_var(const sm_emit *e, LLVMTypeRef t)
{
    return LLVMBuildAlloca(e->hoist, t, "");
}

LLVMBasicBlockRef sm_emit_block(const sm_emit *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->ctx, e->fn, name);
}

sm_ir sm_emit_to_bits(const sm_emit *e, sm_ir v, unsigned from, unsigned to)
{
    if (from == to) return v;
    LLVMTypeRef t = sm_emit_int(e, to);
    if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind)
        t = LLVMVectorType(t, LLVMGetVectorSize(LLVMTypeOf(v)));
    return from < to ? LLVMBuildSExt(e->b, v, t, "") : LLVMBuildTrunc(e->b, v, t, "");
}
