/* Names: the nearest one for a hint, the one PostgreSQL gives to an unnamed output column, and the
 * parts of qualified ones. Read bind.h first. */
#include <string.h>

#include "sql/bind.h"

enum { LONGEST_HINTED = 63 };

/* Levenshtein's distance. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned row[LONGEST_HINTED + 2];
    size_t na = strlen(a), nb = strlen(b);
    if (na > LONGEST_HINTED || nb > LONGEST_HINTED) return LONGEST_HINTED;
    for (size_t j = 0; j <= nb; j++) row[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned corner = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = corner + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            corner = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

void sm_nearest_offer(sm_nearest *n, const char *candidate)
{
    size_t len = strlen(n->name);
    unsigned d = edit_distance(n->name, candidate), limit = len < 6 ? 1 : (unsigned)len / 3;
    if (d > limit || d >= len || (n->best && d >= n->distance)) return;
    n->best = candidate;
    n->distance = d;
}

const char *sm_last_name(size_t n, pg_node *const *names, bool *foreign)
{
    const char *schema = n > 1 ? sm_pg_string(names[n - 2]) : NULL;
    if (foreign)
        *foreign =
            n > 2 || (schema && strcmp(schema, "pg_catalog") != 0 && strcmp(schema, "public") != 0);
    return n ? sm_pg_string(names[n - 1]) : NULL;
}

const char *sm_keep(sm_binder *b, const char *s)
{
    return sm_arena_strdup(b->a, s);
}

/* As PostgreSQL's FigureColname: a cast's type name gives way to a name from inside. */
static const char *figure_name(const pg_node *n, int *strength)
{
    *strength = 2;
    if (!n) return *strength = 0, NULL;
    switch (n->node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF:
        for (size_t i = n->column_ref->n_fields; i-- > 0;)
            if (sm_pg_string(n->column_ref->fields[i]))
                return sm_pg_string(n->column_ref->fields[i]);
        break;
    case PG_QUERY__NODE__NODE_FUNC_CALL:
        return sm_last_name(n->func_call->n_funcname, n->func_call->funcname, NULL);
    case PG_QUERY__NODE__NODE_A_EXPR:
        if (n->a_expr->kind == PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF) return "nullif";
        break;
    case PG_QUERY__NODE__NODE_TYPE_CAST: {
        const char *inner = figure_name(n->type_cast->arg, strength);
        if (*strength > 1) return inner;
        *strength = 1;
        return sm_last_name(n->type_cast->type_name->n_names, n->type_cast->type_name->names, NULL);
    }
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return figure_name(n->collate_clause->arg, strength);
    case PG_QUERY__NODE__NODE_CASE_EXPR: {
        const char *inner = figure_name(n->case_expr->defresult, strength);
        if (*strength > 1) return inner;
        *strength = 1;
        return "case";
    }
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: return "coalesce";
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
        return n->min_max_expr->op == PG_QUERY__MIN_MAX_OP__IS_GREATEST ? "greatest" : "least";
    case PG_QUERY__NODE__NODE_ROW_EXPR: return "row";
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
        switch (n->sqlvalue_function->op) {
        case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE: return "current_date";
        case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
        case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP_N: return "localtimestamp";
        default: return "current_timestamp";
        }
    default: break;
    }
    *strength = 0;
    return NULL;
}

const char *sm_output_name(const pg_node *n)
{
    int strength;
    const char *name = figure_name(n, &strength);
    return name ? name : "?column?";
}
