/* COPY between tables, queries and files, with PostgreSQL's options and reject_table. Read bind.h
 * first. */
#include <string.h>
#include <strings.h>

#include "sql/bind.h"
#include "storage/csv/csv.h"

static const char *option_text(sm_binder *b, const PgQuery__DefElem *d)
{
    const pg_node *n = d->arg;
    if (PG_IS(n, INTEGER)) return sm_arena_printf(b->a, "%d", (int)n->integer->ival);
    if (PG_IS(n, BOOLEAN)) return n->boolean->boolval ? "true" : "false";
    if (PG_IS(n, FLOAT)) return sm_keep(b, n->float_->fval);
    if (PG_IS(n, STRING)) return sm_keep(b, n->string->sval);
    return NULL;
}

sm_status sm_bind_switch(sm_binder *b, const PgQuery__DefElem *d, bool *out)
{
    static const char *const on[] = {"true", "on", "1", "yes"}, *const off[] = {"false", "off", "0",
                                                                                "no"};
    const char *text = d->arg ? option_text(b, d) : "true";
    for (size_t i = 0; text && i < SM_COUNT(on); i++) {
        if (strcmp(text, on[i]) == 0) return *out = true, SM_OK;
        if (strcmp(text, off[i]) == 0) return *out = false, SM_OK;
    }
    text = sm_arena_printf(b->scratch, "%s requires a Boolean value", d->defname);
    return text ? SM_FAIL(b, d->location, SM_ERR_SYNTAX, text) : sm_out_of_memory(b);
}

static sm_status need_text(sm_binder *b, const PgQuery__DefElem *d, const char **out)
{
    *out = option_text(b, d);
    if (*out) return SM_OK;
    const char *text = sm_arena_printf(b->scratch, "%s requires a value", d->defname);
    return text ? SM_FAIL(b, d->location, SM_ERR_SYNTAX, text) : sm_out_of_memory(b);
}

static sm_status one_byte(sm_binder *b, const PgQuery__DefElem *d, char *out)
{
    const char *s;
    SM_TRY(need_text(b, d, &s));
    if (strlen(s) == 1 && s[0] != '\n' && s[0] != '\r') return *out = s[0], SM_OK;
    const char *text =
        sm_arena_printf(b->scratch, "COPY %s must be a single one-byte character", d->defname);
    return text ? SM_FAIL(b, d->location, SM_ERR_BAD_ARGUMENT, text) : sm_out_of_memory(b);
}

static sm_status bind_format(sm_binder *b, const PgQuery__DefElem *d, sm_csv_options *o)
{
    const char *s;
    SM_TRY(need_text(b, d, &s));
    o->text_format = strcmp(s, "text") == 0;
    if (o->text_format || strcmp(s, "csv") == 0) return SM_OK;
    const char *text = sm_arena_printf(b->scratch, "COPY format \"%s\"", s);
    return text ? SM_FAIL(b, d->location, SM_ERR_NOT_SUPPORTED, text) : sm_out_of_memory(b);
}

typedef struct seen {
    bool delimiter, null, quote, escape;
} seen;

static sm_status bind_option(sm_binder *b, const PgQuery__DefElem *d, sm_stmt *out, seen *has)
{
    sm_csv_options *o = out->copy;
    const char *name = d->defname, *ignored;
    if (strcmp(name, "format") == 0) return bind_format(b, d, o);
    if (strcmp(name, "header") == 0) return sm_bind_switch(b, d, &o->header);
    if (strcmp(name, "delimiter") == 0) return has->delimiter = true, one_byte(b, d, &o->delimiter);
    if (strcmp(name, "quote") == 0) return has->quote = true, one_byte(b, d, &o->quote);
    if (strcmp(name, "escape") == 0) return has->escape = true, one_byte(b, d, &o->escape);
    if (strcmp(name, "null") == 0) return has->null = true, need_text(b, d, &o->null_text);
    if (strcmp(name, "reject_table") == 0) return need_text(b, d, &out->reject_table);
    if (strcmp(name, "pad_short_rows") == 0) return sm_bind_switch(b, d, &o->pad_short_rows);
    if (strcmp(name, "freeze") == 0) return sm_bind_switch(b, d, &(bool){false});
    if (strcmp(name, "encoding") == 0) {
        SM_TRY(need_text(b, d, &ignored));
        if (strcasecmp(ignored, "utf8") == 0 || strcasecmp(ignored, "utf-8") == 0) return SM_OK;
        return SM_FAIL(b, d->location, SM_ERR_NOT_SUPPORTED, "an encoding other than UTF8");
    }
    const char *text = sm_arena_printf(b->scratch, "option \"%s\" not recognized", name);
    return text ? SM_FAIL(b, d->location, SM_ERR_SYNTAX, text) : sm_out_of_memory(b);
}

static sm_status bind_options(sm_binder *b, const PgQuery__CopyStmt *c, sm_stmt *out)
{
    seen has = {false};
    out->copy = SM_NEW(b->a, sm_csv_options);
    if (!out->copy) return sm_out_of_memory(b);
    sm_csv_options_init(out->copy);
    out->copy->text_format = true; /* as in PostgreSQL, unless FORMAT says otherwise */
    for (size_t i = 0; i < c->n_options; i++)
        SM_TRY(bind_option(b, c->options[i]->def_elem, out, &has));
    sm_csv_options *o = out->copy;
    if (o->text_format && !has.delimiter) o->delimiter = '\t';
    if (o->text_format && !has.null) o->null_text = "\\N";
    if (o->text_format && (has.quote || has.escape))
        return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "QUOTE or ESCAPE without FORMAT csv");
    if (!o->text_format && has.quote && !has.escape) o->escape = o->quote;
    if (!o->text_format && o->delimiter == o->quote)
        return SM_FAIL(b, 0, SM_ERR_BAD_ARGUMENT, "COPY delimiter and quote must be different");
    return SM_OK;
}

static sm_status bind_columns(sm_binder *b, const PgQuery__CopyStmt *c, const sm_version *t,
                              sm_stmt *out)
{
    if (!c->n_attlist) return SM_OK;
    out->n_map = (uint32_t)c->n_attlist;
    out->map = SM_NEW_N(b->a, uint32_t, c->n_attlist);
    if (!out->map) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < out->n_map; i++) {
        const char *name = sm_pg_string(c->attlist[i]);
        SM_TRY(sm_find_table_column(b, t, name, c->relation->location, &out->map[i]));
        for (uint32_t k = 0; k < i; k++)
            if (out->map[k] == out->map[i])
                return SM_FAIL(b, c->relation->location, SM_ERR_DUPLICATE_COLUMN, name);
    }
    return SM_OK;
}

/* COPY t (columns) TO: the columns of the map, by a PROJECT. */
static sm_status project_map(sm_binder *b, sm_stmt *out)
{
    uint32_t n = out->n_map;
    sm_expr **exprs = SM_NEW_N(b->scratch, sm_expr *, n + 1);
    const char **names = SM_NEW_N(b->scratch, const char *, n + 1);
    if (!exprs || !names) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n; i++) {
        const sm_col *c = &out->plan->cols[out->map[i]];
        exprs[i] = sm_expr_column(b->a, out->map[i], c->type, c->nullable);
        names[i] = c->name;
        if (!exprs[i]) return sm_out_of_memory(b);
    }
    return n ? sm_project(b, out->plan, exprs, names, n, &out->plan) : SM_OK;
}

sm_status sm_bind_copy(sm_binder *b, const PgQuery__CopyStmt *c, sm_stmt *out)
{
    sm_version *t;
    int32_t location = c->relation ? c->relation->location : 0;
    if (c->is_program) return SM_FAIL(b, location, SM_ERR_NOT_SUPPORTED, "COPY with PROGRAM");
    if (!c->filename[0])
        return SM_FAIL(b, location, SM_ERR_NOT_SUPPORTED, "COPY with STDIN or STDOUT");
    if (c->where_clause) return SM_FAIL(b, location, SM_ERR_NOT_SUPPORTED, "COPY with WHERE");
    if (c->query && !PG_IS(c->query, SELECT_STMT))
        return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "COPY of this statement");
    out->kind = c->is_from ? SM_STMT_COPY_FROM : SM_STMT_COPY_TO;
    out->tag = "COPY";
    out->path = sm_keep(b, c->filename);
    if (!out->path) return sm_out_of_memory(b);
    SM_TRY(bind_options(b, c, out));
    if (c->query) return sm_bind_select(b, c->query->select_stmt, &out->plan);
    out->table = sm_keep(b, c->relation->relname);
    if (!out->table) return sm_out_of_memory(b);
    SM_TRY(sm_bind_table(b, c->relation, &t));
    SM_TRY(bind_columns(b, c, t, out));
    if (c->is_from) return SM_OK;
    SM_TRY(sm_scan(b, c->relation, &out->plan));
    return project_map(b, out);
}
