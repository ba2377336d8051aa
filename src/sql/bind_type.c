/* Type names as written: numeric(15,2), varchar(25), timestamp without time zone. Read bind.h
 * first. */
#include <string.h>

#include "sql/bind.h"

const char *sm_type_word(sm_type t)
{
    static const char *const words[SM_N_TYPES] = {
#define SM_TYPE(id, name, others, phys) [SM_##id] = name,
#include "runtime/types.def"
#undef SM_TYPE
        [SM_UNKNOWN] = "unknown",
    };
    return words[t.id < SM_N_TYPES ? t.id : SM_UNKNOWN];
}

static unsigned digits_of(sm_i128 v)
{
    unsigned n = 1;
    for (v /= 10; v != 0; v /= 10) n++;
    return n;
}

sm_type sm_decimal_of(const sm_expr *e)
{
    unsigned digits = 5;
    switch (e->type.id) {
    case SM_DECIMAL: return sm_decimal(e->type.precision, e->type.scale);
    case SM_INT32: digits = 10; break;
    case SM_INT64: digits = 19; break;
    default: break;
    }
    if (e->kind == SM_EXPR_CONST && !e->value.is_null)
        digits = digits_of(sm_value_int(&e->value, e->phys));
    return sm_decimal(digits, 0);
}

/* An integer modifier; false if it is anything else. */
static bool modifier(const pg_node *n, int32_t *out)
{
    if (!PG_IS(n, A_CONST) || n->a_const->val_case != PG_QUERY__A__CONST__VAL_IVAL) return false;
    *out = n->a_const->ival->ival;
    return true;
}

static sm_status numeric_modifiers(sm_binder *b, const PgQuery__TypeName *t, sm_type *type)
{
    int32_t p = 0, s = 0;
    if (t->n_typmods > 2 || !modifier(t->typmods[0], &p) ||
        (t->n_typmods == 2 && !modifier(t->typmods[1], &s)))
        return SM_FAIL(b, t->location, SM_ERR_BAD_ARGUMENT, "invalid NUMERIC type modifier");
    if (p < 1 || p > SM_DEC_MAX_DIGITS)
        return SM_FAIL(b, t->location, SM_ERR_BAD_ARGUMENT,
                       "NUMERIC precision must be between 1 and 38");
    if (s < 0 || s > p)
        return SM_FAIL(b, t->location, SM_ERR_BAD_ARGUMENT,
                       "NUMERIC scale must be between 0 and the precision");
    *type = sm_decimal((unsigned)p, (unsigned)s);
    return SM_OK;
}

static sm_status text_modifiers(sm_binder *b, const PgQuery__TypeName *t, sm_target *out)
{
    enum { MOST = 10485760 };
    int32_t n = 0;
    if (t->n_typmods != 1 || !modifier(t->typmods[0], &n))
        return SM_FAIL(b, t->location, SM_ERR_BAD_ARGUMENT, "invalid type modifier");
    if (n < 1 || n > MOST)
        return SM_FAIL(b, t->location, SM_ERR_BAD_ARGUMENT,
                       "length must be between 1 and 10485760");
    out->max_chars = n;
    return SM_OK;
}

/* The fields, then perhaps the digits of the seconds. */
static sm_status interval_modifiers(sm_binder *b, const PgQuery__TypeName *t, int32_t *fields)
{
    int32_t digits = 6;
    if (!modifier(t->typmods[0], fields) || (t->n_typmods > 1 && !modifier(t->typmods[1], &digits)))
        return SM_FAIL(b, t->location, SM_ERR_BAD_ARGUMENT, "invalid INTERVAL type modifier");
    if (digits >= 6) return SM_OK;
    return SM_FAIL(b, t->location, SM_ERR_NOT_SUPPORTED, "an interval of less than microseconds");
}

sm_status sm_bind_type(sm_binder *b, const PgQuery__TypeName *t, sm_target *out)
{
    static const char *const absent[] = {"timestamptz", "timetz", "time",  "bytea",
                                         "json",        "jsonb",  "uuid",  "bit",
                                         "varbit",      "xml",    "money", "oid"};
    bool foreign = false;
    const char *name = sm_last_name(t->n_names, t->names, &foreign);
    *out = (sm_target){.name = name};
    if (!name || foreign || t->pct_type)
        return SM_FAIL(b, t->location, SM_ERR_UNDEFINED_TYPE, name ? name : "");
    if (t->setof || t->n_array_bounds)
        return SM_FAIL(b, t->location, SM_ERR_NOT_SUPPORTED, "an array type");
    if (!sm_type_find(name, &out->type)) {
        for (size_t i = 0; i < SM_COUNT(absent); i++) {
            if (strcmp(name, absent[i]) != 0) continue;
            const char *what = sm_arena_printf(b->scratch, "type %s", name);
            return what ? SM_FAIL(b, t->location, SM_ERR_NOT_SUPPORTED, what) : sm_out_of_memory(b);
        }
        return SM_FAIL(b, t->location, SM_ERR_UNDEFINED_TYPE, name);
    }
    out->is_char = strcmp(name, "bpchar") == 0;
    if (!t->n_typmods) return SM_OK;
    switch (out->type.id) {
    case SM_DECIMAL: return numeric_modifiers(b, t, &out->type);
    case SM_TEXT: return text_modifiers(b, t, out);
    case SM_INTERVAL: return interval_modifiers(b, t, &out->interval_fields);
    case SM_TIMESTAMP: {
        int32_t digits;
        if (modifier(t->typmods[0], &digits) && digits >= 6) return SM_OK;
        return SM_FAIL(b, t->location, SM_ERR_NOT_SUPPORTED,
                       "a timestamp of less than microseconds");
    }
    default:
        return SM_FAIL(b, t->location, SM_ERR_SYNTAX, "type modifier is not allowed for this type");
    }
}
