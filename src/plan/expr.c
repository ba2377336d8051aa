/* Making, comparing and copying expressions. A constructor fills everything that follows from the
 * type and the arguments (phys, range, nullable, can_fail), so that an unproved tree is already a
 * correct, cautious one. */
#include "plan/expr.h"

#include "plan/range.h"

static sm_expr *make(sm_arena *a, sm_expr_kind kind, sm_type type, uint32_t n_args)
{
    sm_expr *e = SM_NEW(a, sm_expr);
    if (!e) return NULL;
    e->kind = kind;
    e->type = type;
    e->phys = sm_type_phys(type);
    e->range = sm_range_of_type(type);
    e->nullable = true;
    e->n_args = n_args;
    if (n_args) {
        e->args = SM_NEW_N(a, sm_expr *, n_args);
        if (!e->args) return NULL;
    }
    return e;
}

sm_expr *sm_expr_const(sm_arena *a, sm_type type, const sm_value *v)
{
    sm_expr *e = make(a, SM_EXPR_CONST, type, 0);
    if (!e) return NULL;
    e->value = *v;
    e->nullable = v->is_null;
    if (!v->is_null) e->range = sm_range_of_value(type, e->phys, v);
    return e;
}

sm_expr *sm_expr_null(sm_arena *a, sm_type type)
{
    return sm_expr_const(a, type, &(sm_value){.is_null = true});
}

sm_expr *sm_expr_column(sm_arena *a, uint32_t column, sm_type type, bool nullable)
{
    sm_expr *e = make(a, SM_EXPR_COLUMN, type, 0);
    if (!e) return NULL;
    e->column = column;
    e->nullable = nullable;
    return e;
}

static bool node_nullable(const sm_expr *e)
{
    switch (e->kind) {
    case SM_EXPR_IS_NULL: return false;
    case SM_EXPR_CASE:
        for (uint32_t i = 1; i < e->n_args; i += 2)
            if (e->args[i]->nullable) return true;
        return e->args[e->n_args - 1]->nullable;
    case SM_EXPR_COALESCE:
        for (uint32_t i = 0; i < e->n_args; i++)
            if (!e->args[i]->nullable) return false;
        return true;
    default:
        for (uint32_t i = 0; i < e->n_args; i++)
            if (e->args[i]->nullable) return true;
        return e->kind == SM_EXPR_PARAM;
    }
}

static sm_expr *with_args(sm_expr *e, sm_expr *const *args)
{
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (!args[i]) return NULL; /* its constructor ran out of memory */
        e->args[i] = args[i];
        e->can_fail |= args[i]->can_fail;
    }
    e->nullable = node_nullable(e);
    return e;
}

sm_expr *sm_expr_op(sm_arena *a, sm_op op, sm_type type, sm_expr *const *args, uint32_t n_args)
{
    sm_expr *e = make(a, SM_EXPR_OP, type, n_args);
    if (!e) return NULL;
    e->op = op;
    e->can_fail = sm_ops[op].can_fail;
    e->phys = sm_code_phys((sm_code)sm_ops[op].result);
    return with_args(e, args);
}

sm_expr *sm_expr_node(sm_arena *a, sm_expr_kind kind, sm_type type, sm_expr *const *args,
                      uint32_t n_args)
{
    sm_expr *e = make(a, kind, type, n_args);
    return e ? with_args(e, args) : NULL;
}

static bool value_equal(sm_phys p, const sm_value *a, const sm_value *b)
{
    if (a->is_null || b->is_null) return a->is_null == b->is_null;
    switch (p) {
    case SM_PHYS_TEXT: return sm_text_eq(a->text, b->text);
    case SM_PHYS_F32: return memcmp(&a->f32, &b->f32, 4) == 0;
    case SM_PHYS_F64: return memcmp(&a->f64, &b->f64, 8) == 0;
    case SM_PHYS_IV:
        return a->iv.months == b->iv.months && a->iv.days == b->iv.days &&
               a->iv.micros == b->iv.micros;
    default: return sm_value_int(a, p) == sm_value_int(b, p);
    }
}

bool sm_expr_equal(const sm_expr *a, const sm_expr *b)
{
    if (a == b) return true;
    if (a->kind != b->kind || !sm_type_eq(a->type, b->type) || a->phys != b->phys ||
        a->n_args != b->n_args)
        return false;
    switch (a->kind) {
    case SM_EXPR_CONST: return value_equal(a->phys, &a->value, &b->value);
    case SM_EXPR_PARAM:
    case SM_EXPR_COLUMN: return a->column == b->column;
    case SM_EXPR_OUTER: return a->column == b->column && a->imm[0] == b->imm[0];
    case SM_EXPR_SUBQUERY:
        if (a->subquery != b->subquery) return false;
        break;
    case SM_EXPR_OP:
        if (a->op != b->op || a->imm[0] != b->imm[0] || a->imm[1] != b->imm[1]) return false;
        break;
    default: break;
    }
    for (uint32_t i = 0; i < a->n_args; i++)
        if (!sm_expr_equal(a->args[i], b->args[i])) return false;
    return true;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

static uint64_t value_hash(sm_phys p, const sm_value *v, uint64_t h)
{
    if (v->is_null) return mix(h, 1);
    switch (p) {
    case SM_PHYS_TEXT: {
        const char *s = sm_text_bytes(&v->text);
        for (uint32_t i = 0; i < v->text.len; i++) h = mix(h, (unsigned char)s[i]);
        return mix(h, v->text.len);
    }
    case SM_PHYS_F32: {
        uint32_t bits;
        memcpy(&bits, &v->f32, 4);
        return mix(h, bits);
    }
    case SM_PHYS_F64: {
        uint64_t bits;
        memcpy(&bits, &v->f64, 8);
        return mix(h, bits);
    }
    case SM_PHYS_IV:
        return mix(mix(mix(h, (uint64_t)v->iv.months), (uint64_t)v->iv.days),
                   (uint64_t)v->iv.micros);
    default: {
        sm_i128 x = sm_value_int(v, p);
        return mix(mix(h, (uint64_t)x), (uint64_t)(x >> 64));
    }
    }
}

uint64_t sm_expr_hash(const sm_expr *e)
{
    uint64_t h = mix(mix(0, (uint64_t)e->kind),
                     (uint64_t)e->type.id << 32 | (uint64_t)e->type.precision << 16 |
                         (uint64_t)e->type.scale << 8 | (uint64_t)e->phys);
    switch (e->kind) {
    case SM_EXPR_CONST: return value_hash(e->phys, &e->value, h);
    case SM_EXPR_PARAM:
    case SM_EXPR_COLUMN: return mix(h, e->column);
    case SM_EXPR_OP:
        h = mix(mix(mix(h, (uint64_t)e->op), (uint64_t)e->imm[0]), (uint64_t)e->imm[1]);
        break;
    default: break;
    }
    for (uint32_t i = 0; i < e->n_args; i++) h = mix(h, sm_expr_hash(e->args[i]));
    return h;
}

sm_expr *sm_expr_clone(sm_arena *a, const sm_expr *e)
{
    sm_expr *c = sm_arena_alloc(a, sizeof *c);
    if (!c) return NULL;
    *c = *e;
    if (e->n_args) {
        c->args = SM_NEW_N(a, sm_expr *, e->n_args);
        if (!c->args) return NULL;
    }
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!(c->args[i] = sm_expr_clone(a, e->args[i]))) return NULL;
    if (e->kind == SM_EXPR_CONST && e->phys == SM_PHYS_TEXT && !e->value.is_null &&
        e->value.text.len > SM_TEXT_INLINE) {
        c->value.text.ptr = sm_arena_strndup(a, e->value.text.ptr, e->value.text.len);
        if (!c->value.text.ptr) return NULL;
    }
    return c;
}

sm_expr *sm_expr_replace(sm_arena *a, const sm_expr *e,
                         sm_expr *(*fn)(const sm_expr *leaf, void *arg), void *arg)
{
    if (e->n_args == 0) {
        sm_expr *with = fn(e, arg);
        if (with) return with;
    }
    sm_expr *c = sm_arena_alloc(a, sizeof *c);
    if (!c) return NULL;
    *c = *e;
    if (e->n_args == 0) return c;
    c->args = SM_NEW_N(a, sm_expr *, e->n_args);
    if (!c->args) return NULL;
    c->can_fail = e->kind == SM_EXPR_OP && sm_ops[e->op].can_fail;
    for (uint32_t i = 0; i < e->n_args; i++) {
        c->args[i] = sm_expr_replace(a, e->args[i], fn, arg);
        if (!c->args[i]) return NULL;
        c->can_fail |= c->args[i]->can_fail;
    }
    c->nullable = node_nullable(c);
    return c;
}

bool sm_expr_walk(const sm_expr *e, bool (*fn)(const sm_expr *e, void *arg), void *arg)
{
    if (!fn(e, arg)) return false;
    for (uint32_t i = 0; i < e->n_args; i++)
        if (!sm_expr_walk(e->args[i], fn, arg)) return false;
    return true;
}
