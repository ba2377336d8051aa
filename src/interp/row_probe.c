/* The row tier's probe: for a row of its input, the build rows that match it, one after the other.
 * What a kind of join makes of matches is said here once; the batch tier must agree. A match is a
 * pair of rows whose keys are equal and whose residual is TRUE. Read row_state.h and
 * plan/join_table.h first. */
#include "interp/row_state.h"
#include "plan/join_table.h"

#define NO_MATCH UINT32_MAX

typedef struct build_load {
    const sm_flat_col *col;
    sm_value *slot;
} build_load;

typedef struct sm_row_probe {
    const sm_probe *p;
    sm_join_table *t;
    sm_expr **keys; /* over slots */
    sm_type *types;
    sm_value *values;   /* of the running row's keys */
    sm_expr *residual;  /* over slots; NULL = none */
    build_load *loads;  /* n_build */
    sm_value *mark;     /* MARK: its slot */
    bool open;          /* the running row may have further matches */
    bool matched;       /* it has had one */
    bool unknown;       /* some comparison was NULL */
    uint64_t hash, at, end;
} sm_row_probe;

/* ---- matches --------------------------------------------------------------------------------- */

static void load_value(const sm_flat_col *c, uint32_t row, sm_value *out)
{
    size_t bytes = sm_phys_bytes(c->phys);
    out->is_null = c->valid && !sm_bit_get(c->valid, row);
    memcpy(out, (const char *)c->data + row * bytes, bytes); /* every form begins the union */
}

static void load_build(const sm_row_probe *pr, uint32_t row)
{
    for (uint32_t i = 0; i < pr->p->n_build; i++)
        load_value(pr->loads[i].col, row, pr->loads[i].slot);
}

static void load_nulls(const sm_row_probe *pr)
{
    for (uint32_t i = 0; i < pr->p->n_build; i++) pr->loads[i].slot->is_null = true;
}

static sm_status start(sm_row_node *n)
{
    sm_row_state *s = n->s;
    sm_row_probe *pr = n->probe;
    bool null_key = false;
    pr->open = true;
    pr->matched = pr->unknown = false;
    pr->at = pr->end = 0;
    for (uint32_t i = 0; i < pr->p->n_keys; i++) {
        SM_TRY(sm_expr_eval(&s->ev, pr->keys[i], &pr->values[i]));
        null_key |= pr->values[i].is_null && !pr->p->null_safe[i];
    }
    if (!pr->p->n_keys) {
        pr->end = pr->t->n_rows;
    } else if (pr->t->n_rows && !null_key) {
        pr->hash = sm_join_hash(pr->values, pr->types, pr->p->n_keys);
        sm_join_find(pr->t, pr->hash, &pr->at, &pr->end);
    }
    return SM_OK;
}

/* The next match's build row, loaded. */
static sm_status next_match(sm_row_node *n, uint32_t *row)
{
    sm_row_state *s = n->s;
    sm_row_probe *pr = n->probe;
    sm_value keep;
    for (;;) {
        *row = NO_MATCH;
        if (pr->at >= pr->end) return SM_OK;
        *row = pr->p->n_keys ? sm_join_next(pr->t, pr->hash, pr->values, pr->p->null_safe, &pr->at,
                                            pr->end)
                             : (uint32_t)pr->at++;
        if (*row == NO_MATCH) return SM_OK;
        load_build(pr, *row);
        if (!pr->residual) return SM_OK;
        SM_TRY(sm_expr_eval(&s->ev, pr->residual, &keep));
        if (!keep.is_null && keep.b) return SM_OK;
        pr->unknown |= keep.is_null;
    }
}

/* Whether some build row compares to NULL; asked when none matches. */
static sm_status find_unknown(sm_row_node *n)
{
    sm_row_probe *pr = n->probe;
    sm_value keep;
    uint64_t at = 0;
    while (!pr->unknown && pr->p->n_keys && pr->t->n_rows) {
        uint32_t row = sm_join_next_unknown(pr->t, pr->values, pr->p->null_safe, &at);
        if (row == NO_MATCH) break;
        keep = (sm_value){.is_null = true};
        if (pr->residual) {
            load_build(pr, row);
            SM_TRY(sm_expr_eval(&n->s->ev, pr->residual, &keep));
        }
        pr->unknown = keep.is_null || keep.b;
    }
    return SM_OK;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* The next row that leaves for the running input row; *here false: there is none, or none more. */
static sm_status next_joined(sm_row_node *n, bool outer, bool *here)
{
    sm_row_probe *pr = n->probe;
    uint32_t row;
    SM_TRY(next_match(n, &row));
    *here = row != NO_MATCH;
    if (*here && pr->t->matched)
        atomic_store_explicit(&pr->t->matched[row], 1, memory_order_relaxed);
    if (!*here && outer && !pr->matched) {
        load_nulls(pr);
        *here = true;
    }
    pr->open = row != NO_MATCH;
    pr->matched = true;
    return SM_OK;
}

static sm_status next_single(sm_row_node *n, bool *here)
{
    sm_row_probe *pr = n->probe;
    uint32_t first, second = NO_MATCH;
    SM_TRY(next_match(n, &first));
    if (first != NO_MATCH) SM_TRY(next_match(n, &second));
    if (second != NO_MATCH) return sm_raise(&n->s->w->err, SM_ERR_CARDINALITY);
    if (first != NO_MATCH)
        load_build(pr, first);
    else
        load_nulls(pr);
    pr->open = false;
    *here = true;
    return SM_OK;
}

/* SEMI, ANTI, NULL_ANTI, MARK: at most one row leaves, without build columns. */
static sm_status next_tested(sm_row_node *n, sm_join_kind kind, bool *here)
{
    sm_row_probe *pr = n->probe;
    uint32_t row;
    SM_TRY(next_match(n, &row));
    bool found = row != NO_MATCH;
    pr->open = false;
    *here = kind == SM_JOIN_SEMI ? found : !found;
    if (kind == SM_JOIN_SEMI || kind == SM_JOIN_ANTI) return SM_OK;
    if (!found) SM_TRY(find_unknown(n));
    if (kind == SM_JOIN_NULL_ANTI) {
        *here &= !pr->unknown;
        return SM_OK;
    }
    *here = true;
    *pr->mark = (sm_value){.b = found, .is_null = !found && pr->unknown};
    return SM_OK;
}

static sm_status next_row(sm_row_node *n, bool *here)
{
    sm_join_kind kind = n->probe->p->kind;
    switch (kind) {
    case SM_JOIN_INNER:
    case SM_JOIN_RIGHT: return next_joined(n, false, here);
    case SM_JOIN_LEFT:
    case SM_JOIN_FULL: return next_joined(n, true, here);
    case SM_JOIN_SINGLE: return next_single(n, here);
    default: return next_tested(n, kind, here);
    }
}

static sm_row_flow probe_next(sm_row_node *n)
{
    sm_row_state *s = n->s;
    sm_row_probe *pr = n->probe;
    for (;;) {
        bool here = false;
        if (!pr->open) {
            sm_row_flow flow = n->input->next(n->input);
            if (flow != SM_ROW_HERE) return flow;
            sm_row_read(n, s->row - 1);
            s->status = start(n);
        }
        if (s->status == SM_OK) s->status = next_row(n, &here);
        if (SM_UNLIKELY(s->status != SM_OK)) return SM_ROW_FAILED;
        if (!here) continue;
        n->rows_out++;
        return SM_ROW_HERE;
    }
}

void sm_row_probe_begin(sm_row_node *n)
{
    n->probe->open = false;
}

bool sm_expands(const sm_pipeline *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const sm_probe *probe = p->steps[i].probe;
        if (p->steps[i].kind != SM_STEP_PROBE || probe->kind > SM_JOIN_FULL) continue;
        if (!probe->table || (probe->n_keys ? !probe->table->unique : probe->table->n_rows > 1))
            return true;
    }
    return false;
}

static_assert(SM_JOIN_INNER < SM_JOIN_FULL && SM_JOIN_LEFT < SM_JOIN_FULL &&
                  SM_JOIN_RIGHT < SM_JOIN_FULL && SM_JOIN_SEMI > SM_JOIN_FULL,
              "the kinds that may expand come first");

/* ---- open ------------------------------------------------------------------------------------ */

uint32_t sm_row_probe_slots(const sm_step *step)
{
    return step->probe->n_build + 1;
}

static sm_status open_keys(sm_row_state *s, sm_row_node *n, const sm_step *step)
{
    sm_row_probe *pr = n->probe;
    sm_arena *a = &s->w->arena;
    uint32_t n_keys = step->probe->n_keys;
    pr->keys = SM_NEW_N(a, sm_expr *, n_keys + 1);
    pr->types = SM_NEW_N(a, sm_type, n_keys + 1);
    pr->values = SM_NEW_N(a, sm_value, n_keys + 1);
    if (!pr->keys || !pr->types || !pr->values) return sm_arena_failed(a, &s->w->err);
    for (uint32_t i = 0; i < n_keys; i++) {
        pr->types[i] = step->exprs[i]->type;
        SM_TRY(sm_row_expr(s, n, step->exprs[i], &pr->keys[i]));
    }
    return SM_OK;
}

/* The slots behind the input's: the build columns', which SEMI, ANTI and MARK show only to their
 * residual, and the mark's. */
static sm_status open_build(sm_row_state *s, sm_row_node *n, const sm_probe *p)
{
    sm_row_probe *pr = n->probe;
    sm_arena *a = &s->w->arena;
    uint32_t n_in = s->n_env;
    uint32_t *env = SM_NEW_N(a, uint32_t, n_in + p->n_build + 1);
    pr->loads = SM_NEW_N(a, build_load, p->n_build + 1);
    if (!env || !pr->loads) return sm_arena_failed(a, &s->w->err);
    memcpy(env, s->env, n_in * sizeof *env);
    for (uint32_t i = 0; i < p->n_build; i++) {
        env[n_in + i] = s->n_slots;
        pr->loads[i] = (build_load){&pr->t->cols[p->build_cols[i]], &s->values[s->n_slots++]};
    }
    s->env = env;
    if (p->residual) SM_TRY(sm_row_expr(s, n, p->residual, &pr->residual));
    if (p->kind == SM_JOIN_MARK) {
        pr->mark = &s->values[s->n_slots];
        env[n_in] = s->n_slots++;
    }
    return SM_OK;
}

sm_status sm_row_probe_open(sm_row_state *s, sm_row_node *n, const sm_step *step)
{
    sm_row_probe *pr = n->probe = SM_NEW(&s->w->arena, sm_row_probe);
    if (!pr) return sm_arena_failed(&s->w->arena, &s->w->err);
    pr->p = step->probe;
    pr->t = step->probe->table;
    SM_TRY(open_keys(s, n, step));
    SM_TRY(open_build(s, n, step->probe));
    s->n_env = step->probe->n_out;
    n->next = probe_next;
    return SM_OK;
}
