/* The row tier from inside: a chain of nodes, each asked for its next row through a pointer. The
 * reference for the other tiers: it evaluates the bound expressions, with every check, one row at a
 * time.
 *
 * A row is one array of slots: the source's columns first, then a slot for each computed column of
 * a step. The steps' expressions are copied at open with their COLUMNs naming slots, so a plain
 * COLUMN projection costs nothing and an evaluated operand is read in place. A source column is
 * read by the first step that mentions it. */
#ifndef SM_ROW_STATE_H
#define SM_ROW_STATE_H

#include "interp/interp.h"

typedef struct sm_row_state sm_row_state;

/* Reading one source column into its slot. */
typedef struct sm_row_load {
    void (*get)(const sm_chunk_col *c, sm_type type, uint32_t row, sm_value *out);
    const sm_chunk_col *col; /* of the running morsel */
    uint32_t column;
    sm_type type;
    sm_value *slot;
} sm_row_load;

typedef enum sm_row_flow { SM_ROW_END, SM_ROW_HERE, SM_ROW_FAILED } sm_row_flow;

typedef struct sm_row_node sm_row_node;
struct sm_row_node {
    sm_row_flow (*next)(sm_row_node *n);
    sm_row_node *input;
    sm_row_state *s;
    uint32_t n_loads, n_exprs;
    sm_row_load *loads;
    sm_expr **exprs;  /* over slots; a projection's plain COLUMNs are left out */
    sm_value **slots; /* where a projection's results go */
    struct sm_row_probe *probe; /* PROBE */
    bool passes_on;   /* a projection that computes nothing: not in the chain */
    uint64_t rows_out;
    sm_row_flow (*timed)(sm_row_node *n); /* next, when next measures it */
    uint64_t ns;                          /* with its inputs' */
};

/* How an accumulator's value is reached. */
typedef enum sm_row_how {
    SM_ROW_COUNT_ALL,
    SM_ROW_SUM_F64, /* straight from the chunk */
    SM_ROW_VALUE    /* from its slot */
} sm_row_how;

typedef struct sm_row_accum {
    const sm_accum *acc;
    sm_row_how how;
    uint32_t offset; /* of its state in the state row that the mode uses */
    uint32_t column; /* SUM_F64: of the source */
    const double *data;
    const uint64_t *valid;
    const sm_value *arg, *filter; /* slots; NULL: none */
} sm_row_accum;

typedef struct sm_row_key {
    const sm_code_key *code;
    const sm_value *slot;
    const sm_chunk_col *col; /* dictionary key: codes come from here */
    sm_phys phys;
} sm_row_key;

struct sm_row_state {
    sm_worker *w;
    const sm_pin *pin;
    uint32_t from, row, end; /* row is the next one; the running one is row - 1 */
    sm_eval ev;
    sm_status status;
    uint32_t n_slots;
    sm_value *values;
    uint32_t *env;      /* at open: slot of each column of the step being opened */
    uint32_t n_env;     /* at open: how many columns these are */
    bool *loaded;       /* at open: source columns that some node reads */
    sm_row_node *nodes; /* [0] source, then steps, then the sink's loads */
    sm_row_node *top;
    sm_status (*sink)(sm_row_state *s);
    /* sink */
    uint32_t n_accums;
    sm_row_accum *accums;
    sm_row_key *keys;
    sm_value *out;   /* a row of n_in values */
    sm_value **in;   /* slots of the sink's columns */
    bool *canonical; /* computed float columns, whose NaNs are made alike */
    uint32_t lane_mask;
    bool expands;                 /* sm_expands */
    uint32_t ordinal, last_row;   /* of the last row sunk: which of its source row's it was */
    sm_arena *arena; /* of copied text */
};

/* ---- row_open.c ---- */
/** Has node n read the source columns of `slots` that no earlier node reads. */
sm_status sm_row_need(sm_row_state *s, sm_row_node *n, const uint32_t *slots, uint32_t n_slots);
/** Copy of e whose columns are slots; n reads those of the source. */
sm_status sm_row_expr(sm_row_state *s, sm_row_node *n, const sm_expr *e, sm_expr **out);
/* ---- row_probe.c ---- */
/** Slots that a probe fills. */
uint32_t sm_row_probe_slots(const sm_step *step);
sm_status sm_row_probe_open(sm_row_state *s, sm_row_node *n, const sm_step *step);
/** Forgets the row whose matches a run before has left off at. */
void sm_row_probe_begin(sm_row_node *n);
/* ---- row_load.c ---- */
/** Chooses the reader of a column for the running morsel. */
void sm_row_load_choose(sm_row_load *l, const sm_chunk *chunk);
/* ---- row_sink.c ---- */
sm_status sm_row_sink_open(sm_row_state *s, sm_row_node *n);
void sm_row_sink_begin(sm_row_state *s);

/** Counts a row that reaches the sink. */
SM_INLINE void sm_row_count(sm_row_state *s)
{
    if (!s->expands) return;
    s->ordinal = s->row == s->last_row ? s->ordinal + 1 : 0;
    s->last_row = s->row;
}

SM_INLINE void sm_row_read(const sm_row_node *n, uint32_t row)
{
    for (uint32_t i = 0; i < n->n_loads; i++) {
        const sm_row_load *l = &n->loads[i];
        l->get(l->col, l->type, row, l->slot);
    }
}

#endif
