/* What the aggregate sinks share, and the update of state rows one live row at a time: DIRECT and
 * HASH do all of their accumulators so, the others what has no form in lanes. Read sink.h and
 * runtime/agg.h first. */
#include "sink.h"

sm_ir sm_sink_mask(sm_emit *e, const sm_accum *a, uint32_t sub)
{
    sm_ir m = e->live[sub]->bits;
    if (a->filter_col >= 0) {
        sm_lanes f = sm_emit_column(e, (uint32_t)a->filter_col, sub);
        m = sm_emit_and(e, m, sm_emit_and(e, f.v, f.valid));
    }
    if (a->arg_col >= 0) m = sm_emit_and(e, m, sm_emit_column(e, (uint32_t)a->arg_col, sub).valid);
    return m;
}

sm_lanes sm_sink_order_key(sm_emit *e, sm_lanes v)
{
    LLVMTypeRef t = sm_emit_vec(e, e->i64);
    sm_lanes out = {.form = {SM_FORM_INT, 64}};
    if (v.form.kind == SM_FORM_INT) return v;
    if (v.form.kind == SM_FORM_BOOL) {
        out.form.bits = 32;
        out.v = LLVMBuildZExt(e->b, v.v, sm_emit_vec(e, e->i32), "");
        return out;
    }
    sm_ir x = v.v;
    if (v.form.kind == SM_FORM_F32) x = LLVMBuildFPExt(e->b, x, sm_emit_vec(e, e->f64), "");
    sm_ir nan = LLVMBuildFCmp(e->b, LLVMRealUNO, x, x, "");
    x = LLVMBuildFAdd(e->b, x, sm_emit_kreal(e, e->f64, 0.0), ""); /* -0.0 becomes 0.0 */
    sm_ir bits = LLVMBuildBitCast(e->b, x, t, "");
    sm_ir sign = LLVMBuildAShr(e->b, bits, sm_emit_kvec(e, e->i64, 63), "");
    sm_ir key =
        LLVMBuildXor(e->b, bits, LLVMBuildLShr(e->b, sign, sm_emit_kvec(e, e->i64, 1), ""), "");
    out.v =
        v.no_nan ? key : LLVMBuildSelect(e->b, nan, sm_emit_kvec(e, e->i64, INT64_MAX), key, "");
    return out;
}

static sm_ir code_slot(sm_emit *e, uint32_t key, uint32_t which)
{
    uint64_t slot = e->s->slot_codes + SM_CODE_SLOTS * key + which;
    sm_ir v = sm_emit_load(e, e->hoist, e->i64,
                           sm_emit_at(e, e->hoist, e->consts, slot * SM_SLOT_BYTES), 8);
    return v;
}

static sm_ir slot32(sm_emit *e, sm_ir v)
{
    return sm_emit_splat(e, e->hoist, LLVMBuildTrunc(e->hoist, v, e->i32, ""));
}

/* Value minus minimum, in the column's width; what is left is small. */
static sm_ir offset_code(sm_emit *e, uint32_t key, const sm_lanes *v)
{
    if (v->form.kind == SM_FORM_BOOL) return LLVMBuildZExt(e->b, v->v, sm_emit_vec(e, e->i32), "");
    sm_ir min = code_slot(e, key, 0);
    LLVMTypeRef t = sm_emit_int(e, v->form.bits);
    if (v->form.bits < 64) min = LLVMBuildTrunc(e->hoist, min, t, "");
    if (v->form.bits > 64) min = LLVMBuildSExt(e->hoist, min, t, "");
    sm_ir d = LLVMBuildSub(e->b, v->v, sm_emit_splat(e, e->hoist, min), "");
    return sm_emit_to_bits(e, d, v->form.bits, 32);
}

sm_ir sm_sink_codes(sm_emit *e, uint32_t sub)
{
    const sm_agg_sink *g = &e->p->agg;
    sm_ir sum = NULL;
    for (uint32_t i = 0; i < g->layout.n_keys; i++) {
        const sm_code_key *k = &g->codes[i];
        const sm_env_col *c = &e->s->env[e->p->n_steps][i];
        sm_lanes v = k->dict ? sm_emit_codes(e, (uint32_t)c->src, sub) : sm_emit_column(e, i, sub);
        sm_ir code = k->dict ? v.v : offset_code(e, i, &v);
        if (v.valid) code = LLVMBuildSelect(e->b, v.valid, code, slot32(e, code_slot(e, i, 1)), "");
        if (k->stride != 1) code = LLVMBuildMul(e->b, code, slot32(e, code_slot(e, i, 2)), "");
        sum = sum ? LLVMBuildAdd(e->b, sum, code, "") : code;
    }
    return sum;
}

void sm_sink_row_addresses(sm_emit *e, sm_ir base, uint32_t bytes, sm_ir rows)
{
    for (uint32_t s = 0; s < e->n_sub; s++) {
        sm_ir at = LLVMBuildZExt(e->b, sm_sink_codes(e, s), sm_emit_vec(e, e->i64), "");
        at = LLVMBuildMul(e->b, at, sm_emit_kvec(e, e->i64, bytes), "");
        sm_ir start = LLVMBuildPtrToInt(e->b, base, e->i64, "");
        at = LLVMBuildAdd(e->b, at, sm_emit_splat(e, e->b, start), "");
        sm_emit_store(e, at, sm_emit_at(e, e->b, rows, (uint64_t)s * e->step * 8), 8);
    }
}

sm_ir sm_sink_host_fn(sm_emit *e, size_t offset)
{
    sm_ir host = LLVMConstIntToPtr(sm_emit_k64(e, (uint64_t)(uintptr_t)e->host), e->ptr);
    return sm_emit_load(e, e->hoist, e->ptr, sm_emit_at(e, e->hoist, host, offset), 8);
}

static sm_ir block_mask(sm_emit *e, const sm_accum *a)
{
    sm_ir word = NULL;
    for (uint32_t s = 0; s < e->n_sub; s++)
        word = sm_emit_or(e, word, sm_emit_bits(e, sm_sink_mask(e, a, s), s));
    return word;
}

void sm_sink_host_add(sm_emit *e, uint32_t k, sm_ir rows, uint32_t offset, uint32_t lane_mask)
{
    const sm_accum *a = &e->p->agg.layout.accums[k];
    sm_phys phys = sm_jit_type_phys(a->type);
    sm_ir vec = sm_emit_room(e, sizeof(sm_vec), 16), data = sm_emit_room(e, SM_BLOCK_ROWS * 16, 64);
    for (uint32_t s = 0; s < e->n_sub; s++) {
        sm_lanes v = sm_emit_column(e, (uint32_t)a->arg_col, s);
        sm_emit_spill(e, &v, phys, data, s);
    }
    sm_ir null = LLVMConstNull(e->ptr);
    sm_emit_store(e, data, sm_emit_at(e, e->b, vec, offsetof(sm_vec, data)), 8);
    sm_emit_store(e, null, sm_emit_at(e, e->b, vec, offsetof(sm_vec, valid)), 8);
    sm_emit_store(e, null, sm_emit_at(e, e->b, vec, offsetof(sm_vec, codes)), 8);
    sm_emit_store(e, sm_emit_k32(e, phys), sm_emit_at(e, e->b, vec, offsetof(sm_vec, phys)), 4);
    sm_ir local = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, agg));
    sm_ir states = sm_emit_room(e, SM_BLOCK_ROWS * sizeof(void *), 64);
    for (uint32_t s = 0; s < e->n_sub; s++) {
        uint64_t at = (uint64_t)s * e->step * sizeof(void *);
        sm_ir row = sm_emit_load(e, e->b, sm_emit_vec(e, e->i64), sm_emit_at(e, e->b, rows, at), 8);
        row = LLVMBuildAdd(e->b, row, sm_emit_kvec(e, e->i64, offset), "");
        sm_emit_store(e, row, sm_emit_at(e, e->b, states, at), 8);
    }
    sm_ir args[6] = {local, sm_emit_k32(e, k), vec, block_mask(e, a), sm_emit_k32(e, lane_mask),
                     states};
    LLVMTypeRef types[6] = {e->ptr, e->i32, e->ptr, e->i32, e->i32, e->ptr};
    sm_ir fn = sm_sink_host_fn(e, offsetof(sm_jit_host, acc_add));
    sm_emit_check_status(
        e, LLVMBuildCall2(e->b, LLVMFunctionType(e->i32, types, 6, 0), fn, args, 6, ""));
}

/* ---- one row at a time ---- */

typedef struct row_site {
    const sm_sink_update *u;
    sm_ir lane; /* i64 */
    sm_ir row;
} row_site;

typedef struct row_arg {
    sm_ir word; /* rows that count; NULL = all live ones */
    sm_ir array;
    LLVMTypeRef type;
    sm_form form;
} row_arg;

sm_lanes sm_sink_double(sm_emit *e, uint32_t k, sm_lanes v, uint32_t sub)
{
    const sm_accum *a = &e->p->agg.layout.accums[k];
    sm_lanes out = {.form = {SM_FORM_F64, 64}};
    if (v.form.kind == SM_FORM_F64) return v;
    if (v.form.kind == SM_FORM_F32) {
        out.v = LLVMBuildFPExt(e->b, v.v, sm_emit_vec(e, e->f64), "");
        return out;
    }
    if (e->s->accs[k].exact_double || (!a->type.scale && v.form.bits <= 64))
        return sm_emit_exact_double(e, v, a->type.scale);
    bool wide = sm_jit_type_phys(a->type) == SM_PHYS_I128;
    sm_emit_call_body(e, wide ? SM_OP_d128_to_f64 : SM_OP_d64_to_f64, a->type.scale, &v, sub,
                      sm_sink_mask(e, a, sub), &out);
    return out;
}

/* Spills what accumulator a needs of a block. */
static row_arg spill_arg(sm_emit *e, uint32_t k)
{
    const sm_accum *a = &e->p->agg.layout.accums[k];
    row_arg r = {0};
    bool plain =
        a->filter_col < 0 && (a->arg_col < 0 || !sm_emit_column(e, (uint32_t)a->arg_col, 0).valid);
    if (!plain) r.word = block_mask(e, a);
    if (a->kind == SM_ACC_COUNT) return r;
    r.array = sm_emit_room(e, SM_BLOCK_ROWS * 16, 64);
    for (uint32_t s = 0; s < e->n_sub; s++) {
        sm_lanes v = sm_emit_column(e, (uint32_t)a->arg_col, s);
        if (a->kind == SM_ACC_MIN || a->kind == SM_ACC_MAX) v = sm_sink_order_key(e, v);
        bool real = v.form.kind == SM_FORM_F32 || v.form.kind == SM_FORM_F64;
        if (real || (a->kind == SM_ACC_VAR && v.form.kind == SM_FORM_INT)) {
            v = sm_sink_double(e, k, v, s);
        } else if (v.form.kind == SM_FORM_BOOL) {
            v.v = LLVMBuildZExt(e->b, v.v, sm_emit_vec(e, e->i8), "");
            v.form = (sm_form){SM_FORM_INT, 8};
        }
        r.form = v.form;
        r.type = sm_emit_form_type(e, v.form);
        uint64_t at = (uint64_t)s * e->step * (v.form.bits / 8u);
        sm_emit_store(e, v.v, sm_emit_at(e, e->b, r.array, at),
                      v.form.bits / 8u < 8 ? v.form.bits / 8u : 8);
    }
    return r;
}

static sm_ir state_at(sm_emit *e, sm_ir state, uint64_t off)
{
    return sm_emit_at(e, e->b, state, off);
}

static void add_to(sm_emit *e, sm_ir p, LLVMTypeRef t, sm_ir v, unsigned align)
{
    sm_emit_store(e, LLVMBuildAdd(e->b, sm_emit_load(e, e->b, t, p, align), v, ""), p, align);
}

/* Address of a float accumulator: bytes each, for the row's lane. */
static sm_ir lane_at(sm_emit *e, const row_site *r, sm_ir state, uint32_t header, uint32_t bytes)
{
    if (!r->u->lane_mask) return state_at(e, state, header);
    sm_ir lane = LLVMBuildAnd(e->b, r->lane, sm_emit_k64(e, r->u->lane_mask), "");
    sm_ir off = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, lane, sm_emit_k64(e, bytes), ""),
                             sm_emit_k64(e, header), "");
    return LLVMBuildInBoundsGEP2(e->b, e->i8, state, &off, 1, "");
}

/* Youngs and Cramer: n, sum, and the sum of squared differences from the mean. */
static void update_var(sm_emit *e, const row_site *r, sm_ir state, sm_ir x, sm_ir counts)
{
    sm_ir p = lane_at(e, r, state, 0, sizeof(sm_var_lane));
    sm_ir psum = sm_emit_at(e, e->b, p, offsetof(sm_var_lane, sum)),
          psq = sm_emit_at(e, e->b, p, offsetof(sm_var_lane, sq));
    sm_ir one = LLVMConstReal(e->f64, 1.0);
    sm_ir n0 = sm_emit_load(e, e->b, e->f64, p, 8), sum0 = sm_emit_load(e, e->b, e->f64, psum, 8);
    sm_ir sq0 = sm_emit_load(e, e->b, e->f64, psq, 8);
    sm_ir n = LLVMBuildFAdd(e->b, n0, one, ""), sum = LLVMBuildFAdd(e->b, sum0, x, "");
    sm_ir d = LLVMBuildFSub(e->b, LLVMBuildFMul(e->b, x, n, ""), sum, "");
    sm_ir div = LLVMBuildFMul(e->b, n, n0, "");
    sm_ir more = LLVMBuildFDiv(e->b, LLVMBuildFMul(e->b, d, d, ""), div, "");
    sm_ir is_first = LLVMBuildFCmp(e->b, LLVMRealOEQ, n0, LLVMConstReal(e->f64, 0.0), "");
    sm_ir sq = LLVMBuildSelect(e->b, is_first, sq0, LLVMBuildFAdd(e->b, sq0, more, ""), "");
    if (counts) {
        n = LLVMBuildSelect(e->b, counts, n, n0, "");
        sum = LLVMBuildSelect(e->b, counts, sum, sum0, "");
        sq = LLVMBuildSelect(e->b, counts, sq, sq0, "");
    }
    sm_emit_store(e, n, p, 8);
    sm_emit_store(e, sum, psum, 8);
    sm_emit_store(e, sq, psq, 8);
}

static void update_minmax(sm_emit *e, const sm_accum *a, sm_ir state, sm_ir v, sm_ir counts)
{
    sm_ir phas = state_at(e, state, offsetof(sm_acc_minmax, has));
    sm_ir old = sm_emit_load(e, e->b, e->i64, state, 8),
          has = sm_emit_load(e, e->b, e->i64, phas, 8);
    sm_ir none = LLVMBuildICmp(e->b, LLVMIntEQ, has, sm_emit_k64(e, 0), "");
    sm_ir better = LLVMBuildICmp(e->b, a->kind == SM_ACC_MIN ? LLVMIntSLT : LLVMIntSGT, v, old, "");
    sm_ir take = LLVMBuildOr(e->b, none, better, "");
    if (counts) take = LLVMBuildAnd(e->b, take, counts, "");
    sm_emit_store(e, LLVMBuildSelect(e->b, take, v, old, ""), state, 8);
    sm_ir now = counts ? LLVMBuildZExt(e->b, counts, e->i64, "") : sm_emit_k64(e, 1);
    sm_emit_store(e, LLVMBuildOr(e->b, has, now, ""), phas, 8);
}

static void update_bool(sm_emit *e, sm_ir state, sm_ir v, sm_ir counts)
{
    sm_ir por = state_at(e, state, offsetof(sm_acc_bool, or_)),
          phas = state_at(e, state, offsetof(sm_acc_bool, has));
    sm_ir all = sm_emit_load(e, e->b, e->i8, state, 1), any = sm_emit_load(e, e->b, e->i8, por, 1);
    sm_ir has = sm_emit_load(e, e->b, e->i8, phas, 1), zero = LLVMConstNull(e->i8);
    sm_ir none = LLVMBuildICmp(e->b, LLVMIntEQ, has, zero, "");
    sm_ir all1 = LLVMBuildSelect(e->b, none, v, LLVMBuildAnd(e->b, all, v, ""), "");
    sm_ir any1 = LLVMBuildOr(e->b, any, v, ""), has1 = LLVMConstInt(e->i8, 1, 0);
    if (counts) {
        all1 = LLVMBuildSelect(e->b, counts, all1, all, "");
        any1 = LLVMBuildSelect(e->b, counts, any1, any, "");
        has1 = LLVMBuildSelect(e->b, counts, has1, has, "");
    }
    sm_emit_store(e, all1, state, 1);
    sm_emit_store(e, any1, por, 1);
    sm_emit_store(e, has1, phas, 1);
}

static void update_one(sm_emit *e, const row_site *r, const sm_accum *a, const row_arg *arg)
{
    sm_ir state = state_at(e, r->row, r->u->lanes_form ? a->lanes_offset : a->offset),
          counts = NULL, v = NULL;
    sm_ir one = sm_emit_k64(e, 1);
    if (arg->word) {
        sm_ir lane = LLVMBuildTrunc(e->b, r->lane, e->i32, "");
        counts = LLVMBuildTrunc(e->b, LLVMBuildLShr(e->b, arg->word, lane, ""), e->i1, "");
        one = LLVMBuildZExt(e->b, counts, e->i64, "");
    }
    if (arg->array) {
        sm_ir p = LLVMBuildInBoundsGEP2(e->b, arg->type, arg->array, (sm_ir[]){r->lane}, 1, "");
        v = sm_emit_load(e, e->b, arg->type, p, arg->form.bits / 8u < 8 ? arg->form.bits / 8u : 8);
    }
    switch (a->kind) {
    case SM_ACC_COUNT: add_to(e, state, e->i64, one, 8); break;
    case SM_ACC_SUM_I:
    case SM_ACC_SUM_D: {
        unsigned bits = a->kind == SM_ACC_SUM_I ? 128 : 256;
        size_t n_at =
            a->kind == SM_ACC_SUM_I ? offsetof(sm_acc_sum_i, n) : offsetof(sm_acc_sum_d, n);
        if (counts) v = LLVMBuildSelect(e->b, counts, v, LLVMConstNull(arg->type), "");
        add_to(e, state, sm_emit_int(e, bits), LLVMBuildSExt(e->b, v, sm_emit_int(e, bits), ""), 8);
        add_to(e, state_at(e, state, n_at), e->i64, one, 8);
        break;
    }
    case SM_ACC_SUM_F: {
        sm_ir p = lane_at(e, r, state, sizeof(sm_acc_sum_f), sizeof(double));
        if (counts) v = LLVMBuildSelect(e->b, counts, v, LLVMConstReal(e->f64, -0.0), "");
        sm_emit_store(e, LLVMBuildFAdd(e->b, sm_emit_load(e, e->b, e->f64, p, 8), v, ""), p, 8);
        add_to(e, state, e->i64, one, 8);
        break;
    }
    case SM_ACC_VAR: update_var(e, r, state, v, counts); break;
    case SM_ACC_MIN:
    case SM_ACC_MAX:
        update_minmax(e, a, state, sm_emit_to_bits(e, v, arg->form.bits, 64), counts);
        break;
    case SM_ACC_BOOL: update_bool(e, state, v, counts); break;
    }
}

static void update_first_row(sm_emit *e, const row_site *r)
{
    sm_ir row =
        LLVMBuildAdd(e->b, LLVMBuildShl(e->b, e->block, sm_emit_k64(e, 5), ""), r->lane, "");
    row = LLVMBuildAdd(e->b, row, e->first_row, "");
    sm_ir p = state_at(e, r->row, SM_GROUP_FIRST_ROW);
    sm_ir args[2] = {sm_emit_load(e, e->b, e->i64, p, 8), row};
    sm_emit_store(e, sm_emit_call(e, "llvm.umin", e->i64, args, 2), p, 8);
}

void sm_sink_update_rows(sm_emit *e, const sm_sink_update *u)
{
    const sm_group_layout *l = &e->p->agg.layout;
    row_arg *arg = sm_jit_pool_get(e->pool, (l->n_accums + 1) * sizeof *arg);
    if (!arg) return;
    bool any = u->set_first_row;
    for (uint32_t k = 0; k < l->n_accums; k++) {
        if (!u->want(e, k)) continue;
        arg[k] = spill_arg(e, k);
        any = true;
    }
    if (!any) return;
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b), rows = sm_emit_block(e, "rows"),
                      done = sm_emit_block(e, "rows_done");
    sm_ir some = LLVMBuildICmp(e->b, LLVMIntNE, e->live_word, sm_emit_k32(e, 0), "");
    LLVMBuildCondBr(e->b, some, rows, done);
    LLVMPositionBuilderAtEnd(e->b, rows);
    sm_ir left = LLVMBuildPhi(e->b, e->i32, "left");
    sm_ir lane =
        sm_emit_call(e, "llvm.cttz", e->i32, (sm_ir[]){left, LLVMConstInt(e->i1, 1, 0)}, 2);
    row_site r = {u, LLVMBuildZExt(e->b, lane, e->i64, ""), u->row};
    if (u->rows) {
        sm_ir p = LLVMBuildInBoundsGEP2(e->b, e->ptr, u->rows, &r.lane, 1, "");
        r.row = sm_emit_load(e, e->b, e->ptr, p, 8);
    }
    if (u->set_first_row) update_first_row(e, &r);
    for (uint32_t k = 0; k < l->n_accums; k++)
        if (u->want(e, k)) update_one(e, &r, &l->accums[k], &arg[k]);
    sm_ir next = LLVMBuildAnd(e->b, left, LLVMBuildSub(e->b, left, sm_emit_k32(e, 1), ""), "");
    LLVMBasicBlockRef last = LLVMGetInsertBlock(e->b);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, next, sm_emit_k32(e, 0), ""), rows, done);
    LLVMAddIncoming(left, (sm_ir[]){e->live_word, next}, (LLVMBasicBlockRef[]){from, last}, 2);
    LLVMPositionBuilderAtEnd(e->b, done);
}
