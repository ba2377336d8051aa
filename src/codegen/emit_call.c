/* CALL operations: the body is called for the rows of a mask, with arguments and result in arrays
 * of 32 on the stack. Plain columns and constants are not copied: the body reads the column itself,
 * or an array that was filled once. Read emit.h first. */
#include "emit.h"

enum { ROOM_BYTES = SM_BLOCK_ROWS * 16 };

static sm_ir room(sm_emit *e, unsigned i)
{
    if (!e->room[i]) e->room[i] = sm_emit_room(e, ROOM_BYTES, 64);
    return e->room[i];
}

/* Address of vector sub's first value in an array. */
static sm_ir part(sm_emit *e, sm_ir array, uint32_t bytes, uint32_t sub)
{
    if (e->step > 1) return sm_emit_at(e, e->b, array, (uint64_t)sub * e->step * bytes);
    sm_ir at = LLVMBuildMul(e->b, LLVMBuildAnd(e->b, e->row[0], sm_emit_k64(e, 31), ""),
                            sm_emit_k64(e, bytes), "");
    return LLVMBuildInBoundsGEP2(e->b, e->i8, array, &at, 1, "");
}

void sm_emit_spill(sm_emit *e, const sm_lanes *l, sm_phys phys, sm_ir array, uint32_t sub)
{
    uint32_t bytes = (uint32_t)sm_jit_phys_bytes(phys);
    sm_ir p = part(e, array, bytes, sub), v = l->v;
    if (l->form.kind == SM_FORM_PAIR) {
        sm_emit_store(e, l->v, p, 8);
        return;
    }
    if (phys == SM_PHYS_I128 && l->form.kind == SM_FORM_INT && l->form.bits <= 64) {
        sm_emit_store(e, sm_emit_wide_words(e, sm_emit_to_bits(e, v, l->form.bits, 64)), p, 8);
        return;
    }
    if (l->form.kind == SM_FORM_BOOL)
        v = LLVMBuildZExt(e->b, v, sm_emit_vec(e, sm_emit_int(e, bytes * 8)), "");
    if (l->form.kind == SM_FORM_INT) v = sm_emit_to_bits(e, v, l->form.bits, bytes * 8);
    sm_emit_store(e, v, p, bytes < 8 ? bytes : 8);
}

sm_lanes sm_emit_reload(sm_emit *e, sm_phys phys, sm_form f, sm_ir array, uint32_t sub)
{
    uint32_t bytes = (uint32_t)sm_jit_phys_bytes(phys);
    sm_ir p = part(e, array, bytes, sub);
    sm_lanes l = {.form = f};
    if (f.kind == SM_FORM_PAIR) {
        l.v = sm_emit_load(e, e->b, sm_emit_form_vec(e, f), p, 8);
        return l;
    }
    if (phys == SM_PHYS_I128 && f.bits <= 64) {
        l.v = sm_emit_to_bits(e, sm_emit_low_words(e, p), 64, f.bits);
        return l;
    }
    LLVMTypeRef t = phys == SM_PHYS_F32   ? e->f32
                    : phys == SM_PHYS_F64 ? e->f64
                                          : sm_emit_int(e, bytes * 8);
    l.v = sm_emit_load(e, e->b, sm_emit_vec(e, t), p, bytes < 8 ? bytes : 8);
    if (f.kind == SM_FORM_BOOL)
        l.v = LLVMBuildICmp(e->b, LLVMIntNE, l.v, LLVMConstNull(LLVMTypeOf(l.v)), "");
    if (f.kind == SM_FORM_INT) l.v = sm_emit_to_bits(e, l.v, bytes * 8, f.bits);
    return l;
}

/* The column of the source that x is, stored just as a body reads it. */
static int32_t plain_column(const sm_emit *e, const sm_expr *x, sm_phys phys)
{
    if (x->kind != SM_EXPR_COLUMN) return -1;
    int32_t src = e->s->env[e->at_step][x->column].src;
    if (src < 0 || e->s->cols[src].enc != SM_ENC_PLAIN || e->s->cols[src].phys != phys ||
        phys == SM_PHYS_BOOL)
        return -1;
    return src;
}

/* An array with a constant in every row, filled in the entry block. */
static sm_ir const_array(sm_emit *e, const sm_expr *x, const sm_lanes *l, sm_phys phys)
{
    uint32_t i = sm_shape_const(e->s, x);
    if (e->const_room[i]) return e->const_room[i];
    e->const_room[i] = sm_emit_room(e, ROOM_BYTES, 64);
    LLVMBuilderRef b = e->b;
    e->b = e->hoist;
    for (uint32_t s = 0; s < e->n_sub; s++) sm_emit_spill(e, l, phys, e->const_room[i], s);
    e->b = b;
    return e->const_room[i];
}

static sm_ir argument(sm_emit *e, const sm_op_site *at, unsigned i)
{
    const sm_expr *x = at->x->args[i];
    sm_phys phys = sm_jit_code_phys(e->host->ops[at->x->op].args[i]);
    int32_t src = plain_column(e, x, phys);
    if (src >= 0) {
        sm_ir first = LLVMBuildShl(e->b, e->block, sm_emit_k64(e, 5), "");
        LLVMTypeRef t = LLVMArrayType2(e->i8, sm_jit_phys_bytes(phys));
        return LLVMBuildInBoundsGEP2(e->b, t, e->data[src], &first, 1, "");
    }
    if (x->kind == SM_EXPR_CONST && e->step > 1) return const_array(e, x, &at->a[i], phys);
    sm_emit_spill(e, &at->a[i], phys, room(e, i), at->sub);
    return room(e, i);
}

/* Calls the lanes form of an operation, whose arguments' arrays are in `list`, and reloads the
 * result. */
static sm_ir call_lanes(sm_emit *e, sm_op op, const int32_t *imm, sm_ir list, uint32_t sub,
                        sm_ir mask, sm_lanes *out)
{
    sm_ir result = room(e, 3);
    for (unsigned i = 0; i < 2; i++)
        sm_emit_store(e, sm_emit_k32(e, (uint32_t)imm[i]),
                      sm_emit_at(e, e->b, e->cx, offsetof(sm_opctx, imm) + i * sizeof(int32_t)), 4);
    uint64_t where = (uint64_t)op * sizeof(sm_op_info) + offsetof(sm_op_info, lanes);
    sm_ir ops = LLVMConstIntToPtr(sm_emit_k64(e, (uint64_t)(uintptr_t)e->host->ops), e->ptr);
    sm_ir body = sm_emit_load(e, e->hoist, e->ptr, sm_emit_at(e, e->hoist, ops, where), 8);
    sm_ir args[4] = {e->cx, sm_emit_bits(e, mask, sub), list, result};
    LLVMTypeRef types[4] = {e->ptr, e->i32, e->ptr, e->ptr};
    sm_ir failed = LLVMBuildCall2(e->b, LLVMFunctionType(e->i32, types, 4, 0), body, args, 4, "");
    *out = sm_emit_reload(e, sm_jit_code_phys(e->host->ops[op].result), out->form, result, sub);
    return failed;
}

void sm_emit_call_op(sm_emit *e, const sm_op_site *at, sm_lanes *out)
{
    sm_ir list = sm_emit_room(e, 3 * sizeof(void *), 8);
    for (unsigned i = 0; i < at->x->n_args; i++)
        sm_emit_store(e, argument(e, at, i), sm_emit_at(e, e->b, list, i * sizeof(void *)), 8);
    sm_ir failed = call_lanes(e, at->x->op, at->x->imm, list, at->sub, at->m->bits, out);
    if (at->check) sm_emit_fail(e, sm_emit_mask_from_bits(e, failed, at->sub), at->sub, at->m);
}

void sm_emit_call_body(sm_emit *e, sm_op op, int32_t imm, const sm_lanes *a, uint32_t sub,
                       sm_ir mask, sm_lanes *out)
{
    sm_ir list = sm_emit_room(e, sizeof(void *), 8);
    sm_emit_spill(e, a, sm_jit_code_phys(e->host->ops[op].args[0]), room(e, 0), sub);
    sm_emit_store(e, room(e, 0), list, 8);
    (void)call_lanes(e, op, (int32_t[]){imm, 0}, list, sub, mask, out);
}
