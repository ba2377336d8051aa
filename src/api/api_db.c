/* Databases, settings and statuses of smelt.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

const char *smelt_version(void) { return "0.1.0"; }

smelt_status sm_api_error(sm_status s, const sm_error *from, smelt_error *to)
{
    smelt_status public = SMELT_ERROR;
    if (s == SM_OK) public = SMELT_OK;
    if (s == SM_ERR_OUT_OF_MEMORY) public = SMELT_NOMEM;
    if (s == SM_ERR_CANCELED || s == SM_ERR_TIMEOUT) public = SMELT_CANCELED;
    if (s == SM_ERR_MISUSE) public = SMELT_MISUSE;
    if (!to) return public;
    memset(to, 0, sizeof *to);
    to->status = public;
    if (s == SM_OK) return public;
    memcpy(to->sqlstate, sm_status_sqlstate(s), sizeof to->sqlstate);
    to->position = from->position;
    snprintf(to->message, sizeof to->message, "%s", from->message);
    snprintf(to->hint, sizeof to->hint, "%s", from->hint);
    return public;
}

smelt_status sm_api_misuse(smelt_error *err, const char *message)
{
    sm_error e = {0};
    sm_raise(&e, SM_ERR_MISUSE, message);
    return sm_api_error(SM_ERR_MISUSE, &e, err);
}

static smelt_status open_engine(const smelt_settings *s, smelt_db *db, smelt_error *err)
{
    sm_error e = {0};
    sm_status status = sm_engine_init(&db->engine, s ? s->jit_path : NULL, &e);
    if (status != SM_OK || !s) return sm_api_error(status, &e, err);
    atomic_store(&db->engine.settings.value[SM_SETTING_tier], (int64_t)s->tier);
    atomic_store(&db->engine.settings.value[SM_SETTING_threads], s->threads);
    if (s->memory_limit) {
        atomic_store(&db->engine.settings.value[SM_SETTING_memory_limit], (int64_t)s->memory_limit);
        atomic_store(&db->engine.mem.limit_bytes, s->memory_limit);
    }
    return SMELT_OK;
}

smelt_status smelt_db_open(const smelt_settings *settings, smelt_db **db, smelt_error *err)
{
    if (!db) return sm_api_misuse(err, "smelt_db_open: db is NULL");
    *db = NULL;
    if (settings && ((unsigned)settings->tier > SMELT_TIER_JIT || settings->threads > SM_POOL_MAX)) {
        return sm_api_misuse(err, "smelt_db_open: a setting is out of range");
    }
    void *p = NULL;
    sm_mem boot; /* the database's own structure cannot be charged to itself */
    sm_error e = {0};
    sm_mem_init(&boot, NULL, SIZE_MAX);
    sm_status s = sm_alloc_zero(&boot, sizeof(smelt_db), "database", &p, &e);
    if (s != SM_OK) return sm_api_error(s, &e, err);
    smelt_status status = open_engine(settings, p, err);
    if (status == SMELT_OK) *db = p;
    else sm_free(&boot, p, sizeof(smelt_db));
    return status;
}

void smelt_db_close(smelt_db *db)
{
    sm_mem boot;
    if (!db) return;
    sm_engine_reset(&db->engine);
    sm_mem_init(&boot, NULL, SIZE_MAX);
    atomic_store(&boot.used_bytes, sizeof *db);
    sm_free(&boot, db, sizeof *db);
}

smelt_status smelt_set(smelt_db *db, const char *name, const char *value, smelt_error *err)
{
    sm_error e = {0};
    if (!db || !name || !value) return sm_api_misuse(err, "smelt_set: an argument is NULL");
    return sm_api_error(sm_engine_set(&db->engine, name, value, &e), &e, err);
}

smelt_status smelt_set_jit(smelt_db *db, bool on) { return smelt_set(db, "jit", on ? "on" : "off", NULL); }

size_t smelt_db_memory(const smelt_db *db) { return db ? atomic_load(&db->engine.mem.used_bytes) : 0; }

bool smelt_jit_available(smelt_db *db, char *why, size_t why_bytes)
{
    if (why && why_bytes) why[0] = 0;
    return db && sm_compiler_module(&db->engine.compiler, why, why ? why_bytes : 0) != NULL;
}

void smelt_cancel(smelt_db *db)
{
    if (db) sm_engine_cancel_all(&db->engine);
}

smelt_type sm_api_type(sm_type t)
{
    return (smelt_type){t.id == SM_UNKNOWN ? SMELT_TEXT : (smelt_type_id)t.id, t.precision, t.scale};
}

/* The two enumerations are one. */
static_assert((int)SMELT_BOOL == SM_BOOL && (int)SMELT_DECIMAL == SM_DECIMAL && (int)SMELT_TEXT == SM_TEXT,
              "types.def and smelt_type_id");
static_assert((int)SMELT_TIER_AUTO == SM_TIER_AUTO && (int)SMELT_TIER_JIT == SM_TIER_JIT, "tiers");
static_assert(sizeof(smelt_int128) == sizeof(sm_i128) && sizeof(smelt_interval) == sizeof(sm_interval),
              "values are handed over as they lie");

bool sm_api_type_in(smelt_type t, sm_type *out)
{
    if ((unsigned)t.id > SMELT_TEXT) return false;
    *out = sm_type_of((sm_type_id)t.id);
    if (t.id != SMELT_DECIMAL) return true;
    *out = t.precision ? sm_decimal(t.precision, t.scale) : sm_decimal(SM_DEC_MAX_DIGITS, 10);
    return t.precision <= SM_DEC_MAX_DIGITS && t.scale <= out->precision;
}

smelt_status smelt_create_table(smelt_db *db, const char *name, const smelt_column_def *columns,
                                uint32_t n_columns, smelt_error *err)
{
    if (!db || !name || !name[0] || (n_columns && !columns)) {
        return sm_api_misuse(err, "smelt_create_table: an argument is NULL");
    }
    sm_arena a;
    sm_error e = {0};
    sm_arena_init(&a, &db->engine.mem, "table");
    sm_table_col *cols = SM_NEW_N(&a, sm_table_col, n_columns + 1);
    sm_status s = cols ? SM_OK : sm_arena_failed(&a, &e);
    for (uint32_t i = 0; i < n_columns && s == SM_OK; i++) {
        if (!columns[i].name || !sm_api_type_in(columns[i].type, &cols[i].type)) {
            s = sm_raise(&e, SM_ERR_MISUSE, "smelt_create_table: a column has no name or no such type");
            break;
        }
        cols[i].name = sm_arena_strdup(&a, columns[i].name);
        cols[i].not_null = columns[i].not_null;
        if (!cols[i].name) s = sm_arena_failed(&a, &e);
        for (uint32_t j = 0; j < i && s == SM_OK; j++) {
            if (!strcmp(cols[j].name, cols[i].name)) s = sm_raise(&e, SM_ERR_DUPLICATE_COLUMN, cols[i].name);
        }
    }
    sm_version *v = NULL;
    if (s == SM_OK) s = sm_version_new(&db->engine.mem, cols, n_columns, &v, &e);
    if (s == SM_OK) s = sm_catalog_create(&db->engine.catalog, name, v, &e);
    sm_arena_reset(&a);
    return sm_api_error(s, &e, err);
}

void smelt_free(void *p)
{
    /* Texts handed out carry their size in front (smelt_explain). */
    sm_mem boot;
    if (!p) return;
    size_t *head = (size_t *)p - 2;
    sm_mem_init(&boot, NULL, SIZE_MAX);
    atomic_store(&boot.used_bytes, head[0]);
    sm_free(&boot, head, head[0]);
}
