/* CREATE TABLE [AS], DROP TABLE, INSERT and SET. Read bind.h first. */
#include <string.h>

#include "sql/bind.h"

/* ---- CREATE TABLE ---- */

static sm_status column_constraint(sm_binder *b, const PgQuery__Constraint *c, sm_table_col *col)
{
    switch (c->contype) {
    case PG_QUERY__CONSTR_TYPE__CONSTR_NULL: return SM_OK;
    case PG_QUERY__CONSTR_TYPE__CONSTR_NOTNULL:
    case PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY: col->not_null = true; return SM_OK;
    case PG_QUERY__CONSTR_TYPE__CONSTR_DEFAULT:
        return SM_FAIL(b, c->location, SM_ERR_NOT_SUPPORTED, "DEFAULT");
    default: return SM_FAIL(b, c->location, SM_ERR_NOT_SUPPORTED, "this constraint");
    }
}

static sm_status bind_column_def(sm_binder *b, const PgQuery__ColumnDef *d, sm_stmt *out)
{
    sm_table_col *col = &out->cols[out->n_cols];
    sm_target type;
    for (uint32_t i = 0; i < out->n_cols; i++)
        if (strcmp(out->cols[i].name, d->colname) == 0)
            return SM_FAIL(b, d->location, SM_ERR_DUPLICATE_COLUMN, d->colname);
    SM_TRY(sm_bind_type(b, d->type_name, &type));
    type.type.flags = 0;
    col->name = sm_arena_strdup(b->a, d->colname);
    if (!col->name) return sm_out_of_memory(b);
    col->type = type.type;
    col->max_chars = (uint32_t)type.max_chars;
    if (d->coll_clause) {
        const char *name = sm_last_name(d->coll_clause->n_collname, d->coll_clause->collname, NULL);
        if (!name || (strcmp(name, "C") != 0 && strcmp(name, "POSIX") != 0))
            return SM_FAIL(b, d->coll_clause->location, SM_ERR_NOT_SUPPORTED,
                           "a collation other than C");
    }
    for (size_t i = 0; i < d->n_constraints; i++)
        SM_TRY(column_constraint(b, d->constraints[i]->constraint, col));
    out->n_cols++;
    return SM_OK;
}

static sm_status table_constraint(sm_binder *b, const PgQuery__Constraint *c, sm_stmt *out)
{
    if (c->contype != PG_QUERY__CONSTR_TYPE__CONSTR_PRIMARY)
        return SM_FAIL(b, c->location, SM_ERR_NOT_SUPPORTED, "this constraint");
    for (size_t k = 0; k < c->n_keys; k++) {
        const char *name = sm_pg_string(c->keys[k]);
        uint32_t i = 0;
        while (i < out->n_cols && strcmp(out->cols[i].name, name) != 0) i++;
        if (i == out->n_cols) return SM_FAIL(b, c->location, SM_ERR_UNDEFINED_COLUMN, name);
        out->cols[i].not_null = true;
    }
    return SM_OK;
}

static sm_status check_schema(sm_binder *b, const PgQuery__RangeVar *v)
{
    if (!v->schemaname[0] || strcmp(v->schemaname, "public") == 0 ||
        strcmp(v->schemaname, "pg_temp") == 0)
        return SM_OK;
    return SM_FAIL(b, v->location, SM_ERR_NOT_SUPPORTED, "a schema other than public");
}

sm_status sm_bind_create(sm_binder *b, const PgQuery__CreateStmt *c, sm_stmt *out)
{
    const PgQuery__RangeVar *v = c->relation;
    SM_TRY(check_schema(b, v));
    if (c->n_inh_relations || c->partspec || c->partbound || c->of_typename)
        return SM_FAIL(b, v->location, SM_ERR_NOT_SUPPORTED, "this kind of table");
    out->kind = SM_STMT_CREATE_TABLE;
    out->tag = "CREATE TABLE";
    out->table = sm_keep(b, v->relname);
    out->if_not_exists = c->if_not_exists != 0;
    out->cols = SM_NEW_N(b->a, sm_table_col, c->n_table_elts + 1);
    if (!out->table || !out->cols) return sm_out_of_memory(b);
    for (size_t i = 0; i < c->n_table_elts; i++) {
        const pg_node *n = c->table_elts[i];
        if (PG_IS(n, COLUMN_DEF))
            SM_TRY(bind_column_def(b, n->column_def, out));
        else if (!PG_IS(n, CONSTRAINT))
            return SM_FAIL(b, v->location, SM_ERR_NOT_SUPPORTED, "LIKE in CREATE TABLE");
    }
    for (size_t i = 0; i < c->n_table_elts; i++)
        if (PG_IS(c->table_elts[i], CONSTRAINT))
            SM_TRY(table_constraint(b, c->table_elts[i]->constraint, out));
    if (!out->n_cols)
        return SM_FAIL(b, v->location, SM_ERR_NOT_SUPPORTED, "a table without columns");
    return SM_OK;
}

sm_status sm_bind_drop(sm_binder *b, const PgQuery__DropStmt *d, sm_stmt *out)
{
    if (d->remove_type != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE)
        return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "DROP of anything but a table");
    if (d->n_objects != 1)
        return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "DROP of several tables at once");
    bool foreign = false;
    const pg_node *object = d->objects[0];
    const char *name = PG_IS(object, LIST)
                           ? sm_last_name(object->list->n_items, object->list->items, &foreign)
                           : NULL;
    if (!name || foreign) return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "a schema other than public");
    out->kind = SM_STMT_DROP_TABLE;
    out->tag = "DROP TABLE";
    out->if_exists = d->missing_ok != 0;
    out->table = sm_keep(b, name);
    return out->table ? SM_OK : sm_out_of_memory(b);
}

/* ---- CREATE TABLE AS ---- */

/* The table's columns are the query's, under the names given. */
static sm_status columns_of_query(sm_binder *b, const PgQuery__IntoClause *into, sm_stmt *out)
{
    const sm_node *plan = out->plan;
    if (into->n_col_names > plan->n_cols)
        return SM_FAIL(b, into->rel->location, SM_ERR_SYNTAX, "too many column names were specified");
    out->n_cols = plan->n_cols;
    out->cols = SM_NEW_N(b->a, sm_table_col, plan->n_cols + 1);
    if (!out->cols) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        const char *name = i < into->n_col_names ? sm_pg_string(into->col_names[i]) : NULL;
        sm_table_col *c = &out->cols[i];
        c->name = sm_arena_strdup(b->a, name ? name : plan->cols[i].name);
        c->type = plan->cols[i].type;
        c->type.flags = 0;
        if (!c->name) return sm_out_of_memory(b);
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(out->cols[k].name, c->name) == 0)
                return SM_FAIL(b, into->rel->location, SM_ERR_DUPLICATE_COLUMN, c->name);
    }
    return SM_OK;
}

sm_status sm_bind_create_as(sm_binder *b, const PgQuery__CreateTableAsStmt *c, sm_stmt *out)
{
    const PgQuery__RangeVar *v = c->into->rel;
    SM_TRY(check_schema(b, v));
    if (!PG_IS(c->query, SELECT_STMT) || c->objtype != PG_QUERY__OBJECT_TYPE__OBJECT_TABLE)
        return SM_FAIL(b, v->location, SM_ERR_NOT_SUPPORTED, "this kind of CREATE AS");
    if (c->into->skip_data)
        return SM_FAIL(b, v->location, SM_ERR_NOT_SUPPORTED, "WITH NO DATA");
    out->kind = SM_STMT_CREATE_AS;
    out->tag = "SELECT";
    out->if_not_exists = c->if_not_exists != 0;
    out->table = sm_keep(b, v->relname);
    if (!out->table) return sm_out_of_memory(b);
    SM_TRY(sm_bind_select(b, c->query->select_stmt, &out->plan));
    return columns_of_query(b, c->into, out);
}

/* ---- INSERT ---- */

typedef struct insertion {
    sm_binder *b;
    const PgQuery__InsertStmt *s;
    const sm_version *table;
    uint32_t n_sources;
    uint32_t *column; /* table column of each source column */
    sm_target *types; /* of each source column */
} insertion;

static void target_of_column(const sm_table_col *c, sm_target *out)
{
    *out = (sm_target){.type = c->type, .max_chars = (int32_t)c->max_chars, .name = c->name};
}

static sm_status source_columns(insertion *in)
{
    sm_binder *b = in->b;
    uint32_t n = in->s->n_cols ? (uint32_t)in->s->n_cols : in->table->n_cols;
    in->column = SM_NEW_N(b->scratch, uint32_t, n + 1);
    in->types = SM_NEW_N(b->scratch, sm_target, n + 1);
    if (!in->column || !in->types) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = i;
        if (in->s->n_cols) {
            const PgQuery__ResTarget *t = in->s->cols[i]->res_target;
            SM_TRY(sm_find_table_column(b, in->table, t->name, t->location, &c));
            for (uint32_t k = 0; k < i; k++)
                if (in->column[k] == c)
                    return SM_FAIL(b, t->location, SM_ERR_DUPLICATE_COLUMN, t->name);
        }
        in->column[i] = c;
        target_of_column(&in->table->cols[c], &in->types[i]);
    }
    in->n_sources = n;
    return SM_OK;
}

sm_status sm_find_table_column(sm_binder *b, const sm_version *t, const char *name,
                               int32_t location, uint32_t *out)
{
    sm_nearest near = {.name = name};
    for (uint32_t i = 0; i < t->n_cols; i++) {
        if (strcmp(t->cols[i].name, name) == 0) return *out = i, SM_OK;
        sm_nearest_offer(&near, t->cols[i].name);
    }
    sm_status s = SM_FAIL(b, location, SM_ERR_UNDEFINED_COLUMN, name);
    if (near.best) sm_error_hint(b->err, "Perhaps you meant the column \"%s\".", near.best);
    return s;
}

static sm_status check_count(insertion *in, uint32_t n)
{
    int32_t location = in->s->relation->location;
    if (n > in->n_sources)
        return SM_FAIL(in->b, location, SM_ERR_SYNTAX,
                       "INSERT has more expressions than target columns");
    if (n < in->n_sources && in->s->n_cols)
        return SM_FAIL(in->b, location, SM_ERR_SYNTAX,
                       "INSERT has more target columns than expressions");
    return SM_OK;
}

/* The source's columns in the table's order and types; columns that are not given are NULL. */
static sm_status to_table(insertion *in, uint32_t n, bool cast, sm_node **plan)
{
    sm_binder *b = in->b;
    uint32_t n_cols = in->table->n_cols;
    sm_expr **exprs = SM_NEW_N(b->scratch, sm_expr *, n_cols + 1);
    const char **names = SM_NEW_N(b->scratch, const char *, n_cols + 1);
    if (!exprs || !names) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = in->column[i];
        sm_expr *e =
            cast ? sm_source_expr(b, *plan, i)
                 : sm_expr_column(b->a, i, (*plan)->cols[i].type, (*plan)->cols[i].nullable);
        if (!e) return sm_out_of_memory(b);
        if (cast && !sm_can_assign(e->type, in->types[i].type)) {
            const char *text = sm_arena_printf(
                b->scratch, "column \"%s\" is of type %s but expression is of type %s",
                in->types[i].name, sm_type_word(in->types[i].type), sm_type_word(e->type));
            return text ? SM_FAIL(b, in->s->relation->location, SM_ERR_TYPE_MISMATCH, text)
                        : sm_out_of_memory(b);
        }
        if (cast) SM_TRY(sm_cast(b, e, &in->types[i], SM_CAST_ASSIGN, -1, &e));
        exprs[c] = e;
    }
    for (uint32_t c = 0; c < n_cols; c++) {
        names[c] = in->table->cols[c].name;
        if (!exprs[c] && !(exprs[c] = sm_expr_null(b->a, in->table->cols[c].type)))
            return sm_out_of_memory(b);
    }
    return sm_project(b, *plan, exprs, names, n_cols, plan);
}

sm_status sm_bind_insert(sm_binder *b, const PgQuery__InsertStmt *s, sm_stmt *out)
{
    sm_version *table;
    insertion in = {.b = b, .s = s};
    if (s->on_conflict_clause)
        return SM_FAIL(b, s->on_conflict_clause->location, SM_ERR_NOT_SUPPORTED, "ON CONFLICT");
    if (s->n_returning_list) return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "RETURNING");
    if (s->with_clause)
        return SM_FAIL(b, s->with_clause->location, SM_ERR_NOT_SUPPORTED, "WITH before INSERT");
    if (!PG_IS(s->select_stmt, SELECT_STMT))
        return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "INSERT of default values");
    SM_TRY(sm_bind_table(b, s->relation, &table));
    in.table = table;
    SM_TRY(source_columns(&in));
    const PgQuery__SelectStmt *q = s->select_stmt->select_stmt;
    bool values = q->n_values_lists && !q->n_sort_clause && !q->limit_count && !q->limit_offset &&
                  !q->with_clause;
    if (values) {
        SM_TRY(check_count(&in, (uint32_t)q->values_lists[0]->list->n_items));
        SM_TRY(sm_bind_values(b, q, in.types, in.n_sources, &out->plan));
    } else {
        SM_TRY(sm_bind_select(b, q, &out->plan));
        SM_TRY(check_count(&in, out->plan->n_cols));
    }
    SM_TRY(to_table(&in, out->plan->n_cols, !values, &out->plan));
    out->kind = SM_STMT_INSERT;
    out->tag = "INSERT";
    out->table = sm_keep(b, s->relation->relname);
    return out->table ? SM_OK : sm_out_of_memory(b);
}

/* ---- SET ---- */

static char *set_part(sm_binder *b, const pg_node *n)
{
    if (PG_IS(n, TYPE_CAST)) n = n->type_cast->arg;
    if (!PG_IS(n, A_CONST)) return NULL;
    const PgQuery__AConst *c = n->a_const;
    switch (c->val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL: return sm_arena_printf(b->a, "%d", (int)c->ival->ival);
    case PG_QUERY__A__CONST__VAL_FVAL: return sm_arena_strdup(b->a, c->fval->fval);
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
        return sm_arena_strdup(b->a, c->boolval->boolval ? "true" : "false");
    case PG_QUERY__A__CONST__VAL_SVAL: return sm_arena_strdup(b->a, c->sval->sval);
    default: return NULL;
    }
}

sm_status sm_bind_set(sm_binder *b, const PgQuery__VariableSetStmt *s, sm_stmt *out)
{
    char *value = NULL;
    out->kind = SM_STMT_SET;
    out->tag = "SET";
    if (s->kind == PG_QUERY__VARIABLE_SET_KIND__VAR_SET_VALUE) {
        for (size_t i = 0; i < s->n_args; i++) {
            char *part = set_part(b, s->args[i]);
            if (part && value) part = sm_arena_printf(b->a, "%s, %s", value, part);
            if (!part) return SM_FAIL(b, 0, SM_ERR_SYNTAX, "SET takes literals");
            value = part;
        }
    } else if (s->kind == PG_QUERY__VARIABLE_SET_KIND__VAR_RESET) {
        out->tag = "RESET";
    } else if (s->kind != PG_QUERY__VARIABLE_SET_KIND__VAR_SET_DEFAULT) {
        return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "this kind of SET");
    }
    out->set_value = value; /* NULL: the default */
    out->set_name = sm_keep(b, s->name);
    return out->set_name ? SM_OK : sm_out_of_memory(b);
}
