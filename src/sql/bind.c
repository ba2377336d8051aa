/* A text as a bound statement: the entry point, positions, and the dispatch by kind of statement.
 * Everything from the parser to the bound plan runs on one big stack, because parse trees may be
 * 2,000 levels deep. Read sql.h and bind.h first. */
#include "sql/bind.h"

#include <string.h>

/* ---- positions ---- */

int32_t sm_position(const sm_binder *b, int32_t location)
{
    ptrdiff_t byte = location + b->shift;
    if (location < 0) return 0;
    return sm_chars_at(b->chars, byte < 0 ? 0 : (size_t)byte);
}

sm_status sm_blame(const sm_binder *b, int32_t location, sm_status s)
{
    if (s != SM_OK && b->err && b->err->position == 0) b->err->position = sm_position(b, location);
    return s;
}

sm_status sm_out_of_memory(const sm_binder *b)
{
    return sm_arena_failed(b->a, b->err);
}

/* ---- parsing ---- */

sm_status sm_parse_piece(sm_binder *b, const char *prefix, size_t from, size_t to,
                         const char *suffix, const pg_node **out)
{
    size_t n_prefix = strlen(prefix), n_suffix = strlen(suffix), n = to - from,
           all = n_prefix + n + n_suffix;
    PgQuery__ParseResult *tree;
    sm_parse_error where;
    char *text = sm_arena_alloc(b->scratch, all + 1);
    if (!text) return sm_out_of_memory(b);
    memcpy(text, prefix, n_prefix);
    memcpy(text + n_prefix, b->chars->text + from, n);
    memcpy(text + n_prefix + n, suffix, n_suffix + 1);
    sm_status s = sm_parse(b->scratch, text, all, &tree, &where, b->err);
    if (s != SM_OK) {
        int32_t first = sm_chars_at(b->chars, from),
                behind = where.position - 1 - (int32_t)n_prefix;
        if (b->err && b->err->position == 0 && where.position > 0)
            b->err->position = first + (behind > 0 ? behind : 0);
        return s;
    }
    b->shift = (ptrdiff_t)from - (ptrdiff_t)n_prefix;
    if (tree->n_stmts > 1)
        return SM_FAIL(b, tree->stmts[1]->stmt_location, SM_ERR_SYNTAX,
                       "syntax error: more than one statement");
    *out = tree->n_stmts ? tree->stmts[0]->stmt : NULL;
    return SM_OK;
}

/* ---- statements ---- */

sm_status sm_bind_explain_options(sm_binder *b, const PgQuery__ExplainStmt *e, unsigned *out)
{
    static const struct {
        const char *name;
        unsigned flag;
    } known[] = {{"analyze", SM_EXPLAIN_ANALYZE},
                 {"ir", SM_EXPLAIN_IR},
                 {"asm", SM_EXPLAIN_ASM},
                 {"verbose", 0},
                 {"costs", 0},
                 {"timing", 0},
                 {"summary", 0},
                 {"buffers", 0}};
    *out = 0;
    for (size_t i = 0; i < e->n_options; i++) {
        const PgQuery__DefElem *d = e->options[i]->def_elem;
        size_t k = 0;
        while (k < SM_COUNT(known) && strcmp(known[k].name, d->defname) != 0) k++;
        if (k == SM_COUNT(known)) {
            const char *text =
                sm_arena_printf(b->scratch, "unrecognized EXPLAIN option \"%s\"", d->defname);
            return text ? SM_FAIL(b, d->location, SM_ERR_SYNTAX, text) : sm_out_of_memory(b);
        }
        bool on;
        SM_TRY(sm_bind_switch(b, d, &on));
        *out = on ? *out | known[k].flag : *out & ~known[k].flag;
    }
    return SM_OK;
}

static sm_status bind_query(sm_binder *b, const PgQuery__SelectStmt *s, sm_stmt *out)
{
    out->kind = SM_STMT_QUERY;
    out->tag = "SELECT";
    return sm_bind_select(b, s, &out->plan);
}

static sm_status bind_explain(sm_binder *b, const PgQuery__ExplainStmt *e, sm_stmt *out)
{
    if (!PG_IS(e->query, SELECT_STMT))
        return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "EXPLAIN of this statement");
    SM_TRY(sm_bind_explain_options(b, e, &out->explain));
    SM_TRY(bind_query(b, e->query->select_stmt, out));
    out->kind = SM_STMT_EXPLAIN;
    out->tag = "EXPLAIN";
    return SM_OK;
}

/* One statement is one transaction: BEGIN and COMMIT change nothing, ROLLBACK would have to. */
static sm_status bind_transaction(sm_binder *b, const PgQuery__TransactionStmt *t, sm_stmt *out)
{
    out->kind = SM_STMT_NONE;
    switch (t->kind) {
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_BEGIN:
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_START: out->tag = "BEGIN"; return SM_OK;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_COMMIT: out->tag = "COMMIT"; return SM_OK;
    default: return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "undoing a transaction");
    }
}

sm_status sm_bind_statement(sm_binder *b, const pg_node *stmt, sm_stmt *out)
{
    if (!stmt) {
        out->kind = SM_STMT_NONE;
        out->tag = "";
        return SM_OK;
    }
    switch (stmt->node_case) {
    case PG_QUERY__NODE__NODE_SELECT_STMT: return bind_query(b, stmt->select_stmt, out);
    case PG_QUERY__NODE__NODE_EXPLAIN_STMT: return bind_explain(b, stmt->explain_stmt, out);
    case PG_QUERY__NODE__NODE_CREATE_STMT: return sm_bind_create(b, stmt->create_stmt, out);
    case PG_QUERY__NODE__NODE_DROP_STMT: return sm_bind_drop(b, stmt->drop_stmt, out);
    case PG_QUERY__NODE__NODE_INSERT_STMT: return sm_bind_insert(b, stmt->insert_stmt, out);
    case PG_QUERY__NODE__NODE_COPY_STMT: return sm_bind_copy(b, stmt->copy_stmt, out);
    case PG_QUERY__NODE__NODE_VARIABLE_SET_STMT:
        return sm_bind_set(b, stmt->variable_set_stmt, out);
    case PG_QUERY__NODE__NODE_TRANSACTION_STMT:
        return bind_transaction(b, stmt->transaction_stmt, out);
    case PG_QUERY__NODE__NODE_VACUUM_STMT:
        out->kind = SM_STMT_NONE;
        out->tag = stmt->vacuum_stmt->is_vacuumcmd ? "VACUUM" : "ANALYZE";
        return SM_OK;
    case PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT:
        return sm_bind_create_as(b, stmt->create_table_as_stmt, out);
    case PG_QUERY__NODE__NODE_UPDATE_STMT: return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "UPDATE");
    case PG_QUERY__NODE__NODE_DELETE_STMT: return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "DELETE");
    default: return SM_FAIL(b, 0, SM_ERR_NOT_SUPPORTED, "this kind of statement");
    }
}

/* ---- the entry point ---- */

typedef struct bind_job {
    sm_binder b;
    sm_chars chars;
    const char *text;
    size_t bytes;
    sm_stmt *out;
} bind_job;

static sm_status run_job(void *arg)
{
    bind_job *j = arg;
    sm_binder *b = &j->b;
    const pg_node *stmt;
    SM_TRY(sm_chars_init(&j->chars, b->scratch, j->text, j->bytes, b->err));
    if (sm_is_pipe(j->text, j->bytes)) {
        SM_TRY(sm_bind_pipe(b, j->out));
    } else {
        SM_TRY(sm_parse_piece(b, "", 0, j->bytes, "", &stmt));
        SM_TRY(sm_bind_statement(b, stmt, j->out));
    }
    if (b->unresolved)
        return sm_raise_at(b->err, b->unresolved, SM_ERR_NOT_SUPPORTED, "this kind of subquery");
    for (uint32_t i = 0; i < b->n_params; i++)
        if (b->params[i].id == SM_UNKNOWN) b->params[i] = sm_type_of(SM_TEXT);
    j->out->n_params = b->n_params;
    j->out->param_types = b->params;
    return SM_OK;
}

sm_status sm_sql_bind(sm_arena *a, sm_catalog *catalog, const char *text, size_t bytes,
                      const sm_type *param_types, uint32_t n_params, sm_stmt *out, sm_error *err)
{
    sm_arena scratch;
    bind_job job = {.text = text, .bytes = bytes, .out = out};
    *out = (sm_stmt){.kind = SM_STMT_NONE, .tag = ""};
    sm_arena_init(&scratch, a->mem, "the parser");
    job.b = (sm_binder){
        .a = a, .scratch = &scratch, .catalog = catalog, .err = err, .chars = &job.chars};
    job.b.n_params = job.b.params_room = n_params;
    job.b.params = SM_NEW_N(a, sm_type, n_params + 1);
    if (!job.b.params) return sm_arena_failed(a, err);
    if (n_params) memcpy(job.b.params, param_types, n_params * sizeof(sm_type));
    sm_status s = sm_on_big_stack(run_job, &job, bytes, err);
    sm_arena_reset(&scratch);
    return s;
}
