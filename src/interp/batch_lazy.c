/* The instructions of lazy expressions: three-valued AND and OR, IS NULL, and the gathering of
 * values that were computed for some of the rows. Rows that an argument was not evaluated for hold
 * garbage, which is why bool rooms hold nothing but 0 and 1 at any time. Read batch_state.h first.
 */
#include "interp/batch_state.h"

sm_flow sm_run_alias(sm_batch_state *s, sm_instr *in)
{
    (void)s;
    in->out->v.data = in->arg[0]->v.data;
    in->out->v.valid = in->arg[0]->v.valid;
    return SM_FLOW_NEXT;
}

sm_flow sm_run_begin(sm_batch_state *s, sm_instr *in)
{
    (void)s;
    in->out->v.data = in->out->room;
    in->out->v.valid = NULL;
    return SM_FLOW_NEXT;
}

/* out's validity becomes its own copy. */
static uint64_t *own_valid(sm_batch_state *s, sm_reg *r)
{
    size_t bytes = sm_bit_words(s->n_rows) * sizeof(uint64_t);
    if (r->v.valid == r->valid_room) return r->valid_room;
    if (r->v.valid)
        memcpy(r->valid_room, r->v.valid, bytes);
    else
        memset(r->valid_room, 0xFF, bytes);
    r->v.valid = r->valid_room;
    return r->valid_room;
}

static void blend_valid(sm_batch_state *s, sm_reg *to, const uint64_t *from, const sm_live *l)
{
    if (!from && !to->v.valid) return;
    uint64_t *valid = own_valid(s, to);
    if (l->sparse) {
        for (uint32_t k = 0; k < l->n; k++) {
            uint32_t i = l->sel[k];
            if (!from || sm_bit_get(from, i))
                sm_bit_set(valid, i);
            else
                sm_bit_clear(valid, i);
        }
        return;
    }
    for (uint32_t w = 0; w < sm_bit_words(s->n_rows); w++) {
        uint64_t take = l->mask ? l->mask[w] : UINT64_MAX;
        valid[w] = (valid[w] & ~take) | ((from ? from[w] : UINT64_MAX) & take);
    }
}

#define SCATTER(T)                                                                                 \
    {                                                                                              \
        const T *v = from;                                                                         \
        T *to = out;                                                                               \
        for (uint32_t k = 0; k < n; k++) to[sel[k]] = v[sel[k]];                                   \
    }

static void blend_sel(void *out, const void *from, const uint16_t *sel, uint32_t n, size_t bytes)
{
    switch (bytes) {
    case 1: SCATTER(uint8_t) break;
    case 2: SCATTER(uint16_t) break;
    case 4: SCATTER(uint32_t) break;
    case 8: SCATTER(uint64_t) break;
    default: SCATTER(sm_u128) break;
    }
}

sm_flow sm_run_blend(sm_batch_state *s, sm_instr *in)
{
    sm_reg *to = in->out;
    const sm_vec *from = &in->arg[0]->v;
    const sm_live *l = s->lives[in->from_live];
    size_t bytes = sm_phys_bytes(to->v.phys);
    if (to->v.data != to->room) {
        memcpy(to->room, to->v.data, bytes * s->n_rows);
        to->v.data = to->room;
    }
    blend_valid(s, to, from->valid, l);
    if (l->sparse)
        blend_sel(to->room, from->data, l->sel, l->n, bytes);
    else if (l->mask)
        s->select->blend(to->room, from->data, l->mask, s->n_rows, (uint32_t)bytes);
    else
        memcpy(to->room, from->data, bytes * s->n_rows);
    return SM_FLOW_NEXT;
}

/* Bits of a bool vector, for validity algebra. */
static void bits_of(sm_batch_state *s, const sm_vec *v, uint64_t *bits)
{
    s->select->pick(SM_PICK_TRUE, v->data, NULL, NULL, s->n_rows, bits);
}

/* FALSE AND NULL is FALSE, TRUE OR NULL is TRUE: a decisive valid value decides. Where the decisive
 * value of one side makes the result, a & b (a | b) gives it whatever garbage stands on the other.
 */
static void combine(sm_batch_state *s, sm_instr *in, bool is_and)
{
    sm_reg *out = in->out; /* the accumulated side, and the result */
    const sm_vec *a = &out->v, *b = &in->arg[0]->v;
    const uint64_t *va = a->valid, *vb = b->valid;
    uint64_t flip = is_and ? UINT64_MAX : 0;
    if (va || vb) {
        uint64_t bits_a[SM_MASK_WORDS], bits_b[SM_MASK_WORDS];
        bits_of(s, a, bits_a);
        bits_of(s, b, bits_b);
        for (uint32_t w = 0; w < sm_bit_words(s->n_rows); w++) {
            uint64_t x = va ? va[w] : UINT64_MAX, y = vb ? vb[w] : UINT64_MAX;
            out->valid_room[w] = (x & y) | (x & (bits_a[w] ^ flip)) | (y & (bits_b[w] ^ flip));
        }
        out->v.valid = out->valid_room;
    }
    (is_and ? s->select->and_bytes : s->select->or_bytes)(out->room, a->data, b->data, s->n_rows);
    out->v.data = out->room;
}

sm_flow sm_run_and(sm_batch_state *s, sm_instr *in)
{
    combine(s, in, true);
    return SM_FLOW_NEXT;
}

sm_flow sm_run_or(sm_batch_state *s, sm_instr *in)
{
    combine(s, in, false);
    return SM_FLOW_NEXT;
}

sm_flow sm_run_is_null(sm_batch_state *s, sm_instr *in)
{
    const uint64_t *valid = in->arg[0]->v.valid;
    in->out->v.valid = NULL;
    if (!valid) {
        memset(in->out->room, 0, s->n_rows);
        return SM_FLOW_NEXT;
    }
    uint64_t null[SM_MASK_WORDS];
    for (uint32_t w = 0; w < sm_bit_words(s->n_rows); w++) null[w] = ~valid[w];
    s->select->bytes_of_mask(null, s->n_rows, in->out->room);
    return SM_FLOW_NEXT;
}

/* NULLs have code 0, so the look-up is safe; then they get what the expression makes of NULL. */
sm_flow sm_run_look_up(sm_batch_state *s, sm_instr *in)
{
    const sm_vec *from = &in->arg[0]->v;
    sm_reg *to = in->out;
    uint32_t bytes = (uint32_t)sm_phys_bytes(to->v.phys), words = (uint32_t)sm_bit_words(s->n_rows);
    s->select->look_up(to->room, in->table, from->codes, s->n_rows, bytes);
    to->v.valid = from->valid;
    if (in->table_valid) {
        uint8_t present[SM_BATCH_ROWS];
        s->select->look_up(present, in->table_valid, from->codes, s->n_rows, 1);
        s->select->pick(SM_PICK_TRUE, present, from->valid, NULL, s->n_rows, to->valid_room);
        to->v.valid = to->valid_room;
    }
    if (!from->valid || in->null_in_null_out) return SM_FLOW_NEXT;
    const char *null_value = (const char *)in->table + (size_t)in->n_entries * bytes;
    uint64_t *valid = own_valid(s, to);
    for (uint32_t w = 0; w < words; w++) {
        uint64_t null = ~from->valid[w];
        if (s->n_rows - w * 64 < 64) null &= ((uint64_t)1 << (s->n_rows & 63)) - 1;
        valid[w] |= null;
        for (; null; null &= null - 1) {
            uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(null);
            memcpy((char *)to->room + (size_t)i * bytes, null_value, bytes);
        }
    }
    return SM_FLOW_NEXT;
}
