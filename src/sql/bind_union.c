/* UNION and UNION ALL: the columns of both queries meet at common types, UNION is DISTINCT above.
 * Read bind.h first. */
#include "sql/bind.h"

sm_expr *sm_source_expr(sm_binder *b, const sm_node *plan, uint32_t i)
{
    const sm_expr *e = plan->kind == SM_NODE_PROJECT ? plan->project.exprs[i] : NULL;
    if (e && e->kind == SM_EXPR_CONST && e->type.id == SM_TEXT) {
        sm_expr *copy = sm_expr_const(b->a, sm_type_of(SM_UNKNOWN), &e->value);
        if (copy) copy->position = e->position;
        return copy;
    }
    return sm_expr_column(b->a, i, plan->cols[i].type, plan->cols[i].nullable);
}

static const char *keyword(const PgQuery__SelectStmt *s)
{
    switch (s->op) {
    case PG_QUERY__SET_OPERATION__SETOP_INTERSECT: return "INTERSECT";
    case PG_QUERY__SET_OPERATION__SETOP_EXCEPT: return "EXCEPT";
    default: return "UNION";
    }
}

static int32_t location_of(const PgQuery__SelectStmt *s)
{
    while (s->larg) s = s->larg;
    return sm_pg_location(s->n_target_list    ? s->target_list[0]
                          : s->n_values_lists ? s->values_lists[0]
                                              : NULL);
}

/* Expressions over both sides' columns that give them one type each. */
static sm_status common_columns(sm_binder *b, sm_node *const *sides, int32_t location,
                                sm_expr **exprs[2])
{
    for (uint32_t i = 0; i < sides[0]->n_cols; i++) {
        sm_expr *pair[2];
        sm_type type;
        for (int k = 0; k < 2; k++)
            if (!(pair[k] = sm_source_expr(b, sides[k], i))) return sm_out_of_memory(b);
        SM_TRY(sm_blame(b, location, sm_unify(b, "UNION", pair, 2, &type)));
        for (int k = 0; k < 2; k++) {
            const sm_target to = {.type = type};
            if (!sm_type_eq(pair[k]->type, type))
                SM_TRY(sm_cast(b, pair[k], &to, SM_CAST_EXPLICIT, -1, &pair[k]));
            exprs[k][i] = pair[k];
        }
    }
    return SM_OK;
}

sm_status sm_bind_union(sm_binder *b, const PgQuery__SelectStmt *s, sm_node **out)
{
    sm_node *sides[2], *n;
    sm_expr **exprs[2];
    int32_t location = location_of(s->rarg);
    if (s->op != PG_QUERY__SET_OPERATION__SETOP_UNION)
        return SM_FAIL(b, location, SM_ERR_NOT_SUPPORTED, keyword(s));
    SM_TRY(sm_bind_select(b, s->larg, &sides[0]));
    SM_TRY(sm_bind_select(b, s->rarg, &sides[1]));
    uint32_t n_cols = sides[0]->n_cols;
    const char **names = SM_NEW_N(b->scratch, const char *, n_cols + 1);
    for (int k = 0; k < 2; k++)
        if (!(exprs[k] = SM_NEW_N(b->scratch, sm_expr *, n_cols + 1))) return sm_out_of_memory(b);
    if (!names) return sm_out_of_memory(b);
    if (sides[1]->n_cols != n_cols)
        return SM_FAIL(b, location, SM_ERR_SYNTAX,
                       "each UNION query must have the same number of columns");
    for (uint32_t i = 0; i < n_cols; i++) names[i] = sides[0]->cols[i].name;
    SM_TRY(common_columns(b, sides, location, exprs));
    for (int k = 0; k < 2; k++)
        SM_TRY(sm_project(b, sides[k], exprs[k], names, n_cols, &sides[k]));
    n = sm_node_new(b->a, SM_NODE_UNION_ALL, sides[0]);
    if (!n || !(n->cols = SM_NEW_N(b->a, sm_col, n_cols + 1))) return sm_out_of_memory(b);
    n->right = sides[1];
    n->n_cols = n_cols;
    for (uint32_t i = 0; i < n_cols; i++) {
        n->cols[i] = sides[0]->cols[i];
        n->cols[i].nullable |= sides[1]->cols[i].nullable;
    }
    if (!s->all && !(n = sm_pass(b, SM_NODE_DISTINCT, n))) return sm_out_of_memory(b);
    *out = n;
    return SM_OK;
}
