/* The walk over a prepared pipeline: forms of values, constants, dictionary tables, accumulators.
 * The key is written by key.c, which walks in the same order. Read shape.h first. */
#include "shape.h"

#include <stdarg.h>
#include <stdio.h>

#include "key.h"
#include "runtime/format.h"

enum { MAX_NODES = 4000, MAX_DEPTH = 200 };

static bool refuse(sm_shape *s, const char *format, ...) SM_PRINTF(2, 3);
static bool refuse(sm_shape *s, const char *format, ...)
{
    if (s->why && s->why_bytes) {
        va_list ap;
        va_start(ap, format);
        vsnprintf(s->why, s->why_bytes, format, ap);
        va_end(ap);
    }
    return false;
}

/* ---- forms ---- */

sm_phys sm_jit_type_phys(sm_type t)
{
    static const uint8_t phys[] = {
#define SM_TYPE(id, name, others, phys) SM_PHYS_##phys,
#include "runtime/types.def"
#undef SM_TYPE
        SM_PHYS_TEXT /* UNKNOWN: only NULLs have it */
    };
    if (t.id == SM_DECIMAL && t.precision <= SM_DEC64_DIGITS) return SM_PHYS_I64;
    return (sm_phys)phys[t.id < SM_N_TYPES ? t.id : SM_UNKNOWN];
}

size_t sm_jit_phys_bytes(sm_phys p)
{
    static const uint8_t bytes[SM_N_PHYS] = {1, 2, 4, 8, 16, 4, 8, 16, 16};
    return bytes[p];
}

sm_phys sm_jit_code_phys(unsigned code)
{
    static const uint8_t phys[] = {
        [SM_CODE_NONE] = SM_PHYS_BOOL, [SM_CODE_B] = SM_PHYS_BOOL,  [SM_CODE_I16] = SM_PHYS_I16,
        [SM_CODE_I32] = SM_PHYS_I32,   [SM_CODE_I64] = SM_PHYS_I64, [SM_CODE_F32] = SM_PHYS_F32,
        [SM_CODE_F64] = SM_PHYS_F64,   [SM_CODE_D64] = SM_PHYS_I64, [SM_CODE_D128] = SM_PHYS_I128,
        [SM_CODE_DATE] = SM_PHYS_I32,  [SM_CODE_TS] = SM_PHYS_I64,  [SM_CODE_IV] = SM_PHYS_IV,
        [SM_CODE_TXT] = SM_PHYS_TEXT,
    };
    return (sm_phys)phys[code];
}

sm_form sm_form_of_phys(sm_phys p)
{
    static const sm_form forms[SM_N_PHYS] = {
        [SM_PHYS_BOOL] = {SM_FORM_BOOL, 1},  [SM_PHYS_I16] = {SM_FORM_INT, 32},
        [SM_PHYS_I32] = {SM_FORM_INT, 32},   [SM_PHYS_I64] = {SM_FORM_INT, 64},
        [SM_PHYS_I128] = {SM_FORM_INT, 128}, [SM_PHYS_F32] = {SM_FORM_F32, 32},
        [SM_PHYS_F64] = {SM_FORM_F64, 64},   [SM_PHYS_IV] = {SM_FORM_PAIR, 64},
        [SM_PHYS_TEXT] = {SM_FORM_PAIR, 64},
    };
    return forms[p];
}

uint8_t sm_range_bits(const sm_range *r)
{
    if (r->lo >= INT32_MIN && r->hi <= INT32_MAX) return 32;
    if (r->lo >= INT64_MIN && r->hi <= INT64_MAX) return 64;
    return 128;
}

bool sm_jit_exact_double(const sm_range *r, unsigned scale)
{
    const sm_i128 most = (sm_i128)1 << 53; /* a power of ten to the 22nd is a double, too */
    return r->known && r->lo >= -most && r->hi <= most && scale <= 22;
}

enum { YEAR_1 = -719162 /* its first day */ };

bool sm_jit_in_place(const sm_expr *e)
{
    if (e->kind != SM_EXPR_OP) return false;
    if (e->op == SM_OP_d64_to_f64 || e->op == SM_OP_d128_to_f64)
        return sm_jit_exact_double(&e->args[0]->range, (unsigned)e->imm[0]);
    if (e->op != SM_OP_extract_date || !e->args[0]->range.known) return false;
    int32_t f = e->imm[0];
    bool field =
        f == SM_FIELD_YEAR || f == SM_FIELD_QUARTER || f == SM_FIELD_MONTH || f == SM_FIELD_DAY;
    return field && e->args[0]->range.lo >= YEAR_1 && e->args[0]->range.hi <= INT32_MAX / 2;
}

static sm_form narrowed(sm_form f, const sm_range *r)
{
    if (f.kind == SM_FORM_INT && r->known) f.bits = sm_range_bits(r);
    return f;
}

sm_form sm_form_of_expr(const sm_expr *e)
{
    sm_form f = sm_form_of_phys(e->phys);
    if (e->kind == SM_EXPR_CONST && f.kind == SM_FORM_INT && !e->value.is_null) {
        sm_i128 v = sm_value_int(&e->value, sm_jit_type_phys(e->type));
        sm_range r = {true, v, v};
        return narrowed(f, &r);
    }
    return narrowed(f, &e->range);
}

/* ---- source columns ---- */

static void source_col(sm_src_col *c, const sm_table_col *t, const sm_jit_sig_col *sig)
{
    c->used = true;
    c->phys = sm_jit_type_phys(t->type);
    c->nullable = t->null_count != 0;
    c->enc = sig ? sig->enc : t->dict ? SM_ENC_DICT : SM_ENC_PLAIN;
    c->width = sig && sig->enc != SM_ENC_PLAIN ? sig->width : 0;
    c->form = sm_form_of_phys(c->phys);
    c->no_nan = t->has_minmax;
    if (t->has_minmax && c->form.kind == SM_FORM_INT) {
        c->range = (sm_range){true, sm_value_int(&t->min, c->phys), sm_value_int(&t->max, c->phys)};
        c->form = narrowed(c->form, &c->range);
    }
    c->dict = c->enc == SM_ENC_DICT ? t->dict : NULL;
}

/* ---- expressions ---- */

typedef struct walk {
    sm_shape *s;
    const sm_env_col *env;
    uint32_t nodes;
} walk;

/* The one dictionary column that all columns of e are, -1 if there is none (yet), -2 if e is
 * something else. */
static int32_t dict_column(const walk *w, const sm_expr *e, int32_t col)
{
    if (col == -2 || e->kind == SM_EXPR_PARAM || sm_jit_type_phys(e->type) == SM_PHYS_I128)
        return -2;
    if (e->kind == SM_EXPR_COLUMN) {
        int32_t src = w->env[e->column].src;
        if (src < 0 || !w->s->cols[src].dict || (col >= 0 && col != src)) return -2;
        return src;
    }
    for (uint32_t i = 0; i < e->n_args; i++) col = dict_column(w, e->args[i], col);
    return col;
}

/* Evaluating once per entry must cost less than once per row. */
static bool becomes_table(const walk *w, const sm_expr *e, uint32_t *src)
{
    if (e->kind == SM_EXPR_CONST || e->kind == SM_EXPR_COLUMN || e->can_fail || !e->n_args)
        return false;
    int32_t col = dict_column(w, e, -1);
    if (col < 0 || w->s->cols[col].dict->n > w->s->p->source.n_rows) return false;
    *src = (uint32_t)col;
    return true;
}

static bool add_table(walk *w, const sm_expr *e, uint32_t src)
{
    sm_shape *s = w->s;
    if (s->n_tables == s->cap_tables) {
        uint32_t cap = s->cap_tables ? 2 * s->cap_tables : 8;
        sm_dict_table *t = sm_jit_pool_get(s->pool, cap * sizeof *t);
        if (!t) return false;
        if (s->n_tables) memcpy(t, s->tables, s->n_tables * sizeof *t);
        s->tables = t;
        s->cap_tables = cap;
    }
    sm_dict_table *t = &s->tables[s->n_tables++];
    *t = (sm_dict_table){.e = e, .src = src, .form = sm_form_of_expr(e), .nullable = e->nullable};
    t->null_entry = s->cols[src].nullable;
    uint32_t n = s->cols[src].dict->n + 1;
    t->how = e->phys != SM_PHYS_BOOL ? SM_TABLE_VALUES
             : n <= 32               ? SM_TABLE_BITS32
             : n <= 64               ? SM_TABLE_BITS64
                                     : SM_TABLE_BITMAP;
    t->small = n <= 64;
    sm_key_table(s, t);
    return true;
}

static bool add_const(walk *w, const sm_expr *e)
{
    sm_shape *s = w->s;
    if (s->n_consts == s->cap_consts) {
        uint32_t cap = s->cap_consts ? 2 * s->cap_consts : 16;
        sm_const_slot *c = sm_jit_pool_get(s->pool, cap * sizeof *c);
        if (!c) return false;
        if (s->n_consts) memcpy(c, s->consts, s->n_consts * sizeof *c);
        s->consts = c;
        s->cap_consts = cap;
    }
    s->consts[s->n_consts++] = (sm_const_slot){e, sm_form_of_expr(e)};
    return true;
}

static bool walk_expr(walk *w, const sm_expr *e, uint32_t depth)
{
    sm_shape *s = w->s;
    uint32_t src;
    if (++w->nodes > MAX_NODES) return refuse(s, "more than %d operations", MAX_NODES);
    if (depth > MAX_DEPTH) return refuse(s, "operations nested more than %d deep", MAX_DEPTH);
    if (becomes_table(w, e, &src)) return add_table(w, e, src);
    sm_key_expr(s, e);
    switch (e->kind) {
    case SM_EXPR_PARAM: return refuse(s, "a parameter without a value");
    case SM_EXPR_CONST: return add_const(w, e);
    case SM_EXPR_OP:
        if (!sm_jit_has_emitter(e->op) && !s->pool->host->ops[e->op].lanes)
            return refuse(s, "operation %s", s->pool->host->ops[e->op].id);
        break;
    default: break;
    }
    if (e->can_fail) s->can_fail = true;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!walk_expr(w, e->args[i], depth + 1)) return false;
    return true;
}

bool sm_jit_expr_calls(const sm_shape *s, const sm_expr *e)
{
    if (sm_shape_table(s, e) >= 0) return false;
    if (e->kind == SM_EXPR_OP && !sm_jit_has_emitter(e->op)) return true;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (sm_jit_expr_calls(s, e->args[i])) return true;
    return false;
}

bool sm_jit_expr_equal(const sm_expr *a, const sm_expr *b)
{
    if (a == b) return true;
    if (a->kind != b->kind || !sm_type_eq(a->type, b->type) || a->n_args != b->n_args ||
        a->phys != b->phys || a->no_check != b->no_check || a->can_fail != b->can_fail ||
        a->nullable != b->nullable)
        return false;
    if (a->kind == SM_EXPR_CONST || a->kind == SM_EXPR_PARAM)
        return false; /* values are not shape */
    if (a->kind == SM_EXPR_COLUMN) return a->column == b->column;
    if (a->kind == SM_EXPR_OP &&
        (a->op != b->op || a->imm[0] != b->imm[0] || a->imm[1] != b->imm[1]))
        return false;
    for (uint32_t i = 0; i < a->n_args; i++)
        if (!sm_jit_expr_equal(a->args[i], b->args[i])) return false;
    return true;
}

uint32_t sm_shape_const(const sm_shape *s, const sm_expr *e)
{
    uint32_t i = 0;
    while (i < s->n_consts && s->consts[i].e != e) i++;
    return i;
}

int32_t sm_shape_table(const sm_shape *s, const sm_expr *e)
{
    for (uint32_t i = 0; i < s->n_tables; i++)
        if (s->tables[i].e == e) return (int32_t)i;
    return -1;
}

/* ---- steps ---- */

static bool walk_steps(sm_shape *s)
{
    const sm_pipeline *p = s->p;
    s->env = sm_jit_pool_get(s->pool, (p->n_steps + 1) * sizeof *s->env);
    s->env_n = sm_jit_pool_get(s->pool, (p->n_steps + 1) * sizeof *s->env_n);
    sm_env_col *env = sm_jit_pool_get(s->pool, (s->n_cols + 1) * sizeof *env);
    if (!s->env || !s->env_n || !env) return false;
    for (uint32_t i = 0; i < s->n_cols; i++) {
        const sm_src_col *c = &s->cols[i];
        env[i] =
            (sm_env_col){(int32_t)i, NULL, p->source.cols[i].type, c->range, c->nullable, c->form};
    }
    s->env[0] = env;
    s->env_n[0] = s->n_cols;
    for (uint32_t k = 0; k < p->n_steps; k++) {
        const sm_step *step = &p->steps[k];
        walk w = {s, env, 0};
        if (step->kind == SM_STEP_PROBE) return refuse(s, "a join probe");
        sm_key_u32(s, step->kind);
        sm_key_u32(s, step->n_exprs);
        if (step->kind == SM_STEP_FILTER) {
            if (!walk_expr(&w, step->proved[0], 0)) return false;
        } else {
            sm_env_col *next = sm_jit_pool_get(s->pool, (step->n_exprs + 1) * sizeof *next);
            if (!next) return false;
            for (uint32_t i = 0; i < step->n_exprs; i++) {
                const sm_expr *e = step->proved[i];
                sm_key_expr(s, e); /* also of plain columns, which are not walked */
                next[i] = (sm_env_col){-1, e, e->type, e->range, e->nullable, sm_form_of_expr(e)};
                if (e->kind == SM_EXPR_COLUMN)
                    next[i] = env[e->column];
                else if (!walk_expr(&w, e, 0))
                    return false;
            }
            env = next;
        }
        s->env[k + 1] = env;
        s->env_n[k + 1] = step->kind == SM_STEP_FILTER ? s->env_n[k] : step->n_exprs;
    }
    return true;
}

/* ---- sinks ---- */

static sm_u128 most(const sm_range *r)
{
    sm_u128 lo = r->lo < 0 ? (sm_u128)0 - (sm_u128)r->lo : (sm_u128)r->lo;
    sm_u128 hi = r->hi < 0 ? (sm_u128)0 - (sm_u128)r->hi : (sm_u128)r->hi;
    return lo > hi ? lo : hi;
}

static uint32_t counter(sm_shape *s, int32_t valid_col, int32_t filter_col)
{
    for (uint32_t i = 0; i < s->n_counters; i++)
        if (s->counters[i].valid_col == valid_col && s->counters[i].filter_col == filter_col)
            return i;
    s->counters[s->n_counters].valid_col = valid_col;
    s->counters[s->n_counters].filter_col = filter_col;
    return s->n_counters++;
}

/* One register full: integer additions take a cycle, so several accumulators would only cost loads
 * and stores. */
static uint8_t sum_lanes(const sm_shape *s, unsigned bits)
{
    unsigned full = (s->mask_regs ? 512 : 256) / bits;
    return (uint8_t)(full < s->step ? full : s->step);
}

static void plan_acc(sm_shape *s, const sm_accum *a, sm_acc_plan *out, bool masks)
{
    const sm_env_col *env = s->env[s->p->n_steps];
    const sm_env_col *arg = a->arg_col >= 0 ? &env[a->arg_col] : NULL;
    bool minmax = a->kind == SM_ACC_MIN || a->kind == SM_ACC_MAX;
    *out = (sm_acc_plan){.how = SM_ACC_HOW_ROWS};
    if (a->distinct || (minmax && (arg->form.kind == SM_FORM_PAIR || arg->form.bits > 64 ||
                                   sm_jit_type_phys(a->type) == SM_PHYS_I128))) {
        out->how = SM_ACC_HOW_HOST;
        return;
    }
    out->exact_double = a->kind == SM_ACC_VAR && sm_jit_exact_double(&arg->range, a->type.scale);
    if (!masks) return;
    if (a->kind == SM_ACC_VAR) {
        bool decimal = arg->form.kind == SM_FORM_INT && a->type.scale && !out->exact_double;
        if (s->p->agg.mode != SM_GROUPS_NONE || arg->form.bits > 64 || decimal) return;
    }
    if (a->kind == SM_ACC_SUM_I || a->kind == SM_ACC_SUM_D) {
        if (arg->form.kind != SM_FORM_INT || arg->form.bits > 64) return;
        sm_u128 max = arg->range.known ? most(&arg->range) : (sm_u128)1 << (arg->form.bits - 1);
        out->lanes = sum_lanes(s, 32);
        if (max * (SM_CHUNK_ROWS / out->lanes) <= INT32_MAX)
            out->bits = 32;
        else if (max * SM_CHUNK_ROWS <= INT64_MAX)
            out->bits = 64; /* also added up over the lanes */
        else
            out->how = SM_ACC_HOW_SPLIT, out->bits = 64;
        if (out->how == SM_ACC_HOW_ROWS) out->how = SM_ACC_HOW_LANES;
        out->lanes = sum_lanes(s, out->bits);
    } else {
        out->how = SM_ACC_HOW_LANES;
        out->bits = minmax && arg->form.kind == SM_FORM_INT ? arg->form.bits : minmax ? 64 : 0;
        if (minmax && arg->form.kind == SM_FORM_BOOL) out->bits = 32;
    }
    out->counter = counter(s, arg && arg->nullable ? a->arg_col : -1, a->filter_col);
}

static bool walk_agg(sm_shape *s)
{
    const sm_agg_sink *g = &s->p->agg;
    const sm_group_layout *l = &g->layout;
    s->accs = sm_jit_pool_get(s->pool, (l->n_accums + 1) * sizeof *s->accs);
    s->counters = sm_jit_pool_get(s->pool, (l->n_accums + 2) * sizeof *s->counters);
    if (!s->accs || !s->counters) return false;
    s->tiny_masks = g->mode == SM_GROUPS_TINY && s->mask_regs;
    bool masks = g->mode == SM_GROUPS_NONE || s->tiny_masks;
    for (uint32_t i = 0; i < l->n_accums; i++) plan_acc(s, &l->accums[i], &s->accs[i], masks);
    for (uint32_t i = 0; i < l->n_keys && g->mode != SM_GROUPS_HASH; i++) {
        const sm_env_col *k = &s->env[s->p->n_steps][i];
        if (g->codes[i].dict ? k->src < 0 || s->cols[k->src].enc != SM_ENC_DICT
                             : k->form.kind != SM_FORM_INT && k->form.kind != SM_FORM_BOOL)
            return refuse(s, "group key %u is not a code", i + 1);
    }
    sm_key_agg(s, g);
    return true;
}

/* One row at a time with one accumulator has a meaning only for sums without groups. */
static bool scalar_ok(const sm_shape *s)
{
    const sm_pipeline *p = s->p;
    if (p->sink != SM_SINK_AGG || p->agg.mode != SM_GROUPS_NONE || s->can_fail) return false;
    for (uint32_t i = 0; i < p->agg.layout.n_accums; i++)
        if (s->accs[i].how > SM_ACC_HOW_SPLIT) return false;
    for (uint32_t k = 0; k < p->n_steps; k++)
        for (uint32_t i = 0; i < p->steps[k].n_exprs; i++)
            if (sm_jit_expr_calls(s, p->steps[k].proved[i])) return false;
    return true;
}

bool sm_shape_make(sm_shape *s, const sm_pipeline *p, const sm_jit_sig_col *sig, uint32_t step,
                   const char *cpu, bool mask_regs, sm_jit_pool *pool, char *why, size_t why_bytes)
{
    /* With mask registers always whole blocks: LLVM 19's instruction selection never ends on some
     * logic of masks that are parts of words, moving it from masks to integers and back. Elsewhere
     * 8 rows fill the registers. */
    uint32_t host_step = mask_regs ? 32 : 8;
    *s = (sm_shape){
        .p = p, .pool = pool, .mask_regs = mask_regs, .why = why, .why_bytes = why_bytes};
    s->step =
        step == 1 || (!mask_regs && (step == 8 || step == 16 || step == 32)) ? step : host_step;
    s->n_cols = p->source.n_cols;
    s->cols = sm_jit_pool_get(pool, (s->n_cols + 1) * sizeof *s->cols);
    if (!s->cols) return false;
    sm_key_begin(s, cpu);
    for (uint32_t i = 0; i < s->n_cols; i++) {
        if (!p->used || p->used[i])
            source_col(&s->cols[i], &p->source.cols[i], sig ? &sig[i] : NULL);
        sm_key_source(s, &s->cols[i]);
        if (s->cols[i].used && s->cols[i].enc == SM_ENC_DICT && !s->cols[i].dict)
            return refuse(s, "a text column without a common dictionary");
    }
    if (!walk_steps(s)) return false;
    if (p->sink == SM_SINK_AGG) {
        if (!walk_agg(s)) return false;
    } else {
        sm_key_rows(s, p);
    }
    if (s->step == 1 && !scalar_ok(s))
        return sm_shape_make(s, p, sig, host_step, cpu, mask_regs, pool, why, why_bytes);
    s->slot_tables = s->n_consts;
    s->slot_codes = s->slot_tables + 2 * s->n_tables;
    s->n_slots =
        s->slot_codes + (p->sink == SM_SINK_AGG ? SM_CODE_SLOTS * p->agg.layout.n_keys : 0) + 1;
    return !pool->failed;
}
