/* Expressions as SQL. Everything is in brackets, so precedence never matters. An operation that the
 * binder puts in by itself (a widening of one operand to the other's type) is left out where the
 * other operand brings it back; every other cast is written. Read print_parts.h first. */
#include "plan/print_parts.h"

#include "runtime/format.h"

typedef struct printer {
    sm_out *o;
    const sm_col *cols;
    uint32_t n_cols;
} printer;

static void put(const printer *p, const sm_expr *e, bool exact);

/* ---- casts ---- */

static bool is_op(const sm_expr *e, sm_op op)
{
    return e->kind == SM_EXPR_OP && e->op == op;
}

static bool scales(const sm_expr *e)
{
    return is_op(e, SM_OP_up_d64) || is_op(e, SM_OP_up_d128) || is_op(e, SM_OP_down_d64) ||
           is_op(e, SM_OP_down_d128);
}

static bool changes_width(const sm_expr *e)
{
    return is_op(e, SM_OP_i64_to_d128) || is_op(e, SM_OP_d128_to_i64) || is_op(e, SM_OP_fit_d64) ||
           is_op(e, SM_OP_fit_d128);
}

static bool widens_int(const sm_expr *e)
{
    return is_op(e, SM_OP_i16_to_i32) || is_op(e, SM_OP_i16_to_i64) || is_op(e, SM_OP_i32_to_i64);
}

/* One cast of SQL may be several operations: scale, check, change the width. Its operand. */
static const sm_expr *cast_operand(const sm_expr *e)
{
    int scalings = scales(e);
    const sm_expr *x = e->args[0];
    if (e->type.id != SM_DECIMAL) return x;
    while (x->type.id == SM_DECIMAL && (scales(x) || changes_width(x) || widens_int(x)) &&
           x->n_args == 1) {
        if (scales(x) && scalings++) break;
        if ((is_op(x, SM_OP_fit_d64) || is_op(x, SM_OP_fit_d128)) && !changes_width(e)) break;
        x = x->args[0];
    }
    bool parsed =
        is_op(x, SM_OP_txt_to_d128) || is_op(x, SM_OP_f64_to_d128) || is_op(x, SM_OP_f32_to_d128);
    return parsed && !scalings && x != e ? x->args[0] : x;
}

/* ---- operands whose type follows from the other ---- */

/* e without the widenings that its operation may bring back. */
static const sm_expr *strip(const sm_expr *e, bool decimal)
{
    for (;;) {
        bool up = is_op(e, SM_OP_up_d64) || is_op(e, SM_OP_up_d128);
        if (up && e->imm[0] == 0) return e; /* a cast written by hand */
        if (!(decimal ? up || is_op(e, SM_OP_i64_to_d128) || widens_int(e) : widens_int(e)))
            return e;
        if (!decimal && e->type.id == SM_DECIMAL) return e;
        e = e->args[0];
    }
}

/* e without the change to 128 bits, which never has to be written. */
static const sm_expr *strip_width(const sm_expr *e)
{
    bool widened = is_op(e, SM_OP_i64_to_d128) && e->args[0]->type.id == SM_DECIMAL;
    return widened ? e->args[0] : e;
}

/* The type that a number has as an operand of a decimal operation. */
static sm_type as_decimal(const sm_expr *e, bool exact)
{
    static const uint8_t digits[SM_N_TYPES] = {[SM_INT16] = 5, [SM_INT32] = 10, [SM_INT64] = 19};
    sm_type t = e->type;
    if (e->kind == SM_EXPR_CONST && !exact) sm_const_literal_type(e, &t);
    return t.id == SM_DECIMAL ? t : sm_decimal(digits[t.id], 0);
}

/* Does the operation come out with its type if its operands have these? */
static bool same_result(const sm_expr *e, char sql, sm_type a, sm_type c)
{
    unsigned scale = a.scale > c.scale ? a.scale : c.scale, wa = a.precision - a.scale,
             wc = c.precision - c.scale, digits = (wa > wc ? wa : wc) + scale;
    if (e->type.id != SM_DECIMAL) return true; /* comparisons and quotients go by the values */
    if (sql == '*') {
        scale = a.scale + c.scale;
        digits = a.precision + c.precision;
    } else if (sql != '%') {
        digits++;
    }
    if (digits > SM_DEC_MAX_DIGITS) digits = SM_DEC_MAX_DIGITS;
    return e->type.scale == scale && e->type.precision == (digits ? digits : 1);
}

/* A factor in 128 bits has lost its digits, unless the other's and the product's tell them. */
static const sm_expr *with_digits(const sm_expr *e, const sm_expr *other, sm_type product,
                                  sm_expr *room)
{
    int digits = product.precision - as_decimal(other, true).precision;
    if (e->kind != SM_EXPR_CONST || e->value.is_null || product.id != SM_DECIMAL ||
        e->type.precision != SM_DEC64_DIGITS + 1 || digits < 1 || digits > SM_DEC64_DIGITS ||
        digits < e->type.scale)
        return e;
    *room = *e;
    room->type = sm_decimal((unsigned)digits, e->type.scale);
    room->value.i64 = (int64_t)e->value.i128;
    return room;
}

static bool is_literal(const sm_expr *e)
{
    return e->kind == SM_EXPR_CONST && !e->value.is_null;
}

/* May e, a literal, stand without its type beside other? */
static bool follows(const sm_expr *e, const sm_expr *other)
{
    if (!is_literal(e) || is_literal(other)) return false;
    if (e->type.id == SM_TEXT) return true;
    if (e->type.id == SM_INT32 || e->type.id == SM_INT64) return sm_type_eq(e->type, other->type);
    return e->type.id == SM_DECIMAL && other->type.id == SM_DECIMAL;
}

/* Both operands, without the casts that binding brings back. Of decimals, the fewest that give
 * the operation its type: a sum's scale or a product's digits may depend on them. */
static void put_operands(const printer *p, const sm_expr *e, const char *sql)
{
    const sm_expr *x = e->args[0], *y = e->args[1];
    bool decimal = x->type.id == SM_DECIMAL;
    sm_expr room;
    bool fx, fy;
    if (decimal && *sql == '*' && y->kind == SM_EXPR_CONST) {
        y = with_digits(y, strip_width(x), e->type, &room);
    } else if (decimal && *sql == '*') {
        x = with_digits(x, strip_width(y), e->type, &room);
    }
    const sm_expr *bx = strip(x, decimal), *by = strip(y, decimal);
    if (!decimal) {
        if (bx == x || by == y) x = bx, y = by;
        fx = follows(x, y), fy = follows(y, x);
    } else {
        const sm_expr *xs[] = {bx, strip_width(x), x}, *ys[] = {by, strip_width(y), y};
        bool found = false;
        for (unsigned i = 0; i < 2 * SM_COUNT(xs) * SM_COUNT(ys) && !found; i++) {
            x = xs[i / 2 % SM_COUNT(xs)], y = ys[i / 2 / SM_COUNT(xs)];
            fx = i % 2 == 0 && follows(x, y), fy = i % 2 == 0 && follows(y, x);
            found = (x->type.id == SM_DECIMAL || y->type.id == SM_DECIMAL) &&
                    same_result(e, *sql, as_decimal(x, !fx), as_decimal(y, !fy));
        }
        if (!found) fx = fy = false;
    }
    put(p, x, !fx);
    sm_out_format(p->o, " %s ", sql);
    put(p, y, !fy);
}

/* ---- operations ---- */

/* The first argument of a function of decimals without the change to 128 bits, unless the result
 * has more digits than that alone gives it. */
static const sm_expr *first_argument(const sm_expr *e)
{
    const sm_expr *x = e->args[0];
    bool decimals = e->kind == SM_EXPR_OP && e->type.id == SM_DECIMAL && x->type.id == SM_DECIMAL;
    return decimals && e->type.precision <= SM_DEC64_DIGITS + 1 ? strip_width(x) : x;
}

static void put_args(const printer *p, const char *name, const sm_expr *e, uint32_t from)
{
    sm_out_format(p->o, "%s(", name);
    for (uint32_t i = from; i < e->n_args; i++) {
        if (i > from) sm_out_str(p->o, ", ");
        put(p, i ? e->args[i] : first_argument(e), true);
    }
    sm_out_str(p->o, ")");
}

static const char *field_name(int32_t field)
{
    static const char *const names[SM_N_DATE_FIELDS] = {
#define SM_DATE_FIELD(id, all, scale) all,
#include "runtime/date_fields.def"
#undef SM_DATE_FIELD
    };
    return field >= 0 && field < SM_N_DATE_FIELDS ? names[field] : "";
}

static void put_field(const printer *p, int32_t field)
{
    const char *all = field_name(field);
    sm_out_bytes(p->o, all, strcspn(all, " "));
}

/* One character inside a quoted literal, as UTF-8. */
static void put_character(const printer *p, uint32_t c)
{
    static const uint8_t lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    char utf8[4];
    unsigned n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (unsigned i = n; i-- > 1; c >>= 6) utf8[i] = (char)(0x80 | (c & 0x3F));
    utf8[0] = (char)(lead[n] | c);
    sm_out_bytes(p->o, utf8, n);
    if (utf8[0] == '\'') sm_out_bytes(p->o, utf8, 1);
}

static void put_like(const printer *p, const sm_expr *e)
{
    sm_out_str(p->o, "(");
    put(p, e->args[0], true);
    sm_out_str(p->o, e->op == SM_OP_like_txt ? " LIKE " : " ILIKE ");
    put(p, e->args[1], false);
    if (e->imm[0] != '\\') {
        sm_out_str(p->o, " ESCAPE '");
        if (e->imm[0] >= 0) put_character(p, (uint32_t)e->imm[0]);
        sm_out_str(p->o, "'");
    }
    sm_out_str(p->o, ")");
}

static void put_cast(const printer *p, const sm_expr *e)
{
    const sm_expr *x = cast_operand(e);
    char type[64];
    if (x->kind == SM_EXPR_OP) sm_out_str(p->o, "(");
    if (x->kind == SM_EXPR_CONST) {
        sm_out_const(p->o, x, true); /* a text too: 'x'::text::date is not the literal 'x'::date */
    } else {
        put(p, x, true);
    }
    if (x->kind == SM_EXPR_OP) sm_out_str(p->o, ")");
    switch (e->op) {
    case SM_OP_varchar_txt:
    case SM_OP_fit_txt: sm_out_format(p->o, "::varchar(%d)", e->imm[0]); return;
    case SM_OP_char_txt: sm_out_format(p->o, "::char(%d)", e->imm[0]); return;
    default: break;
    }
    sm_type_name(e->type, type, sizeof type);
    sm_out_format(p->o, "::%s", type);
}

/* Functions of decimals take more than the binder's search by name can find, so their rows have
 * none. */
static const char *sql_name(sm_op op)
{
    switch (op) {
    case SM_OP_mod_f64: return "mod";
    case SM_OP_round_d128: return "round";
    case SM_OP_trunc_d128: return "trunc";
    case SM_OP_ceil_d128: return "ceil";
    case SM_OP_floor_d128: return "floor";
    case SM_OP_sign_d128: return "sign";
    default: return sm_ops[op].sql;
    }
}

static void put_op(const printer *p, const sm_expr *e)
{
    sm_out *o = p->o;
    switch (e->op) {
    case SM_OP_like_txt:
    case SM_OP_ilike_txt: put_like(p, e); return;
    case SM_OP_extract_ts:
    case SM_OP_extract_date:
    case SM_OP_extract_iv:
        sm_out_str(o, "extract(");
        put_field(p, e->imm[0]);
        sm_out_str(o, " FROM ");
        put(p, e->args[0], true);
        sm_out_str(o, ")");
        return;
    case SM_OP_trunc_ts:
        sm_out_str(o, "date_trunc('");
        put_field(p, e->imm[0]);
        sm_out_str(o, "', ");
        put(p, e->args[0], true);
        sm_out_str(o, ")");
        return;
    case SM_OP_not_b:
        sm_out_str(o, "(NOT ");
        put(p, e->args[0], true);
        sm_out_str(o, ")");
        return;
    default: break;
    }
    const char *sql = sql_name(e->op);
    bool word = (sql[0] >= 'a' && sql[0] <= 'z') || sql[0] == '\0';
    if (sql[0] == '\0') {
        put_cast(p, e);
    } else if (word) {
        put_args(p, sql, e, 0);
    } else if (e->n_args == 1) {
        sm_out_format(o, "(%s ", sql);
        put(p, e->args[0], true);
        sm_out_str(o, ")");
    } else {
        sm_out_str(o, "(");
        put_operands(p, e, sql);
        sm_out_str(o, ")");
    }
}

/* ---- other kinds ---- */

/* A chain whose first part is a chain of the same kind reads back as one chain. */
static void put_chain(const printer *p, const sm_expr *e, const char *between)
{
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (i) sm_out_str(p->o, between);
        if (i == 0 && e->args[0]->kind == e->kind) {
            put_chain(p, e->args[0], between);
        } else {
            put(p, e->args[i], true);
        }
    }
}

static void put_logic(const printer *p, const sm_expr *e, const char *between)
{
    sm_out_str(p->o, "(");
    put_chain(p, e, between);
    sm_out_str(p->o, ")");
}

static void put_case(const printer *p, const sm_expr *e)
{
    sm_out_str(p->o, "CASE");
    uint32_t i = 0;
    for (; i + 1 < e->n_args; i += 2) {
        sm_out_str(p->o, " WHEN ");
        put(p, e->args[i], true);
        sm_out_str(p->o, " THEN ");
        put(p, e->args[i + 1], true);
    }
    sm_out_str(p->o, " ELSE ");
    put(p, e->args[i], true);
    sm_out_str(p->o, " END");
}

static void put(const printer *p, const sm_expr *e, bool exact)
{
    char type[64];
    switch (e->kind) {
    case SM_EXPR_CONST: sm_out_const(p->o, e, exact && e->type.id != SM_TEXT); return;
    case SM_EXPR_PARAM:
        sm_type_name(e->type, type, sizeof type);
        sm_out_format(p->o, "$%u::%s", e->column, type);
        return;
    case SM_EXPR_COLUMN:
        if (e->column < p->n_cols && p->cols[e->column].name) {
            sm_out_name(p->o, p->cols[e->column].name);
        } else {
            sm_out_format(p->o, "column%u", e->column + 1);
        }
        return;
    case SM_EXPR_OP: put_op(p, e); return;
    case SM_EXPR_AND: put_logic(p, e, " AND "); return;
    case SM_EXPR_OR: put_logic(p, e, " OR "); return;
    case SM_EXPR_CASE: put_case(p, e); return;
    case SM_EXPR_COALESCE: put_args(p, "coalesce", e, 0); return;
    case SM_EXPR_IS_NULL:
        sm_out_str(p->o, "(");
        put(p, e->args[0], true);
        sm_out_str(p->o, " IS NULL)");
        return;
    case SM_EXPR_OUTER:
    case SM_EXPR_SUBQUERY: return; /* printed plans are unnested */
    }
}

void sm_out_expr(sm_out *o, const sm_expr *e, const sm_col *cols, uint32_t n_cols, bool exact)
{
    printer p = {o, cols, n_cols};
    put(&p, e, exact);
}

sm_status sm_expr_print(const sm_expr *e, const sm_col *cols, uint32_t n_cols, sm_arena *a,
                        char **out, sm_error *err)
{
    sm_out o = {.a = a};
    sm_out_expr(&o, e, cols, n_cols, true);
    if (o.failed) return sm_arena_failed(a, err);
    *out = o.text;
    return SM_OK;
}
