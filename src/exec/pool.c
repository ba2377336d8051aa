/* The thread pool: a lock, a list of jobs that want helpers, and threads that take from its head. */
#include "exec/pool.h"

static void remove_job(sm_pool *p, sm_job *job)
{
    for (sm_job **at = &p->jobs; *at; at = &(*at)->next) {
        if (*at == job) {
            *at = job->next;
            return;
        }
    }
}

static void *worker_main(void *arg)
{
    sm_pool *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        sm_job *job = p->jobs;
        if (!job) {
            p->n_waiting++;
            pthread_cond_wait(&p->work, &p->lock);
            p->n_waiting--;
            continue;
        }
        unsigned worker = ++job->started;
        job->active++;
        if (--job->wanted == 0) remove_job(p, job);
        pthread_mutex_unlock(&p->lock);
        job->run(job, worker);
        pthread_mutex_lock(&p->lock);
        if (--job->active == 0) pthread_cond_broadcast(&p->idle);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

sm_status sm_pool_init(sm_pool *p, sm_error *err)
{
    *p = (sm_pool){0};
    if (pthread_mutex_init(&p->lock, NULL) || pthread_cond_init(&p->work, NULL) ||
        pthread_cond_init(&p->idle, NULL)) {
        return sm_raise(err, SM_ERR_INTERNAL, "no thread primitives");
    }
    return SM_OK;
}

void sm_pool_reset(sm_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->n_threads; i++) pthread_join(p->threads[i], NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->idle);
}

/* Called with the lock held. */
static void post_job(sm_pool *p, sm_job *job, unsigned helpers)
{
    while (p->n_threads < helpers && p->n_threads < SM_POOL_MAX) {
        if (pthread_create(&p->threads[p->n_threads], NULL, worker_main, p)) break;
        p->n_threads++;
    }
    sm_job **tail = &p->jobs;
    while (*tail) tail = &(*tail)->next;
    *tail = job;
    pthread_cond_broadcast(&p->work);
}

void sm_pool_run(sm_pool *p, sm_job *job, unsigned helpers)
{
    job->wanted = helpers;
    job->started = job->active = 0;
    job->next = NULL;
    if (!helpers) {
        job->run(job, 0);
        return;
    }
    pthread_mutex_lock(&p->lock);
    post_job(p, job, helpers);
    pthread_mutex_unlock(&p->lock);
    job->run(job, 0);
    pthread_mutex_lock(&p->lock);
    remove_job(p, job);
    while (job->active) pthread_cond_wait(&p->idle, &p->lock);
    pthread_mutex_unlock(&p->lock);
}
