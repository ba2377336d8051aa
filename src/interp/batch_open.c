/* Compiles a pipeline's steps into the batch tier's instruction list, once per worker. A step's
 * columns are registers; a plain COLUMN projection is only another name for one. Everything is
 * allocated here, nothing per batch. Read batch_state.h first; expressions are in batch_expr.c. */
#include "interp/batch_state.h"

/* A buffer of values that no living register uses. */
struct sm_room {
    struct sm_room *next;
    void *data;
    size_t bytes; /* of a value */
};

static void *new_room(sm_batch_state *s, size_t bytes)
{
    for (struct sm_room **at = &s->free_rooms; *at; at = &(*at)->next) {
        struct sm_room *r = *at;
        if (r->bytes != bytes) continue;
        *at = r->next;
        return r->data;
    }
    return sm_arena_vector(&s->w->arena, bytes * SM_BATCH_ROWS);
}

sm_reg *sm_batch_reg(sm_batch_state *s, sm_phys phys, bool with_room)
{
    sm_reg *r = SM_NEW(&s->w->arena, sm_reg);
    if (!r) return NULL;
    r->v.phys = phys;
    r->source_col = -1;
    r->valid_room = sm_arena_vector(&s->w->arena, (SM_MASK_WORDS + 1) * sizeof(uint64_t));
    if (with_room) r->room = new_room(s, sm_phys_bytes(phys));
    if (!r->valid_room || (with_room && !r->room)) return NULL;
    r->v.data = r->room;
    return r;
}

void sm_batch_reg_free(sm_batch_state *s, sm_reg *r)
{
    if (!r || r->pinned || !r->room) return;
    struct sm_room *room = SM_NEW(&s->w->arena, struct sm_room);
    if (!room) return; /* the buffer is not used again, that is all */
    *room = (struct sm_room){s->free_rooms, r->room, sm_phys_bytes(r->v.phys)};
    s->free_rooms = room;
}

sm_instr *sm_batch_instr(sm_batch_state *s, sm_flow (*run)(sm_batch_state *, sm_instr *))
{
    if (s->n_instrs == s->cap_instrs) {
        uint32_t cap = s->cap_instrs ? s->cap_instrs * 2 : 16;
        sm_instr *more = SM_NEW_N(&s->w->arena, sm_instr, cap);
        if (!more) return NULL;
        if (s->n_instrs) memcpy(more, s->instrs, s->n_instrs * sizeof *more);
        s->instrs = more;
        s->cap_instrs = cap;
    }
    sm_instr *in = &s->instrs[s->n_instrs++];
    in->run = run;
    in->target = SM_NO_INSTR;
    in->from_live = in->to_live = s->cur;
    return in;
}

static sm_status make_live(sm_batch_state *s)
{
    sm_arena *a = &s->w->arena;
    if (s->made_lives == s->cap_lives) {
        uint32_t cap = s->cap_lives ? s->cap_lives * 2 : 4;
        sm_live **more = SM_NEW_N(a, sm_live *, cap);
        if (!more) return sm_arena_failed(a, &s->w->err);
        if (s->made_lives) memcpy(more, s->lives, s->made_lives * sizeof(sm_live *));
        s->lives = more;
        s->cap_lives = cap;
    }
    sm_live *l = SM_NEW(a, sm_live);
    if (!l) return sm_arena_failed(a, &s->w->err);
    l->mask_room = sm_arena_vector(a, SM_MASK_WORDS * sizeof(uint64_t));
    l->sel = sm_arena_vector(a, (SM_BATCH_ROWS + 32) * sizeof(uint16_t));
    if (!l->mask_room || !l->sel) return sm_arena_failed(a, &s->w->err);
    s->lives[s->made_lives++] = l;
    return SM_OK;
}

sm_status sm_batch_live_push(sm_batch_state *s, uint32_t *number)
{
    if (s->n_lives == s->made_lives) SM_TRY(make_live(s));
    *number = s->n_lives++;
    return SM_OK;
}

void sm_batch_live_pop(sm_batch_state *s)
{
    s->n_lives--;
}

/* ---- scans ----------------------------------------------------------------------------------- */

static sm_phys scan_phys(const sm_batch_state *s, uint32_t column)
{
    return sm_type_phys(s->w->p->source.cols[column].type);
}

static sm_status emit_scan(sm_batch_state *s, sm_reg *r, sm_phys phys)
{
    if (r->origin == SM_ORIGIN_HERE && r->source_col < 0) return SM_OK;
    if (r->scan != SM_NO_INSTR) return SM_OK;
    if (r->origin == SM_ORIGIN_REG) SM_TRY(emit_scan(s, r->base, phys));
    if (r->origin != SM_ORIGIN_HERE) return sm_batch_gather(s, r);
    r->v.phys = phys;
    r->scan = s->n_instrs;
    sm_instr *in = sm_batch_instr(s, sm_run_scan);
    if (!in) return sm_arena_failed(&s->w->arena, &s->w->err);
    in->out = r;
    in->column = (uint32_t)r->source_col;
    in->phys = phys;
    in->room.valid = r->valid_room;
    return SM_OK;
}

sm_status sm_batch_scan_column(sm_batch_state *s, uint32_t column)
{
    sm_reg *r = s->env[column];
    return emit_scan(s, r, r->source_col < 0 ? r->v.phys : scan_phys(s, (uint32_t)r->source_col));
}

typedef struct scan_walk {
    sm_batch_state *s;
    sm_status status;
} scan_walk;

static bool scan_node(const sm_expr *e, void *arg)
{
    scan_walk *walk = arg;
    if (e->kind != SM_EXPR_COLUMN) return true;
    sm_reg *r = walk->s->env[e->column];
    walk->status = emit_scan(walk->s, r, e->phys);
    return walk->status == SM_OK;
}

sm_status sm_batch_scans(sm_batch_state *s, const sm_expr *e)
{
    scan_walk walk = {s, SM_OK};
    sm_expr_walk(e, scan_node, &walk);
    return walk.status;
}

sm_status sm_batch_want_values(sm_batch_state *s, sm_reg *r)
{
    if (r->source_col < 0) return SM_OK;
    sm_decode_room *room = &s->instrs[r->scan].room;
    if (room->data) return SM_OK;
    /* Not a room that is free now: between the scan and here it was not. */
    room->data = sm_arena_vector(&s->w->arena, sm_phys_bytes(r->v.phys) * SM_BATCH_ROWS);
    return room->data ? SM_OK : sm_arena_failed(&s->w->arena, &s->w->err);
}

sm_status sm_batch_want_codes(sm_batch_state *s, sm_reg *r)
{
    sm_decode_room *room = &s->instrs[r->scan].room;
    if (room->codes) return SM_OK;
    room->codes = sm_arena_vector(&s->w->arena, SM_BATCH_ROWS * sizeof(uint16_t));
    return room->codes ? SM_OK : sm_arena_failed(&s->w->arena, &s->w->err);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Whether a filter may be cut into one filter per argument: rows leave at the first that is not
 * TRUE, but AND evaluates its later arguments where an earlier one is NULL, and one that fails
 * there must fail. */
static bool may_cut(const sm_expr *e)
{
    bool nullable = false;
    if (e->kind != SM_EXPR_AND) return false;
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (nullable && e->args[i]->can_fail) return false;
        nullable |= e->args[i]->nullable;
    }
    return true;
}

static sm_status compile_filter(sm_batch_state *s, const sm_expr *e)
{
    sm_reg *r;
    if (may_cut(e)) {
        for (uint32_t i = 0; i < e->n_args; i++) SM_TRY(compile_filter(s, e->args[i]));
        return SM_OK;
    }
    SM_TRY(sm_batch_scans(s, e));
    SM_TRY(sm_batch_expr(s, e, &r));
    sm_instr *in = sm_batch_instr(s, sm_run_narrow);
    if (!in) return sm_arena_failed(&s->w->arena, &s->w->err);
    in->arg[0] = r;
    in->pick = SM_PICK_TRUE;
    sm_batch_reg_free(s, r);
    return SM_OK;
}

static sm_status compile_project(sm_batch_state *s, const sm_step *step)
{
    sm_reg **out = SM_NEW_N(&s->w->arena, sm_reg *, step->n_exprs ? step->n_exprs : 1);
    if (!out) return sm_arena_failed(&s->w->arena, &s->w->err);
    for (uint32_t i = 0; i < step->n_exprs; i++) {
        const sm_expr *e = step->proved[i];
        if (e->kind == SM_EXPR_COLUMN) {
            out[i] = s->env[e->column];
            continue;
        }
        SM_TRY(sm_batch_scans(s, e));
        SM_TRY(sm_batch_expr(s, e, &out[i]));
        out[i]->pinned = true;
        if (e->range.known) out[i]->range = e->range;
    }
    s->env = out;
    s->n_env = step->n_exprs;
    return SM_OK;
}

static sm_status compile_step(sm_batch_state *s, const sm_step *step)
{
    switch (step->kind) {
    case SM_STEP_FILTER: return compile_filter(s, step->proved[0]);
    case SM_STEP_PROJECT: return compile_project(s, step);
    default: return sm_batch_probe_open(s, step);
    }
}

static sm_status compile_steps(sm_batch_state *s)
{
    const sm_pipeline *p = s->w->p;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        SM_TRY(compile_step(s, &p->steps[i]));
        sm_instr *in = sm_batch_instr(s, sm_run_step_end);
        if (!in) return sm_arena_failed(&s->w->arena, &s->w->err);
        in->column = i;
    }
    return SM_OK;
}

static sm_status make_sources(sm_batch_state *s)
{
    const sm_source *source = &s->w->p->source;
    s->env = SM_NEW_N(&s->w->arena, sm_reg *, source->n_cols ? source->n_cols : 1);
    if (!s->env) return sm_arena_failed(&s->w->arena, &s->w->err);
    s->n_env = source->n_cols;
    for (uint32_t i = 0; i < source->n_cols; i++) {
        const sm_table_col *col = &source->cols[i];
        sm_reg *r = s->env[i] = sm_batch_reg(s, sm_type_phys(col->type), false);
        if (!r) return sm_arena_failed(&s->w->arena, &s->w->err);
        r->source_col = (int32_t)i;
        r->scan = SM_NO_INSTR;
        r->pinned = true;
        if (col->has_minmax && r->v.phys <= SM_PHYS_I128)
            r->range = (sm_range){true, sm_value_int(&col->min, r->v.phys),
                                  sm_value_int(&col->max, r->v.phys)};
    }
    return SM_OK;
}

sm_status sm_batch_open(sm_worker *w)
{
    sm_batch_state *s = SM_NEW(&w->arena, sm_batch_state);
    if (!s) return sm_arena_failed(&w->arena, &w->err);
    uint32_t source_rows;
    s->w = w;
    s->ops = sm_op_kernels_get();
    s->agg = sm_agg_kernels_get();
    s->select = sm_select_kernels_get();
    s->nocheck = sm_nocheck_kernels_get();
    s->compare = sm_compare_kernels_get();
    s->step_rows = SM_NEW_N(&w->arena, uint32_t, w->p->n_steps + 1);
    s->step_ns = SM_NEW_N(&w->arena, uint64_t, w->p->n_steps + 1);
    if (!s->step_rows || !s->step_ns) return sm_arena_failed(&w->arena, &w->err);
    SM_TRY(sm_batch_live_push(s, &source_rows));
    SM_TRY(make_sources(s));
    SM_TRY(compile_steps(s));
    SM_TRY(sm_batch_sink_open(s));
    for (uint32_t i = 0; i < s->n_instrs; i++)
        if (s->instrs[i].target == SM_NO_INSTR) s->instrs[i].target = s->n_instrs;
    w->batch = s;
    return SM_OK;
}
