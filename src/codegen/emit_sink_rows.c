/* Rows out: the sink's input columns are stored to the caller's buffers, with their validity and
 * the live rows of each block. Read jit.h first. */
#include "emit.h"

static bool begin(sm_emit *e)
{
    (void)e;
    return true;
}

/* Block number within the call: buffers begin at its first block. */
static sm_ir relative(sm_emit *e)
{
    return LLVMBuildSub(e->b, e->block, LLVMBuildZExt(e->b, e->start_block, e->i64, ""), "");
}

static void store_live(sm_emit *e, sm_ir at, sm_ir word)
{
    sm_ir live = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, out_live));
    sm_emit_store(e, word, LLVMBuildInBoundsGEP2(e->b, e->i32, live, &at, 1, ""), 4);
}

static void store_column(sm_emit *e, uint32_t i, sm_ir at)
{
    sm_phys phys = sm_jit_type_phys(e->p->in_cols[i].type);
    sm_ir out = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, out)), word = NULL;
    sm_ir p = sm_emit_at(e, e->hoist, out, i * sizeof(sm_jit_out));
    sm_ir data = sm_emit_load(e, e->hoist, e->ptr,
                              sm_emit_at(e, e->hoist, p, offsetof(sm_jit_out, data)), 8);
    sm_ir valid = sm_emit_load(e, e->hoist, e->ptr,
                               sm_emit_at(e, e->hoist, p, offsetof(sm_jit_out, valid)), 8);
    LLVMTypeRef block_of = LLVMArrayType2(e->i8, sm_jit_phys_bytes(phys) * SM_BLOCK_ROWS);
    data = LLVMBuildInBoundsGEP2(e->b, block_of, data, &at, 1, "");
    for (uint32_t s = 0; s < e->n_sub; s++) {
        sm_lanes v = sm_emit_canonical(e, sm_emit_column(e, i, s));
        sm_form want = sm_form_of_phys(phys);
        if (v.form.kind != want.kind) v = sm_emit_as(e, v, want);
        sm_emit_spill(e, &v, phys, data, s);
        word = sm_emit_or(e, word, sm_emit_bits(e, v.valid, s));
    }
    sm_emit_store(e, word, LLVMBuildInBoundsGEP2(e->b, e->i32, valid, &at, 1, ""), 4);
}

static void block(sm_emit *e)
{
    sm_ir at = relative(e);
    for (uint32_t i = 0; i < e->p->n_in; i++) store_column(e, i, at);
    store_live(e, at, e->live_word);
}

static void skip(sm_emit *e)
{
    store_live(e, relative(e), sm_emit_k32(e, 0));
}

static void end(sm_emit *e)
{
    (void)e;
}

const sm_sink_emit sm_emit_sink_rows = {begin, block, skip, end};
