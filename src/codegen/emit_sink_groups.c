/* Aggregation by state row: direct index and hash table (and a handful of groups where masks do not
 * pay). The block's rows are computed in lanes; their state rows' addresses come from codes, or
 * from the host's hash table, once a block; then each live row updates its state in row order. Read
 * emit.h and sink.h first. */
#include "sink.h"

typedef struct groups_sink {
    sm_ir rows; /* array of 32 addresses */
    sm_ir keys, *key_room, *key_valid;
} groups_sink;

static bool begin(sm_emit *e)
{
    const sm_agg_sink *g = &e->p->agg;
    groups_sink *k = sm_jit_pool_get(e->pool, sizeof *k);
    if (!k) return false;
    e->sink_state = k;
    k->rows = sm_emit_room(e, SM_BLOCK_ROWS * sizeof(void *), 64);
    if (g->mode != SM_GROUPS_HASH) return true;
    uint32_t n = g->layout.n_keys;
    k->keys = sm_emit_room(e, n * sizeof(sm_vec), 16);
    k->key_room = sm_jit_pool_get(e->pool, (n + 1) * sizeof(sm_ir));
    k->key_valid = sm_jit_pool_get(e->pool, (n + 1) * sizeof(sm_ir));
    if (!k->key_room || !k->key_valid) return false;
    for (uint32_t i = 0; i < n; i++) {
        k->key_room[i] = sm_emit_room(e, SM_BLOCK_ROWS * 16, 64);
        k->key_valid[i] = sm_emit_room(e, sizeof(uint64_t), 8);
        sm_ir v = sm_emit_at(e, e->b, k->keys, i * sizeof(sm_vec)), null = LLVMConstNull(e->ptr);
        bool nullable = e->s->env[e->p->n_steps][i].nullable;
        sm_emit_store(e, k->key_room[i], sm_emit_at(e, e->b, v, offsetof(sm_vec, data)), 8);
        sm_emit_store(e, nullable ? k->key_valid[i] : null,
                      sm_emit_at(e, e->b, v, offsetof(sm_vec, valid)), 8);
        sm_emit_store(e, null, sm_emit_at(e, e->b, v, offsetof(sm_vec, codes)), 8);
        sm_phys phys = sm_jit_type_phys(g->layout.keys[i].type);
        sm_emit_store(e, sm_emit_k32(e, phys), sm_emit_at(e, e->b, v, offsetof(sm_vec, phys)), 4);
    }
    return true;
}

static void find_rows(sm_emit *e)
{
    groups_sink *k = e->sink_state;
    const sm_group_layout *l = &e->p->agg.layout;
    for (uint32_t i = 0; i < l->n_keys; i++) {
        sm_ir word = NULL;
        for (uint32_t s = 0; s < e->n_sub; s++) {
            sm_lanes v = sm_emit_canonical(e, sm_emit_column(e, i, s));
            v = sm_emit_as(
                e, v,
                (sm_form){sm_form_of_phys(sm_jit_type_phys(l->keys[i].type)).kind, v.form.bits});
            sm_emit_spill(e, &v, sm_jit_type_phys(l->keys[i].type), k->key_room[i], s);
            word = sm_emit_or(e, word, sm_emit_bits(e, v.valid, s));
        }
        if (e->s->env[e->p->n_steps][i].nullable)
            sm_emit_store(e, LLVMBuildZExt(e->b, word, e->i64, ""), k->key_valid[i], 8);
    }
    sm_ir local = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, agg));
    sm_ir first =
        LLVMBuildAdd(e->b, e->first_row, LLVMBuildShl(e->b, e->block, sm_emit_k64(e, 5), ""), "");
    sm_ir args[5] = {local, k->keys, e->live_word, first, k->rows};
    LLVMTypeRef types[5] = {e->ptr, e->ptr, e->i32, e->i64, e->ptr};
    sm_ir fn = sm_sink_host_fn(e, offsetof(sm_jit_host, find_rows));
    sm_emit_check_status(
        e, LLVMBuildCall2(e->b, LLVMFunctionType(e->i32, types, 5, 0), fn, args, 5, ""));
}

static bool inline_update(const sm_emit *e, uint32_t k)
{
    return e->s->accs[k].how != SM_ACC_HOW_HOST;
}

static void block(sm_emit *e)
{
    groups_sink *k = e->sink_state;
    const sm_group_layout *l = &e->p->agg.layout;
    bool tiny = e->p->agg.mode == SM_GROUPS_TINY;
    uint32_t lane_mask = tiny ? SM_LANES_TINY - 1 : 0;
    if (e->p->agg.mode == SM_GROUPS_HASH) {
        find_rows(e);
    } else {
        sm_ir base = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, lanes));
        sm_sink_row_addresses(e, base, tiny ? l->lanes_bytes : l->row_bytes, k->rows);
    }
    sm_sink_update u = {.rows = k->rows,
                        .lanes_form = tiny,
                        .lane_mask = lane_mask,
                        .set_first_row = true,
                        .want = inline_update};
    sm_sink_update_rows(e, &u);
    for (uint32_t i = 0; i < l->n_accums; i++)
        if (!inline_update(e, i))
            sm_sink_host_add(e, i, k->rows, tiny ? l->accums[i].lanes_offset : l->accums[i].offset,
                             lane_mask);
}

static void end(sm_emit *e)
{
    (void)e;
}

const sm_sink_emit sm_emit_sink_groups = {begin, block, NULL, end};
