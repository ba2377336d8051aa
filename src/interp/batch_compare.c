/* Comparison of a source column with a constant: done on the stored values, so that a narrow column
 * that is only filtered by is never widened. The constant is moved into the chunk's terms (minus
 * the base); beyond what the width holds, all rows compare alike. Read batch_expr.c first. */
#include "interp/batch_state.h"

typedef enum relation { EQ, NE, LT, LE, GT, GE } relation; /* in the order of ops.def */

/* a < b is b > a */
static relation mirrored(relation r)
{
    static const relation of[] = {EQ, NE, GT, GE, LT, LE};
    return of[r];
}

/* Runs stored[i] r *with over the batch. Negations also hold for NaN, which is above all: v > k is
 * not v <= k. */
static void compare(sm_batch_state *s, sm_instr *in, relation r, sm_stored stored, const void *v,
                    const void *with)
{
    const sm_compare_kernels *k = s->compare;
    sm_compare run;
    switch (r) {
    case EQ:
    case NE: run = k->eq[stored]; break;
    case LT:
    case GE: run = k->lt[stored]; break;
    default: run = k->le[stored]; break;
    }
    run(v, with, s->n_rows, r == NE || r == GE || r == GT, in->out->room);
}

static void compare_narrow(sm_batch_state *s, sm_instr *in, relation r, const sm_chunk_col *c,
                           sm_i128 value)
{
    sm_i128 with = value - c->base;
    sm_i128 most = ((sm_i128)1 << (8 * c->width)) - 1;
    if (with < 0 || with > most) { /* all stored values are on one side of it */
        bool above = with < 0;
        bool is = r == NE || (above ? r == GT || r == GE : r == LT || r == LE);
        memset(in->out->room, is, s->n_rows);
        return;
    }
    uint64_t k = (uint64_t)with; /* little-endian: its first bytes are the narrower value */
    compare(s, in, r, (sm_stored)(SM_STORED_U8 + __builtin_ctz(c->width)),
            (const char *)c->data + (size_t)s->row0 * c->width, &k);
}

static sm_stored plain_form(sm_phys phys)
{
    switch (phys) {
    case SM_PHYS_I16: return SM_STORED_I16;
    case SM_PHYS_I32: return SM_STORED_I32;
    case SM_PHYS_I64: return SM_STORED_I64;
    case SM_PHYS_F32: return SM_STORED_F32;
    default: return SM_STORED_F64;
    }
}

static sm_flow run_compare(sm_batch_state *s, sm_instr *in)
{
    const sm_chunk_col *c = &s->pin->chunk->cols[in->column];
    relation r = (relation)in->imm[0];
    in->out->v.valid = in->arg[0]->v.valid;
    if (c->enc == SM_ENC_NARROW)
        compare_narrow(s, in, r, c, sm_value_int(in->value, in->phys));
    else
        compare(s, in, r, plain_form(in->phys),
                (const char *)c->data + (size_t)s->row0 * sm_phys_bytes(in->phys), in->value);
    return SM_FLOW_NEXT;
}

static bool is_nan(const sm_expr *e)
{
    return e->phys == SM_PHYS_F32   ? e->value.f32 != e->value.f32
           : e->phys == SM_PHYS_F64 ? e->value.f64 != e->value.f64
                                    : false;
}

static bool is_comparison(sm_op op)
{
    return (op >= SM_OP_eq_i16 && op <= SM_OP_ge_i64) || (op >= SM_OP_eq_f32 && op <= SM_OP_ge_f64);
}
static_assert((SM_OP_eq_f32 - SM_OP_eq_i16) % 6 == 0 && SM_OP_ge_f64 == SM_OP_eq_f32 + 11 &&
                  SM_OP_ge_i64 == SM_OP_eq_i16 + 17 && SM_OP_gt_i16 == SM_OP_eq_i16 + GT,
              "order of SM_COMPARE");

sm_status sm_batch_compare(sm_batch_state *s, const sm_expr *e, sm_reg **out)
{
    *out = NULL;
    if (e->kind != SM_EXPR_OP || !is_comparison(e->op)) return SM_OK;
    bool swap = e->args[0]->kind == SM_EXPR_CONST;
    const sm_expr *column = e->args[swap], *value = e->args[!swap];
    if (column->kind != SM_EXPR_COLUMN || value->kind != SM_EXPR_CONST) return SM_OK;
    sm_reg *source = s->env[column->column];
    if (source->origin != SM_ORIGIN_HERE) return SM_OK; /* gathered */
    if (source->source_col < 0 || value->value.is_null || is_nan(value)) return SM_OK;
    if (source->v.phys != value->phys || column->phys != value->phys) return SM_OK;
    sm_reg *r = sm_batch_reg(s, SM_PHYS_BOOL, true);
    sm_instr *in = r ? sm_batch_instr(s, run_compare) : NULL;
    if (!in) return sm_arena_failed(&s->w->arena, &s->w->err);
    relation is = (relation)((e->op - SM_OP_eq_i16) % 6);
    in->out = *out = r;
    in->arg[0] = source;
    in->column = (uint32_t)source->source_col;
    in->phys = value->phys;
    in->value = &value->value;
    in->imm[0] = (int32_t)(swap ? mirrored(is) : is);
    return SM_OK;
}
