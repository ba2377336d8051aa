/* Function calls: aggregates, overloads of ops.def found by name and types, and casts written as
 * functions. What needs a C function of its own is in bind_special.c; functions.def lists those and
 * the second names. */
#include "sql/bind_func.h"

#include <string.h>

typedef struct pair {
    const char *name, *row;
} pair;

static const pair aliases[] = {
#define SM_ALIAS(name, row) {name, row},
#define SM_SPECIAL(name, min, max, fn)
#define SM_ABSENT(name)
#include "sql/functions.def"
#undef SM_ALIAS
#undef SM_SPECIAL
#undef SM_ABSENT
};

static const char *const absent[] = {
#define SM_ALIAS(name, row)
#define SM_SPECIAL(name, min, max, fn)
#define SM_ABSENT(name) name,
#include "sql/functions.def"
#undef SM_ALIAS
#undef SM_SPECIAL
#undef SM_ABSENT
};

/* foo(integer, text) */
static char *signature(sm_binder *b, const char *name, sm_expr *const *args, uint32_t n)
{
    char *s = sm_arena_printf(b->scratch, "function %s(", name);
    for (uint32_t i = 0; s && i < n; i++)
        s = sm_arena_printf(b->scratch, "%s%s%s", s, i ? ", " : "", sm_type_word(args[i]->type));
    return s ? sm_arena_printf(b->scratch, "%s)", s) : NULL;
}

sm_status sm_no_function(sm_binder *b, const char *name, sm_expr *const *args, uint32_t n,
                         int32_t location)
{
    bool known = false;
    sm_nearest near = {.name = name};
    const char *text = signature(b, name, args, n);
    if (!text) return sm_out_of_memory(b);
    for (unsigned i = 0; i < SM_N_OPS; i++) {
        const char *sql = sm_ops[i].sql;
        if (!(sql[0] >= 'a' && sql[0] <= 'z') || i == SM_OP_not_b) continue;
        known |= strcmp(sql, name) == 0;
        sm_nearest_offer(&near, sql);
    }
    for (unsigned i = 0; i < SM_N_AGGS; i++) known |= strcmp(sm_agg_name((sm_agg_fn)i), name) == 0;
    sm_status s = SM_FAIL(b, location, SM_ERR_UNDEFINED_FUNCTION, text);
    if (known || !near.best)
        sm_error_hint(b->err, "No function matches the given name and argument types. You might "
                              "need to add explicit type casts.");
    else
        sm_error_hint(b->err, "Perhaps you meant the function \"%s\".", near.best);
    return s;
}

/* ---- aggregates ---- */

static bool order_matters(sm_agg_fn fn, const sm_expr *arg)
{
    if (fn == SM_AGG_COUNT || fn == SM_AGG_MIN || fn == SM_AGG_MAX || fn == SM_AGG_BOOL_AND ||
        fn == SM_AGG_BOOL_OR)
        return false;
    return !(fn == SM_AGG_SUM || fn == SM_AGG_AVG) || sm_type_is_float(arg->type);
}

static sm_status aggregate_filter(sm_ctx *cx, const pg_node *n, sm_agg_call *call)
{
    sm_ctx inner = *cx;
    inner.clause = "FILTER";
    inner.aggs = NULL;
    return n ? sm_bind_condition(&inner, n, &call->filter) : SM_OK;
}

static sm_status bind_aggregate(sm_ctx *cx, const PgQuery__FuncCall *f, const char *name,
                                sm_agg_fn fn, sm_expr **out)
{
    sm_binder *b = cx->b;
    sm_agg_call call = {
        .fn = fn, .distinct = f->agg_distinct != 0, .position = sm_position(b, f->location)};
    if (cx->in_aggregate)
        return SM_FAIL(b, f->location, SM_ERR_GROUPING,
                       "aggregate function calls cannot be nested");
    if (!cx->aggs) {
        const char *text =
            sm_arena_printf(b->scratch, "aggregate functions are not allowed in %s", cx->clause);
        return text ? SM_FAIL(b, f->location, SM_ERR_GROUPING, text) : sm_out_of_memory(b);
    }
    sm_ctx inner = *cx;
    inner.in_aggregate = true;
    if (f->n_args > 1) {
        sm_expr **args = SM_NEW_N(b->scratch, sm_expr *, f->n_args);
        if (!args) return sm_out_of_memory(b);
        for (size_t i = 0; i < f->n_args; i++) SM_TRY(sm_bind_expr(&inner, f->args[i], &args[i]));
        return sm_no_function(b, name, args, (uint32_t)f->n_args, f->location);
    }
    if (f->n_args == 1) {
        SM_TRY(sm_bind_expr(&inner, f->args[0], &call.arg));
        if (call.arg->type.id == SM_UNKNOWN && (fn == SM_AGG_BOOL_AND || fn == SM_AGG_BOOL_OR))
            SM_TRY(sm_coerce(b, call.arg, sm_type_of(SM_BOOL), &call.arg));
        SM_TRY(sm_decide(b, &call.arg));
    } else if (fn != SM_AGG_COUNT_ALL) {
        return sm_no_function(b, name, NULL, 0, f->location);
    }
    if (!sm_agg_result_type(fn, call.arg ? call.arg->type : sm_type_of(SM_INT64), &call.type))
        return sm_no_function(b, name, &call.arg, call.arg ? 1 : 0, f->location);
    if (f->n_agg_order && order_matters(fn, call.arg))
        return SM_FAIL(b, f->location, SM_ERR_NOT_SUPPORTED, "ORDER BY in this aggregate");
    SM_TRY(aggregate_filter(&inner, f->agg_filter, &call));
    uint32_t column;
    SM_TRY(sm_agg_add(b, cx->aggs, &call, &column));
    bool counts = fn == SM_AGG_COUNT || fn == SM_AGG_COUNT_ALL;
    *out = sm_expr_column(b->a, SM_AGG_COLUMN + column, call.type, !counts);
    if (!*out) return sm_out_of_memory(b);
    (*out)->position = call.position;
    return SM_OK;
}

/* ---- scalar functions ---- */

/* float8(x), date('2024-01-01'): a cast, when no function has that name. */
static sm_status cast_call(sm_binder *b, const char *name, sm_expr **args, uint32_t n,
                           int32_t location, bool *is_cast, sm_expr **out)
{
    sm_target to = {.name = name};
    *is_cast = n == 1 && sm_type_find(name, &to.type);
    return *is_cast ? sm_cast(b, args[0], &to, SM_CAST_EXPLICIT, location, out) : SM_OK;
}

static sm_status bind_scalar(sm_ctx *cx, const PgQuery__FuncCall *f, const char *name,
                             sm_expr **out)
{
    sm_binder *b = cx->b;
    uint32_t n = (uint32_t)f->n_args;
    const char *row = name;
    bool done;
    sm_op op;
    sm_expr **args = SM_NEW_N(b->scratch, sm_expr *, n + 1); /* room for a default argument */
    if (!args) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n; i++) SM_TRY(sm_bind_expr(cx, f->args[i], &args[i]));
    SM_TRY(sm_bind_special(cx, name, args, &n, f->location, &done, out));
    if (done) return SM_OK;
    for (size_t i = 0; i < SM_COUNT(aliases); i++)
        if (strcmp(aliases[i].name, name) == 0) row = aliases[i].row;
    op = SM_N_OPS;
    if (row[0] >= 'a' && row[0] <= 'z') SM_TRY(sm_find_op(b, row, args, n, &op));
    if (op != SM_N_OPS)
        return sm_make_op(b, op, sm_code_type((sm_code)sm_ops[op].result), args, n, 0, 0, out);
    SM_TRY(cast_call(b, name, args, n, f->location, &done, out));
    return done ? SM_OK : sm_no_function(b, name, args, n, f->location);
}

sm_status sm_bind_function(sm_ctx *cx, const PgQuery__FuncCall *f, sm_expr **out)
{
    sm_binder *b = cx->b;
    bool foreign = false;
    const char *name = sm_last_name(f->n_funcname, f->funcname, &foreign);
    sm_agg_fn fn;
    if (!name || foreign) return sm_no_function(b, name ? name : "", NULL, 0, f->location);
    if (f->over) return SM_FAIL(b, f->location, SM_ERR_NOT_SUPPORTED, "a window function");
    for (size_t i = 0; i < SM_COUNT(absent); i++) {
        if (strcmp(absent[i], name) != 0) continue;
        const char *text = sm_arena_printf(b->scratch, "function %s here", name);
        return text ? SM_FAIL(b, f->location, SM_ERR_NOT_SUPPORTED, text) : sm_out_of_memory(b);
    }
    if (f->agg_within_group) return SM_FAIL(b, f->location, SM_ERR_NOT_SUPPORTED, "WITHIN GROUP");
    if (f->func_variadic) return SM_FAIL(b, f->location, SM_ERR_NOT_SUPPORTED, "VARIADIC");
    if (sm_agg_find(name, f->agg_star != 0, &fn)) return bind_aggregate(cx, f, name, fn, out);
    if (f->agg_star && sm_agg_find(name, false, &fn)) return sm_no_function(b, name, NULL, 0, f->location);
    if (f->agg_star || f->agg_distinct || f->agg_filter || f->n_agg_order) {
        const char *text = sm_arena_printf(b->scratch, "%s is not an aggregate function", name);
        return text ? SM_FAIL(b, f->location, SM_ERR_TYPE_MISMATCH, text) : sm_out_of_memory(b);
    }
    SM_TRY(bind_scalar(cx, f, name, out));
    (*out)->position = sm_position(b, f->location);
    return SM_OK;
}
