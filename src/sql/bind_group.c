/* Grouping: collecting aggregate calls, and turning expressions over the input into expressions
 * over the aggregate's output. The one idea: an expression is bound over the input first, with
 * placeholders for aggregate calls; then subtrees equal to a key become that key's column, and a
 * column that is left over is the user's mistake. Read bind.h first. */
#include <string.h>

#include "sql/bind.h"

static bool equal_or_both_absent(const sm_expr *a, const sm_expr *b)
{
    return a && b ? sm_expr_equal(a, b) : a == b;
}

sm_status sm_agg_add(sm_binder *b, sm_agg_list *l, const sm_agg_call *call, uint32_t *column)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const sm_agg_call *c = &l->calls[i];
        if (c->fn != call->fn || c->distinct != call->distinct) continue;
        if (!equal_or_both_absent(c->arg, call->arg) ||
            !equal_or_both_absent(c->filter, call->filter))
            continue;
        *column = i;
        return SM_OK;
    }
    if (l->n == l->room) {
        uint32_t room = l->room ? l->room * 2 : 4;
        sm_agg_call *grown = SM_NEW_N(b->a, sm_agg_call, room);
        if (!grown) return sm_out_of_memory(b);
        if (l->n) memcpy(grown, l->calls, l->n * sizeof(*grown));
        l->calls = grown;
        l->room = room;
    }
    l->calls[l->n] = *call;
    *column = l->n++;
    return SM_OK;
}

const char *sm_unique_name(sm_binder *b, const char *base, const sm_col *cols, uint32_t n)
{
    const char *name = base;
    for (unsigned attempt = 1;; attempt++) {
        bool taken = false;
        for (uint32_t i = 0; i < n && !taken; i++) taken = strcmp(cols[i].name, name) == 0;
        if (!taken) return name;
        name = sm_arena_printf(b->a, "%s_%u", base, attempt);
        if (!name) return NULL;
    }
}

static const char *first_word(sm_binder *b, const char *words)
{
    return sm_arena_strndup(b->a, words, strcspn(words, " "));
}

sm_status sm_aggregate(sm_binder *b, sm_node *in, const sm_scope *scope, sm_expr *const *keys,
                       uint32_t n_keys, const sm_agg_list *aggs, sm_node **out)
{
    sm_node *n = sm_node_new(b->a, SM_NODE_AGGREGATE, in);
    if (!n) return sm_out_of_memory(b);
    if (n_keys > SM_GROUP_MAX_KEYS)
        return sm_raise(b->err, SM_ERR_TOO_COMPLEX, "more than 64 columns in GROUP BY");
    n->n_cols = n_keys + aggs->n;
    n->cols = SM_NEW_N(b->a, sm_col, n->n_cols + 1);
    n->aggregate.n_keys = n_keys;
    n->aggregate.n_aggs = aggs->n;
    n->aggregate.keys = SM_NEW_N(b->a, sm_expr *, n_keys + 1);
    n->aggregate.aggs = aggs->calls;
    if (!n->cols || !n->aggregate.keys) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n_keys; i++) {
        const sm_expr *k = keys[i];
        const sm_scope_col *col = k->kind == SM_EXPR_COLUMN ? sm_scope_at(scope, k->column) : NULL;
        const char *base = col ? col->name : "key";
        n->aggregate.keys[i] = keys[i];
        n->cols[i] = (sm_col){sm_unique_name(b, base, n->cols, i), k->type, k->nullable};
        if (!n->cols[i].name) return sm_out_of_memory(b);
    }
    for (uint32_t i = 0; i < aggs->n; i++) {
        const sm_agg_call *c = &aggs->calls[i];
        bool counts = c->fn == SM_AGG_COUNT || c->fn == SM_AGG_COUNT_ALL;
        const char *base = first_word(b, sm_agg_name(c->fn));
        if (!base) return sm_out_of_memory(b);
        n->cols[n_keys + i] =
            (sm_col){sm_unique_name(b, base, n->cols, n_keys + i), c->type, !counts};
        if (!n->cols[n_keys + i].name) return sm_out_of_memory(b);
    }
    *out = n;
    return SM_OK;
}

static sm_status ungrouped(sm_binder *b, const sm_scope *scope, const sm_expr *e)
{
    const sm_scope_col *c = sm_scope_at(scope, e->column);
    if (!c) return sm_raise_at(b->err, e->position, SM_ERR_INTERNAL, "a column without a name");
    const char *text = sm_arena_printf(
        b->scratch,
        "column \"%s%s%s\" must appear in the GROUP BY clause or be used in an aggregate function",
        c->rel ? c->rel : "", c->rel ? "." : "", c->name);
    return text ? sm_raise_at(b->err, e->position, SM_ERR_GROUPING, text) : sm_out_of_memory(b);
}

sm_status sm_regroup(sm_binder *b, const sm_scope *scope, sm_expr *const *keys, uint32_t n_keys,
                     sm_expr *e, sm_expr **out)
{
    for (uint32_t i = 0; i < n_keys; i++) {
        if (!sm_expr_equal(keys[i], e)) continue;
        *out = sm_expr_column(b->a, i, e->type, e->nullable);
        if (!*out) return sm_out_of_memory(b);
        (*out)->position = e->position;
        return SM_OK;
    }
    if (e->kind == SM_EXPR_COLUMN && e->column < SM_AGG_COLUMN) return ungrouped(b, scope, e);
    if (e->kind == SM_EXPR_SUBQUERY && sm_has_outer(e->subquery->plan))
        return sm_raise_at(b->err, e->position, SM_ERR_NOT_SUPPORTED,
                           "a correlated subquery above GROUP BY or aggregates");
    sm_expr *copy = SM_NEW(b->a, sm_expr);
    if (!copy) return sm_out_of_memory(b);
    *copy = *e;
    *out = copy;
    if (e->kind == SM_EXPR_COLUMN) copy->column = e->column - SM_AGG_COLUMN + n_keys;
    if (!e->n_args) return SM_OK;
    copy->args = SM_NEW_N(b->a, sm_expr *, e->n_args);
    if (!copy->args) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < e->n_args; i++)
        SM_TRY(sm_regroup(b, scope, keys, n_keys, e->args[i], &copy->args[i]));
    return SM_OK;
}
