/* Expressions of the parse tree as bound expressions. Constructs that expr.h has no kind for are
 * rewritten here to what PostgreSQL defines them as: CASE x, NULLIF, IN, BETWEEN, IS DISTINCT FROM,
 * IS TRUE, GREATEST (bind_rewrite.c). Read bind.h first. */
#include <string.h>

#include "runtime/format.h"
#include "sql/bind_rewrite.h"

/* ---- literals ---- */

static sm_status keep_const(sm_ctx *cx, sm_type t, sm_value v, int32_t location, sm_expr **out)
{
    *out = sm_expr_const(cx->b->a, t, &v);
    if (!*out) return sm_out_of_memory(cx->b);
    (*out)->position = sm_position(cx->b, location);
    return SM_OK;
}

/* 12345678901, 1.50, 1e300: a bigint if it can be, else a decimal of its own digits. Only a number
 * written with an exponent may be beyond that: it is double precision. */
static sm_status number(sm_ctx *cx, const char *s, int32_t location, sm_expr **out)
{
    sm_binder *b = cx->b;
    sm_type t = sm_type_of(SM_INT64);
    sm_value v = {.is_null = false};
    unsigned precision, scale;
    size_t len = strlen(s);
    if (!s[strspn(s, "-0123456789")]) {
        sm_status st = sm_parse_value(t, s, len, &v, NULL);
        if (st == SM_OK && v.i64 == (int32_t)v.i64) {
            v.i32 = (int32_t)v.i64;
            return keep_const(cx, sm_type_of(SM_INT32), v, location, out);
        }
        if (st == SM_OK) return keep_const(cx, t, v, location, out);
    }
    if (sm_decimal_literal_type(s, len, &precision, &scale))
        t = sm_decimal(precision, scale);
    else if (strpbrk(s, "eE"))
        t = sm_type_of(SM_FLOAT64);
    else
        return SM_FAIL(b, location, SM_ERR_DECIMAL_RANGE);
    SM_TRY(sm_blame(b, location, sm_parse_value(t, s, len, &v, b->err)));
    return keep_const(cx, t, v, location, out);
}

static sm_status text_literal(sm_ctx *cx, sm_type_id id, const char *s, int32_t location,
                              sm_expr **out)
{
    const char *copy = sm_keep(cx->b, s);
    if (!copy) return sm_out_of_memory(cx->b);
    sm_value v = {.text = sm_text_view(copy, (uint32_t)strlen(copy))};
    return keep_const(cx, sm_type_of(id), v, location, out);
}

static sm_status bind_const(sm_ctx *cx, const PgQuery__AConst *c, sm_expr **out)
{
    if (c->isnull)
        return keep_const(cx, sm_type_of(SM_UNKNOWN), (sm_value){.is_null = true}, c->location,
                          out);
    switch (c->val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
        return keep_const(cx, sm_type_of(SM_INT32), (sm_value){.i32 = c->ival->ival}, c->location,
                          out);
    case PG_QUERY__A__CONST__VAL_FVAL: return number(cx, c->fval->fval, c->location, out);
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
        return keep_const(cx, sm_type_of(SM_BOOL), (sm_value){.b = c->boolval->boolval != 0},
                          c->location, out);
    case PG_QUERY__A__CONST__VAL_SVAL:
        return text_literal(cx, SM_UNKNOWN, c->sval->sval, c->location, out);
    default: return SM_FAIL(cx->b, c->location, SM_ERR_NOT_SUPPORTED, "a bit string");
    }
}

static sm_status bind_param(sm_ctx *cx, const PgQuery__ParamRef *p, sm_expr **out)
{
    enum { MOST = 65535 };
    sm_binder *b = cx->b;
    if (p->number < 1 || p->number > MOST)
        return SM_FAIL(b, p->location, SM_ERR_UNDEFINED_PARAM, (int)p->number);
    uint32_t n = (uint32_t)p->number;
    if (n > b->params_room) {
        uint32_t room = n * 2 > 8 ? n * 2 : 8;
        sm_type *grown = SM_NEW_N(b->a, sm_type, room);
        if (!grown) return sm_out_of_memory(b);
        for (uint32_t i = 0; i < room; i++)
            grown[i] = i < b->n_params ? b->params[i] : sm_type_of(SM_UNKNOWN);
        b->params = grown;
        b->params_room = room;
    }
    if (n > b->n_params) b->n_params = n;
    *out = sm_expr_node(b->a, SM_EXPR_PARAM, b->params[n - 1], NULL, 0);
    if (!*out) return sm_out_of_memory(b);
    (*out)->column = n;
    (*out)->nullable = true;
    (*out)->position = sm_position(b, p->location);
    return SM_OK;
}

/* ---- logic ---- */

static sm_status as_condition(sm_ctx *cx, const char *what, sm_expr **e)
{
    sm_binder *b = cx->b;
    if ((*e)->type.id == SM_UNKNOWN) SM_TRY(sm_coerce(b, *e, sm_type_of(SM_BOOL), e));
    if ((*e)->type.id == SM_BOOL) return SM_OK;
    const char *text =
        sm_arena_printf(b->scratch, "argument of %s must be type boolean, not type %s", what,
                        sm_type_word((*e)->type));
    if (!text) return sm_out_of_memory(b);
    return sm_raise_at(b->err, (*e)->position, SM_ERR_TYPE_MISMATCH, text);
}

sm_status sm_bind_condition(sm_ctx *cx, const pg_node *n, sm_expr **out)
{
    SM_TRY(sm_bind_expr(cx, n, out));
    return as_condition(cx, cx->clause, out);
}

static sm_status bind_logic(sm_ctx *cx, const PgQuery__BoolExpr *e, sm_expr **out)
{
    sm_binder *b = cx->b;
    bool is_not = e->boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR,
         is_and = e->boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR;
    const char *what = is_not ? "NOT" : is_and ? "AND" : "OR";
    sm_expr **args = SM_NEW_N(b->scratch, sm_expr *, e->n_args);
    if (!args) return sm_out_of_memory(b);
    for (size_t i = 0; i < e->n_args; i++) {
        SM_TRY(sm_bind_expr(cx, e->args[i], &args[i]));
        SM_TRY(as_condition(cx, what, &args[i]));
    }
    if (is_not) return sm_make_not(b, args[0], sm_position(b, e->location), out);
    return sm_make_node(b, is_and ? SM_EXPR_AND : SM_EXPR_OR, sm_type_of(SM_BOOL), args,
                        (uint32_t)e->n_args, sm_position(b, e->location), out);
}

static sm_status bind_null_test(sm_ctx *cx, const PgQuery__NullTest *t, sm_expr **out)
{
    sm_binder *b = cx->b;
    sm_expr *e;
    int32_t position = sm_position(b, t->location);
    SM_TRY(sm_bind_expr(cx, t->arg, &e));
    SM_TRY(sm_decide(b, &e));
    SM_TRY(sm_make_node(b, SM_EXPR_IS_NULL, sm_type_of(SM_BOOL), &e, 1, position, out));
    return t->nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL
               ? SM_OK
               : sm_make_not(b, *out, position, out);
}

/* x IS TRUE is coalesce(x, false), and so on. */
static sm_status bind_boolean_test(sm_ctx *cx, const PgQuery__BooleanTest *t, sm_expr **out)
{
    sm_binder *b = cx->b;
    PgQuery__BoolTestType kind = t->booltesttype;
    int32_t position = sm_position(b, t->location);
    sm_expr *args[2];
    SM_TRY(sm_bind_expr(cx, t->arg, &args[0]));
    SM_TRY(as_condition(cx, "IS TRUE", &args[0]));
    if (kind == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN ||
        kind == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_UNKNOWN) {
        SM_TRY(sm_make_node(b, SM_EXPR_IS_NULL, sm_type_of(SM_BOOL), args, 1, position, out));
        return kind == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN ? SM_OK
                                                            : sm_make_not(b, *out, position, out);
    }
    bool is_true =
        kind == PG_QUERY__BOOL_TEST_TYPE__IS_TRUE || kind == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE;
    bool negated =
        kind == PG_QUERY__BOOL_TEST_TYPE__IS_FALSE || kind == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE;
    args[1] = sm_make_bool(b, !is_true, position);
    SM_TRY(sm_make_node(b, SM_EXPR_COALESCE, sm_type_of(SM_BOOL), args, 2, position, out));
    return negated ? sm_make_not(b, *out, position, out) : SM_OK;
}

/* ---- CASE and COALESCE ---- */

static sm_status bind_case(sm_ctx *cx, const PgQuery__CaseExpr *c, sm_expr **out)
{
    sm_binder *b = cx->b;
    uint32_t n = (uint32_t)c->n_args;
    sm_expr *subject = NULL, **args = SM_NEW_N(b->scratch, sm_expr *, 2 * n + 1);
    sm_expr **results =
        SM_NEW_N(b->scratch, sm_expr *, n + 1); /* ELSE first, as PostgreSQL looks at them */
    if (!args || !results) return sm_out_of_memory(b);
    if (c->arg) {
        SM_TRY(sm_bind_expr(cx, c->arg, &subject));
        SM_TRY(sm_check_repeat(b, subject, n, c->location));
    }
    if (c->defresult)
        SM_TRY(sm_bind_expr(cx, c->defresult, &results[0]));
    else
        SM_TRY(keep_const(cx, sm_type_of(SM_UNKNOWN), (sm_value){.is_null = true}, c->location,
                          &results[0]));
    for (uint32_t i = 0; i < n; i++) {
        const PgQuery__CaseWhen *w = c->args[i]->case_when;
        SM_TRY(sm_bind_expr(cx, w->expr, &args[2 * i]));
        if (subject)
            SM_TRY(sm_compare(b, "=", subject, args[2 * i], w->location, &args[2 * i]));
        else
            SM_TRY(as_condition(cx, "CASE/WHEN", &args[2 * i]));
        SM_TRY(sm_bind_expr(cx, w->result, &results[i + 1]));
    }
    sm_type type;
    SM_TRY(sm_unify(b, "CASE", results, n + 1, &type));
    for (uint32_t i = 0; i < n; i++) args[2 * i + 1] = results[i + 1];
    args[2 * n] = results[0];
    return sm_make_node(b, SM_EXPR_CASE, type, args, 2 * n + 1, sm_position(b, c->location), out);
}

static sm_status bind_list(sm_ctx *cx, pg_node *const *items, size_t n, sm_expr ***out)
{
    *out = SM_NEW_N(cx->b->scratch, sm_expr *, n ? n : 1);
    if (!*out) return sm_out_of_memory(cx->b);
    for (size_t i = 0; i < n; i++) SM_TRY(sm_bind_expr(cx, items[i], &(*out)[i]));
    return SM_OK;
}

static sm_status bind_coalesce(sm_ctx *cx, const PgQuery__CoalesceExpr *c, sm_expr **out)
{
    sm_expr **args;
    sm_type type;
    SM_TRY(bind_list(cx, c->args, c->n_args, &args));
    SM_TRY(sm_unify(cx->b, "COALESCE", args, (uint32_t)c->n_args, &type));
    if (c->n_args == 1) return *out = args[0], SM_OK;
    return sm_make_node(cx->b, SM_EXPR_COALESCE, type, args, (uint32_t)c->n_args,
                        sm_position(cx->b, c->location), out);
}

static sm_status bind_min_max(sm_ctx *cx, const PgQuery__MinMaxExpr *m, sm_expr **out)
{
    sm_expr **args;
    bool greatest = m->op == PG_QUERY__MIN_MAX_OP__IS_GREATEST;
    SM_TRY(bind_list(cx, m->args, m->n_args, &args));
    return sm_make_extreme(cx->b, greatest, args, (uint32_t)m->n_args, m->location, out);
}

/* ---- operators with a grammar of their own ---- */

static sm_status bind_between(sm_ctx *cx, const PgQuery__AExpr *e, bool negated, bool symmetric,
                              sm_expr **out)
{
    sm_binder *b = cx->b;
    sm_expr *x, **bounds, *parts[2], *sides[2];
    int32_t position = sm_position(b, e->location);
    SM_TRY(sm_bind_expr(cx, e->lexpr, &x));
    SM_TRY(bind_list(cx, e->rexpr->list->items, e->rexpr->list->n_items, &bounds));
    SM_TRY(sm_check_repeat(b, x, symmetric ? 4 : 2, e->location));
    for (unsigned i = 0; i < (symmetric ? 2u : 1u); i++) {
        SM_TRY(sm_compare(b, ">=", x, bounds[i], e->location, &parts[0]));
        SM_TRY(sm_compare(b, "<=", x, bounds[1 - i], e->location, &parts[1]));
        SM_TRY(sm_make_node(b, SM_EXPR_AND, sm_type_of(SM_BOOL), parts, 2, position, &sides[i]));
    }
    *out = sides[0];
    if (symmetric)
        SM_TRY(sm_make_node(b, SM_EXPR_OR, sm_type_of(SM_BOOL), sides, 2, position, out));
    return negated ? sm_make_not(b, *out, position, out) : SM_OK;
}

/* (a, b) = (c, d) as a = c AND b = d. */
static sm_status rows_equal(sm_ctx *cx, const pg_node *l, const pg_node *r, int32_t location,
                            sm_expr **out)
{
    sm_binder *b = cx->b;
    if (!PG_IS(l, ROW_EXPR) || !PG_IS(r, ROW_EXPR) || l->row_expr->n_args != r->row_expr->n_args)
        return SM_FAIL(b, location, SM_ERR_SYNTAX, "unequal number of entries in row expressions");
    uint32_t n = (uint32_t)l->row_expr->n_args;
    sm_expr **parts = SM_NEW_N(b->scratch, sm_expr *, n ? n : 1), *left, *right;
    if (!parts) return sm_out_of_memory(b);
    if (n == 0) return SM_FAIL(b, location, SM_ERR_NOT_SUPPORTED, "a row of nothing");
    for (uint32_t i = 0; i < n; i++) {
        SM_TRY(sm_bind_expr(cx, l->row_expr->args[i], &left));
        SM_TRY(sm_bind_expr(cx, r->row_expr->args[i], &right));
        SM_TRY(sm_compare(b, "=", left, right, location, &parts[i]));
    }
    if (n == 1) return *out = parts[0], SM_OK;
    return sm_make_node(b, SM_EXPR_AND, sm_type_of(SM_BOOL), parts, n, sm_position(b, location),
                        out);
}

static sm_status bind_in(sm_ctx *cx, const PgQuery__AExpr *e, sm_expr **out)
{
    sm_binder *b = cx->b;
    bool negated = strcmp(sm_pg_string(e->name[0]), "<>") == 0, rows = PG_IS(e->lexpr, ROW_EXPR);
    if (!PG_IS(e->rexpr, LIST))
        return SM_FAIL(b, e->location, SM_ERR_NOT_SUPPORTED, "this kind of IN");
    uint32_t n = (uint32_t)e->rexpr->list->n_items;
    sm_expr *x = NULL, *item, **parts = SM_NEW_N(b->scratch, sm_expr *, n ? n : 1);
    int32_t position = sm_position(b, e->location);
    if (!parts) return sm_out_of_memory(b);
    if (!rows) {
        SM_TRY(sm_bind_expr(cx, e->lexpr, &x));
        SM_TRY(sm_check_repeat(b, x, n, e->location));
    }
    for (uint32_t i = 0; i < n; i++) {
        const pg_node *right = e->rexpr->list->items[i];
        if (rows) {
            SM_TRY(rows_equal(cx, e->lexpr, right, e->location, &parts[i]));
            continue;
        }
        SM_TRY(sm_bind_expr(cx, right, &item));
        SM_TRY(sm_compare(b, negated && n == 1 ? "<>" : "=", x, item, e->location, &parts[i]));
    }
    *out = parts[0];
    if (n == 1 && !rows) return SM_OK;
    if (n > 1) SM_TRY(sm_make_node(b, SM_EXPR_OR, sm_type_of(SM_BOOL), parts, n, position, out));
    return negated ? sm_make_not(b, *out, position, out) : SM_OK;
}

static sm_status bind_operation(sm_ctx *cx, const PgQuery__AExpr *e, sm_expr **out)
{
    sm_expr *l = NULL, *r;
    const char *op = sm_last_name(e->n_name, e->name, NULL);
    if (PG_IS(e->lexpr, ROW_EXPR) || PG_IS(e->rexpr, ROW_EXPR)) {
        bool equal = op && strcmp(op, "=") == 0,
             differs = op && (strcmp(op, "<>") == 0 || strcmp(op, "!=") == 0);
        if (!equal && !differs)
            return SM_FAIL(cx->b, e->location, SM_ERR_NOT_SUPPORTED, "comparing rows by order");
        SM_TRY(rows_equal(cx, e->lexpr, e->rexpr, e->location, out));
        return differs ? sm_make_not(cx->b, *out, sm_position(cx->b, e->location), out) : SM_OK;
    }
    if (e->lexpr) SM_TRY(sm_bind_expr(cx, e->lexpr, &l));
    SM_TRY(sm_bind_expr(cx, e->rexpr, &r));
    return sm_bind_operator(cx, op ? op : "", l, r, e->location, out);
}

static sm_status bind_a_expr(sm_ctx *cx, const PgQuery__AExpr *e, sm_expr **out)
{
    sm_binder *b = cx->b;
    sm_expr *l, *r;
    switch (e->kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP: return bind_operation(cx, e, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN: return bind_in(cx, e, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE: return sm_bind_like(cx, e, false, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE: return sm_bind_like(cx, e, true, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN: return bind_between(cx, e, false, false, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN: return bind_between(cx, e, true, false, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN_SYM: return bind_between(cx, e, false, true, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM:
        return bind_between(cx, e, true, true, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF:
        SM_TRY(sm_bind_expr(cx, e->lexpr, &l));
        SM_TRY(sm_bind_expr(cx, e->rexpr, &r));
        if (e->kind == PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF)
            return sm_make_nullif(b, l, r, e->location, out);
        return sm_make_distinct(b, e->kind == PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT, l, r,
                                e->location, out);
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR:
        return SM_FAIL(b, e->location, SM_ERR_NOT_SUPPORTED, "SIMILAR TO");
    default: return SM_FAIL(b, e->location, SM_ERR_NOT_SUPPORTED, "an operator over an array");
    }
}

/* ---- casts ---- */

static sm_status bind_cast(sm_ctx *cx, const PgQuery__TypeCast *c, sm_expr **out)
{
    sm_binder *b = cx->b;
    sm_target to;
    int32_t location = c->location >= 0 ? c->location : c->type_name->location;
    SM_TRY(sm_bind_type(b, c->type_name, &to));
    bool digits =
        PG_IS(c->arg, A_CONST) && c->arg->a_const->val_case == PG_QUERY__A__CONST__VAL_FVAL;
    sm_expr *e;
    if (digits && sm_type_is_float(to.type)) /* read once, as what it is to be */
        SM_TRY(text_literal(cx, SM_UNKNOWN, c->arg->a_const->fval->fval, c->arg->a_const->location,
                            &e));
    else
        SM_TRY(sm_bind_expr(cx, c->arg, &e));
    SM_TRY(sm_cast(b, e, &to, SM_CAST_EXPLICIT, location, out));
    if (c->location < 0)
        (*out)->position = sm_position(b, location); /* date '...' begins with the type */
    return SM_OK;
}

static sm_status bind_collate(sm_ctx *cx, const PgQuery__CollateClause *c, sm_expr **out)
{
    static const char *const same[] = {"C", "POSIX", "default", "ucs_basic"};
    const char *name = sm_last_name(c->n_collname, c->collname, NULL);
    for (size_t i = 0; name && i < SM_COUNT(same); i++)
        if (strcmp(name, same[i]) == 0) return sm_bind_expr(cx, c->arg, out);
    return SM_FAIL(cx->b, c->location, SM_ERR_NOT_SUPPORTED, "a collation other than C");
}

sm_status sm_bind_expr(sm_ctx *cx, const pg_node *n, sm_expr **out)
{
    sm_binder *b = cx->b;
    if (!n) return SM_FAIL(b, -1, SM_ERR_SYNTAX, "an expression is missing");
    switch (n->node_case) {
    case PG_QUERY__NODE__NODE_A_CONST: return bind_const(cx, n->a_const, out);
    case PG_QUERY__NODE__NODE_COLUMN_REF: return sm_bind_column(cx, n->column_ref, out);
    case PG_QUERY__NODE__NODE_PARAM_REF: return bind_param(cx, n->param_ref, out);
    case PG_QUERY__NODE__NODE_A_EXPR: return bind_a_expr(cx, n->a_expr, out);
    case PG_QUERY__NODE__NODE_BOOL_EXPR: return bind_logic(cx, n->bool_expr, out);
    case PG_QUERY__NODE__NODE_NULL_TEST: return bind_null_test(cx, n->null_test, out);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST: return bind_boolean_test(cx, n->boolean_test, out);
    case PG_QUERY__NODE__NODE_CASE_EXPR: return bind_case(cx, n->case_expr, out);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: return bind_coalesce(cx, n->coalesce_expr, out);
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR: return bind_min_max(cx, n->min_max_expr, out);
    case PG_QUERY__NODE__NODE_TYPE_CAST: return bind_cast(cx, n->type_cast, out);
    case PG_QUERY__NODE__NODE_FUNC_CALL: return sm_bind_function(cx, n->func_call, out);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
        return sm_bind_clock(cx, n->sqlvalue_function, out);
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return bind_collate(cx, n->collate_clause, out);
    case PG_QUERY__NODE__NODE_SUB_LINK: return sm_bind_sublink(cx, n->sub_link, out);
    case PG_QUERY__NODE__NODE_ROW_EXPR:
        return SM_FAIL(b, n->row_expr->location, SM_ERR_NOT_SUPPORTED, "a row value");
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
        return SM_FAIL(b, n->a_array_expr->location, SM_ERR_NOT_SUPPORTED, "an array");
    case PG_QUERY__NODE__NODE_GROUPING_FUNC:
        return SM_FAIL(b, n->grouping_func->location, SM_ERR_NOT_SUPPORTED, "GROUPING");
    case PG_QUERY__NODE__NODE_SET_TO_DEFAULT:
        return SM_FAIL(b, n->set_to_default->location, SM_ERR_SYNTAX,
                       "DEFAULT is not allowed in this context");
    default: return SM_FAIL(b, -1, SM_ERR_NOT_SUPPORTED, "this kind of expression");
    }
}
