/* Makes the row tier's chain for a worker: slots, expressions over slots, and which node reads
 * which source column. Read row_state.h first. */
#include <time.h>

#include "interp/row_state.h"

static sm_status no_memory(sm_row_state *s)
{
    return sm_arena_failed(&s->w->arena, &s->w->err);
}

sm_status sm_row_need(sm_row_state *s, sm_row_node *n, const uint32_t *slots, uint32_t n_slots)
{
    const sm_source *source = &s->w->p->source;
    sm_row_load *more = SM_NEW_N(&s->w->arena, sm_row_load, n->n_loads + n_slots + 1);
    if (!more) return no_memory(s);
    if (n->n_loads) memcpy(more, n->loads, n->n_loads * sizeof *more);
    n->loads = more;
    for (uint32_t i = 0; i < n_slots; i++) {
        uint32_t column = slots[i];
        if (column >= source->n_cols || s->loaded[column]) continue;
        s->loaded[column] = true;
        n->loads[n->n_loads++] = (sm_row_load){
            .column = column, .type = source->cols[column].type, .slot = &s->values[column]};
    }
    return SM_OK;
}

typedef struct rename_walk {
    sm_row_state *s;
    sm_row_node *node;
    sm_status status;
} rename_walk;

static bool rename_node(const sm_expr *e, void *arg)
{
    rename_walk *walk = arg;
    if (e->kind != SM_EXPR_COLUMN) return true;
    sm_expr *own = (sm_expr *)(uintptr_t)e; /* of the clone that the walk was started with */
    own->column = walk->s->env[e->column];
    walk->status = sm_row_need(walk->s, walk->node, &own->column, 1);
    return walk->status == SM_OK;
}

sm_status sm_row_expr(sm_row_state *s, sm_row_node *n, const sm_expr *e, sm_expr **out)
{
    rename_walk walk = {s, n, SM_OK};
    *out = sm_expr_clone(&s->w->arena, e);
    if (!*out) return no_memory(s);
    sm_expr_walk(*out, rename_node, &walk);
    return walk.status;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static sm_row_flow source_next(sm_row_node *n)
{
    sm_row_state *s = n->s;
    if (s->row >= s->end) return SM_ROW_END;
    if (SM_UNLIKELY(s->w->scratch.at != NULL)) sm_arena_rewind(&s->w->scratch);
    s->row++;
    return SM_ROW_HERE;
}

static sm_row_flow fail(sm_row_state *s, sm_status status)
{
    s->status = status;
    return SM_ROW_FAILED;
}

static sm_row_flow filter_next(sm_row_node *n)
{
    sm_row_state *s = n->s;
    sm_value keep;
    for (;;) {
        sm_row_flow flow = n->input->next(n->input);
        if (flow != SM_ROW_HERE) return flow;
        sm_row_read(n, s->row - 1);
        sm_status status = sm_expr_eval(&s->ev, n->exprs[0], &keep);
        if (SM_UNLIKELY(status != SM_OK)) return fail(s, status);
        if (keep.is_null || !keep.b) continue;
        n->rows_out++;
        return SM_ROW_HERE;
    }
}

static sm_row_flow project_next(sm_row_node *n)
{
    sm_row_state *s = n->s;
    sm_row_flow flow = n->input->next(n->input);
    if (flow != SM_ROW_HERE) return flow;
    sm_row_read(n, s->row - 1);
    for (uint32_t i = 0; i < n->n_exprs; i++) {
        sm_status status = sm_expr_eval(&s->ev, n->exprs[i], n->slots[i]);
        if (SM_UNLIKELY(status != SM_OK)) return fail(s, status);
    }
    n->rows_out++;
    return SM_ROW_HERE;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static sm_row_flow timed_next(sm_row_node *n)
{
    uint64_t start = now_ns();
    sm_row_flow flow = n->timed(n);
    n->ns += now_ns() - start;
    return flow;
}

static sm_status open_project(sm_row_state *s, sm_row_node *n, const sm_step *step)
{
    sm_arena *a = &s->w->arena;
    uint32_t *env = SM_NEW_N(a, uint32_t, step->n_exprs + 1);
    n->exprs = SM_NEW_N(a, sm_expr *, step->n_exprs + 1);
    n->slots = SM_NEW_N(a, sm_value *, step->n_exprs + 1);
    if (!env || !n->exprs || !n->slots) return no_memory(s);
    for (uint32_t i = 0; i < step->n_exprs; i++) {
        const sm_expr *e = step->exprs[i];
        if (e->kind == SM_EXPR_COLUMN) {
            env[i] = s->env[e->column];
            continue;
        }
        SM_TRY(sm_row_expr(s, n, e, &n->exprs[n->n_exprs]));
        n->slots[n->n_exprs++] = &s->values[s->n_slots];
        env[i] = s->n_slots++;
    }
    s->env = env;
    s->n_env = step->n_exprs;
    n->next = project_next;
    return SM_OK;
}

static sm_status open_step(sm_row_state *s, sm_row_node *n, const sm_step *step)
{
    if (step->kind == SM_STEP_PROJECT) return open_project(s, n, step);
    if (step->kind == SM_STEP_PROBE) return sm_row_probe_open(s, n, step);
    n->exprs = SM_NEW_N(&s->w->arena, sm_expr *, 1);
    if (!n->exprs) return no_memory(s);
    n->n_exprs = 1;
    n->next = filter_next;
    return sm_row_expr(s, n, step->exprs[0], &n->exprs[0]);
}

static sm_status open_slots(sm_row_state *s)
{
    const sm_pipeline *p = s->w->p;
    sm_arena *a = &s->w->arena;
    uint32_t n = p->source.n_cols + 1;
    for (uint32_t i = 0; i < p->n_steps; i++)
        n += p->steps[i].probe ? sm_row_probe_slots(&p->steps[i]) : p->steps[i].n_exprs;
    s->n_slots = s->n_env = p->source.n_cols;
    s->values = SM_NEW_N(a, sm_value, n);
    s->env = SM_NEW_N(a, uint32_t, n);
    s->loaded = SM_NEW_N(a, bool, n);
    s->nodes = SM_NEW_N(a, sm_row_node, p->n_steps + 2);
    if (!s->values || !s->env || !s->loaded || !s->nodes) return no_memory(s);
    for (uint32_t i = 0; i < n; i++) s->env[i] = i;
    s->ev = (sm_eval){.row = s->values, .scratch = &s->w->scratch, .err = &s->w->err};
    return SM_OK;
}

sm_status sm_row_open(sm_worker *w)
{
    sm_row_state *s = SM_NEW(&w->arena, sm_row_state);
    uint32_t n_steps = w->p->n_steps;
    if (!s) return sm_arena_failed(&w->arena, &w->err);
    s->w = w;
    s->expands = sm_expands(w->p);
    SM_TRY(open_slots(s));
    s->nodes[0].next = source_next;
    for (uint32_t i = 0; i <= n_steps; i++) {
        sm_row_node *n = &s->nodes[i];
        n->s = s;
        if (i) {
            n->input = s->top;
            SM_TRY(open_step(s, n, &w->p->steps[i - 1]));
            n->passes_on = n->next == project_next && !n->n_exprs;
        }
        if (!n->passes_on) s->top = n;
        if (!w->timing) continue;
        n->timed = n->next;
        n->next = timed_next;
    }
    SM_TRY(sm_row_sink_open(s, &s->nodes[n_steps + 1]));
    w->row = s;
    return SM_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static void begin(sm_row_state *s, const sm_pin *pin, uint32_t from, uint32_t to)
{
    s->pin = pin;
    s->row = s->from = from;
    s->end = to;
    s->status = SM_OK;
    s->last_row = 0; /* none: rows are counted from 1 here */
    for (uint32_t i = 0; i <= s->w->p->n_steps + 1; i++) {
        sm_row_node *n = &s->nodes[i];
        n->rows_out = n->ns = 0;
        if (n->probe) sm_row_probe_begin(n);
        for (uint32_t k = 0; k < n->n_loads; k++) sm_row_load_choose(&n->loads[k], pin->chunk);
    }
    sm_row_sink_begin(s);
}

static void count(sm_row_state *s, uint64_t sunk_rows, uint64_t total_ns)
{
    sm_step_stats *stats = s->w->stats;
    uint32_t n_steps = s->w->p->n_steps;
    uint64_t below = 0;
    s->nodes[0].rows_out = s->row - s->from;
    for (uint32_t i = 0; i <= n_steps; i++) {
        sm_row_node *n = &s->nodes[i];
        if (n->passes_on) {
            n->rows_out = s->nodes[i - 1].rows_out;
            n->ns = below;
        }
        if (i) stats[i].rows_out += n->rows_out;
        stats[i].ns += n->ns - below;
        below = n->ns;
    }
    stats[n_steps + 1].rows_out += sunk_rows;
    if (s->w->timing) stats[n_steps + 1].ns += total_ns - below;
}

sm_status sm_row_run(sm_worker *w, const sm_pin *pin, uint32_t from, uint32_t to)
{
    sm_row_state *s = w->row;
    sm_row_node *top = s->top;
    uint64_t sunk = 0, start = w->timing ? now_ns() : 0;
    begin(s, pin, from, to);
    while (w->rows_left) {
        sm_row_flow flow = top->next(top);
        if (SM_UNLIKELY(flow != SM_ROW_HERE)) break;
        sunk++;
        sm_row_count(s);
        if (SM_UNLIKELY(w->drop_rows)) {
            w->drop_rows--;
            continue;
        }
        s->status = s->sink(s);
        if (SM_UNLIKELY(s->status != SM_OK)) break;
    }
    count(s, sunk, w->timing ? now_ns() - start : 0);
    return s->status;
}
