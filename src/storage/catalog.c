/* Named tables: a short list behind a lock. A name maps to the current version; whoever took a
 * snapshot keeps reading his version whatever is published or dropped meanwhile. */
#include "storage/table.h"

sm_status sm_catalog_init(sm_catalog *c, sm_mem *m, sm_error *err)
{
    c->mem = m;
    c->tables = NULL;
    if (pthread_mutex_init(&c->lock, NULL)) return sm_raise(err, SM_ERR_INTERNAL, "no mutex");
    if (pthread_mutex_init(&c->write_lock, NULL)) {
        pthread_mutex_destroy(&c->lock);
        return sm_raise(err, SM_ERR_INTERNAL, "no mutex");
    }
    return SM_OK;
}

static void free_table(sm_catalog *c, sm_table *t)
{
    sm_version_unref(t->version);
    sm_free(c->mem, t->name, strlen(t->name) + 1);
    sm_free(c->mem, t, sizeof *t);
}

void sm_catalog_reset(sm_catalog *c)
{
    while (c->tables) {
        sm_table *t = c->tables;
        c->tables = t->next;
        free_table(c, t);
    }
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->write_lock);
}

/* The link that points to the table, or to NULL at the end. */
static sm_table **find(sm_catalog *c, const char *name)
{
    sm_table **link = &c->tables;
    while (*link && strcmp((*link)->name, name) != 0) link = &(*link)->next;
    return link;
}

sm_status sm_catalog_snapshot(sm_catalog *c, const char *name, sm_version **out, sm_error *err)
{
    sm_table *t;
    pthread_mutex_lock(&c->lock);
    t = *find(c, name);
    *out = t ? sm_version_ref(t->version) : NULL;
    pthread_mutex_unlock(&c->lock);
    return t ? SM_OK : sm_raise(err, SM_ERR_UNDEFINED_TABLE, name);
}

static sm_status new_table(sm_catalog *c, const char *name, sm_table **out, sm_error *err)
{
    size_t len = strlen(name) + 1;
    void *p = NULL, *own = NULL;
    SM_TRY(sm_alloc_zero(c->mem, sizeof **out, "catalog", &p, err));
    if (sm_alloc(c->mem, len, "catalog", &own, err) != SM_OK) {
        sm_free(c->mem, p, sizeof **out);
        return SM_ERR_OUT_OF_MEMORY;
    }
    memcpy(own, name, len);
    *out = p;
    (*out)->name = own;
    return SM_OK;
}

sm_status sm_catalog_create(sm_catalog *c, const char *name, sm_version *v, sm_error *err)
{
    sm_table *t = NULL, **link;
    sm_status status = new_table(c, name, &t, err);
    if (status != SM_OK) {
        sm_version_unref(v);
        return status;
    }
    t->version = v;
    pthread_mutex_lock(&c->lock);
    link = find(c, name);
    if (!*link) {
        *link = t;
        t = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    if (!t) return SM_OK;
    free_table(c, t);
    return sm_raise(err, SM_ERR_DUPLICATE_TABLE, name);
}

sm_status sm_catalog_publish(sm_catalog *c, const char *name, sm_version *v, sm_error *err)
{
    sm_table *t;
    sm_version *old = v;
    pthread_mutex_lock(&c->lock);
    t = *find(c, name);
    if (t) {
        old = t->version;
        t->version = v;
    }
    pthread_mutex_unlock(&c->lock);
    sm_version_unref(old); /* outside the lock: it may free much */
    return t ? SM_OK : sm_raise(err, SM_ERR_UNDEFINED_TABLE, name);
}

sm_status sm_catalog_drop(sm_catalog *c, const char *name, sm_error *err)
{
    sm_table **link, *t;
    pthread_mutex_lock(&c->lock);
    link = find(c, name);
    t = *link;
    if (t) *link = t->next;
    pthread_mutex_unlock(&c->lock);
    if (!t) return sm_raise(err, SM_ERR_UNDEFINED_TABLE, name);
    free_table(c, t);
    return SM_OK;
}
