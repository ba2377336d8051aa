/* Work on many threads: pieces are taken from a counter, made by whoever took them, and handed on
 * in their order. A worker whose piece's turn has not come waits, so that there is never more than
 * one finished piece for each of them. */
#include "gen_names.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- threads ---- */

typedef struct task {
    void (*work)(void *arg);
    void *arg;
} task;

static void *run_task(void *p)
{
    const task *t = p;
    t->work(t->arg);
    return NULL;
}

void tpch_parallel(uint32_t n_threads, void (*work)(void *arg), void *arg)
{
    enum { MAX_OTHERS = 255 };
    pthread_t others[MAX_OTHERS];
    uint32_t n = 0;
    task t = {work, arg};
    while (n + 1 < n_threads && n < MAX_OTHERS &&
           pthread_create(&others[n], NULL, run_task, &t) == 0)
        n++;
    work(arg);
    while (n) pthread_join(others[--n], NULL);
}

/* ---- what all pieces share ---- */

static int64_t table_rows(const tpch_shared *s, uint32_t table)
{
    const int64_t rows[TPCH_N_TABLES] = {
#define TPCH_TABLE(name, rows) rows,
#define TPCH_COLUMN(name, kind, sql)
#define TPCH_END(name)
#include "tables.def"
    };
    return rows[table];
}

/* Where every piece of lineitem begins follows from the numbers of lines, one draw an order. */
static bool find_lines(tpch_shared *s)
{
    uint64_t n_orders = (uint64_t)s->scale.orders, n = 0;
    s->line_starts = malloc((n_orders * 7 / TPCH_PIECE_ROWS + 1) * sizeof *s->line_starts);
    if (!s->line_starts) return false;
    tpch_cursor counts = tpch_cursor_at(O_LINES, 0);
    for (uint64_t o = 0, next = 0; o < n_orders; o++) {
        uint64_t k = (uint64_t)tpch_row_draw(&counts);
        if (n + k > next) {
            s->line_starts[next / TPCH_PIECE_ROWS] = (tpch_line_start){o, (uint32_t)(next - n)};
            next += TPCH_PIECE_ROWS;
        }
        n += k;
    }
    s->n_lines = (int64_t)n;
    return true;
}

/* ---- pieces ---- */

typedef struct run {
    tpch_shared shared;
    const tpch_job *job;
    int64_t n_pieces[TPCH_N_TABLES], n_all;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t turned;
    int64_t next, turn;
    bool failed;
} run;

typedef struct worker {
    tpch_piece piece;
    void *room[TPCH_MAX_COLUMNS];
    char *text;
    tpch_writer writer;
} worker;

static void worker_reset(worker *w)
{
    for (uint32_t i = 0; i < TPCH_MAX_COLUMNS; i++) free(w->room[i]);
    for (uint32_t i = 0; i < 2; i++) free(w->piece.spare[i]);
    free(w->text);
    free(w->writer.bytes);
}

/* Pages that no piece writes are never there. */
static bool worker_init(worker *w, const tpch_shared *shared)
{
    *w = (worker){.piece.shared = shared, .text = malloc(TPCH_ROOM_TEXT)};
    bool ok = w->text != NULL;
    for (uint32_t i = 0; i < TPCH_MAX_COLUMNS; i++)
        ok &= (w->room[i] = malloc(TPCH_ROOM_ROWS * sizeof(smelt_text))) != NULL;
    for (uint32_t i = 0; i < 2; i++)
        ok &= (w->piece.spare[i] = malloc(TPCH_ROOM_ROWS * sizeof(int32_t))) != NULL;
    return ok;
}

static bool make_piece(worker *w, const run *r, int64_t number, tpch_rows *out)
{
    tpch_piece *p = &w->piece;
    uint32_t t = 0;
    for (; number >= r->n_pieces[t]; t++) number -= r->n_pieces[t];
    int64_t first = number * TPCH_PIECE_ROWS, left = table_rows(&r->shared, t) - first;
    p->table = &tpch_tables[t];
    p->first_row = (uint64_t)first;
    p->n_rows = left < TPCH_PIECE_ROWS ? (uint32_t)left : TPCH_PIECE_ROWS;
    for (uint32_t i = 0; i < TPCH_MAX_COLUMNS; i++) p->columns[i] = w->room[i];
    p->text = w->text;
    p->table->fill(p);
    *out = (tpch_rows){.table = p->table,
                       .first = number == 0,
                       .last = number + 1 == r->n_pieces[t],
                       .n_rows = p->n_rows};
    for (uint32_t i = 0; i < p->table->n_columns; i++) out->columns[i] = p->columns[i];
    if (r->job->format == TPCH_COLUMNS) return true;
    if (!tpch_write(&w->writer, p, r->job->format, number == 0)) return false;
    out->text = w->writer.bytes;
    out->n_bytes = w->writer.n;
    return true;
}

static int64_t next_piece(run *r)
{
    pthread_mutex_lock(&r->lock);
    int64_t number = r->failed || r->next == r->n_all ? -1 : r->next++;
    pthread_mutex_unlock(&r->lock);
    return number;
}

/* Waits for the turn.  returns  false: the work has failed */
static bool await_turn(run *r, int64_t number)
{
    pthread_mutex_lock(&r->lock);
    while (!r->failed && r->turn != number) pthread_cond_wait(&r->turned, &r->lock);
    bool ok = !r->failed;
    pthread_mutex_unlock(&r->lock);
    return ok;
}

static void end_turn(run *r, bool ok)
{
    pthread_mutex_lock(&r->lock);
    r->turn++;
    if (!ok) r->failed = true;
    pthread_cond_broadcast(&r->turned);
    pthread_mutex_unlock(&r->lock);
}

static void no_memory(void)
{
    fprintf(stderr, "jit-bench: not enough memory to generate the tables\n");
}

static void work(void *arg)
{
    run *r = arg;
    worker w;
    tpch_rows rows;
    bool ok = worker_init(&w, &r->shared);
    if (!ok) {
        no_memory();
        end_turn(r, false);
    }
    for (int64_t number; ok && (number = next_piece(r)) >= 0;) {
        bool made = make_piece(&w, r, number, &rows);
        if (!made) no_memory();
        if (!await_turn(r, number)) break;
        ok = made && r->job->take(r->job->arg, &rows);
        end_turn(r, ok);
    }
    worker_reset(&w);
}

bool tpch_run(const tpch_job *job)
{
    run r = {.shared.scale = job->scale, .job = job};
    r.shared.pool = tpch_pool_new(job->n_threads);
    if (!r.shared.pool || !find_lines(&r.shared)) {
        no_memory();
        tpch_pool_free(r.shared.pool);
        return false;
    }
    tpch_names_init(&r.shared);
    for (uint32_t t = 0; t < TPCH_N_TABLES; t++) {
        if (!(job->tables >> t & 1)) continue;
        r.n_pieces[t] = (table_rows(&r.shared, t) + TPCH_PIECE_ROWS - 1) / TPCH_PIECE_ROWS;
        r.n_all += r.n_pieces[t];
    }
    pthread_mutex_init(&r.lock, NULL);
    pthread_cond_init(&r.turned, NULL);
    tpch_parallel(job->n_threads, work, &r);
    pthread_cond_destroy(&r.turned);
    pthread_mutex_destroy(&r.lock);
    tpch_pool_free(r.shared.pool);
    free(r.shared.line_starts);
    return !r.failed;
}
