/* Binding a statement and running it. Statements that change tables build new versions beside the old ones and publish
 * them at the very end, under the catalog's write lock; a failure before that changes nothing. */
#include "exec/statement.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "storage/csv/csv.h"

static sm_status bind(sm_statement *s, sm_error *err)
{
    sm_lease *lease = NULL;
    SM_TRY(sm_lease_new(&s->engine->mem, "statement", &lease, err));
    sm_stmt bound = {0};
    sm_status status =
        sm_sql_bind(&lease->arena, &s->engine->catalog, s->text, s->text_bytes, NULL, 0, &bound, err);
    if (status != SM_OK) {
        sm_lease_unref(lease);
        return status;
    }
    sm_lease_unref(s->lease);
    s->lease = lease;
    s->bound = bound;
    return SM_OK;
}

sm_status sm_statement_new(sm_engine *e, const char *text, size_t bytes, sm_statement **out, sm_error *err)
{
    void *p = NULL, *copy = NULL;
    *out = NULL;
    SM_TRY(sm_alloc_zero(&e->mem, sizeof(sm_statement), "statement", &p, err));
    sm_statement *s = p;
    s->engine = e;
    sm_status status = sm_alloc(&e->mem, bytes + 1, "statement", &copy, err);
    if (status == SM_OK) {
        memcpy(copy, text, bytes);
        s->text = copy;
        s->text[bytes] = 0;
        s->text_bytes = bytes;
        status = bind(s, err);
    }
    if (status != SM_OK) {
        sm_statement_free(s);
        return status;
    }
    *out = s;
    return SM_OK;
}

void sm_statement_free(sm_statement *s)
{
    if (!s) return;
    sm_lease_unref(s->lease);
    if (s->text) sm_free(&s->engine->mem, s->text, s->text_bytes + 1);
    sm_free(&s->engine->mem, s, sizeof *s);
}

/* Has a table that the plan reads another version now? */
static bool outdated(sm_statement *s, const sm_node *n)
{
    for (; n; n = n->input) {
        sm_version *now = NULL;
        if (n->right && outdated(s, n->right)) return true;
        if (n->kind == SM_NODE_SHARED && outdated(s, n->shared->plan)) return true;
        if (n->kind != SM_NODE_SCAN) continue;
        if (sm_catalog_snapshot(&s->engine->catalog, n->scan.table, &now, NULL) != SM_OK) return true;
        bool same = now == n->scan.version;
        sm_version_unref(now);
        if (!same) return true;
    }
    return false;
}

/* ---- queries ---- */

static sm_status exec_open(sm_statement *s, const sm_value *params, const sm_exec_options *options,
                           sm_control *control, sm_exec *x, sm_error *err)
{
    *x = (sm_exec){.engine = s->engine,
                   .statement = s->lease,
                   .options = *options,
                   .control = control,
                   .params = params,
                   .param_types = s->bound.param_types,
                   .n_params = s->bound.n_params};
    return sm_lease_new(&s->engine->mem, "query", &x->lease, err);
}

static sm_status run_plan(sm_statement *s, const sm_value *params, const sm_exec_options *options,
                          sm_control *control, sm_outcome *out, sm_version **rows, sm_error *err)
{
    sm_exec x;
    SM_TRY(exec_open(s, params, options, control, &x, err));
    sm_status status = sm_exec_plan(&x, s->bound.plan, rows, err);
    out->metrics = x.metrics;
    sm_lease_unref(x.lease);
    return status;
}

static sm_status text_rows(sm_mem *mem, const char *text, sm_version **out, sm_error *err)
{
    sm_table_col col = {.name = "QUERY PLAN", .type = sm_type_of(SM_TEXT)};
    sm_builder *b = NULL;
    SM_TRY(sm_builder_new(mem, &col, 1, NULL, &b, err));
    while (*text) {
        size_t n = strcspn(text, "\n");
        sm_value v = {.text = sm_text_view(text, (uint32_t)n)};
        sm_status s = sm_builder_row(b, &v, err);
        if (s != SM_OK) {
            sm_builder_free(b);
            return s;
        }
        text += n + (text[n] != 0);
    }
    return sm_builder_finish(b, out, err);
}

static sm_status run_explain(sm_statement *s, const sm_value *params, const sm_exec_options *options,
                             sm_control *control, sm_outcome *out, sm_error *err)
{
    sm_exec x;
    char *text = NULL;
    SM_TRY(exec_open(s, params, options, control, &x, err));
    sm_status status = sm_explain(&x, s->bound.plan, s->bound.explain, &x.lease->arena, &text, err);
    if (status == SM_OK) status = text_rows(&s->engine->mem, text, &out->rows, err);
    out->metrics = x.metrics;
    sm_lease_unref(x.lease);
    return status;
}

/* ---- statements that change tables ---- */

static sm_status create_table(sm_statement *s, sm_error *err)
{
    sm_catalog *c = &s->engine->catalog;
    sm_version *v = NULL;
    if (s->bound.if_not_exists && sm_catalog_snapshot(c, s->bound.table, &v, NULL) == SM_OK) {
        sm_version_unref(v);
        return SM_OK;
    }
    SM_TRY(sm_version_new(&s->engine->mem, s->bound.cols, s->bound.n_cols, &v, err));
    return sm_catalog_create(c, s->bound.table, v, err);
}

static sm_status drop_table(sm_statement *s, sm_error *err)
{
    sm_status status = sm_catalog_drop(&s->engine->catalog, s->bound.table, err);
    if (status == SM_ERR_UNDEFINED_TABLE && s->bound.if_exists) {
        if (err) sm_error_reset(err);
        return SM_OK;
    }
    return status;
}

static sm_status check_not_null(const sm_version *base, const sm_version *rows, const char *table, sm_error *err)
{
    for (uint32_t c = 0; c < base->n_cols; c++) {
        if (base->cols[c].not_null && rows->cols[c].null_count) {
            return sm_raise(err, SM_ERR_NOT_NULL, base->cols[c].name, table);
        }
    }
    return SM_OK;
}

/* base's rows, then those of rows, whose columns have the same types. */
static sm_status append(sm_mem *mem, const sm_version *base, const sm_version *rows, sm_version **out,
                        sm_error *err)
{
    sm_builder *b = NULL;
    SM_TRY(sm_builder_new(mem, base->cols, base->n_cols, base, &b, err));
    for (uint64_t i = 0; i < rows->n_chunks; i++) {
        sm_status s = sm_builder_chunk(b, rows->chunks[i], err);
        if (s != SM_OK) {
            sm_builder_free(b);
            return s;
        }
    }
    return sm_builder_finish(b, out, err);
}

static sm_status insert_into(sm_statement *s, const sm_version *rows, uint64_t *n_rows, sm_error *err)
{
    sm_catalog *c = &s->engine->catalog;
    sm_version *base = NULL, *next = NULL;
    SM_TRY(sm_catalog_snapshot(c, s->bound.table, &base, err));
    sm_status status = check_not_null(base, rows, s->bound.table, err);
    if (status == SM_OK) status = append(&s->engine->mem, base, rows, &next, err);
    sm_version_unref(base);
    if (status == SM_OK) status = sm_catalog_publish(c, s->bound.table, next, err);
    *n_rows = rows->n_rows;
    return status;
}

static bool table_exists(sm_statement *s)
{
    sm_version *v = NULL;
    if (sm_catalog_snapshot(&s->engine->catalog, s->bound.table, &v, NULL) != SM_OK) return false;
    sm_version_unref(v);
    return true;
}

static sm_status create_as(sm_statement *s, const sm_version *rows, sm_error *err)
{
    sm_version *base = NULL, *full = NULL;
    SM_TRY(sm_version_new(&s->engine->mem, s->bound.cols, s->bound.n_cols, &base, err));
    sm_status status = append(&s->engine->mem, base, rows, &full, err);
    sm_version_unref(base);
    return status == SM_OK ? sm_catalog_create(&s->engine->catalog, s->bound.table, full, err) : status;
}

static sm_status copy_from(sm_statement *s, uint64_t *n_rows, sm_error *err)
{
    sm_catalog *c = &s->engine->catalog;
    sm_version *base = NULL, *next = NULL, *rejects = NULL;
    sm_csv_options options = *s->bound.copy;
    options.relation = s->bound.table;
    if (s->bound.reject_table) options.rejects = &rejects;
    SM_TRY(sm_catalog_snapshot(c, s->bound.table, &base, err));
    sm_status status = sm_csv_load(&s->engine->mem, s->bound.path, &options, base, s->bound.map,
                                   s->bound.n_map, &next, n_rows, err);
    sm_version_unref(base);
    if (status == SM_OK && rejects) {
        status = sm_catalog_create(c, s->bound.reject_table, rejects, err);
        if (status != SM_OK) sm_version_unref(next);
    }
    return status == SM_OK ? sm_catalog_publish(c, s->bound.table, next, err) : status;
}

static sm_status copy_to(sm_statement *s, const sm_version *rows, sm_error *err)
{
    FILE *f = fopen(s->bound.path, "wb");
    if (!f) return sm_raise(err, SM_ERR_FILE_MISSING, s->bound.path, strerror(errno));
    sm_status status = sm_csv_write(rows, s->bound.copy, f, err);
    if (fclose(f) && status == SM_OK) status = sm_raise(err, SM_ERR_IO, s->bound.path, strerror(errno));
    return status;
}

static sm_status run_bound(sm_statement *s, const sm_value *params, const sm_exec_options *o,
                           sm_control *control, sm_outcome *out, sm_error *err)
{
    sm_version *rows = NULL;
    switch (s->bound.kind) {
    case SM_STMT_QUERY:
        SM_TRY(run_plan(s, params, o, control, out, &out->rows, err));
        out->n_rows = out->rows->n_rows;
        return SM_OK;
    case SM_STMT_EXPLAIN:
        SM_TRY(run_explain(s, params, o, control, out, err));
        out->n_rows = out->rows->n_rows;
        return SM_OK;
    case SM_STMT_CREATE_TABLE: return create_table(s, err);
    case SM_STMT_DROP_TABLE: return drop_table(s, err);
    case SM_STMT_COPY_FROM: return copy_from(s, &out->n_rows, err);
    case SM_STMT_SET: return sm_engine_set(s->engine, s->bound.set_name, s->bound.set_value, err);
    case SM_STMT_NONE: return SM_OK;
    case SM_STMT_CREATE_VIEW:
    case SM_STMT_DROP_VIEW:
        return sm_raise(err, SM_ERR_NOT_SUPPORTED, s->bound.tag);
    case SM_STMT_CREATE_AS:
        if (s->bound.if_not_exists && table_exists(s)) return SM_OK;
        break;
    case SM_STMT_INSERT:
    case SM_STMT_COPY_TO: break;
    }
    SM_TRY(run_plan(s, params, o, control, out, &rows, err));
    out->n_rows = rows->n_rows;
    sm_status status = s->bound.kind == SM_STMT_INSERT      ? insert_into(s, rows, &out->n_rows, err)
                       : s->bound.kind == SM_STMT_CREATE_AS ? create_as(s, rows, err)
                                                            : copy_to(s, rows, err);
    sm_version_unref(rows);
    return status;
}

static bool changes_tables(sm_stmt_kind k)
{
    return k == SM_STMT_CREATE_TABLE || k == SM_STMT_CREATE_AS || k == SM_STMT_DROP_TABLE || k == SM_STMT_INSERT ||
           k == SM_STMT_COPY_FROM;
}

sm_status sm_statement_run(sm_statement *s, const sm_value *params, const sm_exec_options *options,
                           sm_control *control, sm_outcome *out, sm_error *err)
{
    pthread_mutex_t *write_lock = changes_tables(s->bound.kind) ? &s->engine->catalog.write_lock : NULL;
    *out = (sm_outcome){0};
    int64_t start = sm_now_ns();
    if (write_lock) pthread_mutex_lock(write_lock);
    sm_status status = outdated(s, s->bound.plan) ? bind(s, err) : SM_OK;
    out->prepare_ns = sm_now_ns() - start;
    out->tag = s->bound.tag;
    if (status == SM_OK) {
        sm_engine_enter(s->engine, control);
        status = run_bound(s, params, options, control, out, err);
        sm_engine_leave(s->engine, control);
    }
    if (write_lock) pthread_mutex_unlock(write_lock);
    if (status != SM_OK && out->rows) {
        sm_version_unref(out->rows);
        out->rows = NULL;
    }
    return status;
}
