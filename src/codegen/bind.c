/* Fills the constant block of one execution: literals in the width that the code wants, tables over
 * dictionary entries, minima and strides of group codes. Read shape.h first. */
#include "shape.h"

typedef struct binder {
    const sm_shape *s;
    sm_arena *arena;
    void *(*vector)(sm_arena *, size_t);
    sm_error *err;
} binder;

static void put_int(void *slot, sm_i128 v)
{
    memcpy(slot, &v, sizeof v); /* little-endian: narrower reads take the low bytes */
}

static void put_value(void *slot, const sm_value *v, sm_phys phys)
{
    memset(slot, 0, SM_SLOT_BYTES);
    if (v->is_null) return;
    if (sm_form_of_phys(phys).kind == SM_FORM_INT || phys == SM_PHYS_BOOL)
        put_int(slot, sm_value_int(v, phys));
    else
        memcpy(slot, v, sm_jit_phys_bytes(phys));
}

/* The value of the dictionary column while an entry is evaluated. */
static void fetch(void *arg, uint32_t column, sm_value *out)
{
    (void)column;
    memcpy(out, arg, sizeof *out);
}

static size_t form_bytes(sm_form f)
{
    return f.kind == SM_FORM_PAIR ? 16 : f.kind == SM_FORM_BOOL ? 1 : f.bits / 8;
}

static void put_bit(uint32_t *words, uint32_t i, bool on)
{
    words[i / 32] |= (uint32_t)on << (i % 32);
}

static sm_status no_memory(const binder *b)
{
    size_t limit = b->arena->mem ? b->arena->mem->limit_bytes : 0;
    return b->s->pool->host->raise(b->err, SM_ERR_OUT_OF_MEMORY, b->arena->what, (size_t)0, limit);
}

static sm_status bind_table(const binder *b, const sm_dict_table *t, char *slot)
{
    const sm_jit_host *host = b->s->pool->host;
    const sm_dict *dict = b->s->cols[t->src].dict;
    uint32_t n = dict->n + t->null_entry;
    size_t words = (n + 31) / 32 + 1;
    bool is_bool = t->form.kind == SM_FORM_BOOL;
    char *values = b->vector(b->arena, is_bool ? words * 4 : n * form_bytes(t->form));
    uint32_t *valid = t->nullable ? b->vector(b->arena, words * 4) : NULL;
    if (!values || (t->nullable && !valid)) return no_memory(b);
    for (uint32_t i = 0; i < n; i++) {
        sm_value in = {.is_null = t->null_entry && i == 0}, out = {.is_null = true};
        if (!in.is_null) in.text = dict->entries[i - t->null_entry];
        sm_eval ev = {.fetch = fetch, .fetch_arg = &in, .scratch = b->arena, .err = b->err};
        SM_TRY(host->eval(&ev, t->e, &out));
        if (valid) put_bit(valid, i, !out.is_null);
        if (is_bool) {
            put_bit((uint32_t *)(void *)values, i, !out.is_null && out.b);
        } else {
            char room[SM_SLOT_BYTES];
            put_value(room, &out, sm_jit_type_phys(t->e->type));
            memcpy(values + i * form_bytes(t->form), room, form_bytes(t->form));
        }
    }
    bool inline_bits = t->how == SM_TABLE_BITS32 || t->how == SM_TABLE_BITS64;
    if (inline_bits)
        memcpy(slot, values, 8);
    else
        memcpy(slot, &values, sizeof values);
    if (!valid) return SM_OK;
    if (t->small)
        memcpy(slot + SM_SLOT_BYTES, valid, 8);
    else
        memcpy(slot + SM_SLOT_BYTES, &valid, sizeof valid);
    return SM_OK;
}

sm_status sm_shape_bind(const sm_shape *s, sm_arena *a, void *(*arena_vector)(sm_arena *, size_t),
                        void **consts, sm_error *err)
{
    binder b = {s, a, arena_vector, err};
    char *block = arena_vector(a, (size_t)s->n_slots * SM_SLOT_BYTES);
    if (!block) return no_memory(&b);
    for (uint32_t i = 0; i < s->n_consts; i++) {
        const sm_expr *e = s->consts[i].e;
        put_value(block + i * SM_SLOT_BYTES, &e->value, sm_jit_type_phys(e->type));
    }
    for (uint32_t i = 0; i < s->n_tables; i++)
        SM_TRY(bind_table(&b, &s->tables[i], block + (s->slot_tables + 2 * i) * SM_SLOT_BYTES));
    const sm_agg_sink *g = &s->p->agg;
    for (uint32_t i = 0;
         s->p->sink == SM_SINK_AGG && g->mode != SM_GROUPS_HASH && i < g->layout.n_keys; i++) {
        char *slot = block + (s->slot_codes + SM_CODE_SLOTS * i) * SM_SLOT_BYTES;
        put_int(slot, g->codes[i].min);
        put_int(slot + SM_SLOT_BYTES, g->codes[i].n_values);
        put_int(slot + 2 * SM_SLOT_BYTES, g->codes[i].stride);
    }
    *consts = block;
    return SM_OK;
}
