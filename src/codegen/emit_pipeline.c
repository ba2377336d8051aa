/* The function around the lanes: entry block with everything that is read once, the loop over
 * blocks, the ways out of it. Accumulators are stack variables, which mem2reg turns into registers.
 * Read emit.h first.
 *
 *   entry -> start -> block -> (filters; empty: skip) -> errors? -> sink -> next -> block ... ->
 * end refused --------------------------------^ */
#include "emit.h"

typedef struct loop {
    sm_ir at;         /* variable: block, or row with step 1 */
    sm_ir end;        /* i64 */
    sm_ir result;     /* variable */
    sm_ir *step_rows; /* variables, by step; NULL where the number is the step before's */
    sm_ir *pending;   /* of the block being emitted */
} loop;

sm_ir sm_emit_arg(sm_emit *e, LLVMTypeRef t, size_t offset)
{
    return sm_emit_load(e, e->hoist, t, sm_emit_at(e, e->hoist, e->args, offset), 4);
}

void sm_emit_check_status(sm_emit *e, sm_ir status)
{
    LLVMBasicBlockRef bad = sm_emit_block(e, "failed"), good = sm_emit_block(e, "");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, status, sm_emit_k32(e, 0), ""), bad, good);
    LLVMPositionBuilderAtEnd(e->b, bad);
    sm_emit_store(e, status, sm_emit_at(e, e->b, e->args, offsetof(sm_jit_args, status)), 4);
    LLVMBuildBr(e->b, e->failed);
    LLVMPositionBuilderAtEnd(e->b, good);
}

static void init_types(sm_emit *e)
{
    e->i1 = sm_emit_int(e, 1);
    e->i8 = sm_emit_int(e, 8);
    e->i16 = sm_emit_int(e, 16);
    e->i32 = sm_emit_int(e, 32);
    e->i64 = sm_emit_int(e, 64);
    e->i128 = sm_emit_int(e, 128);
    e->f32 = LLVMFloatTypeInContext(e->ctx);
    e->f64 = LLVMDoubleTypeInContext(e->ctx);
    e->ptr = LLVMPointerTypeInContext(e->ctx, 0);
    e->nothing = LLVMVoidTypeInContext(e->ctx);
}

static bool init_arrays(sm_emit *e)
{
    const sm_shape *s = e->s;
    size_t cols = s->n_cols + 1u, lanes = cols * e->n_sub;
    e->data = sm_jit_pool_get(e->pool, cols * sizeof(sm_ir));
    e->valid_words = sm_jit_pool_get(e->pool, cols * sizeof(sm_ir));
    e->base = sm_jit_pool_get(e->pool, cols * sizeof(sm_ir));
    e->valid_word = sm_jit_pool_get(e->pool, cols * sizeof(sm_ir));
    e->loaded = sm_jit_pool_get(e->pool, lanes * sizeof(sm_lanes));
    e->decoded = sm_jit_pool_get(e->pool, lanes * sizeof(sm_lanes));
    e->const_lanes = sm_jit_pool_get(e->pool, (s->n_consts + 1) * sizeof(sm_lanes));
    e->const_room = sm_jit_pool_get(e->pool, (s->n_consts + 1) * sizeof(sm_ir));
    e->env = sm_jit_pool_get(e->pool, (e->p->n_steps + 1) * sizeof *e->env);
    return !e->pool->failed;
}

/* What is read of a source column's descriptor. */
static void hoist_column(sm_emit *e, uint32_t i)
{
    const sm_src_col *c = &e->s->cols[i];
    sm_ir p = sm_emit_at(e, e->hoist, e->cols, i * sizeof(sm_jit_col));
    e->data[i] = sm_emit_load(e, e->hoist, e->ptr,
                              sm_emit_at(e, e->hoist, p, offsetof(sm_jit_col, data)), 8);
    if (c->nullable)
        e->valid_words[i] = sm_emit_load(
            e, e->hoist, e->ptr, sm_emit_at(e, e->hoist, p, offsetof(sm_jit_col, valid)), 8);
    if (c->enc == SM_ENC_NARROW) { /* little-endian: the low bytes come first */
        sm_ir at = sm_emit_at(e, e->hoist, p, offsetof(sm_jit_col, base));
        sm_ir base = sm_emit_load(e, e->hoist, e->i64, at, 8);
        LLVMTypeRef t = sm_emit_int(e, c->form.bits);
        if (c->form.bits < 64) base = LLVMBuildTrunc(e->hoist, base, t, "");
        if (c->form.bits > 64) base = LLVMBuildSExt(e->hoist, base, t, "");
        e->base[i] = sm_emit_splat(e, e->hoist, base);
    }
}

/* ---- one block ---- */

static void update_live_word(sm_emit *e)
{
    sm_ir word = NULL;
    for (uint32_t s = 0; s < e->n_sub; s++)
        word = sm_emit_or(e, word, sm_emit_bits(e, e->live[s]->bits, s));
    e->live_word = word;
    e->live_count = sm_emit_call(e, "llvm.ctpop", e->i32, &word, 1);
}

static sm_ir error_word(sm_emit *e)
{
    sm_ir word = NULL;
    for (uint32_t s = 0; s < e->n_sub; s++)
        if (e->error[s]) word = sm_emit_or(e, word, sm_emit_bits(e, e->error[s], s));
    return word;
}

static void commit_counts(sm_emit *e, loop *l, uint32_t n_steps)
{
    for (uint32_t k = 0; k < n_steps; k++) {
        if (!l->pending[k]) continue;
        sm_ir old = LLVMBuildLoad2(e->b, e->i64, l->step_rows[k], "");
        sm_ir n = LLVMBuildZExt(e->b, l->pending[k], e->i64, "");
        LLVMBuildStore(e->b, LLVMBuildAdd(e->b, old, n, ""), l->step_rows[k]);
    }
}

/* Leaves the block when no row is live and none has failed. */
static void skip_if_empty(sm_emit *e, loop *l, uint32_t step)
{
    sm_ir any = e->live_word, errors = error_word(e);
    if (errors) any = LLVMBuildOr(e->b, any, errors, "");
    LLVMBasicBlockRef skip = sm_emit_block(e, "skip"), go = sm_emit_block(e, "live");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, any, sm_emit_k32(e, 0), ""), skip, go);
    LLVMPositionBuilderAtEnd(e->b, skip);
    commit_counts(e, l, step);
    if (e->sink->skip) e->sink->skip(e);
    LLVMBuildBr(e->b, e->next);
    LLVMPositionBuilderAtEnd(e->b, go);
}

static bool emit_step(sm_emit *e, loop *l, uint32_t k)
{
    const sm_step *step = &e->p->steps[k];
    e->at_step = k;
    if (step->kind == SM_STEP_FILTER) {
        e->env[k + 1] = e->env[k];
        for (uint32_t s = 0; s < e->n_sub; s++) {
            sm_lanes c = sm_emit_expr(e, step->proved[0], s, e->live[s]);
            e->live[s] = sm_emit_narrow(e, e->live[s], sm_emit_and(e, c.v, c.valid));
        }
        update_live_word(e);
        l->pending[k] = e->live_count;
        if (e->step > 1) skip_if_empty(e, l, k + 1);
        return true;
    }
    sm_lanes *next = sm_jit_pool_get(e->pool, (step->n_exprs + 1u) * e->n_sub * sizeof *next);
    if (!next) return false;
    for (uint32_t i = 0; i < step->n_exprs; i++) {
        if (e->s->env[k + 1][i].src >= 0) continue;
        for (uint32_t s = 0; s < e->n_sub; s++) {
            sm_lanes v = sm_emit_expr(e, step->proved[i], s, e->live[s]);
            next[i * e->n_sub + s] = sm_emit_as(e, v, e->s->env[k + 1][i].form);
        }
    }
    e->env[k + 1] = next;
    e->known = NULL;
    return true;
}

static void begin_block(sm_emit *e, loop *l)
{
    sm_ir at = LLVMBuildLoad2(e->b, e->i64, l->at, "at");
    sm_mask *all = sm_jit_pool_get(e->pool, SM_MAX_SUBS * sizeof *all);
    if (!all) return;
    if (e->step == 1) {
        e->row[0] = at;
        e->block = LLVMBuildLShr(e->b, at, sm_emit_k64(e, 5), "");
        e->live[0] = all;
    } else {
        e->block = at;
        sm_ir row0 = LLVMBuildShl(e->b, at, sm_emit_k64(e, 5), "");
        sm_ir last = LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildAdd(e->b, at, sm_emit_k64(e, 1), ""),
                                   l->end, "");
        sm_ir mask = sm_emit_arg(e, e->i32, offsetof(sm_jit_args, last_mask));
        sm_ir word = LLVMBuildSelect(e->b, last, mask, sm_emit_k32(e, UINT32_MAX), "");
        for (uint32_t s = 0; s < e->n_sub; s++) {
            e->row[s] = LLVMBuildAdd(e->b, row0, sm_emit_k64(e, s * e->step), "");
            all[s].bits = sm_emit_mask_from_bits(e, word, s);
            e->live[s] = &all[s];
        }
    }
    update_live_word(e);
}

static bool emit_block(sm_emit *e, loop *l)
{
    begin_block(e, l);
    for (uint32_t k = 0; k < e->p->n_steps; k++)
        if (!emit_step(e, l, k)) return false;
    sm_ir errors = error_word(e);
    if (errors) {
        LLVMBasicBlockRef good = sm_emit_block(e, "commit");
        LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, errors, sm_emit_k32(e, 0), ""), good,
                        e->refused);
        LLVMPositionBuilderAtEnd(e->b, good);
    }
    commit_counts(e, l, e->p->n_steps);
    e->at_step = e->p->n_steps;
    e->sink->block(e);
    LLVMBuildBr(e->b, e->next);
    return true;
}

/* ---- the function ---- */

static void begin_loop(sm_emit *e, loop *l)
{
    sm_ir start = LLVMBuildZExt(e->hoist, e->start_block, e->i64, "");
    sm_ir n = sm_emit_arg(e, e->i32, offsetof(sm_jit_args, n_blocks));
    l->end = LLVMBuildZExt(e->hoist, n, e->i64, "");
    if (e->step ==
        1) { /* rows, of which the last block may have fewer; none when there is no block */
        sm_ir mask = sm_emit_arg(e, e->i32, offsetof(sm_jit_args, last_mask));
        unsigned id = LLVMLookupIntrinsicID("llvm.ctpop", 10);
        sm_ir f = LLVMGetIntrinsicDeclaration(e->mod, id, &e->i32, 1);
        sm_ir some =
            LLVMBuildCall2(e->hoist, LLVMIntrinsicGetType(e->ctx, id, &e->i32, 1), f, &mask, 1, "");
        sm_ir none = LLVMBuildICmp(e->hoist, LLVMIntUGE, start, l->end, "");
        sm_ir full = LLVMBuildShl(e->hoist, LLVMBuildSub(e->hoist, l->end, sm_emit_k64(e, 1), ""),
                                  sm_emit_k64(e, 5), "");
        sm_ir end = LLVMBuildAdd(e->hoist, full, LLVMBuildZExt(e->hoist, some, e->i64, ""), "");
        start = LLVMBuildShl(e->hoist, start, sm_emit_k64(e, 5), "");
        l->end = LLVMBuildSelect(e->hoist, none, start, end, "");
    }
    LLVMBuildStore(e->b, start, l->at);
    LLVMBuildStore(e->b, sm_emit_k32(e, SM_JIT_DONE), l->result);
    for (uint32_t k = 0; k < e->p->n_steps; k++) {
        if (e->p->steps[k].kind != SM_STEP_FILTER) continue;
        l->step_rows[k] = sm_emit_var(e, e->i64);
        LLVMBuildStore(e->b, sm_emit_k64(e, 0), l->step_rows[k]);
    }
}

/* Rows that left each step, if anybody wants to know. A PROJECT lets through what came. */
static void end_counts(sm_emit *e, loop *l)
{
    sm_ir out = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, step_rows)), n = NULL;
    bool any = false;
    for (uint32_t k = 0; k < e->p->n_steps; k++) any |= l->step_rows[k] != NULL;
    if (!any) return;
    LLVMBasicBlockRef count = sm_emit_block(e, "count"), go = sm_emit_block(e, "counted");
    LLVMBuildCondBr(e->b, LLVMBuildIsNull(e->b, out, ""), go, count);
    LLVMPositionBuilderAtEnd(e->b, count);
    for (uint32_t k = 0; k < e->p->n_steps; k++) {
        if (l->step_rows[k]) n = LLVMBuildLoad2(e->b, e->i64, l->step_rows[k], "");
        if (!n) continue; /* before the first filter the caller knows */
        sm_ir p = sm_emit_at(e, e->b, out, k * sizeof(uint64_t));
        sm_emit_store(e, LLVMBuildAdd(e->b, sm_emit_load(e, e->b, e->i64, p, 8), n, ""), p, 8);
    }
    LLVMBuildBr(e->b, go);
    LLVMPositionBuilderAtEnd(e->b, go);
}

static void begin_function(sm_emit *e, const char *name)
{
    e->fn = LLVMAddFunction(e->mod, name, LLVMFunctionType(e->i32, &e->ptr, 1, 0));
    unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    LLVMAddAttributeAtIndex(e->fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(e->ctx, nounwind, 0));
    if (e->s->mask_regs) LLVMAddTargetDependentFunctionAttr(e->fn, "prefer-vector-width", "512");
    e->args = LLVMGetParam(e->fn, 0);
    LLVMBasicBlockRef entry = sm_emit_block(e, "entry");
    LLVMPositionBuilderAtEnd(e->hoist, entry);
    e->cols = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, cols));
    e->consts = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, consts));
    e->cx = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, cx));
    e->first_row = sm_emit_arg(e, e->i64, offsetof(sm_jit_args, first_row));
    e->start_block = sm_emit_arg(e, e->i32, offsetof(sm_jit_args, block));
    for (uint32_t i = 0; i < e->s->n_cols; i++)
        if (e->s->cols[i].used) hoist_column(e, i);
}

static void end_function(sm_emit *e, loop *l, LLVMBasicBlockRef block, LLVMBasicBlockRef end)
{
    LLVMPositionBuilderAtEnd(e->b, e->next);
    sm_ir at = LLVMBuildAdd(e->b, LLVMBuildLoad2(e->b, e->i64, l->at, ""), sm_emit_k64(e, 1), "");
    LLVMBuildStore(e->b, at, l->at);
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, at, l->end, ""), block, end);

    LLVMPositionBuilderAtEnd(e->b, e->refused);
    sm_ir stopped = LLVMBuildTrunc(e->b, LLVMBuildLoad2(e->b, e->i64, l->at, ""), e->i32, "");
    sm_emit_store(e, stopped, sm_emit_at(e, e->b, e->args, offsetof(sm_jit_args, block)), 4);
    LLVMBuildStore(e->b, sm_emit_k32(e, SM_JIT_REFUSED), l->result);
    LLVMBuildBr(e->b, end);

    LLVMPositionBuilderAtEnd(e->b, end);
    e->sink->end(e);
    end_counts(e, l);
    LLVMBuildRet(e->b, LLVMBuildLoad2(e->b, e->i32, l->result, ""));

    LLVMPositionBuilderAtEnd(e->b, e->failed);
    LLVMBuildRet(e->b, sm_emit_k32(e, SM_JIT_FAILED));
}

static const sm_sink_emit *sink_of(const sm_emit *e)
{
    if (e->p->sink != SM_SINK_AGG) return &sm_emit_sink_rows;
    if (e->p->agg.mode == SM_GROUPS_NONE || e->s->tiny_masks) return &sm_emit_sink_lanes;
    return &sm_emit_sink_groups;
}

bool sm_emit_pipeline(sm_emit *e, const char *name)
{
    init_types(e);
    e->step = e->s->step;
    e->n_sub = e->step == 1 ? 1 : SM_BLOCK_ROWS / e->step;
    if (!init_arrays(e)) return false;
    begin_function(e, name);
    e->sink = sink_of(e);
    loop l = {.at = sm_emit_var(e, e->i64), .result = sm_emit_var(e, e->i32)};
    l.step_rows = sm_jit_pool_get(e->pool, (e->p->n_steps + 1) * sizeof(sm_ir));
    l.pending = sm_jit_pool_get(e->pool, (e->p->n_steps + 1) * sizeof(sm_ir));
    if (!l.step_rows || !l.pending) return false;

    LLVMBasicBlockRef start = sm_emit_block(e, "start"), block = sm_emit_block(e, "block");
    LLVMBasicBlockRef end = sm_emit_block(e, "end");
    e->next = sm_emit_block(e, "next");
    e->refused = sm_emit_block(e, "refused");
    e->failed = sm_emit_block(e, "status");
    LLVMPositionBuilderAtEnd(e->b, start);
    begin_loop(e, &l);
    if (!e->sink->begin(e)) return false;
    sm_ir first = LLVMBuildLoad2(e->b, e->i64, l.at, "");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, first, l.end, ""), block, end);
    LLVMPositionBuilderAtEnd(e->b, block);
    if (!emit_block(e, &l)) return false;
    end_function(e, &l, block, end);
    LLVMBuildBr(e->hoist, start);
    return !e->pool->failed;
}
