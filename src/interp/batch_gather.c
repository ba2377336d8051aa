/* Columns behind a probe, gathered where they are first asked for: the live rows' values from a
 * register of an earlier batch or from a column of a join table. Of a dictionary column codes are
 * gathered, and values by code. Read batch_probe.h first. */
#include "interp/batch_probe.h"

#define EACH(body)                                                                                 \
    for (uint32_t k = 0; k < n; k++) {                                                             \
        uint32_t i = sel ? sel[k] : k;                                                             \
        body                                                                                       \
    }

/* ---- by rows of a batch ---------------------------------------------------------------------- */

#define MOVE(T)                                                                                    \
    {                                                                                              \
        const T *v = from;                                                                         \
        T *to = out;                                                                               \
        EACH(to[i] = v[rows[i]];)                                                                  \
    }

static void gather_16(void *out, const void *from, const uint16_t *rows, const uint16_t *sel,
                      uint32_t n, size_t bytes)
{
    switch (bytes) {
    case 1: MOVE(uint8_t) break;
    case 2: MOVE(uint16_t) break;
    case 4: MOVE(uint32_t) break;
    case 8: MOVE(uint64_t) break;
    default: MOVE(sm_u128) break;
    }
}

static void set_bit(uint64_t *bits, uint32_t i, bool on)
{
    bits[i >> 6] = (bits[i >> 6] & ~((uint64_t)1 << (i & 63))) | (uint64_t)on << (i & 63);
}

static void gather_dict(sm_batch_state *s, sm_instr *in, const uint16_t *rows, const uint16_t *sel,
                        uint32_t n)
{
    sm_reg *to = in->out;
    const uint16_t *from = to->base->v.codes;
    const sm_text *entries = s->pin->chunk->cols[to->source_col].dict->entries;
    uint16_t *codes = in->room.codes;
    sm_text *texts = in->room.data;
    if (codes) EACH(codes[i] = from[rows[i]];)
    if (texts) EACH(texts[i] = entries[from[rows[i]]];)
    to->v.codes = codes;
    to->v.data = texts;
}

static sm_flow run_gather(sm_batch_state *s, sm_instr *in)
{
    sm_live *l = s->lives[0];
    const uint16_t *sel = sm_live_sel(s, l);
    uint32_t n = l->n;
    sm_reg *to = in->out;
    const sm_vec *from = &to->base->v;
    const uint16_t *rows = to->index->rows;
    if (in->by_code) {
        gather_dict(s, in, rows, sel, n);
    } else {
        gather_16(in->room.data, from->data, rows, sel, n, sm_phys_bytes(to->v.phys));
        to->v.data = in->room.data;
    }
    to->v.valid = NULL;
    if (!from->valid) return SM_FLOW_NEXT;
    EACH(set_bit(to->valid_room, i, sm_bit_get(from->valid, rows[i]));)
    to->v.valid = to->valid_room;
    return SM_FLOW_NEXT;
}

/* ---- by build rows --------------------------------------------------------------------------- */

/* No row reads row 0, which is NULL then. */
#define MOVE_BUILD(T, TO)                                                                          \
    {                                                                                              \
        const T *v = c->data;                                                                      \
        TO *to = out;                                                                              \
        if (outer)                                                                                 \
            EACH(to[i] = (TO)v[rows[i] == SM_NO_BUILD_ROW ? 0 : rows[i]];)                         \
        else                                                                                       \
            EACH(to[i] = (TO)v[rows[i]];)                                                          \
    }

static void gather_32(void *out, const sm_flat_col *c, bool narrow, const uint32_t *rows,
                      const uint16_t *sel, uint32_t n, bool outer)
{
    switch (sm_phys_bytes(c->phys)) {
    case 1: MOVE_BUILD(uint8_t, uint8_t) break;
    case 2: MOVE_BUILD(uint16_t, uint16_t) break;
    case 4: MOVE_BUILD(uint32_t, uint32_t) break;
    case 8: MOVE_BUILD(uint64_t, uint64_t) break;
    default:
        if (narrow) MOVE_BUILD(sm_u128, uint64_t) else MOVE_BUILD(sm_u128, sm_u128)
    }
}

static sm_flow run_gather_build(sm_batch_state *s, sm_instr *in)
{
    sm_live *l = s->lives[0];
    const uint16_t *sel = sm_live_sel(s, l);
    uint32_t n = l->n;
    sm_reg *to = in->out;
    const sm_flat_col *c = to->build;
    const uint32_t *rows = to->index->rows;
    bool outer = to->index->outer;
    to->v.valid = NULL;
    if (to->index->is_empty) { /* every row's is NULL; values are whatever stands there */
        memset(to->valid_room, 0, sm_bit_words(s->n_rows) * sizeof(uint64_t));
        to->v.valid = to->valid_room;
        return SM_FLOW_NEXT;
    }
    gather_32(to->room, c, to->v.phys != c->phys, rows, sel, n, outer);
    if (!outer && !c->valid) return SM_FLOW_NEXT;
    EACH({
        bool here = rows[i] != SM_NO_BUILD_ROW;
        set_bit(to->valid_room, i, here && (!c->valid || sm_bit_get(c->valid, rows[i])));
    })
    to->v.valid = to->valid_room;
    return SM_FLOW_NEXT;
}

/* ---- open ------------------------------------------------------------------------------------ */

static void want(sm_index *x)
{
    for (; x && !x->wanted; x = x->before) x->wanted = true;
}

sm_status sm_batch_gather(sm_batch_state *s, sm_reg *r)
{
    sm_arena *a = &s->w->arena;
    bool build = r->origin == SM_ORIGIN_BUILD;
    bool by_code = r->source_col >= 0 && s->w->p->source.cols[r->source_col].dict;
    if (by_code) SM_TRY(sm_batch_want_codes(s, r->base));
    if (!build) SM_TRY(by_code ? SM_OK : sm_batch_want_values(s, r->base));
    if (!build) r->v.phys = r->base->v.phys;
    want(r->index);
    r->scan = s->n_instrs;
    sm_instr *in = sm_batch_instr(s, build ? run_gather_build : run_gather);
    if (!in) return sm_arena_failed(a, &s->w->err);
    in->out = r;
    in->by_code = by_code;
    if (by_code) return SM_OK; /* codes or values, as they are asked for */
    size_t bytes = sm_phys_bytes(r->v.phys) * SM_BATCH_ROWS;
    r->room = in->room.data = sm_arena_vector(a, bytes);
    if (!r->room) return sm_arena_failed(a, &s->w->err);
    memset(r->room, 0, bytes);
    r->v.data = r->room;
    return SM_OK;
}
