/* Statements of smelt.h: prepare, bind, run, explain, cancel. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"

bool smelt_next_statement(const char *text, size_t text_bytes, size_t *at, const char **start, size_t *bytes)
{
    sm_mem mem;
    sm_arena a;
    sm_sql_part *parts = NULL;
    uint32_t n = 0;
    if (!text || !at || !start || !bytes || *at >= text_bytes) return false;
    sm_mem_init(&mem, NULL, SIZE_MAX);
    sm_arena_init(&a, &mem, "statements");
    bool found = sm_sql_split(&a, text + *at, text_bytes - *at, &parts, &n, NULL) == SM_OK && n > 0;
    if (found) {
        *start = parts[0].text;
        *bytes = parts[0].bytes;
        *at = n > 1 ? (size_t)(parts[1].text - text) : text_bytes;
    } else {
        *at = text_bytes;
    }
    sm_arena_reset(&a);
    return found;
}

smelt_status smelt_prepare_n(smelt_db *db, const char *text, size_t bytes, smelt_stmt **stmt, smelt_error *err)
{
    sm_error e = {0};
    void *p = NULL;
    if (!stmt) return sm_api_misuse(err, "smelt_prepare: stmt is NULL");
    *stmt = NULL;
    if (!db || !text) return sm_api_misuse(err, "smelt_prepare: an argument is NULL");
    sm_mem *mem = &db->engine.mem;
    sm_status s = sm_alloc_zero(mem, sizeof(smelt_stmt), "statement", &p, &e);
    if (s != SM_OK) return sm_api_error(s, &e, err);
    smelt_stmt *st = p;
    st->db = db;
    sm_arena_init(&st->texts, mem, "parameters");
    int64_t start = sm_now_ns();
    s = sm_statement_new(&db->engine, text, bytes, &st->statement, &e);
    st->bind_ms = (double)(sm_now_ns() - start) / 1e6;
    if (s == SM_OK) {
        uint32_t n = st->statement->bound.n_params;
        st->params = SM_NEW_N(&st->texts, sm_value, n + 1);
        if (!st->params) s = sm_arena_failed(&st->texts, &e);
        for (uint32_t i = 0; s == SM_OK && i < n; i++) st->params[i].is_null = true;
    }
    if (s != SM_OK) {
        smelt_stmt_free(st);
        return sm_api_error(s, &e, err);
    }
    *stmt = st;
    return SMELT_OK;
}

smelt_status smelt_prepare(smelt_db *db, const char *text, smelt_stmt **stmt, smelt_error *err)
{
    return smelt_prepare_n(db, text, text ? strlen(text) : 0, stmt, err);
}

void smelt_stmt_free(smelt_stmt *stmt)
{
    if (!stmt) return;
    sm_statement_free(stmt->statement);
    sm_arena_reset(&stmt->texts);
    sm_free(&stmt->db->engine.mem, stmt, sizeof *stmt);
}

uint32_t smelt_stmt_n_params(const smelt_stmt *stmt) { return stmt ? stmt->statement->bound.n_params : 0; }

smelt_type smelt_stmt_param_type(const smelt_stmt *stmt, uint32_t param)
{
    if (param >= smelt_stmt_n_params(stmt)) return (smelt_type){SMELT_TEXT, 0, 0};
    return sm_api_type(stmt->statement->bound.param_types[param]);
}

/* Parses the text of a value as the parameter's type: the conversion of every kind of bind. */
static smelt_status bind_text(smelt_stmt *stmt, uint32_t param, const char *bytes, size_t length, smelt_error *err)
{
    sm_error e = {0};
    sm_value v = {.is_null = false};
    if (!stmt || param >= smelt_stmt_n_params(stmt)) return sm_api_misuse(err, "no such parameter");
    char *copy = sm_arena_strndup(&stmt->texts, bytes, length);
    if (!copy) return sm_api_error(sm_arena_failed(&stmt->texts, &e), &e, err);
    sm_status s = sm_parse_value(stmt->statement->bound.param_types[param], copy, length, &v, &e);
    if (s == SM_OK) stmt->params[param] = v;
    return sm_api_error(s, &e, err);
}

smelt_status smelt_bind_null(smelt_stmt *stmt, uint32_t param, smelt_error *err)
{
    if (!stmt || param >= smelt_stmt_n_params(stmt)) return sm_api_misuse(err, "no such parameter");
    stmt->params[param].is_null = true;
    return SMELT_OK;
}

smelt_status smelt_bind_bool(smelt_stmt *stmt, uint32_t param, bool value, smelt_error *err)
{
    return value ? bind_text(stmt, param, "true", 4, err) : bind_text(stmt, param, "false", 5, err);
}

smelt_status smelt_bind_int64(smelt_stmt *stmt, uint32_t param, int64_t value, smelt_error *err)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%lld", (long long)value);
    return bind_text(stmt, param, text, (size_t)n, err);
}

smelt_status smelt_bind_double(smelt_stmt *stmt, uint32_t param, double value, smelt_error *err)
{
    char text[SM_FORMAT_BYTES];
    sm_value v = {.f64 = value};
    size_t n = sm_format_value(sm_type_of(SM_FLOAT64), &v, text);
    return bind_text(stmt, param, text, n, err);
}

smelt_status smelt_bind_text(smelt_stmt *stmt, uint32_t param, const char *bytes, size_t length, smelt_error *err)
{
    if (!bytes) return smelt_bind_null(stmt, param, err);
    return bind_text(stmt, param, bytes, length, err);
}

/* ---- running ---- */

static sm_status options_in(const smelt_db *db, const smelt_options *from, sm_exec_options *o,
                            sm_control *control, sm_error *err)
{
    int64_t limit_ms = sm_setting_get(&db->engine.settings, SM_SETTING_time_limit);
    sm_exec_options_init(o, &db->engine);
    if (from) {
        if (from->tier || from->auto_tier) o->tier = (sm_tier)from->tier;
        if (from->threads) o->threads = from->threads;
        if (from->batch_rows) o->batch_rows = from->batch_rows;
        if (from->jit_step) o->jit.step = from->jit_step;
        if (from->time_limit_ms) limit_ms = from->time_limit_ms;
    }
    uint32_t step = o->jit.step;
    bool good_step = step == 0 || step == 1 || step == 8 || step == 16 || step == 32;
    if ((unsigned)o->tier > SM_TIER_JIT || o->threads > SM_POOL_MAX || o->batch_rows < 1 ||
        o->batch_rows > SM_BATCH_ROWS || !good_step) {
        return sm_raise(err, SM_ERR_MISUSE, "an option is out of range");
    }
    control->deadline_ns = limit_ms ? sm_now_ns() + limit_ms * 1000000 : 0;
    return SM_OK;
}

static sm_status new_result(smelt_db *db, smelt_result **out, sm_error *err)
{
    void *p = NULL;
    SM_TRY(sm_alloc_zero(&db->engine.mem, sizeof(smelt_result), "result", &p, err));
    *out = p;
    (*out)->db = db;
    sm_arena_init(&(*out)->scratch, &db->engine.mem, "result");
    return SM_OK;
}

smelt_status sm_api_run(smelt_stmt *stmt, const smelt_options *options, smelt_result **result, smelt_error *err)
{
    sm_exec_options o;
    sm_error e = {0};
    smelt_result *r = NULL;
    int64_t start = sm_now_ns();
    if (result) *result = NULL;
    sm_status s = options_in(stmt->db, options, &o, &stmt->control, &e);
    if (s == SM_OK) s = new_result(stmt->db, &r, &e);
    if (s == SM_OK) {
        s = sm_statement_run(stmt->statement, stmt->params, &o, &stmt->control, &r->outcome, &e);
        r->total_ms = (double)(sm_now_ns() - start) / 1e6;
        r->bind_ms = stmt->bind_ms;
    }
    atomic_store(&stmt->control.cancel, false);
    atomic_store(&stmt->control.rows_total, 0);
    if (s != SM_OK || !result) smelt_result_free(r);
    else *result = r;
    return sm_api_error(s, &e, err);
}

smelt_status smelt_execute(smelt_stmt *stmt, const smelt_options *options, smelt_result **result, smelt_error *err)
{
    if (result) *result = NULL;
    if (!stmt) return sm_api_misuse(err, "smelt_execute: stmt is NULL");
    return sm_api_run(stmt, options, result, err);
}

smelt_status smelt_run(smelt_db *db, const char *text, const smelt_options *options, smelt_result **result,
                       smelt_error *err)
{
    smelt_stmt *stmt = NULL;
    int64_t start = sm_now_ns();
    if (result) *result = NULL;
    smelt_status s = smelt_prepare(db, text, &stmt, err);
    if (s != SMELT_OK) return s;
    s = sm_api_run(stmt, options, result, err);
    if (s == SMELT_OK && result) (*result)->total_ms = (double)(sm_now_ns() - start) / 1e6;
    smelt_stmt_free(stmt);
    return s;
}

void smelt_stmt_cancel(smelt_stmt *stmt)
{
    if (stmt) atomic_store(&stmt->control.cancel, true);
}

double smelt_stmt_progress(const smelt_stmt *stmt)
{
    if (!stmt) return 0;
    uint64_t total = atomic_load(&stmt->control.rows_total), done = atomic_load(&stmt->control.rows_done);
    return total ? (double)done / (double)total : 0;
}

/* ---- EXPLAIN ---- */

static char *keep_text(const char *text, size_t length)
{
    sm_mem boot;
    void *p = NULL;
    size_t bytes = length + 1 + 2 * sizeof(size_t);
    sm_mem_init(&boot, NULL, SIZE_MAX);
    if (sm_alloc(&boot, bytes, "text", &p, NULL) != SM_OK) return NULL;
    size_t *head = p;
    head[0] = bytes;
    char *out = (char *)(head + 2);
    memcpy(out, text, length);
    out[length] = 0;
    return out;
}

smelt_status smelt_explain(smelt_db *db, const char *text, unsigned flags, const smelt_options *options, char **out,
                           smelt_error *err)
{
    sm_error e = {0};
    sm_exec x = {0};
    smelt_stmt *stmt = NULL;
    char *plan = NULL;
    if (!out) return sm_api_misuse(err, "smelt_explain: out is NULL");
    *out = NULL;
    smelt_status status = smelt_prepare(db, text, &stmt, err);
    if (status != SMELT_OK) return status;
    sm_statement *st = stmt->statement;
    sm_status s = st->bound.plan ? SM_OK : sm_raise(&e, SM_ERR_NOT_SUPPORTED, "EXPLAIN of this statement");
    if (s == SM_OK) s = options_in(db, options, &x.options, &stmt->control, &e);
    if (s == SM_OK) s = sm_lease_new(&db->engine.mem, "explain", &x.lease, &e);
    x.engine = &db->engine;
    x.statement = st->lease;
    x.control = &stmt->control;
    x.params = stmt->params;
    x.param_types = st->bound.param_types;
    x.n_params = st->bound.n_params;
    if (s == SM_OK) s = sm_explain(&x, st->bound.plan, flags, &x.lease->arena, &plan, &e);
    if (s == SM_OK) {
        *out = keep_text(plan, strlen(plan));
        if (!*out) s = sm_arena_failed(&x.lease->arena, &e);
    }
    sm_lease_unref(x.lease);
    smelt_stmt_free(stmt);
    return sm_api_error(s, &e, err);
}
