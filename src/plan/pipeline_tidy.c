/* Tidying the pipelines of a plan: constants folded, filters moved below projections, adjacent
 * projections merged, columns that nobody reads dropped (pipeline_prune.c), common parts of a
 * projection computed once. Nothing here moves an expression that can fail past a filter. Read
 * pipeline.c first. */
#include "plan/pipeline_parts.h"

/* ---- columns of expressions ---- */

static sm_expr *from_list(const sm_expr *leaf, void *arg)
{
    sm_expr *const *list = arg;
    return leaf->kind == SM_EXPR_COLUMN ? list[leaf->column] : NULL;
}

/* exprs over the output of a PROJECT -> exprs over its input. */
static sm_status substitute(build *b, sm_step *s, sm_expr **list)
{
    sm_expr **exprs = SM_NEW_N(b->a, sm_expr *, s->n_exprs ? s->n_exprs : 1);
    if (!exprs) return sm_arena_failed(b->a, b->err);
    for (uint32_t i = 0; i < s->n_exprs; i++)
        if (!(exprs[i] = sm_expr_replace(b->a, s->exprs[i], from_list, list)))
            return sm_arena_failed(b->a, b->err);
    s->exprs = exprs;
    return SM_OK;
}

static bool count_column(const sm_expr *e, void *arg)
{
    if (e->kind == SM_EXPR_COLUMN) ((uint32_t *)arg)[e->column]++;
    return true;
}

static void count_columns(const sm_step *s, uint32_t *counts)
{
    for (uint32_t i = 0; i < s->n_exprs; i++) sm_expr_walk(s->exprs[i], count_column, counts);
}

static bool is_leaf(const sm_expr *e)
{
    return e->n_args == 0;
}

static void remove_step(sm_pipeline *p, uint32_t i)
{
    memmove(&p->steps[i], &p->steps[i + 1], (p->n_steps - i - 1) * sizeof *p->steps);
    p->n_steps--;
}

/* ---- passes ---- */

static bool is_true(const sm_expr *e)
{
    return e->kind == SM_EXPR_CONST && !e->value.is_null && e->value.b;
}

static sm_status fold_residual(build *b, sm_probe *p)
{
    if (p->residual) SM_TRY(sm_expr_fold(b->a, &p->residual, b->err));
    if (p->residual && is_true(p->residual)) p->residual = NULL;
    return SM_OK;
}

static sm_status fold_steps(build *b, sm_pipeline *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++) {
        sm_step *s = &p->steps[i];
        sm_expr **exprs = SM_NEW_N(b->a, sm_expr *, s->n_exprs ? s->n_exprs : 1);
        if (!exprs) return sm_arena_failed(b->a, b->err);
        for (uint32_t k = 0; k < s->n_exprs; k++) {
            exprs[k] = s->exprs[k];
            SM_TRY(sm_expr_fold(b->a, &exprs[k], b->err));
        }
        s->exprs = exprs;
        if (s->kind == SM_STEP_PROBE) SM_TRY(fold_residual(b, s->probe));
        if (s->kind == SM_STEP_FILTER && is_true(exprs[0])) remove_step(p, i--);
    }
    return SM_OK;
}

/* ---- filters before projections ---- */

/* Columns of the rows that enter step i. */
static uint32_t columns_into(const build *b, const sm_pipeline *p, uint32_t i)
{
    uint32_t n = sm_pipeline_source_cols(b, p);
    for (uint32_t k = 0; k < i; k++) n = sm_step_cols(&p->steps[k], n);
    return n;
}

/* A PROJECT of its input's columns, as far as they are needed, and of some computed ones. */
typedef struct early {
    sm_arena *a;
    sm_expr **exprs; /* its columns */
    uint32_t n;
    sm_expr **passed; /* input column -> column of it; NULL: not there */
    bool failed;
} early;

static bool pass_column(const sm_expr *e, void *arg)
{
    early *x = arg;
    if (e->kind != SM_EXPR_COLUMN || x->passed[e->column]) return true;
    x->exprs[x->n] = sm_expr_clone(x->a, e);
    x->passed[e->column] = sm_expr_column(x->a, x->n, e->type, e->nullable);
    x->failed |= !x->exprs[x->n++] || !x->passed[e->column];
    return !x->failed;
}

/* PROJECT at k - 1, FILTER at k: what the filter reads is computed first, then it filters, then the
 * rest is computed. */
static sm_status split_project(build *b, sm_pipeline *p, uint32_t k, const uint32_t *reads)
{
    const sm_step *project = &p->steps[k - 1];
    uint32_t n_in = columns_into(b, p, k - 1), n = project->n_exprs;
    early x = {.a = b->a};
    x.exprs = SM_NEW_N(b->a, sm_expr *, n_in + n + 1);
    x.passed = SM_NEW_N(b->a, sm_expr *, n_in + 1);
    sm_expr **rest = SM_NEW_N(b->a, sm_expr *, n + 1);
    sm_step *steps = SM_NEW_N(b->a, sm_step, p->n_steps + 1);
    if (!x.exprs || !x.passed || !rest || !steps) return sm_arena_failed(b->a, b->err);
    for (uint32_t i = 0; i < n; i++) sm_expr_walk(project->exprs[i], pass_column, &x);
    for (uint32_t i = 0; i < n && !x.failed; i++) {
        const sm_expr *e = project->exprs[i];
        if (reads[i] && !is_leaf(e)) {
            rest[i] = sm_expr_column(b->a, x.n, e->type, e->nullable);
            x.exprs[x.n++] = project->exprs[i];
        } else {
            rest[i] = sm_expr_replace(b->a, e, from_list, x.passed);
        }
        x.failed |= !rest[i];
    }
    if (x.failed) return sm_arena_failed(b->a, b->err);
    memcpy(steps, p->steps, k * sizeof *steps);
    memcpy(steps + k + 1, p->steps + k, (p->n_steps - k) * sizeof *steps);
    steps[k - 1] = (sm_step){.kind = SM_STEP_PROJECT, .n_exprs = x.n, .exprs = x.exprs};
    steps[k] = p->steps[k];
    steps[k + 1] = *project;
    steps[k + 1].exprs = rest;
    p->steps = steps;
    p->n_steps++;
    return substitute(b, &p->steps[k], rest);
}

/* PROJECT, then FILTER: the filter comes before all that it does not read, as in PostgreSQL, where
 * a simple subquery in FROM becomes one with the query around it. So fewer rows are computed, and a
 * row that is filtered out raises nothing. */
static sm_status filters_down(build *b, sm_pipeline *p)
{
    for (uint32_t i = 1; i < p->n_steps; i++) {
        for (uint32_t k = i; k > 0 && p->steps[k].kind == SM_STEP_FILTER; k--) {
            sm_step *below = &p->steps[k - 1];
            if (below->kind != SM_STEP_PROJECT) break;
            uint32_t *reads = SM_NEW_N(b->a, uint32_t, below->n_exprs + 1);
            if (!reads) return sm_arena_failed(b->a, b->err);
            count_columns(&p->steps[k], reads);
            bool reads_computed = false, more = false;
            for (uint32_t c = 0; c < below->n_exprs; c++) {
                reads_computed |= reads[c] && !is_leaf(below->exprs[c]);
                more |= !reads[c] && !is_leaf(below->exprs[c]);
            }
            if (reads_computed && more) SM_TRY(split_project(b, p, k, reads));
            if (reads_computed) break;
            SM_TRY(substitute(b, &p->steps[k], below->exprs));
            sm_step filter = p->steps[k];
            p->steps[k] = *below;
            *below = filter;
        }
    }
    return SM_OK;
}

/* ---- projections ---- */

/* Nodes of e when its columns are replaced by those of inner (NULL: as it is), counted to a limit.
 */
static uint32_t size_with(const sm_expr *e, sm_expr *const *inner, uint32_t most)
{
    if (e->kind == SM_EXPR_COLUMN && inner) return size_with(inner[e->column], NULL, most);
    uint32_t n = 1;
    for (uint32_t i = 0; i < e->n_args && n <= most; i++)
        n += size_with(e->args[i], inner, most - n);
    return n;
}

enum { MOST_NODES = 4096 }; /* of a projection that is merged or searched for common parts */

static uint32_t size_of_step(const sm_step *s, sm_expr *const *inner)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_exprs && n <= MOST_NODES; i++)
        n += size_with(s->exprs[i], inner, MOST_NODES);
    return n;
}

/* Two projections become one, as PostgreSQL does with a simple subquery in FROM: so an expression
 * of the inner one is evaluated where the outer one needs it, and nowhere else. What is then there
 * twice is made one again by share_all, if every row evaluates it. */
static sm_status merge_projects(build *b, sm_pipeline *p)
{
    for (uint32_t i = 0; i + 1 < p->n_steps;) {
        sm_step *inner = &p->steps[i], *outer = inner + 1;
        bool both = inner->kind == SM_STEP_PROJECT && outer->kind == SM_STEP_PROJECT;
        if (!both || size_of_step(outer, inner->exprs) > MOST_NODES) {
            i++;
            continue;
        }
        SM_TRY(substitute(b, outer, inner->exprs));
        remove_step(p, i);
        if (i > 0) i--;
    }
    return SM_OK;
}

/* ---- common parts ---- */

typedef struct part {
    const sm_expr *e;
    uint64_t hash;
    uint32_t uses;
    bool always; /* every live row evaluates it somewhere */
} part;

typedef struct parts {
    part *list;
    uint32_t n, cap;
    bool full; /* memory is out */
    sm_arena *a;
} parts;

static void note_part(parts *ps, const sm_expr *e, bool always)
{
    uint64_t hash = sm_expr_hash(e);
    for (uint32_t i = 0; i < ps->n; i++) {
        part *q = &ps->list[i];
        if (q->hash == hash && sm_expr_equal(q->e, e)) {
            q->uses++;
            q->always |= always;
            return; /* what is below it is computed with it */
        }
    }
    if (ps->n == ps->cap) {
        uint32_t cap = ps->cap ? ps->cap * 2 : 32;
        part *list = SM_NEW_N(ps->a, part, cap);
        if (!list) {
            ps->full = true;
            return;
        }
        if (ps->n) memcpy(list, ps->list, ps->n * sizeof *list);
        ps->list = list;
        ps->cap = cap;
    }
    ps->list[ps->n++] = (part){e, hash, 1, always};
    for (uint32_t i = 0; i < e->n_args; i++) {
        bool lazy = e->kind == SM_EXPR_AND || e->kind == SM_EXPR_OR || e->kind == SM_EXPR_CASE ||
                    e->kind == SM_EXPR_COALESCE;
        if (!is_leaf(e->args[i])) note_part(ps, e->args[i], always && (!lazy || i == 0));
    }
}

typedef struct cut {
    parts *ps;
    const uint32_t *column_of; /* of part i in the new step's output; UINT32_MAX: not there */
    sm_arena *a;
} cut;

/* Copy of e over the new step's output. */
static sm_expr *cut_parts(const cut *c, const sm_expr *e)
{
    if (is_leaf(e) && e->kind != SM_EXPR_COLUMN) return sm_expr_clone(c->a, e);
    uint64_t hash = sm_expr_hash(e);
    for (uint32_t i = 0; i < c->ps->n; i++) {
        const part *q = &c->ps->list[i];
        if (c->column_of[i] != UINT32_MAX && q->hash == hash && sm_expr_equal(q->e, e)) {
            sm_expr *col = sm_expr_column(c->a, c->column_of[i], e->type, e->nullable);
            if (col) col->phys = e->phys;
            return col;
        }
    }
    sm_expr *copy = sm_arena_alloc(c->a, sizeof *copy);
    if (!copy) return NULL;
    *copy = *e;
    copy->args = SM_NEW_N(c->a, sm_expr *, e->n_args + 1);
    if (!copy->args) return NULL;
    copy->can_fail = e->kind == SM_EXPR_OP && sm_ops[e->op].can_fail;
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (!(copy->args[i] = cut_parts(c, e->args[i]))) return NULL;
        copy->can_fail |= copy->args[i]->can_fail;
    }
    return copy;
}

static bool gather_column(const sm_expr *e, void *arg)
{
    parts *ps = arg;
    if (e->kind != SM_EXPR_COLUMN) return true;
    for (uint32_t i = 0; i < ps->n; i++)
        if (ps->list[i].e->kind == SM_EXPR_COLUMN && ps->list[i].e->column == e->column)
            return true;
    note_part(ps, e, true);
    return !ps->full;
}

static sm_status insert_project(build *b, sm_pipeline *p, uint32_t at, sm_expr **exprs, uint32_t n)
{
    sm_step *steps = SM_NEW_N(b->a, sm_step, p->n_steps + 1);
    if (!steps) return sm_arena_failed(b->a, b->err);
    memcpy(steps, p->steps, at * sizeof *steps);
    memcpy(steps + at + 1, p->steps + at, (p->n_steps - at) * sizeof *steps);
    steps[at] = (sm_step){.kind = SM_STEP_PROJECT, .n_exprs = n, .exprs = exprs};
    p->steps = steps;
    p->n_steps++;
    return SM_OK;
}

/* Parts that step `at`, a PROJECT, has more than once go into a PROJECT before it. A part that can
 * fail goes there only if every row evaluates it anyhow. The row tier runs the same steps, so all
 * tiers raise the same error. */
static sm_status share_parts(build *b, sm_pipeline *p, uint32_t at, bool *shared)
{
    sm_step *s = &p->steps[at];
    parts ps = {.a = b->a};
    *shared = false;
    for (uint32_t i = 0; i < s->n_exprs; i++)
        if (!is_leaf(s->exprs[i])) note_part(&ps, s->exprs[i], true);
    uint32_t n_whole = ps.n;
    for (uint32_t i = 0; i < ps.n; i++) {
        part *q = &ps.list[i];
        if (q->uses < 2 || (q->e->can_fail && !q->always)) q->uses = 0;
        *shared |= q->uses != 0;
    }
    if (ps.full) return sm_arena_failed(b->a, b->err);
    if (!*shared) return SM_OK;
    for (uint32_t i = 0; i < s->n_exprs; i++) sm_expr_walk(s->exprs[i], gather_column, &ps);
    uint32_t *column_of = SM_NEW_N(b->a, uint32_t, ps.n), n = 0;
    sm_expr **exprs = SM_NEW_N(b->a, sm_expr *, ps.n),
            **rest = SM_NEW_N(b->a, sm_expr *, s->n_exprs);
    if (ps.full || !column_of || !exprs || !rest) return sm_arena_failed(b->a, b->err);
    for (uint32_t i = 0; i < ps.n; i++) {
        column_of[i] = UINT32_MAX;
        if (i < n_whole && !ps.list[i].uses) continue;
        if (!(exprs[n] = sm_expr_clone(b->a, ps.list[i].e))) return sm_arena_failed(b->a, b->err);
        column_of[i] = n++;
    }
    cut c = {&ps, column_of, b->a};
    for (uint32_t i = 0; i < s->n_exprs; i++)
        if (!(rest[i] = cut_parts(&c, s->exprs[i]))) return sm_arena_failed(b->a, b->err);
    s->exprs = rest;
    return insert_project(b, p, at, exprs, n);
}

/* Again on the new step while it has common parts itself. */
static sm_status share_all(build *b, sm_pipeline *p)
{
    enum { MOST_ROUNDS = 8 };
    for (uint32_t at = p->n_steps; at-- > 0;) {
        bool shared = p->steps[at].kind == SM_STEP_PROJECT;
        for (int round = 0; shared && round < MOST_ROUNDS; round++) {
            if (size_of_step(&p->steps[at], NULL) > MOST_NODES) break;
            SM_TRY(share_parts(b, p, at, &shared));
        }
    }
    return SM_OK;
}

sm_status sm_pipelines_tidy(build *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        SM_TRY(fold_steps(b, b->list[i].p));
        SM_TRY(filters_down(b, b->list[i].p));
        SM_TRY(merge_projects(b, b->list[i].p));
    }
    SM_TRY(sm_pipelines_prune(b)); /* what nobody reads has no common parts */
    for (uint32_t i = 0; i < b->n; i++) SM_TRY(share_all(b, b->list[i].p));
    return sm_pipelines_prune(b);
}
