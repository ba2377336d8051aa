/* Operators: which operation an operator means for its operands' types, and how decimals are
 * aligned for it. Read bind_cast.c first.
 *
 * Numbers meet at their common type (integer, bigint, decimal, double precision); everything else
 * is looked up in ops.def by PostgreSQL's rules for overloads. */
#include <string.h>

#include "sql/bind.h"

static bool is_number(sm_type t)
{
    return sm_type_is_int(t) || sm_type_is_float(t) || t.id == SM_DECIMAL;
}
static unsigned larger(unsigned a, unsigned b)
{
    return a > b ? a : b;
}
static unsigned at_most_38(unsigned n)
{
    return n > SM_DEC_MAX_DIGITS ? SM_DEC_MAX_DIGITS : n;
}

static sm_status no_operator(sm_binder *b, const char *op, const sm_expr *l, const sm_expr *r,
                             int32_t location)
{
    const char *text = l ? sm_arena_printf(b->scratch, "%s %s %s", sm_type_word(l->type), op,
                                           sm_type_word(r->type))
                         : sm_arena_printf(b->scratch, "%s %s", op, sm_type_word(r->type));
    if (!text) return sm_out_of_memory(b);
    sm_status s = SM_FAIL(b, location, SM_ERR_UNDEFINED_OPERATOR, text);
    sm_error_hint(
        b->err,
        "No operator matches the given argument types. You might need to add explicit type casts.");
    return s;
}

/* A literal or parameter without a type takes the other side's; a decimal's digits are its own. */
static sm_status adopt(sm_binder *b, sm_expr *other, sm_expr **e)
{
    sm_target to = {.type = other->type};
    if ((*e)->type.id != SM_UNKNOWN || other->type.id == SM_UNKNOWN) return SM_OK;
    if (to.type.id == SM_DECIMAL && (*e)->kind == SM_EXPR_CONST)
        to.type.flags = SM_TYPE_BARE_DECIMAL;
    return sm_cast(b, *e, &to, SM_CAST_IMPLICIT, -1, e);
}

/* Both as decimals of one scale; in 128 bits if result_precision (of the operation) needs them. */
static sm_status align(sm_binder *b, sm_expr **l, sm_expr **r, unsigned extra, sm_type *result)
{
    SM_TRY(sm_to_decimal(b, *l, l));
    SM_TRY(sm_to_decimal(b, *r, r));
    sm_type a = (*l)->type, c = (*r)->type;
    unsigned scale = larger(a.scale, c.scale);
    unsigned wa = a.precision - a.scale, wc = c.precision - c.scale;
    unsigned digits = at_most_38(larger(wa, wc) + scale + extra);
    *result = sm_decimal(digits ? digits : 1, scale);
    if (digits <= SM_DEC64_DIGITS) {
        SM_TRY(sm_rescale(b, *l, larger(wa + scale, 1), scale, l));
        return sm_rescale(b, *r, larger(wc + scale, 1), scale, r);
    }
    SM_TRY(sm_rescale(b, *l, at_most_38(larger(wa + scale, SM_DEC64_DIGITS + 1)), scale, l));
    return sm_rescale(b, *r, at_most_38(larger(wc + scale, SM_DEC64_DIGITS + 1)), scale, r);
}

/* ---- comparison ---- */

static sm_status align_numbers(sm_binder *b, sm_expr **l, sm_expr **r)
{
    sm_type result;
    if (sm_type_is_float((*l)->type) || sm_type_is_float((*r)->type)) {
        bool real = (*l)->type.id == SM_FLOAT32 && (*r)->type.id == SM_FLOAT32;
        sm_type t = sm_type_of(real ? SM_FLOAT32 : SM_FLOAT64);
        SM_TRY(sm_coerce(b, *l, t, l));
        return sm_coerce(b, *r, t, r);
    }
    if ((*l)->type.id == SM_DECIMAL || (*r)->type.id == SM_DECIMAL)
        return align(b, l, r, 0, &result);
    sm_type t = (*l)->type.id > (*r)->type.id ? (*l)->type : (*r)->type;
    SM_TRY(sm_coerce(b, *l, t, l));
    return sm_coerce(b, *r, t, r);
}

sm_status sm_compare(sm_binder *b, const char *op, sm_expr *l, sm_expr *r, int32_t location,
                     sm_expr **out)
{
    SM_TRY(adopt(b, l, &r));
    SM_TRY(adopt(b, r, &l));
    SM_TRY(sm_decide(b, &l));
    SM_TRY(sm_decide(b, &r));
    if (is_number(l->type) && is_number(r->type)) {
        SM_TRY(align_numbers(b, &l, &r));
    } else if (l->type.id != r->type.id) {
        bool times = (l->type.id == SM_DATE && r->type.id == SM_TIMESTAMP) ||
                     (l->type.id == SM_TIMESTAMP && r->type.id == SM_DATE);
        if (!times) return no_operator(b, op, l, r, location);
        SM_TRY(sm_coerce(b, l, sm_type_of(SM_TIMESTAMP), &l));
        SM_TRY(sm_coerce(b, r, sm_type_of(SM_TIMESTAMP), &r));
    }
    sm_expr *args[2] = {l, r};
    SM_TRY(sm_make_op(b, sm_op_compare(op, l->phys), sm_type_of(SM_BOOL), args, 2, 0, 0, out));
    if (location >= 0) (*out)->position = sm_position(b, location);
    return SM_OK;
}

/* ---- arithmetic ---- */

static sm_status decimal_arithmetic(sm_binder *b, char op, sm_expr *l, sm_expr *r, int32_t location,
                                    sm_expr **out)
{
    sm_type t;
    sm_op op64, op128;
    if (op == '*' || op == '/') {
        SM_TRY(sm_to_decimal(b, l, &l));
        SM_TRY(sm_to_decimal(b, r, &r));
        unsigned scale = l->type.scale + r->type.scale + 0u;
        if (op == '*' && scale > SM_DEC_MAX_DIGITS)
            return SM_FAIL(b, location, SM_ERR_DECIMAL_RANGE);
        t = sm_decimal(at_most_38(l->type.precision + r->type.precision + 0u),
                       op == '*' ? scale : 0);
        op64 = SM_OP_mul_d64, op128 = SM_OP_mul_d128;
    } else {
        SM_TRY(align(b, &l, &r, op == '%' ? 0 : 1, &t));
        op64 = op == '+' ? SM_OP_add_d64 : op == '-' ? SM_OP_sub_d64 : SM_OP_mod_d64;
        op128 = op == '+' ? SM_OP_add_d128 : op == '-' ? SM_OP_sub_d128 : SM_OP_mod_d128;
    }
    if (op != '/' && t.precision <= SM_DEC64_DIGITS)
        return sm_make_op(b, op64, t, (sm_expr *[]){l, r}, 2, 0, 0, out);
    int32_t scale_diff = l->type.scale - r->type.scale;
    SM_TRY(sm_rescale(b, l, larger(l->type.precision, SM_DEC64_DIGITS + 1), l->type.scale, &l));
    SM_TRY(sm_rescale(b, r, larger(r->type.precision, SM_DEC64_DIGITS + 1), r->type.scale, &r));
    sm_expr *args[2] = {l, r};
    if (op == '/')
        return sm_make_op(b, SM_OP_div_d128, sm_type_of(SM_FLOAT64), args, 2, scale_diff, 0, out);
    return sm_make_op(b, op128, t, args, 2, 0, 0, out);
}

static sm_status arithmetic(sm_binder *b, char op, sm_expr *l, sm_expr *r, int32_t location,
                            sm_expr **out)
{
    enum { N_KINDS = 5 };
    static const char order[] = "+-*/%";
    static const sm_op ops[sizeof(order) - 1][N_KINDS] = {
        {SM_OP_add_i16, SM_OP_add_i32, SM_OP_add_i64, SM_OP_add_f32, SM_OP_add_f64},
        {SM_OP_sub_i16, SM_OP_sub_i32, SM_OP_sub_i64, SM_OP_sub_f32, SM_OP_sub_f64},
        {SM_OP_mul_i16, SM_OP_mul_i32, SM_OP_mul_i64, SM_OP_mul_f32, SM_OP_mul_f64},
        {SM_OP_div_i16, SM_OP_div_i32, SM_OP_div_i64, SM_OP_div_f32, SM_OP_div_f64},
        {SM_OP_mod_i16, SM_OP_mod_i32, SM_OP_mod_i64, SM_OP_mod_f64, SM_OP_mod_f64}};
    bool floats = sm_type_is_float(l->type) || sm_type_is_float(r->type);
    if (!floats && (l->type.id == SM_DECIMAL || r->type.id == SM_DECIMAL))
        return decimal_arithmetic(b, op, l, r, location, out);
    sm_expr *args[2] = {l, r};
    if (floats && op == '%') {
        SM_TRY(sm_coerce(b, l, sm_type_of(SM_FLOAT64), &args[0]));
        SM_TRY(sm_coerce(b, r, sm_type_of(SM_FLOAT64), &args[1]));
    } else {
        SM_TRY(align_numbers(b, &args[0], &args[1]));
    }
    static const uint8_t kinds[SM_N_TYPES] = {
        [SM_INT16] = 0, [SM_INT32] = 1, [SM_INT64] = 2, [SM_FLOAT32] = 3, [SM_FLOAT64] = 4};
    return sm_make_op(b, ops[strchr(order, op) - order][kinds[args[0]->type.id]], args[0]->type,
                      args, 2, 0, 0, out);
}

sm_status sm_negate(sm_binder *b, sm_expr *e, sm_expr **out)
{
    sm_op op;
    switch (e->type.id) {
    case SM_INT16: op = SM_OP_neg_i16; break;
    case SM_INT32: op = SM_OP_neg_i32; break;
    case SM_INT64: op = SM_OP_neg_i64; break;
    case SM_FLOAT32: op = SM_OP_neg_f32; break;
    case SM_FLOAT64: op = SM_OP_neg_f64; break;
    case SM_DECIMAL:
        op = e->type.precision <= SM_DEC64_DIGITS ? SM_OP_neg_d64 : SM_OP_neg_d128;
        break;
    case SM_INTERVAL: op = SM_OP_neg_iv; break;
    default: *out = NULL; return SM_OK;
    }
    return sm_make_op(b, op, e->type, &e, 1, 0, 0, out);
}

static sm_status prefix(sm_ctx *cx, const char *op, sm_expr *r, int32_t location, sm_expr **out)
{
    sm_binder *b = cx->b;
    const sm_target f64 = {.type = {.id = SM_FLOAT64}};
    if (r->type.id == SM_UNKNOWN && op[1] == 0 && strchr("+-", op[0]))
        SM_TRY(sm_cast(b, r, &f64, SM_CAST_IMPLICIT, -1, &r));
    *out = NULL;
    if (strcmp(op, "+") == 0 && is_number(r->type)) *out = r;
    if (strcmp(op, "-") == 0) SM_TRY(sm_negate(b, r, out));
    return *out ? SM_OK : no_operator(b, op, NULL, r, location);
}

/* ---- text ---- */

static sm_status concatenate(sm_binder *b, sm_expr *l, sm_expr *r, int32_t location, sm_expr **out)
{
    const sm_target text = {.type = {.id = SM_TEXT}};
    bool texts = l->type.id == SM_TEXT || r->type.id == SM_TEXT || l->type.id == SM_UNKNOWN ||
                 r->type.id == SM_UNKNOWN;
    if (!texts) return no_operator(b, "||", l, r, location);
    sm_expr *args[2];
    SM_TRY(sm_cast(b, l, &text, SM_CAST_EXPLICIT, -1, &args[0]));
    SM_TRY(sm_cast(b, r, &text, SM_CAST_EXPLICIT, -1, &args[1]));
    return sm_make_op(b, SM_OP_concat_txt, text.type, args, 2, 0, 0, out);
}

/* ---- overloads of ops.def ---- */

static bool on_decimals(const sm_op_info *info)
{
    for (unsigned i = 0; i < info->n_args; i++)
        if (info->args[i] == SM_CODE_D64 || info->args[i] == SM_CODE_D128) return true;
    return false;
}

/* How well an operation fits, higher is better; -1 if it does not. Exact types first, then
 * preferred ones, then, for literals, text. The lone literal of an operator is first taken for the
 * other side's type. */
static int fitness(const sm_op_info *info, sm_expr *const *args, uint32_t n)
{
    int exact = 0, preferred = 0;
    for (uint32_t i = 0; i < n; i++) {
        sm_type want = sm_code_type((sm_code)info->args[i]), have = args[i]->type;
        if (have.id == SM_UNKNOWN) {
            sm_type other = n == 2 ? args[1 - i]->type : have;
            exact += other.id == want.id;
            preferred += want.id == SM_TEXT;
        } else if (have.id == want.id) {
            exact++;
        } else if (sm_can_coerce(have, want)) {
            preferred += want.id == SM_FLOAT64 || want.id == SM_TIMESTAMP;
        } else {
            return -1;
        }
    }
    return exact * 8 + preferred;
}

sm_status sm_find_op(sm_binder *b, const char *name, sm_expr **args, uint32_t n_args, sm_op *op)
{
    int best = -1;
    *op = SM_N_OPS;
    for (unsigned i = 0; i < SM_N_OPS; i++) {
        const sm_op_info *info = &sm_ops[i];
        if (info->n_args != n_args || strcmp(info->sql, name) != 0 || on_decimals(info)) continue;
        int fit = fitness(info, args, n_args);
        if (fit > best) best = fit, *op = (sm_op)i;
    }
    for (uint32_t i = 0; *op != SM_N_OPS && i < n_args; i++)
        SM_TRY(sm_coerce(b, args[i], sm_code_type((sm_code)sm_ops[*op].args[i]), &args[i]));
    return SM_OK;
}

/* ---- all of them ---- */

static bool is_one_of(const char *op, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(op, list[i]) == 0) return true;
    return false;
}

static sm_status infix(sm_ctx *cx, const char *op, sm_expr *l, sm_expr *r, int32_t location,
                       sm_expr **out)
{
    static const char *const comparisons[] = {"=", "<>", "<", "<=", ">", ">="};
    static const char *const regular[] = {"~", "~*", "!~", "!~*"};
    sm_binder *b = cx->b;
    if (strcmp(op, "!=") == 0) op = "<>";
    if (is_one_of(op, comparisons, SM_COUNT(comparisons)))
        return sm_compare(b, op, l, r, location, out);
    if (is_one_of(op, regular, SM_COUNT(regular)))
        return SM_FAIL(b, location, SM_ERR_NOT_SUPPORTED, "matching a regular expression");
    if (strcmp(op, "||") == 0) return concatenate(b, l, r, location, out);
    if (op[1] == 0 && strchr("+-*/%^", op[0])) {
        if (l->type.id == SM_UNKNOWN && r->type.id == SM_UNKNOWN) {
            const char *text = sm_arena_printf(b->scratch, "operator unknown %s unknown", op);
            return text ? SM_FAIL(b, location, SM_ERR_AMBIGUOUS_FUNCTION, text)
                        : sm_out_of_memory(b);
        }
        if (is_number(l->type)) SM_TRY(adopt(b, l, &r));
        if (is_number(r->type)) SM_TRY(adopt(b, r, &l));
        if (is_number(l->type) && is_number(r->type) && op[0] != '^')
            return arithmetic(b, op[0], l, r, location, out);
    }
    sm_op found;
    sm_expr *args[2] = {l, r};
    SM_TRY(sm_find_op(b, strcmp(op, "^") == 0 ? "power" : op, args, 2, &found));
    if (found == SM_N_OPS) return no_operator(b, op, l, r, location);
    return sm_make_op(b, found, sm_code_type((sm_code)sm_ops[found].result), args, 2, 0, 0, out);
}

sm_status sm_bind_operator(sm_ctx *cx, const char *op, sm_expr *l, sm_expr *r, int32_t location,
                           sm_expr **out)
{
    SM_TRY(l ? infix(cx, op, l, r, location, out) : prefix(cx, op, r, location, out));
    if (*out != r) (*out)->position = sm_position(cx->b, location);
    return SM_OK;
}

typedef struct repeat_count {
    uint64_t n, most;
} repeat_count;

static bool count_node(const sm_expr *e, void *arg)
{
    repeat_count *c = arg;
    (void)e;
    return ++c->n <= c->most;
}

sm_status sm_check_repeat(sm_binder *b, const sm_expr *e, uint32_t times, int32_t location)
{
    enum { MOST_NODES = 200000 };
    repeat_count c = {0, times ? MOST_NODES / times : MOST_NODES};
    if (e->n_args == 0 || sm_expr_walk(e, count_node, &c)) return SM_OK;
    return SM_FAIL(b, location, SM_ERR_TOO_COMPLEX,
                   "an operand that is evaluated several times is too large");
}
