/* Aggregation in lanes: without GROUP BY, and with a handful of possible groups on hosts with mask
 * registers.
 *
 * Without groups every accumulator is a vector in registers, loaded from the morsel's state before
 * the loop (float sums) or begun empty (the exact ones), and added to the state behind it. With
 * groups the accumulators are a record per group on the stack; a block's rows are added by a loop
 * over the groups, under the mask of the group's rows, so that its code is there once; float sums
 * are added in the state itself, 8 lanes to a group. Read emit.h, sink.h and runtime/agg.h first.
 */
#include "sink.h"

enum { GROUP_HEADER_BYTES = 64, MAX_PLACES = 3 * SM_MAX_SUBS };

/* Where one accumulator's vectors are: variables (NONE) or offsets in a group's record (TINY). */
typedef struct place {
    sm_ir var[MAX_PLACES];
    uint32_t offset;
    LLVMTypeRef type; /* of one vector */
    uint32_t n, bytes;
} place;

typedef struct lanes_sink {
    bool groups;
    place *acc, *counter;
    uint32_t record_bytes;
    sm_ir records; /* TINY: on the stack */
    sm_ir group;   /* TINY, while a group is worked on: its record and its state row */
    sm_ir row;
    sm_ir host_rows; /* array of 32 state rows, if an accumulator wants them */
    uint32_t first_row_offset;
} lanes_sink;

static lanes_sink *sink(const sm_emit *e)
{
    return e->sink_state;
}
static const sm_group_layout *layout(const sm_emit *e)
{
    return &e->p->agg.layout;
}

static bool in_lanes(const sm_emit *e, uint32_t k)
{
    return e->s->accs[k].how <= SM_ACC_HOW_SPLIT;
}
static bool per_row(const sm_emit *e, uint32_t k)
{
    return e->s->accs[k].how == SM_ACC_HOW_ROWS;
}

static sm_ir where(sm_emit *e, const place *p, uint32_t i)
{
    if (!sink(e)->groups) return p->var[i];
    return sm_emit_at(e, e->b, sink(e)->group, p->offset + (uint64_t)i * p->bytes);
}

static sm_ir get(sm_emit *e, const place *p, uint32_t i)
{
    return sm_emit_load(e, e->b, p->type, where(e, p, i),
                        sink(e)->groups ? 8
                        : p->bytes < 64 ? p->bytes
                                        : 64);
}

static void put(sm_emit *e, const place *p, uint32_t i, sm_ir v)
{
    sm_emit_store(e, v, where(e, p, i), sink(e)->groups ? 8 : p->bytes < 64 ? p->bytes : 64);
}

/* ---- begin ---- */

static void make_place(sm_emit *e, place *p, LLVMTypeRef element, uint32_t element_bytes,
                       uint32_t rows, uint32_t n)
{
    lanes_sink *k = sink(e);
    p->type = sm_emit_vec_n(element, rows);
    p->bytes = element_bytes * rows;
    p->n = n;
    if (k->groups) {
        uint32_t align = p->bytes >= 64 ? 64 : 8;
        k->record_bytes = (k->record_bytes + align - 1) & ~(align - 1);
        p->offset = k->record_bytes;
        k->record_bytes += n * p->bytes;
    } else {
        for (uint32_t i = 0; i < n; i++) p->var[i] = sm_emit_var(e, p->type);
    }
}

static void make_places(sm_emit *e)
{
    lanes_sink *k = sink(e);
    const sm_group_layout *l = layout(e);
    k->first_row_offset = 0;
    k->record_bytes = 8;
    for (uint32_t i = 0; i < e->s->n_counters; i++) make_place(e, &k->counter[i], e->i64, 8, 1, 1);
    for (uint32_t i = 0; i < l->n_accums; i++) {
        const sm_acc_plan *plan = &e->s->accs[i];
        if (!in_lanes(e, i)) continue;
        switch (l->accums[i].kind) {
        case SM_ACC_SUM_I:
        case SM_ACC_SUM_D:
            make_place(e, &k->acc[i], sm_emit_int(e, plan->bits), plan->bits / 8u, plan->lanes,
                       plan->how == SM_ACC_HOW_SPLIT ? 2 : 1);
            break;
        case SM_ACC_SUM_F:
            if (!k->groups) make_place(e, &k->acc[i], e->f64, 8, e->step, e->n_sub);
            break;
        case SM_ACC_MIN:
        case SM_ACC_MAX:
            make_place(e, &k->acc[i], sm_emit_int(e, plan->bits), plan->bits / 8u, e->step, 1);
            break;
        case SM_ACC_VAR: make_place(e, &k->acc[i], e->f64, 8, e->step, 3 * e->n_sub); break;
        case SM_ACC_BOOL: make_place(e, &k->acc[i], e->i32, 4, 1, 2); break;
        default: break;
        }
    }
    k->record_bytes = (k->record_bytes + 63) & ~63u;
}

static int64_t identity(sm_acc_kind kind, unsigned bits)
{
    int64_t most = bits == 32 ? INT32_MAX : INT64_MAX;
    return kind == SM_ACC_MIN ? most : kind == SM_ACC_MAX ? -most - 1 : 0;
}

/* Addresses of field s % 3 of the lanes of vector s / 3: a lane is three doubles. */
static sm_ir var_at(sm_emit *e, const sm_accum *a, uint32_t s)
{
    sm_ir at[SM_BLOCK_ROWS];
    for (uint32_t i = 0; i < e->step; i++) {
        uint64_t lane = (uint64_t)(s / 3) * e->step + i;
        at[i] =
            sm_emit_k64(e, a->lanes_offset + lane * sizeof(sm_var_lane) + s % 3 * sizeof(double));
    }
    sm_ir off = e->step == 1 ? at[0] : LLVMConstVector(at, e->step);
    return LLVMBuildGEP2(e->b, e->i8, sink(e)->row, &off, 1, "");
}

static sm_ir masked(sm_emit *e, const char *intrinsic, sm_ir *args)
{
    LLVMTypeRef over[2] = {sm_emit_vec(e, e->f64), sm_emit_vec(e, e->ptr)};
    unsigned id = LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic));
    sm_ir f = LLVMGetIntrinsicDeclaration(e->mod, id, over, 2);
    return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->ctx, id, over, 2), f, args, 4, "");
}

static sm_ir load_var(sm_emit *e, const sm_accum *a, uint32_t s)
{
    sm_ir p = var_at(e, a, s);
    if (e->step == 1) return sm_emit_load(e, e->b, e->f64, p, 8);
    sm_ir none = LLVMConstNull(sm_emit_vec(e, e->f64));
    return masked(e, "llvm.masked.gather", (sm_ir[]){p, sm_emit_k32(e, 8), sm_emit_true(e), none});
}

static void store_var(sm_emit *e, const sm_accum *a, uint32_t s, sm_ir v)
{
    sm_ir p = var_at(e, a, s);
    if (e->step == 1)
        sm_emit_store(e, v, p, 8);
    else
        masked(e, "llvm.masked.scatter", (sm_ir[]){v, p, sm_emit_k32(e, 8), sm_emit_true(e)});
}

/* Empty accumulators; without groups float sums go on from the morsel's state. */
static void start_accs(sm_emit *e)
{
    lanes_sink *k = sink(e);
    const sm_group_layout *l = layout(e);
    for (uint32_t i = 0; i < e->s->n_counters; i++) put(e, &k->counter[i], 0, sm_emit_k64(e, 0));
    for (uint32_t i = 0; i < l->n_accums; i++) {
        const sm_accum *a = &l->accums[i];
        place *p = &k->acc[i];
        if (!in_lanes(e, i) || !p->n) continue;
        for (uint32_t s = 0; s < p->n; s++) {
            sm_ir v;
            if (a->kind == SM_ACC_SUM_F) {
                uint64_t at = a->lanes_offset + sizeof(sm_acc_sum_f) + (uint64_t)s * p->bytes;
                v = sm_emit_load(e, e->b, p->type, sm_emit_at(e, e->b, k->row, at), 8);
            } else if (a->kind == SM_ACC_VAR) {
                v = load_var(e, a, s);
            } else if (a->kind == SM_ACC_MIN || a->kind == SM_ACC_MAX) {
                unsigned bits = e->s->accs[i].bits;
                v = sm_emit_kvec(e, sm_emit_int(e, bits), identity(a->kind, bits));
            } else {
                v = LLVMConstNull(p->type);
            }
            put(e, p, s, v);
        }
    }
}

/* A loop over all groups; the caller fills it and then calls end_groups. */
typedef struct group_loop {
    LLVMBasicBlockRef body, done;
    sm_ir g;
} group_loop;

static group_loop begin_groups(sm_emit *e)
{
    lanes_sink *k = sink(e);
    group_loop l = {sm_emit_block(e, "group"), sm_emit_block(e, "groups_done"), NULL};
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, l.body);
    LLVMPositionBuilderAtEnd(e->b, l.body);
    l.g = LLVMBuildPhi(e->b, e->i64, "g");
    sm_ir zero = sm_emit_k64(e, 0);
    LLVMAddIncoming(l.g, &zero, &from, 1);
    sm_ir off = LLVMBuildMul(e->b, l.g, sm_emit_k64(e, k->record_bytes), "");
    k->group = LLVMBuildInBoundsGEP2(e->b, e->i8, k->records, &off, 1, "");
    off = LLVMBuildMul(e->b, l.g, sm_emit_k64(e, layout(e)->lanes_bytes), "");
    sm_ir lanes = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, lanes));
    k->row = LLVMBuildInBoundsGEP2(e->b, e->i8, lanes, &off, 1, "");
    return l;
}

static void end_groups(sm_emit *e, const group_loop *l)
{
    LLVMBasicBlockRef last = LLVMGetInsertBlock(e->b);
    sm_ir next = LLVMBuildAdd(e->b, l->g, sm_emit_k64(e, 1), "");
    sm_ir more = LLVMBuildICmp(e->b, LLVMIntNE, next, sm_emit_k64(e, e->p->agg.n_codes), "");
    LLVMBuildCondBr(e->b, more, l->body, l->done);
    LLVMAddIncoming(l->g, &next, &last, 1);
    LLVMPositionBuilderAtEnd(e->b, l->done);
}

static bool begin(sm_emit *e)
{
    const sm_group_layout *l = layout(e);
    lanes_sink *k = sm_jit_pool_get(e->pool, sizeof *k);
    if (!k) return false;
    e->sink_state = k;
    k->groups = e->p->agg.mode == SM_GROUPS_TINY;
    k->acc = sm_jit_pool_get(e->pool, (l->n_accums + 1) * sizeof *k->acc);
    k->counter = sm_jit_pool_get(e->pool, (e->s->n_counters + 1) * sizeof *k->counter);
    if (!k->acc || !k->counter) return false;
    k->row = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, lanes));
    make_places(e);
    for (uint32_t i = 0; i < l->n_accums; i++) {
        bool rows = e->s->accs[i].how == SM_ACC_HOW_HOST || (k->groups && per_row(e, i));
        if (rows && !k->host_rows)
            k->host_rows = sm_emit_room(e, SM_BLOCK_ROWS * sizeof(void *), 64);
    }
    if (!k->groups) {
        start_accs(e);
        for (uint32_t i = 0; k->host_rows && i < SM_BLOCK_ROWS; i++)
            sm_emit_store(e, k->row, sm_emit_at(e, e->b, k->host_rows, i * sizeof(void *)), 8);
        return true;
    }
    k->records = sm_emit_room(e, (size_t)k->record_bytes * e->p->agg.n_codes, 64);
    group_loop g = begin_groups(e);
    sm_emit_store(e, sm_emit_k64(e, SM_NO_ROW), sm_emit_at(e, e->b, k->group, k->first_row_offset),
                  8);
    start_accs(e);
    end_groups(e, &g);
    return true;
}

/* ---- a block ---- */

/* acc + v in the rows of m. With mask registers the addition itself is masked; elsewhere -0.0 (or
 * 0) is added, which is off the chain of additions. */
static sm_ir add_masked(sm_emit *e, sm_ir acc, sm_ir v, sm_ir m, bool real)
{
    sm_ir nothing = LLVMConstNull(LLVMTypeOf(v));
    if (m && real && !(e->s->mask_regs && e->step > 1)) nothing = LLVMBuildFNeg(e->b, nothing, "");
    if (m && !(e->s->mask_regs && e->step > 1)) v = LLVMBuildSelect(e->b, m, v, nothing, "");
    sm_ir sum = real ? LLVMBuildFAdd(e->b, acc, v, "") : LLVMBuildAdd(e->b, acc, v, "");
    return m && e->s->mask_regs && e->step > 1 ? LLVMBuildSelect(e->b, m, sum, acc, "") : sum;
}

static sm_ir to_double(sm_emit *e, sm_lanes v)
{
    return v.form.kind == SM_FORM_F32 ? LLVMBuildFPExt(e->b, v.v, sm_emit_vec(e, e->f64), "") : v.v;
}

/* Float sums of a group: 8 lanes, in the state; vectors of more rows are added in pieces, in order.
 */
static void add_group_floats(sm_emit *e, uint32_t i, const sm_lanes *v, sm_ir *m)
{
    const sm_accum *a = &layout(e)->accums[i];
    LLVMTypeRef t = LLVMVectorType(e->f64, SM_LANES_TINY);
    sm_ir p = sm_emit_at(e, e->b, sink(e)->row, a->lanes_offset + sizeof(sm_acc_sum_f));
    sm_ir acc = sm_emit_load(e, e->b, t, p, 8);
    for (uint32_t s = 0; s < e->n_sub; s++) {
        sm_ir x = to_double(e, v[s]);
        for (uint32_t at = 0; at < e->step; at += SM_LANES_TINY) {
            sm_ir piece = sm_emit_piece(e, x, e->step, at, SM_LANES_TINY);
            sm_ir mask = m[s] ? sm_emit_piece(e, m[s], e->step, at, SM_LANES_TINY) : NULL;
            acc = add_masked(e, acc, piece, mask, true);
        }
    }
    sm_emit_store(e, acc, p, 8);
}

static sm_ir add_pieces(sm_emit *e, sm_ir acc, sm_ir v, sm_ir m, uint32_t lanes)
{
    for (uint32_t at = 0; at < e->step; at += lanes) {
        sm_ir mask = m ? sm_emit_piece(e, m, e->step, at, lanes) : NULL;
        acc = add_masked(e, acc, sm_emit_piece(e, v, e->step, at, lanes), mask, false);
    }
    return acc;
}

static void add_ints(sm_emit *e, uint32_t i, const sm_lanes *v, sm_ir *m)
{
    const sm_acc_plan *plan = &e->s->accs[i];
    place *p = &sink(e)->acc[i];
    sm_ir low = get(e, p, 0), high = plan->how == SM_ACC_HOW_SPLIT ? get(e, p, 1) : NULL;
    for (uint32_t s = 0; s < e->n_sub; s++) {
        sm_ir x = sm_emit_to_bits(e, v[s].v, v[s].form.bits, plan->bits);
        if (high) {
            sm_ir top = LLVMBuildAShr(e->b, x, sm_emit_kvec(e, e->i64, 32), "");
            high = add_pieces(e, high, top, m[s], plan->lanes);
            x = LLVMBuildAnd(e->b, x, sm_emit_kvec(e, e->i64, UINT32_MAX), "");
        }
        low = add_pieces(e, low, x, m[s], plan->lanes);
    }
    put(e, p, 0, low);
    if (high) put(e, p, 1, high);
}

static void add_minmax(sm_emit *e, uint32_t i, const sm_lanes *v, sm_ir *m)
{
    const sm_accum *a = &layout(e)->accums[i];
    place *p = &sink(e)->acc[i];
    unsigned bits = e->s->accs[i].bits;
    sm_ir acc = get(e, p, 0), none = sm_emit_kvec(e, sm_emit_int(e, bits), identity(a->kind, bits));
    for (uint32_t s = 0; s < e->n_sub; s++) {
        sm_lanes key = sm_sink_order_key(e, v[s]);
        sm_ir x = sm_emit_to_bits(e, key.v, key.form.bits, bits);
        if (m[s]) x = LLVMBuildSelect(e->b, m[s], x, none, "");
        acc = sm_emit_call(e, a->kind == SM_ACC_MIN ? "llvm.smin" : "llvm.smax", p->type,
                           (sm_ir[]){acc, x}, 2);
    }
    put(e, p, 0, acc);
}

/* Whether some value was FALSE, and whether some was TRUE. */
static void add_bools(sm_emit *e, uint32_t i, const sm_lanes *v, sm_ir *m)
{
    place *p = &sink(e)->acc[i];
    sm_ir f = get(e, p, 0), t = get(e, p, 1);
    for (uint32_t s = 0; s < e->n_sub; s++) {
        f = LLVMBuildOr(e->b, f, sm_emit_bits(e, sm_emit_andnot(e, m[s], v[s].v), s), "");
        t = LLVMBuildOr(e->b, t, sm_emit_bits(e, sm_emit_and(e, m[s], v[s].v), s), "");
    }
    put(e, p, 0, f);
    put(e, p, 1, t);
}

static sm_ir where_counted(sm_emit *e, sm_ir m, sm_ir now, sm_ir before)
{
    return m ? LLVMBuildSelect(e->b, m, now, before, "") : now;
}

/* Youngs and Cramer, as sm_var_add. */
static void add_var(sm_emit *e, uint32_t i, const sm_lanes *v, sm_ir *m)
{
    place *p = &sink(e)->acc[i];
    sm_ir one = sm_emit_kreal(e, e->f64, 1.0), zero = sm_emit_kreal(e, e->f64, 0.0);
    for (uint32_t s = 0; s < e->n_sub; s++) {
        sm_ir x = sm_sink_double(e, i, v[s], s).v;
        sm_ir n0 = get(e, p, 3 * s), sum0 = get(e, p, 3 * s + 1), sq0 = get(e, p, 3 * s + 2);
        sm_ir n = LLVMBuildFAdd(e->b, n0, one, ""), sum = LLVMBuildFAdd(e->b, sum0, x, "");
        sm_ir d = LLVMBuildFSub(e->b, LLVMBuildFMul(e->b, x, n, ""), sum, "");
        sm_ir more =
            LLVMBuildFDiv(e->b, LLVMBuildFMul(e->b, d, d, ""), LLVMBuildFMul(e->b, n, n0, ""), "");
        sm_ir first = LLVMBuildFCmp(e->b, LLVMRealOEQ, n0, zero, "");
        sm_ir sq = LLVMBuildSelect(e->b, first, sq0, LLVMBuildFAdd(e->b, sq0, more, ""), "");
        put(e, p, 3 * s, where_counted(e, m[s], n, n0));
        put(e, p, 3 * s + 1, where_counted(e, m[s], sum, sum0));
        put(e, p, 3 * s + 2, where_counted(e, m[s], sq, sq0));
    }
}

typedef struct block_args {
    sm_lanes *v; /* [accumulator * n_sub + vector] */
    sm_ir *m;    /* rows that count, [counter * n_sub + vector] */
} block_args;

static void count_rows(sm_emit *e, sm_ir *m, uint32_t counter)
{
    place *p = &sink(e)->counter[counter];
    sm_ir word = NULL;
    bool all_live = !sink(e)->groups;
    for (uint32_t s = 0; s < e->n_sub; s++) {
        all_live = all_live && m[s] == e->live[s]->bits;
        word = sm_emit_or(e, word, sm_emit_bits(e, m[s], s));
    }
    sm_ir n = all_live ? e->live_count : sm_emit_call(e, "llvm.ctpop", e->i32, &word, 1);
    put(e, p, 0, LLVMBuildAdd(e->b, get(e, p, 0), LLVMBuildZExt(e->b, n, e->i64, ""), ""));
}

/* Adds the rows of a block that are in `in` (NULL: all). */
static void add_block(sm_emit *e, const block_args *b, sm_ir *in)
{
    sm_ir m[SM_MAX_SUBS];
    for (uint32_t c = 0; c < e->s->n_counters; c++) {
        for (uint32_t s = 0; s < e->n_sub; s++)
            m[s] = sm_emit_and(e, b->m[c * e->n_sub + s], in ? in[s] : NULL);
        count_rows(e, m, c);
        for (uint32_t i = 0; i < layout(e)->n_accums; i++) {
            const sm_lanes *v = &b->v[i * e->n_sub];
            if (!in_lanes(e, i) || e->s->accs[i].counter != c) continue;
            switch (layout(e)->accums[i].kind) {
            case SM_ACC_SUM_I:
            case SM_ACC_SUM_D: add_ints(e, i, v, m); break;
            case SM_ACC_SUM_F:
                if (sink(e)->groups) {
                    add_group_floats(e, i, v, m);
                    break;
                }
                for (uint32_t s = 0; s < e->n_sub; s++) {
                    place *p = &sink(e)->acc[i];
                    put(e, p, s, add_masked(e, get(e, p, s), to_double(e, v[s]), m[s], true));
                }
                break;
            case SM_ACC_MIN:
            case SM_ACC_MAX: add_minmax(e, i, v, m); break;
            case SM_ACC_BOOL: add_bools(e, i, v, m); break;
            case SM_ACC_VAR: add_var(e, i, v, m); break;
            default: break;
            }
        }
    }
}

/* Everything that the accumulators need of the block, before any branch. */
static bool gather_args(sm_emit *e, block_args *b)
{
    const sm_group_layout *l = layout(e);
    b->v = sm_jit_pool_get(e->pool, (l->n_accums + 1) * e->n_sub * sizeof *b->v);
    b->m = sm_jit_pool_get(e->pool, (e->s->n_counters + 1) * e->n_sub * sizeof *b->m);
    if (!b->v || !b->m) return false;
    for (uint32_t i = 0; i < l->n_accums; i++) {
        if (!in_lanes(e, i)) continue;
        uint32_t c = e->s->accs[i].counter;
        for (uint32_t s = 0; s < e->n_sub; s++) {
            if (l->accums[i].arg_col >= 0)
                b->v[i * e->n_sub + s] = sm_emit_column(e, (uint32_t)l->accums[i].arg_col, s);
            if (!b->m[c * e->n_sub + s]) b->m[c * e->n_sub + s] = sm_sink_mask(e, &l->accums[i], s);
        }
    }
    return true;
}

static void add_groups(sm_emit *e, const block_args *b)
{
    lanes_sink *k = sink(e);
    sm_ir code[SM_MAX_SUBS], in[SM_MAX_SUBS], word = NULL;
    for (uint32_t s = 0; s < e->n_sub; s++) code[s] = sm_sink_codes(e, s);
    group_loop g = begin_groups(e);
    sm_ir g32 = sm_emit_splat(e, e->b, LLVMBuildTrunc(e->b, g.g, e->i32, ""));
    for (uint32_t s = 0; s < e->n_sub; s++) {
        in[s] = sm_emit_and(e, e->live[s]->bits, LLVMBuildICmp(e->b, LLVMIntEQ, code[s], g32, ""));
        word = sm_emit_or(e, word, sm_emit_bits(e, in[s], s));
    }
    LLVMBasicBlockRef some = sm_emit_block(e, "some"), next = sm_emit_block(e, "group_next");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, word, sm_emit_k32(e, 0), ""), next, some);
    LLVMPositionBuilderAtEnd(e->b, some);
    sm_ir first =
        sm_emit_call(e, "llvm.cttz", e->i32, (sm_ir[]){word, LLVMConstInt(e->i1, 1, 0)}, 2);
    first = LLVMBuildAdd(e->b, LLVMBuildShl(e->b, e->block, sm_emit_k64(e, 5), ""),
                         LLVMBuildZExt(e->b, first, e->i64, ""), "");
    sm_ir p = sm_emit_at(e, e->b, k->group, k->first_row_offset);
    sm_ir args[2] = {sm_emit_load(e, e->b, e->i64, p, 8), first};
    sm_emit_store(e, sm_emit_call(e, "llvm.umin", e->i64, args, 2), p, 8);
    add_block(e, b, in);
    LLVMBuildBr(e->b, next);
    LLVMPositionBuilderAtEnd(e->b, next);
    end_groups(e, &g);
}

static void block(sm_emit *e)
{
    lanes_sink *k = sink(e);
    const sm_group_layout *l = layout(e);
    block_args b;
    if (!gather_args(e, &b)) return;
    uint32_t lane_mask = k->groups ? SM_LANES_TINY - 1 : SM_LANES_NONE - 1;
    sm_ir lanes = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, lanes));
    if (k->groups && k->host_rows) sm_sink_row_addresses(e, lanes, l->lanes_bytes, k->host_rows);
    sm_sink_update u = {.rows = k->groups ? k->host_rows : NULL,
                        .row = lanes,
                        .lanes_form = true,
                        .lane_mask = lane_mask,
                        .want = per_row};
    sm_sink_update_rows(e, &u);
    for (uint32_t i = 0; i < l->n_accums; i++)
        if (e->s->accs[i].how == SM_ACC_HOW_HOST)
            sm_sink_host_add(e, i, k->host_rows, l->accums[i].lanes_offset, lane_mask);
    if (k->groups)
        add_groups(e, &b);
    else
        add_block(e, &b, NULL);
}

/* ---- end ---- */

static sm_ir reduce(sm_emit *e, const char *how, sm_ir v)
{
    if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMVectorTypeKind) return v;
    return sm_emit_call(e, how, LLVMTypeOf(v), &v, 1);
}

static sm_ir total(sm_emit *e, uint32_t i)
{
    const sm_acc_plan *plan = &e->s->accs[i];
    place *p = &sink(e)->acc[i];
    sm_ir low =
        reduce(e, "llvm.vector.reduce.add", sm_emit_to_bits(e, get(e, p, 0), plan->bits, 64));
    if (plan->how != SM_ACC_HOW_SPLIT) return low;
    sm_ir high = reduce(e, "llvm.vector.reduce.add", get(e, p, 1));
    high = LLVMBuildShl(e->b, LLVMBuildSExt(e->b, high, e->i128, ""), LLVMConstInt(e->i128, 32, 0),
                        "");
    return LLVMBuildAdd(e->b, high, LLVMBuildSExt(e->b, low, e->i128, ""), "");
}

static void add_to(sm_emit *e, sm_ir p, LLVMTypeRef t, sm_ir v)
{
    sm_emit_store(e, LLVMBuildAdd(e->b, sm_emit_load(e, e->b, t, p, 8), v, ""), p, 8);
}

static void end_minmax(sm_emit *e, uint32_t i, sm_ir state, sm_ir some)
{
    const sm_accum *a = &layout(e)->accums[i];
    bool min = a->kind == SM_ACC_MIN;
    sm_ir v = reduce(e, min ? "llvm.vector.reduce.smin" : "llvm.vector.reduce.smax",
                     get(e, &sink(e)->acc[i], 0));
    v = sm_emit_to_bits(e, v, e->s->accs[i].bits, 64);
    sm_ir phas = sm_emit_at(e, e->b, state, offsetof(sm_acc_minmax, has));
    sm_ir old = sm_emit_load(e, e->b, e->i64, state, 8),
          has = sm_emit_load(e, e->b, e->i64, phas, 8);
    sm_ir none = LLVMBuildICmp(e->b, LLVMIntEQ, has, sm_emit_k64(e, 0), "");
    sm_ir better = LLVMBuildICmp(e->b, min ? LLVMIntSLT : LLVMIntSGT, v, old, "");
    sm_ir take = LLVMBuildAnd(e->b, some, LLVMBuildOr(e->b, none, better, ""), "");
    sm_emit_store(e, LLVMBuildSelect(e->b, take, v, old, ""), state, 8);
    sm_emit_store(e, LLVMBuildOr(e->b, has, LLVMBuildZExt(e->b, some, e->i64, ""), ""), phas, 8);
}

static void end_bool(sm_emit *e, uint32_t i, sm_ir state, sm_ir some)
{
    place *p = &sink(e)->acc[i];
    sm_ir zero = sm_emit_k32(e, 0), none = LLVMConstNull(e->i8);
    sm_ir all =
        LLVMBuildZExt(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, get(e, p, 0), zero, ""), e->i8, "");
    sm_ir any =
        LLVMBuildZExt(e->b, LLVMBuildICmp(e->b, LLVMIntNE, get(e, p, 1), zero, ""), e->i8, "");
    sm_ir por = sm_emit_at(e, e->b, state, offsetof(sm_acc_bool, or_));
    sm_ir phas = sm_emit_at(e, e->b, state, offsetof(sm_acc_bool, has));
    sm_ir all0 = sm_emit_load(e, e->b, e->i8, state, 1),
          any0 = sm_emit_load(e, e->b, e->i8, por, 1);
    sm_ir has0 = sm_emit_load(e, e->b, e->i8, phas, 1);
    sm_ir had = LLVMBuildICmp(e->b, LLVMIntNE, has0, none, "");
    sm_ir all1 = LLVMBuildSelect(e->b, had, LLVMBuildAnd(e->b, all0, all, ""), all, "");
    sm_emit_store(e, LLVMBuildSelect(e->b, some, all1, all0, ""), state, 1);
    sm_emit_store(e, LLVMBuildOr(e->b, any0, any, ""), por, 1);
    sm_emit_store(e, LLVMBuildOr(e->b, has0, LLVMBuildZExt(e->b, some, e->i8, ""), ""), phas, 1);
}

/* Adds the accumulators of one group, or of the only one, to its state row. */
static void end_accs(sm_emit *e)
{
    lanes_sink *k = sink(e);
    const sm_group_layout *l = layout(e);
    for (uint32_t i = 0; i < l->n_accums; i++) {
        const sm_accum *a = &l->accums[i];
        if (!in_lanes(e, i)) continue;
        sm_ir state = sm_emit_at(e, e->b, k->row, a->lanes_offset),
              n = get(e, &k->counter[e->s->accs[i].counter], 0);
        sm_ir some = LLVMBuildICmp(e->b, LLVMIntNE, n, sm_emit_k64(e, 0), "");
        switch (a->kind) {
        case SM_ACC_COUNT: add_to(e, state, e->i64, n); break;
        case SM_ACC_SUM_I:
            add_to(
                e, state, e->i128,
                sm_emit_to_bits(e, total(e, i), LLVMGetIntTypeWidth(LLVMTypeOf(total(e, i))), 128));
            add_to(e, sm_emit_at(e, e->b, state, offsetof(sm_acc_sum_i, n)), e->i64, n);
            break;
        case SM_ACC_SUM_D: {
            sm_ir t = total(e, i);
            add_to(e, state, sm_emit_int(e, 256), LLVMBuildSExt(e->b, t, sm_emit_int(e, 256), ""));
            add_to(e, sm_emit_at(e, e->b, state, offsetof(sm_acc_sum_d, n)), e->i64, n);
            break;
        }
        case SM_ACC_SUM_F:
            for (uint32_t s = 0; s < k->acc[i].n; s++) {
                uint64_t at = sizeof(sm_acc_sum_f) + (uint64_t)s * k->acc[i].bytes;
                sm_emit_store(e, get(e, &k->acc[i], s), sm_emit_at(e, e->b, state, at), 8);
            }
            add_to(e, state, e->i64, n);
            break;
        case SM_ACC_MIN:
        case SM_ACC_MAX: end_minmax(e, i, state, some); break;
        case SM_ACC_BOOL: end_bool(e, i, state, some); break;
        case SM_ACC_VAR:
            for (uint32_t s = 0; s < k->acc[i].n; s++) store_var(e, a, s, get(e, &k->acc[i], s));
            break;
        default: break;
        }
    }
}

static void lower_first_row(sm_emit *e, sm_ir row)
{
    sm_ir p = sm_emit_at(e, e->b, sink(e)->row, SM_GROUP_FIRST_ROW);
    sm_ir args[2] = {sm_emit_load(e, e->b, e->i64, p, 8), row};
    sm_emit_store(e, sm_emit_call(e, "llvm.umin", e->i64, args, 2), p, 8);
}

static void end(sm_emit *e)
{
    lanes_sink *k = sink(e);
    if (!k->groups) {
        k->row = sm_emit_arg(e, e->ptr, offsetof(sm_jit_args, lanes));
        sm_ir start = LLVMBuildShl(e->b, LLVMBuildZExt(e->b, e->start_block, e->i64, ""),
                                   sm_emit_k64(e, 5), "");
        lower_first_row(e, LLVMBuildAdd(e->b, start, e->first_row, ""));
        end_accs(e);
        return;
    }
    group_loop g = begin_groups(e);
    sm_ir first =
        sm_emit_load(e, e->b, e->i64, sm_emit_at(e, e->b, k->group, k->first_row_offset), 8);
    LLVMBasicBlockRef some = sm_emit_block(e, "some"), next = sm_emit_block(e, "group_next");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, first, sm_emit_k64(e, SM_NO_ROW), ""),
                    next, some);
    LLVMPositionBuilderAtEnd(e->b, some);
    lower_first_row(e, LLVMBuildAdd(e->b, first, e->first_row, ""));
    end_accs(e);
    LLVMBuildBr(e->b, next);
    LLVMPositionBuilderAtEnd(e->b, next);
    end_groups(e, &g);
}

const sm_sink_emit sm_emit_sink_lanes = {begin, block, NULL, end};
