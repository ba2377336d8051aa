/* Worker threads of a database. A job asks for helpers; whoever is free joins it, the caller always works too, and a
 * job never waits for helpers that have not come. Threads are made when first needed and stay. */
#ifndef SM_POOL_H
#define SM_POOL_H

#include <pthread.h>

#include "runtime/error.h"

typedef struct sm_job sm_job;
struct sm_job {
    void (*run)(sm_job *job, unsigned worker); /* worker 0 is the caller; returns when nothing is left */
    unsigned wanted;  /* helpers still wanted */
    unsigned started; /* helpers that have joined, ever */
    unsigned active;  /* helpers inside run */
    sm_job *next;
};

enum { SM_POOL_MAX = 256 };

typedef struct sm_pool {
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    sm_job *jobs;
    pthread_t threads[SM_POOL_MAX];
    unsigned n_threads, n_waiting;
    bool stop;
} sm_pool;

sm_status sm_pool_init(sm_pool *p, sm_error *err);
/** Joins all threads; no job may run. */
void sm_pool_reset(sm_pool *p);
/** Runs job->run on the caller and up to `helpers` threads, and returns when all have returned. When the system
 *  refuses threads it only takes longer. */
void sm_pool_run(sm_pool *p, sm_job *job, unsigned helpers);

#endif
