/* Where values come from: columns in each encoding, constants, tables over dictionary entries.
 * Everything is loaded at most once a block. Read emit.h first. */
#include "emit.h"

/* Address of S values of so many bytes, beginning at vector sub's first row. */
static sm_ir rows_at(sm_emit *e, uint32_t src, uint32_t bytes, uint32_t sub)
{
    LLVMTypeRef t = bytes == 16 ? LLVMArrayType2(e->i64, 2) : sm_emit_int(e, bytes * 8);
    return LLVMBuildInBoundsGEP2(e->b, t, e->data[src], &e->row[sub], 1, "");
}

sm_ir sm_emit_word(sm_emit *e, uint32_t src)
{
    if (!e->valid_word[src]) {
        sm_ir p = LLVMBuildInBoundsGEP2(e->b, e->i32, e->valid_words[src], &e->block, 1, "");
        e->valid_word[src] = sm_emit_load(e, e->b, e->i32, p, 4);
    }
    return e->valid_word[src];
}

sm_ir sm_emit_twice(const sm_emit *e, sm_ir v)
{
    sm_ir at[2 * SM_BLOCK_ROWS];
    if (e->step == 1) { /* one row has two words too */
        LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(v), 2);
        sm_ir one = LLVMBuildInsertElement(e->b, LLVMGetPoison(t), v, sm_emit_k64(e, 0), "");
        return LLVMBuildInsertElement(e->b, one, v, sm_emit_k64(e, 1), "");
    }
    for (uint32_t i = 0; i < 2 * e->step; i++) at[i] = sm_emit_k32(e, i / 2);
    return LLVMBuildShuffleVector(e->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(at, 2 * e->step), "");
}

sm_ir sm_emit_wide_words(const sm_emit *e, sm_ir v)
{
    sm_ir sign = LLVMBuildAShr(e->b, v, sm_emit_kvec(e, e->i64, 63), ""), at[2 * SM_BLOCK_ROWS];
    if (e->step == 1) {
        sm_ir one = LLVMBuildInsertElement(e->b, sm_emit_twice(e, v), sign, sm_emit_k64(e, 1), "");
        return one;
    }
    for (uint32_t i = 0; i < 2 * e->step; i++) at[i] = sm_emit_k32(e, i / 2 + (i % 2) * e->step);
    return LLVMBuildShuffleVector(e->b, v, sign, LLVMConstVector(at, 2 * e->step), "");
}

sm_ir sm_emit_low_words(sm_emit *e, sm_ir p)
{
    sm_ir even[SM_BLOCK_ROWS];
    if (e->step == 1) return sm_emit_load(e, e->b, e->i64, p, 8);
    for (uint32_t i = 0; i < e->step; i++) even[i] = sm_emit_k32(e, 2 * i);
    sm_ir both = sm_emit_load(e, e->b, LLVMVectorType(e->i64, 2 * e->step), p, 8);
    return LLVMBuildShuffleVector(e->b, both, LLVMGetPoison(LLVMTypeOf(both)),
                                  LLVMConstVector(even, e->step), "");
}

/* Unsigned offsets from the column's base, in the width that the values need: bits above it cancel
 * out. */
static sm_ir load_narrow(sm_emit *e, uint32_t src, uint32_t sub)
{
    const sm_src_col *c = &e->s->cols[src];
    unsigned bits = c->form.bits, stored = c->width * 8u;
    sm_ir v = sm_emit_load(e, e->b, sm_emit_vec(e, sm_emit_int(e, stored)),
                           rows_at(e, src, c->width, sub), c->width);
    LLVMTypeRef t = sm_emit_vec(e, sm_emit_int(e, bits));
    if (bits > stored) v = LLVMBuildZExt(e->b, v, t, "");
    if (bits < stored) v = LLVMBuildTrunc(e->b, v, t, "");
    return LLVMBuildAdd(e->b, v, e->base[src], "");
}

static sm_ir load_int(sm_emit *e, uint32_t src, uint32_t sub)
{
    const sm_src_col *c = &e->s->cols[src];
    uint32_t bytes = (uint32_t)sm_jit_phys_bytes(c->phys);
    sm_ir p = rows_at(e, src, bytes, sub);
    if (bytes == 16 && c->form.bits <= 64)
        return sm_emit_to_bits(e, sm_emit_low_words(e, p), 64, c->form.bits);
    sm_ir v =
        sm_emit_load(e, e->b, sm_emit_vec(e, sm_emit_int(e, bytes * 8)), p, bytes < 8 ? bytes : 8);
    return sm_emit_to_bits(e, v, bytes * 8, c->form.bits);
}

static sm_ir load_codes(sm_emit *e, uint32_t src, uint32_t sub)
{
    uint32_t width = e->s->cols[src].width;
    sm_ir v = sm_emit_load(e, e->b, sm_emit_vec(e, sm_emit_int(e, width * 8)),
                           rows_at(e, src, width, sub), width);
    return LLVMBuildZExt(e->b, v, sm_emit_vec(e, e->i32), "");
}

static sm_lanes *load_source(sm_emit *e, uint32_t src, uint32_t sub)
{
    const sm_src_col *c = &e->s->cols[src];
    sm_lanes *l = &e->loaded[src * e->n_sub + sub];
    if (l->v) return l;
    l->form = c->form;
    l->no_nan = c->no_nan;
    if (c->nullable) l->valid = sm_emit_mask_from_bits(e, sm_emit_word(e, src), sub);
    if (c->enc == SM_ENC_DICT) {
        l->v = load_codes(e, src, sub);
    } else if (c->enc == SM_ENC_NARROW) {
        l->v = load_narrow(e, src, sub);
    } else if (c->phys == SM_PHYS_BOOL) {
        sm_ir p = LLVMBuildInBoundsGEP2(e->b, e->i32, e->data[src], &e->block, 1, "");
        l->v = sm_emit_mask_from_bits(e, sm_emit_load(e, e->b, e->i32, p, 4), sub);
    } else if (c->form.kind == SM_FORM_PAIR) {
        l->v = sm_emit_load(e, e->b, sm_emit_form_vec(e, c->form), rows_at(e, src, 16, sub), 8);
    } else if (c->form.kind == SM_FORM_INT) {
        l->v = load_int(e, src, sub);
    } else {
        uint32_t bytes = c->form.bits / 8u;
        l->v =
            sm_emit_load(e, e->b, sm_emit_form_vec(e, c->form), rows_at(e, src, bytes, sub), bytes);
    }
    return l;
}

/* What is at base + at (bytes, one for each element of vt); elements outside the mask are not read.
 */
static sm_ir gather_at(sm_emit *e, LLVMTypeRef vt, sm_ir base, sm_ir at, sm_ir mask)
{
    uint32_t n = LLVMGetVectorSize(vt);
    sm_ir on[2 * SM_BLOCK_ROWS];
    for (uint32_t i = 0; i < n; i++) on[i] = LLVMConstAllOnes(e->i1);
    LLVMTypeRef over[2] = {vt, LLVMVectorType(e->ptr, n)};
    sm_ir args[4] = {LLVMBuildGEP2(e->b, e->i8, base, &at, 1, ""), sm_emit_k32(e, 4),
                     mask ? mask : LLVMConstVector(on, n), LLVMConstNull(vt)};
    unsigned id = LLVMLookupIntrinsicID("llvm.masked.gather", 18);
    sm_ir f = LLVMGetIntrinsicDeclaration(e->mod, id, over, 2);
    return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->ctx, id, over, 2), f, args, 4, "");
}

/* Values of a form at base + index of each row; rows outside the mask are not read. */
static sm_ir gather(sm_emit *e, sm_form f, sm_ir base, sm_ir index, sm_ir mask)
{
    bool pair = f.kind == SM_FORM_PAIR;
    sm_ir at = LLVMBuildZExt(e->b, index, sm_emit_vec(e, e->i64), "");
    at = LLVMBuildMul(e->b, at, sm_emit_kvec(e, e->i64, pair ? 16 : f.bits / 8), "");
    if (e->step == 1) {
        if (mask) at = LLVMBuildSelect(e->b, mask, at, sm_emit_k64(e, 0), "");
        return sm_emit_load(e, e->b, sm_emit_form_vec(e, f),
                            LLVMBuildGEP2(e->b, e->i8, base, &at, 1, ""), 4);
    }
    if (!pair) return gather_at(e, sm_emit_form_vec(e, f), base, at, mask);
    sm_ir words[2 * SM_BLOCK_ROWS];
    for (uint32_t i = 0; i < 2 * e->step; i++) words[i] = sm_emit_k64(e, i % 2 * 8);
    at = LLVMBuildAdd(e->b, sm_emit_twice(e, at), LLVMConstVector(words, 2 * e->step), "");
    return gather_at(e, sm_emit_form_vec(e, f), base, at, mask ? sm_emit_twice(e, mask) : NULL);
}

static sm_lanes decode(sm_emit *e, uint32_t src, uint32_t sub)
{
    sm_lanes *d = &e->decoded[src * e->n_sub + sub];
    if (d->v) return *d;
    const sm_lanes *l = load_source(e, src, sub);
    uint64_t off = src * sizeof(sm_jit_col) + offsetof(sm_jit_col, dict);
    sm_ir dict = sm_emit_load(e, e->hoist, e->ptr, sm_emit_at(e, e->hoist, e->cols, off), 8);
    sm_ir mask = sm_emit_and(e, e->live[sub]->bits, l->valid);
    *d = *l;
    d->v = gather(e, l->form, dict, l->v, mask);
    return *d;
}

sm_lanes sm_emit_codes(sm_emit *e, uint32_t src, uint32_t sub)
{
    return *load_source(e, src, sub);
}

sm_lanes sm_emit_column(sm_emit *e, uint32_t column, uint32_t sub)
{
    int32_t src = e->s->env[e->at_step][column].src;
    if (src < 0) return e->env[e->at_step][column * e->n_sub + sub];
    if (e->s->cols[src].enc == SM_ENC_DICT) return decode(e, (uint32_t)src, sub);
    return *load_source(e, (uint32_t)src, sub);
}

/* ---- constants ---- */

sm_lanes sm_emit_const(sm_emit *e, const sm_expr *x)
{
    uint32_t i = sm_shape_const(e->s, x);
    sm_lanes *l = &e->const_lanes[i];
    if (l->v) return *l;
    sm_form f = e->s->consts[i].form;
    LLVMTypeRef t = sm_emit_form_type(e, f);
    l->form = f;
    l->no_nan = !((x->phys == SM_PHYS_F64 && x->value.f64 != x->value.f64) ||
                  (x->phys == SM_PHYS_F32 && x->value.f32 != x->value.f32));
    if (x->value.is_null) {
        l->v = LLVMConstNull(sm_emit_form_vec(e, f));
        l->valid = LLVMConstNull(sm_emit_vec(e, e->i1));
        return *l;
    }
    sm_ir p = sm_emit_at(e, e->hoist, e->consts, (uint64_t)i * SM_SLOT_BYTES);
    if (f.kind == SM_FORM_PAIR) {
        sm_ir at[2 * SM_BLOCK_ROWS], v = sm_emit_load(e, e->hoist, LLVMVectorType(e->i64, 2), p, 8);
        for (uint32_t k = 0; k < 2 * e->step; k++) at[k] = sm_emit_k32(e, k % 2);
        l->v = LLVMBuildShuffleVector(e->hoist, v, LLVMGetPoison(LLVMTypeOf(v)),
                                      LLVMConstVector(at, 2 * e->step), "");
    } else if (f.kind == SM_FORM_BOOL) {
        sm_ir v = LLVMBuildTrunc(e->hoist, sm_emit_load(e, e->hoist, e->i8, p, 8), e->i1, "");
        l->v = sm_emit_splat(e, e->hoist, v);
    } else {
        l->v = sm_emit_splat(e, e->hoist, sm_emit_load(e, e->hoist, t, p, 8));
    }
    return *l;
}

/* ---- dictionary tables ---- */

static sm_ir slot(sm_emit *e, LLVMTypeRef t, uint32_t slot)
{
    return sm_emit_load(e, e->hoist, t,
                        sm_emit_at(e, e->hoist, e->consts, (uint64_t)slot * SM_SLOT_BYTES), 8);
}

/* Bit `code` of a word that every row sees. */
static sm_ir bit_of_word(sm_emit *e, sm_ir word, unsigned bits, sm_ir code)
{
    LLVMTypeRef t = sm_emit_vec(e, sm_emit_int(e, bits));
    sm_ir at = LLVMBuildAnd(e->b, code, sm_emit_kvec(e, e->i32, bits - 1), "");
    if (bits == 64) at = LLVMBuildZExt(e->b, at, t, "");
    sm_ir hit = LLVMBuildLShr(e->b, sm_emit_splat(e, e->hoist, word), at, "");
    return LLVMBuildTrunc(e->b, hit, sm_emit_vec(e, e->i1), "");
}

static sm_ir bit_of_map(sm_emit *e, sm_ir map, sm_ir code, sm_ir mask)
{
    sm_ir word = gather(e, (sm_form){SM_FORM_INT, 32}, map,
                        LLVMBuildLShr(e->b, code, sm_emit_kvec(e, e->i32, 5), ""), mask);
    sm_ir at = LLVMBuildAnd(e->b, code, sm_emit_kvec(e, e->i32, 31), "");
    return LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, word, at, ""), sm_emit_vec(e, e->i1), "");
}

sm_lanes sm_emit_table(sm_emit *e, uint32_t table, uint32_t sub, const sm_mask *m)
{
    const sm_dict_table *t = &e->s->tables[table];
    const sm_lanes *codes = load_source(e, t->src, sub);
    uint32_t at = e->s->slot_tables + 2 * table;
    sm_ir code = codes->v, mask = m->bits;
    sm_lanes out = {.form = t->form};
    if (t->null_entry) { /* entry 0 stands for NULL */
        code = LLVMBuildAdd(e->b, code, sm_emit_kvec(e, e->i32, 1), "");
        code = LLVMBuildSelect(e->b, codes->valid, code, sm_emit_kvec(e, e->i32, 0), "");
    }
    switch ((sm_table_form)t->how) {
    case SM_TABLE_BITS32: out.v = bit_of_word(e, slot(e, e->i32, at), 32, code); break;
    case SM_TABLE_BITS64: out.v = bit_of_word(e, slot(e, e->i64, at), 64, code); break;
    case SM_TABLE_BITMAP: out.v = bit_of_map(e, slot(e, e->ptr, at), code, mask); break;
    case SM_TABLE_VALUES: out.v = gather(e, t->form, slot(e, e->ptr, at), code, mask); break;
    }
    if (t->nullable)
        out.valid = t->small ? bit_of_word(e, slot(e, e->i64, at + 1), 64, code)
                             : bit_of_map(e, slot(e, e->ptr, at + 1), code, mask);
    return out;
}
