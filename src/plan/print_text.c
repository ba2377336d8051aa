/* The small parts of printing: growing text, identifiers, constants as SQL literals. */
#include "plan/print_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/format.h"

void sm_out_bytes(sm_out *o, const char *s, size_t n)
{
    if (o->failed) return;
    if (o->len + n + 1 > o->room) {
        size_t room = 2 * (o->len + n) + 256;
        char *text = sm_arena_alloc(o->a, room);
        if (!text) {
            o->failed = true;
            return;
        }
        if (o->len) memcpy(text, o->text, o->len);
        o->text = text;
        o->room = room;
    }
    memcpy(o->text + o->len, s, n);
    o->len += n;
    o->text[o->len] = '\0';
}

void sm_out_str(sm_out *o, const char *s)
{
    sm_out_bytes(o, s, strlen(s));
}

void sm_out_format(sm_out *o, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n > 0) sm_out_bytes(o, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* PostgreSQL's reserved words, and the words that begin a pipe step; sorted. */
static const char *const reserved[] = {"aggregate",
                                       "all",
                                       "analyse",
                                       "analyze",
                                       "and",
                                       "any",
                                       "array",
                                       "as",
                                       "asc",
                                       "asymmetric",
                                       "authorization",
                                       "between",
                                       "bigint",
                                       "binary",
                                       "bit",
                                       "boolean",
                                       "both",
                                       "case",
                                       "cast",
                                       "char",
                                       "character",
                                       "check",
                                       "coalesce",
                                       "collate",
                                       "collation",
                                       "column",
                                       "concurrently",
                                       "constraint",
                                       "create",
                                       "cross",
                                       "current_catalog",
                                       "current_date",
                                       "current_role",
                                       "current_schema",
                                       "current_time",
                                       "current_timestamp",
                                       "current_user",
                                       "dec",
                                       "decimal",
                                       "default",
                                       "deferrable",
                                       "desc",
                                       "distinct",
                                       "do",
                                       "else",
                                       "end",
                                       "except",
                                       "exists",
                                       "extend",
                                       "extract",
                                       "false",
                                       "fetch",
                                       "filter",
                                       "float",
                                       "for",
                                       "foreign",
                                       "freeze",
                                       "from",
                                       "full",
                                       "grant",
                                       "greatest",
                                       "group",
                                       "grouping",
                                       "having",
                                       "ilike",
                                       "in",
                                       "initially",
                                       "inner",
                                       "int",
                                       "integer",
                                       "intersect",
                                       "interval",
                                       "into",
                                       "is",
                                       "isnull",
                                       "join",
                                       "lateral",
                                       "leading",
                                       "least",
                                       "left",
                                       "like",
                                       "limit",
                                       "localtime",
                                       "localtimestamp",
                                       "national",
                                       "natural",
                                       "nchar",
                                       "none",
                                       "normalize",
                                       "not",
                                       "notnull",
                                       "null",
                                       "nullif",
                                       "numeric",
                                       "offset",
                                       "on",
                                       "only",
                                       "or",
                                       "order",
                                       "out",
                                       "outer",
                                       "overlaps",
                                       "overlay",
                                       "placing",
                                       "position",
                                       "precision",
                                       "primary",
                                       "real",
                                       "references",
                                       "returning",
                                       "right",
                                       "row",
                                       "select",
                                       "session_user",
                                       "setof",
                                       "similar",
                                       "smallint",
                                       "some",
                                       "substring",
                                       "symmetric",
                                       "table",
                                       "tablesample",
                                       "then",
                                       "time",
                                       "timestamp",
                                       "to",
                                       "trailing",
                                       "treat",
                                       "trim",
                                       "true",
                                       "union",
                                       "unique",
                                       "user",
                                       "using",
                                       "values",
                                       "varchar",
                                       "variadic",
                                       "verbose",
                                       "when",
                                       "where",
                                       "window",
                                       "with"};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool plain_name(const char *s)
{
    if (!(*s >= 'a' && *s <= 'z') && *s != '_') return false;
    for (const char *p = s; *p; p++)
        if (!(*p >= 'a' && *p <= 'z') && !(*p >= '0' && *p <= '9') && *p != '_') return false;
    return !bsearch(&s, reserved, SM_COUNT(reserved), sizeof *reserved, by_name);
}

static void quoted(sm_out *o, const char *s, size_t n, char quote)
{
    sm_out_bytes(o, &quote, 1);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == quote) sm_out_bytes(o, &quote, 1);
        sm_out_bytes(o, &s[i], 1);
    }
    sm_out_bytes(o, &quote, 1);
}

void sm_out_name(sm_out *o, const char *name)
{
    if (plain_name(name)) {
        sm_out_str(o, name);
    } else {
        quoted(o, name, strlen(name), '"');
    }
}

static void number(sm_out *o, const char *text, bool negative)
{
    sm_out_format(o, negative ? "(%s)" : "%s", text);
}

void sm_const_literal_type(const sm_expr *e, sm_type *type)
{
    char text[SM_FORMAT_BYTES + 1];
    unsigned precision, scale;
    if (e->value.is_null || (e->type.id != SM_DECIMAL && !sm_type_is_int(e->type))) return;
    size_t n = sm_format_value(e->type, &e->value, text), sign = text[0] == '-';
    if (sm_decimal_literal_type(text + sign, n - sign, &precision, &scale))
        *type = sm_decimal(precision, scale);
}

/* Would the literal alone have this type? */
static bool natural(const sm_expr *e, const char *digits)
{
    unsigned precision, scale;
    switch (e->type.id) {
    case SM_INT32: return e->value.i32 != INT32_MIN;
    case SM_INT64: return e->value.i64 > INT32_MAX || e->value.i64 < -(int64_t)INT32_MAX;
    case SM_DECIMAL:
        if (e->type.scale == 0 || *digits == '\0') return false;
        return sm_decimal_literal_type(digits, strlen(digits), &precision, &scale) &&
               precision == e->type.precision && scale == e->type.scale;
    default: return false;
    }
}

void sm_out_const(sm_out *o, const sm_expr *e, bool exact)
{
    char text[SM_FORMAT_BYTES + 1], type[64];
    sm_type_name(e->type, type, sizeof type);
    if (e->value.is_null) {
        sm_out_format(o, "NULL::%s", type);
        return;
    }
    if (e->type.id == SM_TEXT) {
        quoted(o, sm_text_bytes(&e->value.text), e->value.text.len, '\'');
        if (exact) sm_out_str(o, "::text");
        return;
    }
    size_t n = sm_format_value(e->type, &e->value, text);
    text[n] = '\0';
    bool negative = text[0] == '-';
    switch (e->type.id) {
    case SM_BOOL: sm_out_str(o, e->value.b ? "true" : "false"); return;
    case SM_DATE: sm_out_format(o, "DATE '%s'", text); return;
    case SM_TIMESTAMP: sm_out_format(o, "TIMESTAMP '%s'", text); return;
    case SM_INTERVAL: sm_out_format(o, "INTERVAL '%s'", text); return;
    case SM_FLOAT32:
    case SM_FLOAT64: {
        bool digits = strspn(text, "-0123456789.") == n && strcmp(text, "-0") != 0;
        sm_out_format(o, digits ? (negative ? "(%s)::%s" : "%s::%s") : "'%s'::%s", text, type);
        return;
    }
    default: break;
    }
    number(o, text, negative);
    if (exact && !natural(e, text + negative)) sm_out_format(o, "::%s", type);
}
