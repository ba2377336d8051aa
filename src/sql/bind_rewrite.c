/* NULLIF, IS DISTINCT FROM, GREATEST, LIKE and the clock, by what they are defined as. Read
 * bind_rewrite.h first. An operand that a definition names twice stands in the tree twice;
 * sm_check_repeat keeps that in bounds. */
#include "sql/bind_rewrite.h"

#include <string.h>
#include <time.h>
#include <utf8proc.h>

sm_status sm_make_not(sm_binder *b, sm_expr *e, int32_t position, sm_expr **out)
{
    SM_TRY(sm_make_op(b, SM_OP_not_b, sm_type_of(SM_BOOL), &e, 1, 0, 0, out));
    (*out)->position = position;
    return SM_OK;
}

static sm_status is_null(sm_binder *b, sm_expr *e, int32_t position, sm_expr **out)
{
    return sm_make_node(b, SM_EXPR_IS_NULL, sm_type_of(SM_BOOL), &e, 1, position, out);
}

sm_status sm_make_nullif(sm_binder *b, sm_expr *l, sm_expr *r, int32_t location, sm_expr **out)
{
    sm_expr *args[3];
    SM_TRY(sm_check_repeat(b, l, 2, location));
    SM_TRY(sm_compare(b, "=", l, r, location, &args[0]));
    SM_TRY(sm_decide(b, &l));
    args[1] = sm_expr_null(b->a, l->type);
    args[2] = l;
    return sm_make_node(b, SM_EXPR_CASE, l->type, args, 3, sm_position(b, location), out);
}

sm_status sm_make_distinct(sm_binder *b, bool distinct, sm_expr *l, sm_expr *r, int32_t location,
                           sm_expr **out)
{
    int32_t position = sm_position(b, location);
    sm_expr *differs, *args[5];
    SM_TRY(sm_check_repeat(b, l, 2, location));
    SM_TRY(sm_check_repeat(b, r, 3, location));
    SM_TRY(sm_compare(b, distinct ? "<>" : "=", l, r, location, &differs));
    SM_TRY(sm_decide(b, &l));
    SM_TRY(sm_decide(b, &r));
    if (!l->nullable && !r->nullable) return *out = differs, SM_OK;
    SM_TRY(is_null(b, l, position, &args[0]));
    SM_TRY(is_null(b, r, position, &args[2]));
    args[1] = args[2];
    if (distinct) SM_TRY(sm_make_not(b, args[2], position, &args[1]));
    args[3] = sm_make_bool(b, distinct, position);
    args[4] = differs;
    SM_TRY(sm_make_node(b, SM_EXPR_CASE, sm_type_of(SM_BOOL), args, 5, position, out));
    (*out)->nullable = false; /* the comparison is reached only where neither is NULL */
    return SM_OK;
}

/* Is args[at] not NULL and beaten by no other that is not NULL? */
static sm_status is_extreme(sm_binder *b, bool greatest, sm_expr **args, uint32_t n, uint32_t at,
                            int32_t location, sm_expr **out)
{
    int32_t position = sm_position(b, location);
    sm_expr **parts = SM_NEW_N(b->scratch, sm_expr *, n);
    uint32_t n_parts = 0;
    if (!parts) return sm_out_of_memory(b);
    if (args[at]->nullable) {
        SM_TRY(is_null(b, args[at], position, &parts[0]));
        SM_TRY(sm_make_not(b, parts[0], position, &parts[0]));
        n_parts = 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        sm_expr *either[2];
        if (i == at) continue;
        SM_TRY(sm_compare(b, greatest ? ">=" : "<=", args[at], args[i], location, &either[1]));
        if (args[i]->nullable) {
            SM_TRY(is_null(b, args[i], position, &either[0]));
            SM_TRY(
                sm_make_node(b, SM_EXPR_OR, sm_type_of(SM_BOOL), either, 2, position, &either[1]));
        }
        parts[n_parts++] = either[1];
    }
    if (n_parts == 1) return *out = parts[0], SM_OK;
    return sm_make_node(b, SM_EXPR_AND, sm_type_of(SM_BOOL), parts, n_parts, position, out);
}

sm_status sm_make_extreme(sm_binder *b, bool greatest, sm_expr **args, uint32_t n, int32_t location,
                          sm_expr **out)
{
    enum { MOST = 100 };
    sm_type type;
    SM_TRY(sm_unify(b, greatest ? "GREATEST" : "LEAST", args, n, &type));
    if (n == 1) return *out = args[0], SM_OK;
    if (n > MOST)
        return SM_FAIL(b, location, SM_ERR_TOO_COMPLEX,
                       "more than 100 arguments of GREATEST or LEAST");
    sm_expr **parts = SM_NEW_N(b->scratch, sm_expr *, 2 * n);
    if (!parts) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n; i++) SM_TRY(sm_check_repeat(b, args[i], 3 * n, location));
    for (uint32_t i = 0; i + 1 < n; i++) {
        SM_TRY(is_extreme(b, greatest, args, n, i, location, &parts[2 * i]));
        parts[2 * i + 1] = args[i];
    }
    parts[2 * (n - 1)] = args[n - 1];
    SM_TRY(sm_make_node(b, SM_EXPR_CASE, type, parts, 2 * n - 1, sm_position(b, location), out));
    bool nullable = true;
    for (uint32_t i = 0; i < n; i++) nullable &= args[i]->nullable;
    (*out)->nullable = nullable;
    return SM_OK;
}

/* The code point of the escape character, -1 for none. */
static sm_status escape_character(sm_binder *b, const pg_node *n, int32_t location, int32_t *out)
{
    if (!PG_IS(n, A_CONST) || n->a_const->val_case != PG_QUERY__A__CONST__VAL_SVAL)
        return SM_FAIL(b, location, SM_ERR_NOT_SUPPORTED, "an ESCAPE that is not a literal");
    const char *s = n->a_const->sval->sval;
    size_t len = strlen(s);
    utf8proc_int32_t code = -1;
    if (len) {
        utf8proc_ssize_t used =
            utf8proc_iterate((const utf8proc_uint8_t *)s, (utf8proc_ssize_t)len, &code);
        if (used < 1 || (size_t)used != len) {
            sm_status st = SM_FAIL(b, n->a_const->location, SM_ERR_LIKE_ESCAPE_LENGTH);
            sm_error_hint(b->err, "Escape string must be empty or one character.");
            return st;
        }
    }
    *out = code;
    return SM_OK;
}

sm_status sm_bind_like(sm_ctx *cx, const PgQuery__AExpr *e, bool fold_case, sm_expr **out)
{
    sm_binder *b = cx->b;
    const pg_node *pattern = e->rexpr;
    int32_t escape = '\\', position = sm_position(b, e->location);
    sm_expr *args[2];
    const char *op = sm_pg_string(e->name[0]);
    if (PG_IS(pattern, FUNC_CALL) && pattern->func_call->n_args == 2) {
        const char *name =
            sm_last_name(pattern->func_call->n_funcname, pattern->func_call->funcname, NULL);
        if (name && strcmp(name, "like_escape") == 0) {
            SM_TRY(escape_character(b, pattern->func_call->args[1], e->location, &escape));
            pattern = pattern->func_call->args[0];
        }
    }
    SM_TRY(sm_bind_expr(cx, e->lexpr, &args[0]));
    SM_TRY(sm_bind_expr(cx, pattern, &args[1]));
    for (int i = 0; i < 2; i++) SM_TRY(sm_decide(b, &args[i]));
    if (args[0]->type.id != SM_TEXT || args[1]->type.id != SM_TEXT) {
        const char *text = sm_arena_printf(b->scratch, "%s %s %s", sm_type_word(args[0]->type),
                                           op ? op : "~~", sm_type_word(args[1]->type));
        return text ? SM_FAIL(b, e->location, SM_ERR_UNDEFINED_OPERATOR, text)
                    : sm_out_of_memory(b);
    }
    SM_TRY(sm_make_op(b, fold_case ? SM_OP_ilike_txt : SM_OP_like_txt, sm_type_of(SM_BOOL), args, 2,
                      escape, 0, out));
    (*out)->position = position;
    return op && op[0] == '!' ? sm_make_not(b, *out, position, out) : SM_OK;
}

sm_status sm_make_now(sm_binder *b, sm_type_id type, int32_t position, sm_expr **out)
{
    enum { DAY_SECONDS = 86400 };
    struct timespec now;
    sm_value v = {.is_null = false};
    clock_gettime(CLOCK_REALTIME, &now);
    if (type == SM_DATE)
        v.i32 = (int32_t)(now.tv_sec / DAY_SECONDS);
    else
        v.i64 = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    *out = sm_expr_const(b->a, sm_type_of(type), &v);
    if (!*out) return sm_out_of_memory(b);
    (*out)->position = position;
    return SM_OK;
}

sm_status sm_bind_clock(sm_ctx *cx, const PgQuery__SQLValueFunction *f, sm_expr **out)
{
    int32_t position = sm_position(cx->b, f->location);
    switch (f->op) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE:
        return sm_make_now(cx->b, SM_DATE, position, out);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
        return sm_make_now(cx->b, SM_TIMESTAMP, position, out);
    default: return SM_FAIL(cx->b, f->location, SM_ERR_NOT_SUPPORTED, "this kind of current value");
    }
}
