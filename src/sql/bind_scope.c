/* What names mean: scopes of FROM items, put together by joins, and the look-up of a column in its
 * query and in those around it. The one idea: a scope is a list of names over the columns of one
 * node, so that a join renumbers names and copies nothing. Read bind.h first. */
#include <string.h>

#include "sql/bind.h"

sm_status sm_scope_of(sm_binder *b, const sm_node *n, const char *rel, sm_scope *out)
{
    *out = (sm_scope){n->n_cols, rel != NULL, SM_NEW_N(b->scratch, sm_scope_col, n->n_cols + 1),
                      SM_NEW_N(b->scratch, const char *, 1)};
    if (!out->cols || !out->rels) return sm_out_of_memory(b);
    out->rels[0] = rel;
    for (uint32_t i = 0; i < n->n_cols; i++)
        out->cols[i] = (sm_scope_col){.rel = rel,
                                      .name = n->cols[i].name,
                                      .type = n->cols[i].type,
                                      .nullable = n->cols[i].nullable,
                                      .column = i};
    return SM_OK;
}

bool sm_scope_has(const sm_scope *s, const char *rel)
{
    for (uint32_t i = 0; s && i < s->n_rels; i++)
        if (strcmp(s->rels[i], rel) == 0) return true;
    return false;
}

sm_status sm_scope_both(sm_binder *b, const sm_scope *left, const sm_scope *right, int32_t location,
                        sm_scope *out)
{
    uint32_t n = left->n_cols + right->n_cols, n_rels = left->n_rels + right->n_rels;
    sm_scope both = {n, n_rels, SM_NEW_N(b->scratch, sm_scope_col, n + 1),
                     SM_NEW_N(b->scratch, const char *, n_rels + 1)};
    if (!both.cols || !both.rels) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < right->n_rels; i++)
        if (sm_scope_has(left, right->rels[i]))
            return SM_FAIL(b, location, SM_ERR_DUPLICATE_ALIAS, right->rels[i]);
    for (uint32_t i = 0; i < n; i++)
        both.cols[i] = i < left->n_cols ? left->cols[i] : right->cols[i - left->n_cols];
    for (uint32_t i = 0; i < n_rels; i++)
        both.rels[i] = i < left->n_rels ? left->rels[i] : right->rels[i - left->n_rels];
    *out = both;
    return SM_OK;
}

sm_status sm_scope_shift(sm_binder *b, sm_scope *s, uint32_t n)
{
    uint32_t most = 0;
    if (n == 0) return SM_OK;
    for (uint32_t i = 0; i < s->n_cols; i++)
        if (s->cols[i].column > most) most = s->cols[i].column;
    uint32_t *to = SM_NEW_N(b->scratch, uint32_t, most + 1);
    if (!to) return sm_out_of_memory(b);
    for (uint32_t i = 0; i <= most; i++) to[i] = i + n;
    for (uint32_t i = 0; i < s->n_cols; i++) {
        sm_scope_col *c = &s->cols[i];
        if (c->expr && !(c->expr = sm_expr_moved(b, c->expr, to))) return sm_out_of_memory(b);
        c->column += n;
    }
    return SM_OK;
}

sm_status sm_scope_expr(sm_binder *b, const sm_scope_col *c, int32_t location, sm_expr **out)
{
    *out = c->expr ? sm_expr_clone(b->a, c->expr)
                   : sm_expr_column(b->a, c->column, c->type, c->nullable);
    if (!*out) return sm_out_of_memory(b);
    (*out)->position = sm_position(b, location);
    return SM_OK;
}

const sm_scope_col *sm_scope_at(const sm_scope *s, uint32_t column)
{
    for (uint32_t i = 0; i < s->n_cols; i++)
        if (!s->cols[i].expr && s->cols[i].rel && s->cols[i].column == column) return &s->cols[i];
    for (uint32_t i = 0; i < s->n_cols; i++)
        if (!s->cols[i].expr && s->cols[i].column == column) return &s->cols[i];
    return NULL;
}

/* ---- columns by name ---- */

static sm_status no_column(sm_ctx *cx, const char *rel, const char *name, int32_t location)
{
    sm_binder *b = cx->b;
    sm_nearest near = {.name = name};
    const char *full = rel ? sm_arena_printf(b->scratch, "%s.%s", rel, name) : name,
               *near_rel = NULL;
    if (!full) return sm_out_of_memory(b);
    sm_status s = SM_FAIL(b, location, SM_ERR_UNDEFINED_COLUMN, full);
    for (uint32_t i = 0; cx->scope && i < cx->scope->n_cols; i++) {
        const sm_scope_col *c = &cx->scope->cols[i];
        const char *before = near.best;
        if (rel && (!c->rel || strcmp(c->rel, rel) != 0)) continue;
        sm_nearest_offer(&near, c->name);
        if (near.best != before) near_rel = c->rel;
    }
    if (near.best && near_rel)
        sm_error_hint(b->err, "Perhaps you meant to reference the column \"%s.%s\".", near_rel,
                      near.best);
    else if (near.best)
        sm_error_hint(b->err, "Perhaps you meant to reference the column \"%s\".", near.best);
    return s;
}

sm_status sm_no_relation(sm_binder *b, const sm_scope *scope, const char *rel, int32_t location)
{
    sm_status s = SM_FAIL(b, location, SM_ERR_MISSING_FROM, rel);
    sm_nearest near = {.name = rel};
    for (uint32_t i = 0; scope && i < scope->n_rels; i++) sm_nearest_offer(&near, scope->rels[i]);
    if (near.best)
        sm_error_hint(b->err, "Perhaps you meant to reference the table \"%s\".", near.best);
    return s;
}

/* The scope's column of this name; *out is NULL if there is none. */
static sm_status find(sm_binder *b, const sm_scope *s, const char *rel, const char *name,
                      int32_t location, const sm_scope_col **out)
{
    *out = NULL;
    for (uint32_t i = 0; s && i < s->n_cols; i++) {
        const sm_scope_col *c = &s->cols[i];
        bool fits = rel ? c->rel && strcmp(c->rel, rel) == 0 : !c->hidden;
        if (!fits || strcmp(c->name, name) != 0) continue;
        if (*out) return SM_FAIL(b, location, SM_ERR_AMBIGUOUS_COLUMN, name);
        *out = c;
    }
    return SM_OK;
}

/* A column of a query around this one; *out stays NULL if there is none. */
static sm_status find_outer(sm_ctx *cx, const char *rel, const char *name, int32_t location,
                            sm_expr **out)
{
    sm_binder *b = cx->b;
    int32_t level = 1;
    *out = NULL;
    for (const sm_outer *o = b->outer; o && cx->scope; o = o->next, level++) {
        const sm_scope_col *c;
        SM_TRY(find(b, o->scope, rel, name, location, &c));
        if (!c) continue;
        if (c->expr)
            return SM_FAIL(b, location, SM_ERR_NOT_SUPPORTED,
                           "a computed column of USING in a subquery");
        *out = sm_expr_column(b->a, c->column, c->type, c->nullable);
        if (!*out) return sm_out_of_memory(b);
        (*out)->kind = SM_EXPR_OUTER;
        (*out)->imm[0] = level;
        (*out)->position = sm_position(b, location);
        return SM_OK;
    }
    return SM_OK;
}

sm_status sm_bind_column(sm_ctx *cx, const PgQuery__ColumnRef *c, sm_expr **out)
{
    sm_binder *b = cx->b;
    const char *name = sm_pg_string(c->fields[c->n_fields - 1]);
    const char *rel = c->n_fields > 1 ? sm_pg_string(c->fields[c->n_fields - 2]) : NULL;
    const sm_scope_col *found;
    if (!name) return SM_FAIL(b, c->location, SM_ERR_SYNTAX, "\"*\" is not allowed here");
    if (c->n_fields > 3)
        return SM_FAIL(b, c->location, SM_ERR_NOT_SUPPORTED, "a name of more than three parts");
    if (c->n_fields == 3 && strcmp(sm_pg_string(c->fields[0]), "public") != 0)
        return SM_FAIL(b, c->location, SM_ERR_MISSING_FROM, rel);
    if (!cx->scope && cx->no_columns)
        return SM_FAIL(b, c->location, SM_ERR_INVALID_REFERENCE, cx->no_columns);
    SM_TRY(find(b, cx->scope, rel, name, c->location, &found));
    if (found) return sm_scope_expr(b, found, c->location, out);
    if (!rel || !sm_scope_has(cx->scope, rel)) {
        SM_TRY(find_outer(cx, rel, name, c->location, out));
        if (*out) return SM_OK;
    }
    if (rel && !sm_scope_has(cx->scope, rel)) return sm_no_relation(b, cx->scope, rel, c->location);
    if (!rel && sm_scope_has(cx->scope, name))
        return SM_FAIL(b, c->location, SM_ERR_NOT_SUPPORTED, "a row value");
    return no_column(cx, rel, name, c->location);
}
