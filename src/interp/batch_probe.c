/* The instructions of a probe: PROBE, which narrows the batch or fills one of its own with the next
 * pairs, and FINISH, which decides behind the residual what the pairs mean. Read batch_probe.h
 * first; row_probe.c says the same row by row. */
#include "interp/batch_probe.h"

static bool is_outer(sm_join_kind kind)
{
    return kind == SM_JOIN_LEFT || kind == SM_JOIN_FULL || kind == SM_JOIN_SINGLE;
}

static void note_matched(sm_batch_probe *p, uint32_t build_row)
{
    _Atomic uint8_t *m = &p->t->matched[build_row];
    if (!atomic_load_explicit(m, memory_order_relaxed))
        atomic_store_explicit(m, 1, memory_order_relaxed);
}

/* ---- a probe that narrows -------------------------------------------------------------------- */

/* Whether NULLs on either side can make a comparison NULL that finds no match. */
static bool has_unknowns(const sm_batch_probe *p)
{
    if (!p->t->n_rows || !p->p->n_keys) return false;
    if (p->t->has_null_key) return true;
    for (uint32_t k = 0; k < p->p->n_keys; k++)
        if (p->key_vecs[k].valid && !p->p->null_safe[k]) return true;
    return false;
}

static sm_flow keep_unmatched(sm_batch_state *s, sm_batch_probe *p, sm_live *l)
{
    const uint16_t *sel = sm_live_sel(s, l);
    bool asks = p->p->kind == SM_JOIN_NULL_ANTI && has_unknowns(p);
    for (uint32_t k = 0; k < l->n; k++) {
        uint32_t i = sel ? sel[k] : k;
        p->keep[i] = !p->keep[i] && !(asks && sm_match_unknown(p, i));
    }
    return sm_live_keep(s, l, p->keep);
}

static void mark_rows(sm_batch_state *s, sm_batch_probe *p, sm_live *l)
{
    sm_reg *mark = p->mark;
    memcpy(mark->room, p->keep, s->n_rows);
    mark->v.valid = NULL;
    if (!has_unknowns(p)) return;
    const uint16_t *sel = sm_live_sel(s, l);
    memset(mark->valid_room, 0xFF, sm_bit_words(s->n_rows) * sizeof(uint64_t));
    for (uint32_t k = 0; k < l->n; k++) {
        uint32_t i = sel ? sel[k] : k;
        if (!p->keep[i] && sm_match_unknown(p, i)) sm_bit_clear(mark->valid_room, i);
    }
    mark->v.valid = mark->valid_room;
}

static void clear_unmatched(sm_batch_state *s, sm_batch_probe *p)
{
    for (uint32_t i = 0; i < s->n_rows; i++)
        p->build_rows[i] = p->keep[i] ? p->build_rows[i] : SM_NO_BUILD_ROW;
}

static sm_flow run_narrowing(sm_batch_state *s, sm_instr *in)
{
    sm_batch_probe *p = in->probe;
    sm_join_kind kind = p->p->kind;
    sm_live *l = s->lives[0];
    memset(p->keep, 0, s->n_rows);
    sm_match_candidates(s, p, l, false);
    if (!sm_match_first(p, kind == SM_JOIN_SINGLE && !p->t->unique)) return SM_FLOW_REFUSE;
    if (p->t->matched) {
        for (uint32_t k = 0; k < p->n; k++)
            if (p->keep[p->rows[k]]) note_matched(p, p->build_rows[p->rows[k]]);
    }
    if (kind == SM_JOIN_ANTI || kind == SM_JOIN_NULL_ANTI) return keep_unmatched(s, p, l);
    if (kind == SM_JOIN_MARK) {
        mark_rows(s, p, l);
        return SM_FLOW_NEXT;
    }
    if (is_outer(kind)) {
        clear_unmatched(s, p);
        return SM_FLOW_NEXT;
    }
    return sm_live_keep(s, l, p->keep);
}

/* ---- a probe that makes batches of its own --------------------------------------------------- */

/* With a residual, a NULL of the keys would need all build rows: the row tier goes through them. */
static bool is_too_unknown(sm_batch_state *s, sm_batch_probe *p, sm_live *l)
{
    if (p->p->kind != SM_JOIN_MARK && p->p->kind != SM_JOIN_NULL_ANTI) return false;
    if (!has_unknowns(p)) return false;
    const uint16_t *sel = sm_live_sel(s, l);
    for (uint32_t k = 0; k < l->n; k++)
        if (sm_match_unknown(p, sel ? sel[k] : k)) return true;
    return false;
}

static sm_flow start(sm_batch_state *s, sm_batch_probe *p)
{
    sm_live *l = s->lives[0];
    bool all = p->finishes || is_outer(p->p->kind);
    p->any = p->unknown = false;
    p->n_in = s->n_rows;
    sm_match_candidates(s, p, l, all);
    if (p->n) p->pos = p->begin[0];
    return is_too_unknown(s, p, l) ? SM_FLOW_REFUSE : SM_FLOW_NEXT;
}

static bool decides_by_one(sm_join_kind kind)
{
    return kind >= SM_JOIN_SEMI && kind != SM_JOIN_SINGLE;
}

/* The next pairs, at most a batch of them. */
static void fill(sm_batch_state *s, sm_batch_probe *p)
{
    uint32_t m = 0, cap = s->w->batch_rows, k = p->k, pos = p->pos;
    bool ends = p->finishes ? p->p->kind != SM_JOIN_RIGHT : is_outer(p->p->kind), any = p->any;
    if (p->finishes && any && decides_by_one(p->p->kind) && k < p->n) pos = p->end[k];
    while (k < p->n && m < cap) {
        uint32_t i = p->rows[k], end = p->end[k];
        for (; m < cap; m++, pos++) {
            pos = pos < end ? sm_match_next(p, i, pos, end) : end;
            if (pos == end) break;
            p->input_rows[m] = (uint16_t)i;
            p->build_rows[m] = sm_match_build_row(p, pos);
            any = true;
        }
        if (m == cap && (pos < end || ends)) break;
        if (ends && (p->finishes || !any)) {
            p->input_rows[m] = (uint16_t)i;
            p->build_rows[m++] = SM_NO_BUILD_ROW;
        }
        if (++k < p->n) pos = p->begin[k];
        any = false;
    }
    p->k = k;
    p->pos = pos;
    if (!p->finishes) p->any = any;
    p->n_out = m;
    p->more = k < p->n;
}

static void carry_indexes(sm_batch_probe *p)
{
    for (uint32_t x = 0; x < p->n_indexes; x++) {
        const sm_index *to = p->indexes[x];
        if (!to->wanted) continue;
        if (to->is_build) {
            const uint32_t *from = to->before->rows;
            uint32_t *rows = to->rows;
            for (uint32_t m = 0; m < p->n_out; m++) rows[m] = from[p->input_rows[m]];
        } else {
            const uint16_t *from = to->before->rows;
            uint16_t *rows = to->rows;
            for (uint32_t m = 0; m < p->n_out; m++) rows[m] = from[p->input_rows[m]];
        }
    }
}

static sm_flow run_expanding(sm_batch_state *s, sm_instr *in)
{
    sm_batch_probe *p = in->probe;
    s->cur = 0;
    if (!p->more && start(s, p) != SM_FLOW_NEXT) return SM_FLOW_REFUSE;
    fill(s, p);
    carry_indexes(p);
    if (p->t->matched && !p->finishes) {
        for (uint32_t m = 0; m < p->n_out; m++)
            if (p->build_rows[m] != SM_NO_BUILD_ROW) note_matched(p, p->build_rows[m]);
    }
    s->n_rows = p->n_out;
    s->from = p->from->rows;
    sm_live_all(s->lives[0], p->n_out);
    return p->n_out ? SM_FLOW_NEXT : SM_FLOW_JUMP;
}

/* ---- behind the residual --------------------------------------------------------------------- */

/* The live set of the residual: rows that are pairs. */
static sm_flow run_pairs(sm_batch_state *s, sm_instr *in)
{
    sm_batch_probe *p = in->probe;
    sm_live *l = s->lives[in->to_live];
    for (uint32_t m = 0; m < p->n_out; m++) p->keep[m] = p->build_rows[m] != SM_NO_BUILD_ROW;
    sm_live_all(l, p->n_out);
    s->cur = in->to_live;
    return sm_live_keep(s, l, p->keep);
}

/* Whether the row without a build row, which ends an input row's pairs, stays. */
static bool keeps_end(sm_join_kind kind, bool any, bool unknown)
{
    switch (kind) {
    case SM_JOIN_SEMI: return any;
    case SM_JOIN_NULL_ANTI: return !any && !unknown;
    case SM_JOIN_MARK: return true;
    default: return !any; /* ANTI, LEFT, FULL, SINGLE */
    }
}

static sm_flow run_finish(sm_batch_state *s, sm_instr *in)
{
    sm_batch_probe *p = in->probe;
    sm_join_kind kind = p->p->kind;
    const sm_vec *v = &in->arg[0]->v;
    const uint8_t *b = v->data;
    bool any = p->any, unknown = p->unknown, pairs_stay = !decides_by_one(kind);
    s->cur = 0;
    if (p->mark) {
        memset(p->mark->valid_room, 0xFF, sm_bit_words(s->n_rows) * sizeof(uint64_t));
        p->mark->v.valid = p->mark->valid_room;
    }
    for (uint32_t m = 0; m < p->n_out; m++) {
        if (p->build_rows[m] != SM_NO_BUILD_ROW) {
            bool valid = !v->valid || sm_bit_get(v->valid, m), match = valid && b[m];
            if (match && any && kind == SM_JOIN_SINGLE) return SM_FLOW_REFUSE;
            if (match && p->t->matched) note_matched(p, p->build_rows[m]);
            any |= match;
            unknown |= !valid;
            p->keep[m] = match && pairs_stay;
            continue;
        }
        p->keep[m] = keeps_end(kind, any, unknown);
        if (p->mark) {
            ((uint8_t *)p->mark->room)[m] = any;
            if (!any && unknown) sm_bit_clear(p->mark->valid_room, m);
        }
        any = unknown = false;
    }
    p->any = any;
    p->unknown = unknown;
    return sm_live_keep(s, s->lives[0], p->keep);
}

uint32_t sm_batch_probe_more(const sm_batch_state *s)
{
    for (uint32_t i = s->n_probes; i-- > 0;)
        if (s->probes[i]->more) return s->probes[i]->at;
    return SM_NO_INSTR;
}

void sm_batch_probe_begin(sm_batch_state *s)
{
    for (uint32_t i = 0; i < s->n_probes; i++) s->probes[i]->more = false;
}

/* ---- open ------------------------------------------------------------------------------------ */

static sm_status no_memory(sm_batch_state *s)
{
    return sm_arena_failed(&s->w->arena, &s->w->err);
}

/* One key of a kind whose hash is a bijection of it. */
static bool hash_is_key(const sm_probe *p, const sm_join_table *t)
{
    if (p->n_keys != 1 || p->null_safe[0] || sm_hash_zero()) return false;
    switch (t->cols[0].phys) {
    case SM_PHYS_BOOL:
    case SM_PHYS_I16:
    case SM_PHYS_I32:
    case SM_PHYS_I64:
    case SM_PHYS_F64: return true;
    default: return false;
    }
}

static bool must_expand(const sm_batch_probe *p)
{
    const sm_join_table *t = p->t;
    bool at_most_one = p->p->n_keys ? t->unique : t->n_rows <= 1;
    switch (p->p->kind) {
    case SM_JOIN_INNER: return !at_most_one; /* the residual is a filter then */
    case SM_JOIN_LEFT:
    case SM_JOIN_RIGHT:
    case SM_JOIN_FULL: return !at_most_one || p->p->residual;
    default: return p->p->residual != NULL;
    }
}

static sm_status open_rooms(sm_batch_state *s, sm_batch_probe *p)
{
    sm_arena *a = &s->w->arena;
    uint32_t n_keys = p->p->n_keys;
    p->keys = SM_NEW_N(a, sm_reg *, n_keys + 1);
    p->key_vecs = SM_NEW_N(a, sm_vec, n_keys + 1);
    p->key_types = SM_NEW_N(a, sm_type, n_keys + 1);
    p->key_values = SM_NEW_N(a, sm_value, n_keys + 1);
    p->indexes = SM_NEW_N(a, sm_index *, s->n_env + 2);
    p->hashes = sm_arena_vector(a, SM_BATCH_ROWS * sizeof(uint64_t));
    p->found = sm_arena_vector(a, SM_MASK_WORDS * sizeof(uint64_t));
    p->keep = sm_arena_vector(a, SM_BATCH_ROWS + 64);
    p->rows = sm_arena_vector(a, (SM_BATCH_ROWS + 1) * sizeof(uint16_t));
    p->begin = sm_arena_vector(a, (SM_BATCH_ROWS + 1) * sizeof(uint32_t));
    p->end = sm_arena_vector(a, (SM_BATCH_ROWS + 1) * sizeof(uint32_t));
    p->build_rows = sm_arena_vector(a, SM_BATCH_ROWS * sizeof(uint32_t));
    p->input_rows = sm_arena_vector(a, SM_BATCH_ROWS * sizeof(uint16_t));
    bool all = p->keys && p->key_vecs && p->key_types && p->key_values && p->indexes && p->hashes &&
               p->found && p->keep && p->rows && p->begin && p->end && p->build_rows &&
               p->input_rows;
    if (!all) return no_memory(s);
    memset(p->build_rows, 0, SM_BATCH_ROWS * sizeof(uint32_t)); /* dead rows gather row 0 */
    memset(p->input_rows, 0, SM_BATCH_ROWS * sizeof(uint16_t));
    return SM_OK;
}

/* Keys live as long as the probe may go on, so their rooms are not given back. */
static sm_status open_keys(sm_batch_state *s, sm_batch_probe *p, const sm_step *step)
{
    for (uint32_t i = 0; i < p->p->n_keys; i++) {
        const sm_expr *e = step->proved[i];
        SM_TRY(sm_batch_scans(s, e));
        SM_TRY(sm_batch_expr(s, e, &p->keys[i]));
        SM_TRY(sm_batch_convert(s, p->keys[i], sm_type_phys(e->type), &p->keys[i]));
        p->keys[i]->pinned = true;
    }
    return SM_OK;
}

static sm_index *new_index(sm_batch_state *s, void *rows, bool is_build, sm_index *before)
{
    sm_index *x = SM_NEW(&s->w->arena, sm_index);
    if (!x) return NULL;
    *x = (sm_index){.rows = rows, .is_build = is_build, .before = before};
    if (before) x->outer = before->outer, x->is_empty = before->is_empty;
    if (rows) return x;
    size_t bytes = SM_BATCH_ROWS * (is_build ? sizeof(uint32_t) : sizeof(uint16_t));
    x->rows = sm_arena_vector(&s->w->arena, bytes);
    if (!x->rows) return NULL;
    memset(x->rows, 0, bytes);
    return x;
}

static sm_reg *new_reg(sm_batch_state *s, sm_phys phys, sm_origin origin, sm_index *index)
{
    sm_reg *r = sm_batch_reg(s, phys, false);
    if (!r) return NULL;
    r->pinned = true;
    r->origin = origin;
    r->index = index;
    r->scan = SM_NO_INSTR;
    return r;
}

/* The index of the batch that p makes, for what `before` was an index of in its input. */
static sm_index *carried(sm_batch_state *s, sm_batch_probe *p, sm_index *before)
{
    for (uint32_t x = 0; x < p->n_indexes; x++)
        if (p->indexes[x]->before == before) return p->indexes[x];
    sm_index *x = new_index(s, NULL, before->is_build, before);
    if (x) p->indexes[p->n_indexes++] = x;
    return x;
}

/* Column r of the input, in the batch that p makes: the scan's by the scanned row, so that nothing
 * is gathered twice; what was computed, or has been gathered, from there. */
static sm_reg *carry_reg(sm_batch_state *s, sm_batch_probe *p, sm_index *direct, sm_reg *r)
{
    bool again = r->origin != SM_ORIGIN_HERE && (r->scan == SM_NO_INSTR || r->source_col >= 0);
    sm_index *index = again ? carried(s, p, r->index) : direct;
    sm_reg *to = index ? new_reg(s, r->v.phys, again ? r->origin : SM_ORIGIN_REG, index) : NULL;
    if (!to) return NULL;
    to->range = r->range;
    to->source_col = r->source_col;
    to->base = again ? r->base : r;
    to->build = r->build;
    return to;
}

static sm_reg *build_reg(sm_batch_state *s, sm_batch_probe *p, sm_index *index, uint32_t column)
{
    const sm_flat_col *c = &p->t->cols[column];
    const sm_table_col *stats = &p->t->rows->cols[column];
    sm_reg *r = new_reg(s, c->phys, SM_ORIGIN_BUILD, index);
    if (!r) return NULL;
    r->build = c;
    if (!stats->has_minmax || c->phys > SM_PHYS_I128) return r;
    r->range = (sm_range){true, sm_value_int(&stats->min, c->phys),
                          sm_value_int(&stats->max, c->phys)};
    if (c->phys == SM_PHYS_I128 && r->range.lo == (int64_t)r->range.lo &&
        r->range.hi == (int64_t)r->range.hi)
        r->v.phys = SM_PHYS_I64;
    return r;
}

/* The columns behind the probe as the residual sees them. */
static sm_status open_columns(sm_batch_state *s, sm_batch_probe *p)
{
    uint32_t n_in = s->n_env, n_build = p->p->n_build;
    sm_reg **env = SM_NEW_N(&s->w->arena, sm_reg *, n_in + n_build + 1);
    sm_index *direct = new_index(s, p->input_rows, false, NULL);
    sm_index *build = new_index(s, p->build_rows, true, NULL);
    if (!env || !direct || !build) return no_memory(s);
    build->outer = p->finishes || is_outer(p->p->kind);
    build->is_empty = !p->t->n_rows;
    p->from = s->n_probes && p->expands ? carried(s, p, s->probes[s->n_probes - 1]->from) : direct;
    if (!p->from) return no_memory(s);
    p->from->wanted = true;
    for (uint32_t i = 0; i < n_in; i++) {
        env[i] = p->expands ? carry_reg(s, p, direct, s->env[i]) : s->env[i];
        if (!env[i]) return no_memory(s);
    }
    for (uint32_t i = 0; i < n_build; i++) {
        env[n_in + i] = build_reg(s, p, build, p->p->build_cols[i]);
        if (!env[n_in + i]) return no_memory(s);
    }
    s->env = env;
    return SM_OK;
}

static sm_status emit(sm_batch_state *s, sm_batch_probe *p,
                      sm_flow (*run)(sm_batch_state *, sm_instr *), sm_reg *arg)
{
    sm_instr *in = sm_batch_instr(s, run);
    if (!in) return no_memory(s);
    in->probe = p;
    in->arg[0] = arg;
    return SM_OK;
}

/* The residual sees all its columns gathered for every row: those without build row may stay. */
static sm_status open_finish(sm_batch_state *s, sm_batch_probe *p)
{
    uint32_t pairs, jump;
    sm_reg *r;
    SM_TRY(sm_batch_live_push(s, &pairs));
    SM_TRY(sm_batch_scans(s, p->p->residual_proved));
    jump = s->n_instrs;
    SM_TRY(emit(s, p, run_pairs, NULL));
    s->instrs[jump].to_live = pairs;
    s->cur = pairs;
    SM_TRY(sm_batch_expr(s, p->p->residual_proved, &r));
    s->cur = 0;
    s->instrs[jump].target = s->n_instrs;
    SM_TRY(emit(s, p, run_finish, r));
    sm_batch_reg_free(s, r);
    sm_batch_live_pop(s);
    return SM_OK;
}

static sm_status open_filter(sm_batch_state *s, const sm_expr *e)
{
    sm_reg *r;
    SM_TRY(sm_batch_scans(s, e));
    SM_TRY(sm_batch_expr(s, e, &r));
    sm_instr *in = sm_batch_instr(s, sm_run_narrow);
    if (!in) return no_memory(s);
    in->arg[0] = r;
    in->pick = SM_PICK_TRUE;
    sm_batch_reg_free(s, r);
    return SM_OK;
}

sm_status sm_batch_probe_open(sm_batch_state *s, const sm_step *step)
{
    sm_batch_probe *p = SM_NEW(&s->w->arena, sm_batch_probe);
    if (!p) return no_memory(s);
    uint32_t n_in = s->n_env;
    p->p = step->probe;
    p->t = step->probe->table;
    p->by_hash = hash_is_key(p->p, p->t);
    p->expands = must_expand(p);
    p->finishes = p->expands && p->p->residual && p->p->kind != SM_JOIN_INNER;
    SM_TRY(open_rooms(s, p));
    SM_TRY(open_keys(s, p, step));
    p->at = s->n_instrs;
    SM_TRY(emit(s, p, p->expands ? run_expanding : run_narrowing, NULL));
    SM_TRY(open_columns(s, p));
    if (p->expands) s->probes[s->n_probes++] = p;
    if (p->p->kind == SM_JOIN_MARK) {
        p->mark = sm_batch_reg(s, SM_PHYS_BOOL, true);
        if (!p->mark) return no_memory(s);
        p->mark->pinned = true;
    }
    if (p->finishes)
        SM_TRY(open_finish(s, p));
    else if (p->p->residual)
        SM_TRY(open_filter(s, p->p->residual_proved));
    if (p->mark) s->env[n_in] = p->mark;
    s->n_env = p->p->n_out;
    return SM_OK;
}
