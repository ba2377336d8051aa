/* Expressions over one dictionary column and constants: evaluated once per entry (and for NULL)
 * when the pipeline is opened, then looked up by code. Only what cannot fail, since entries may be
 * evaluated that no live row has. Read batch_expr.c first. */
#include "interp/batch_state.h"

enum { FEW_ENTRIES = 256 }; /* worth it for any number of rows */

typedef struct dict_walk {
    const sm_batch_state *s;
    sm_reg *column; /* the one that all COLUMNs are */
    bool fits;
} dict_walk;

static bool check_node(const sm_expr *e, void *arg)
{
    dict_walk *walk = arg;
    if (e->kind == SM_EXPR_PARAM) walk->fits = false;
    if (e->kind == SM_EXPR_COLUMN) {
        sm_reg *r = walk->s->env[e->column];
        if (walk->column && walk->column != r) walk->fits = false;
        if (r->source_col < 0 || !walk->s->w->p->source.cols[r->source_col].dict)
            walk->fits = false;
        walk->column = r;
    }
    return walk->fits;
}

static const sm_dict *find_dict(const sm_batch_state *s, const sm_expr *e, sm_reg **column)
{
    const sm_source *source = &s->w->p->source;
    dict_walk walk = {s, NULL, true};
    if (e->kind == SM_EXPR_CONST || e->kind == SM_EXPR_COLUMN || e->can_fail) return NULL;
    if (e->kind == SM_EXPR_IS_NULL && e->args[0]->kind == SM_EXPR_COLUMN) return NULL;
    sm_expr_walk(e, check_node, &walk);
    if (!walk.fits || !walk.column) return NULL;
    const sm_dict *d = source->cols[walk.column->source_col].dict;
    *column = walk.column;
    return d->n <= FEW_ENTRIES || d->n <= source->n_rows / 4 ? d : NULL;
}

static void fetch_value(void *arg, uint32_t column, sm_value *out)
{
    (void)column;
    *out = *(const sm_value *)arg;
}

/* What evaluation leaves: table by code, entry n for NULL. */
typedef struct dict_table {
    char *values;
    uint8_t *valid; /* one byte an entry */
    bool all_valid, null_is_null;
} dict_table;

/* False: some entry failed after all, the rows had better be asked. */
static bool evaluate(sm_batch_state *s, const sm_expr *e, const sm_dict *d, dict_table *t)
{
    sm_value in = {0}, out;
    sm_error ignored = {0};
    size_t bytes = sm_phys_bytes(e->phys);
    sm_eval ev = {.fetch = fetch_value, .fetch_arg = &in, .scratch = &s->w->arena, .err = &ignored};
    t->all_valid = true;
    for (uint32_t i = 0; i <= d->n; i++) {
        in.is_null = i == d->n;
        if (!in.is_null) in.text = d->entries[i];
        if (sm_expr_eval(&ev, e, &out) != SM_OK) return false;
        if (in.is_null)
            t->null_is_null = out.is_null;
        else
            t->all_valid &= !out.is_null;
        if (out.is_null) continue;
        t->valid[i] = 1;
        memcpy(t->values + i * bytes, &out, bytes); /* every form of value begins the union */
    }
    return true;
}

sm_status sm_batch_dict(sm_batch_state *s, const sm_expr *e, sm_reg **out)
{
    sm_reg *column = NULL;
    dict_table t = {0};
    *out = NULL;
    const sm_dict *d = find_dict(s, e, &column);
    if (!d) return SM_OK;
    sm_arena *a = &s->w->arena;
    t.values = sm_arena_vector(a, sm_phys_bytes(e->phys) * (d->n + 1));
    t.valid = sm_arena_vector(a, d->n + 1);
    if (!t.values || !t.valid) return sm_arena_failed(a, &s->w->err);
    if (!evaluate(s, e, d, &t)) return SM_OK;
    SM_TRY(sm_batch_want_codes(s, column));
    sm_reg *r = sm_batch_reg(s, e->phys, true);
    sm_instr *in = r ? sm_batch_instr(s, sm_run_look_up) : NULL;
    if (!in) return sm_arena_failed(a, &s->w->err);
    in->out = r;
    in->arg[0] = column;
    in->table = t.values;
    in->table_valid = t.all_valid ? NULL : t.valid;
    in->n_entries = d->n;
    in->null_in_null_out = t.null_is_null;
    *out = r;
    return SM_OK;
}
