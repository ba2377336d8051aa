/* Writes the cache key. Read key.h first. */
#include "key.h"

#include "compat.h"

static void bytes(sm_shape *s, const void *p, size_t n)
{
    if (s->key_bytes + n > s->key_cap) {
        uint32_t cap = 2 * s->key_cap + (uint32_t)n + 512;
        uint8_t *k = sm_jit_pool_get(s->pool, cap);
        if (!k) return;
        if (s->key_bytes) memcpy(k, s->key, s->key_bytes);
        s->key = k;
        s->key_cap = cap;
    }
    memcpy(s->key + s->key_bytes, p, n);
    s->key_bytes += (uint32_t)n;
}

void sm_key_u32(sm_shape *s, uint32_t v)
{
    bytes(s, &v, sizeof v);
}

static void text(sm_shape *s, const char *t)
{
    sm_key_u32(s, (uint32_t)strlen(t));
    bytes(s, t, strlen(t));
}

void sm_key_begin(sm_shape *s, const char *cpu)
{
    text(s, SM_LLVM_VERSION);
    text(s, cpu);
    sm_key_u32(s, s->step);
    sm_key_u32(s, s->n_cols);
    sm_key_u32(s, s->p->n_steps);
    sm_key_u32(s, s->p->sink);
}

static uint32_t form(sm_form f)
{
    return (uint32_t)f.kind << 8 | f.bits;
}

void sm_key_source(sm_shape *s, const sm_src_col *c)
{
    uint32_t flags = (uint32_t)c->used | (uint32_t)c->nullable << 1 | (uint32_t)c->no_nan << 2;
    sm_key_u32(s,
               flags | (uint32_t)c->enc << 8 | (uint32_t)c->width << 16 | (uint32_t)c->phys << 24);
    sm_key_u32(s, form(c->form));
}

void sm_key_expr(sm_shape *s, const sm_expr *e)
{
    uint32_t flags =
        (uint32_t)e->nullable | (uint32_t)e->can_fail << 1 | (uint32_t)e->no_check << 2;
    if (e->kind == SM_EXPR_CONST) {
        flags |= (uint32_t)e->value.is_null << 3;
        bool nan = (e->phys == SM_PHYS_F64 && e->value.f64 != e->value.f64) ||
                   (e->phys == SM_PHYS_F32 && e->value.f32 != e->value.f32);
        flags |= (uint32_t)(!e->value.is_null && nan) << 4;
    }
    flags |= (uint32_t)sm_jit_in_place(e) << 5;
    sm_key_u32(s, (uint32_t)e->kind | flags << 8 | (uint32_t)e->phys << 24);
    sm_key_u32(s, form(sm_form_of_expr(e)));
    if (e->kind == SM_EXPR_OP) {
        sm_key_u32(s, (uint32_t)e->op);
        sm_key_u32(s, (uint32_t)e->imm[0]);
        sm_key_u32(s, (uint32_t)e->imm[1]);
    } else if (e->kind == SM_EXPR_COLUMN) {
        sm_key_u32(s, e->column);
    }
    sm_key_u32(s, e->n_args);
}

void sm_key_table(sm_shape *s, const sm_dict_table *t)
{
    sm_key_u32(s, 0xD1C7u << 16 | (uint32_t)t->small << 4 | (uint32_t)t->how << 2 |
                      (uint32_t)t->nullable << 1 | t->null_entry);
    sm_key_u32(s, t->src);
    sm_key_u32(s, form(t->form));
}

void sm_key_agg(sm_shape *s, const sm_agg_sink *g)
{
    const sm_group_layout *l = &g->layout;
    sm_key_u32(s, (uint32_t)g->mode | l->n_keys << 8);
    sm_key_u32(s, l->n_accums);
    sm_key_u32(s, l->row_bytes);
    sm_key_u32(s, l->lanes_bytes);
    sm_key_u32(s, l->lanes);
    sm_key_u32(s, g->mode == SM_GROUPS_TINY ? g->n_codes : 0);
    for (uint32_t i = 0; i < l->n_accums; i++) {
        const sm_accum *a = &l->accums[i];
        sm_key_u32(s, (uint32_t)a->kind | (uint32_t)a->distinct << 8 | (uint32_t)a->type.id << 16);
        sm_key_u32(s, (uint32_t)a->type.precision << 8 | a->type.scale);
        sm_key_u32(s, (uint32_t)a->arg_col);
        sm_key_u32(s, (uint32_t)a->filter_col);
        sm_key_u32(s, a->offset);
        sm_key_u32(s, a->lanes_offset);
        sm_key_u32(s, (uint32_t)s->accs[i].exact_double << 24 | (uint32_t)s->accs[i].lanes << 16 |
                          (uint32_t)s->accs[i].how << 8 | s->accs[i].bits);
    }
    for (uint32_t i = 0; i < l->n_keys; i++) {
        sm_key_u32(s, l->keys[i].type.id | (uint32_t)l->keys[i].type.precision << 8);
        if (g->mode == SM_GROUPS_HASH) continue;
        const sm_code_key *k = &g->codes[i];
        sm_key_u32(s, (uint32_t)k->dict | (uint32_t)k->nullable << 1 |
                          (uint32_t)(k->stride == 1) << 2);
    }
}

void sm_key_rows(sm_shape *s, const sm_pipeline *p)
{
    sm_key_u32(s, p->n_in);
    for (uint32_t i = 0; i < p->n_in; i++)
        sm_key_u32(s, p->in_cols[i].type.id | (uint32_t)p->in_cols[i].type.precision << 8);
}
