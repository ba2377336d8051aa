/* The batch tier from inside. At open the steps are compiled into a flat list of instructions over
 * registers (vectors of 1,024 values); a batch runs the list, and only when nothing failed its rows
 * go to the sink.
 *
 * Which rows are live is a mask while many are (then kernels run over all rows, garbage included)
 * and a selection vector when few are. Lazy expressions (AND, CASE ...) narrow the live rows for
 * their later arguments by jumping between live sets. Read batch_open.c, batch_expr.c, batch_run.c
 * in this order. */
#ifndef SM_BATCH_STATE_H
#define SM_BATCH_STATE_H

#include "interp/interp.h"
#include "interp/kernels.h"

#define SM_NO_INSTR UINT32_MAX /* an instruction that does not stand yet; as a target: the end */

typedef struct sm_live {
    bool sparse;          /* sel is what counts; else mask */
    bool has_sel;         /* dense: sel was made from mask */
    uint32_t n;           /* live rows */
    const uint64_t *mask; /* dense: NULL = all rows of the batch */
    uint64_t *mask_room;  /* SM_MASK_WORDS */
    uint16_t *sel;        /* SM_BATCH_ROWS + 32 */
} sm_live;

/* Row numbers by which registers behind a probe take their values from elsewhere. */
typedef struct sm_index {
    void *rows;    /* SM_BATCH_ROWS: uint16_t, or uint32_t of build rows */
    bool is_build;
    bool outer;    /* of build rows: UINT32_MAX is no row, whose columns are NULL */
    bool is_empty; /* of build rows: there are none */
    bool wanted;   /* some register, or an index behind a further probe, is made by it */
    struct sm_index *before; /* behind a further probe: rows[i] = before->rows[probe's sel[i]] */
} sm_index;

/* Where a register's values come from. What is not made HERE is gathered where it is first asked
 * for. */
typedef enum sm_origin {
    SM_ORIGIN_HERE,  /* scanned or computed for the batch's rows */
    SM_ORIGIN_REG,   /* base's, a register of an earlier batch, by index */
    SM_ORIGIN_BUILD, /* build's, a column of a join table, by index */
} sm_origin;

/* A register. Rooms of values are reused once read (bool ones only for bool: dead rows stay 0 or
 * 1); rooms of validity never, because results point to their arguments' validity. */
typedef struct sm_reg {
    sm_vec v;
    void *room;           /* NULL: v points into a chunk, or elsewhere */
    uint64_t *valid_room; /* SM_MASK_WORDS + 1 */
    bool pinned;          /* not a temporary: a column of a step, or a constant */
    int32_t source_col;   /* straight from the scan; -1 = computed */
    uint32_t scan;        /* source columns, and what is gathered: the instruction */
    sm_origin origin;
    sm_index *index;
    struct sm_reg *base;
    const struct sm_flat_col *build;
    sm_range range;       /* of the values, where proved */
} sm_reg;

typedef struct sm_batch_state sm_batch_state;
typedef struct sm_instr sm_instr;

typedef enum sm_flow {
    SM_FLOW_NEXT,
    SM_FLOW_JUMP,   /* to the instruction's target */
    SM_FLOW_REFUSE, /* a live row failed */
    SM_FLOW_FAIL    /* resource error, in the worker's err */
} sm_flow;

struct sm_instr {
    sm_flow (*run)(sm_batch_state *s, sm_instr *in);
    sm_reg *out;
    sm_reg *arg[3];
    uint32_t n_args;
    uint32_t target;
    uint32_t from_live, to_live; /* live sets: read, written */
    sm_pick pick;
    sm_op op;
    int32_t imm[2];
    bool no_check;
    uint8_t misses; /* dense runs that failed on dead rows */
    sm_op_dense dense;
    sm_op_selected selected;
    void (*wrap)(const void *const *args, void *out, uint32_t n);
    uint32_t column; /* SCAN: of the source; STEP_END: the step */
    sm_phys phys;    /* SCAN: to decode to */
    sm_decode_room room;
    const sm_value *value;      /* FILL */
    const void *table;          /* LOOK_UP: by code, and at [n_entries] for NULL */
    const uint8_t *table_valid; /* one byte an entry; NULL: all are values */
    uint32_t n_entries;
    bool null_in_null_out;
    bool by_code; /* GATHER: of a dictionary column */
    struct sm_batch_probe *probe; /* PROBE and its FINISH */
};

/* One accumulator of the sink and where its argument is. */
typedef struct sm_batch_accum {
    const sm_accum *acc;
    sm_reg *arg, *filter; /* NULL: none */
    bool is_short;        /* proved within +-2^52 */
} sm_batch_accum;

/* The groups of TINY that a batch has rows of; their rows are the state's masks. */
typedef struct sm_tiny_groups {
    uint32_t n;
    char *row[SM_MASK_GROUPS];     /* state rows */
    uint32_t rows[SM_MASK_GROUPS]; /* how many live rows */
} sm_tiny_groups;

struct sm_batch_state {
    sm_worker *w;
    const sm_pin *pin;
    uint32_t row0, n_rows; /* of the running batch: first row in its chunk, rows */
    uint32_t source_rows;  /* rows scanned; n_rows is another number behind a probe */
    const uint16_t *from;  /* the scanned row that each row comes from; NULL = its own */
    uint32_t n_probes;
    struct sm_batch_probe *probes[SM_MAX_STEPS]; /* that make batches of their own */
    uint32_t n_instrs, cap_instrs;
    sm_instr *instrs;
    uint32_t cur;                            /* live set now */
    uint32_t n_lives, made_lives, cap_lives; /* at open: in use, made */
    sm_live **lives;                         /* [0] = the source's rows */
    sm_reg **env;                            /* at open: the columns of the step being compiled */
    uint32_t n_env;                          /* at open: how many these are */
    const sm_op_kernels *ops;
    const sm_agg_kernels *agg;
    const sm_select_kernels *select;
    const sm_nocheck_kernels *nocheck;
    const sm_compare_kernels *compare;
    struct sm_room *free_rooms; /* at open */
    size_t const_bytes;         /* at open */
    uint32_t *step_rows;        /* [n_steps + 1] of the running batch; the last is the sink */
    uint64_t *step_ns;
    uint64_t clock_ns;
    /* sink */
    sm_vec *sink_cols; /* n_in */
    sm_reg **sink_regs;
    sm_batch_accum *accums;
    uint16_t *codes;                  /* TINY, DIRECT */
    void **rows;                      /* state row of each row */
    uint64_t *numbers;  /* what orders groups, behind a probe; else NULL */
    bool expands;       /* sm_expands */
    uint32_t ordinal;   /* of the last row among those that its source row became */
    uint32_t last_from; /* that source row */
    uint64_t (*masks)[SM_MASK_WORDS]; /* SM_MASK_GROUPS */
    sm_tiny_groups tiny;
    uint64_t *acc_mask; /* rows of one accumulator */
    uint16_t *acc_sel;
};

/* ---- open (batch_open.c) ---- */
/** A register with room for values of a form, or without (room stays NULL). NULL when memory is
 * out. */
sm_reg *sm_batch_reg(sm_batch_state *s, sm_phys phys, bool with_room);
/** Gives a temporary's room back; nothing for NULL, constants and columns. */
void sm_batch_reg_free(sm_batch_state *s, sm_reg *r);
/** A further instruction; valid until the next one is made. NULL when memory is out. */
sm_instr *sm_batch_instr(sm_batch_state *s, sm_flow (*run)(sm_batch_state *, sm_instr *));
/** Takes a further live set, and gives the last one back. */
sm_status sm_batch_live_push(sm_batch_state *s, uint32_t *number);
void sm_batch_live_pop(sm_batch_state *s);
/** Emits the scans of the source columns that e reads and that no earlier instruction scans. Scans
 * stand where no jump passes them by. */
sm_status sm_batch_scans(sm_batch_state *s, const sm_expr *e);
/** The same for column `column` of s->env. */
sm_status sm_batch_scan_column(sm_batch_state *s, uint32_t column);
/** Makes a scan decode values, or codes of a dictionary column. */
sm_status sm_batch_want_values(sm_batch_state *s, sm_reg *r);
sm_status sm_batch_want_codes(sm_batch_state *s, sm_reg *r);

/* ---- expressions (batch_expr.c) ---- */
/** Compiles e over s->env, whose scans stand; *out is a register of e->phys. */
sm_status sm_batch_expr(sm_batch_state *s, const sm_expr *e, sm_reg **out);
sm_status sm_batch_convert(sm_batch_state *s, sm_reg *r, sm_phys phys, sm_reg **out);
/** Compiles the rows of an expression over one dictionary column as a table by code.  *out NULL: it
 * is not one */
sm_status sm_batch_dict(sm_batch_state *s, const sm_expr *e, sm_reg **out);

/** Compiles the comparison of a source column with a constant, on stored values.  *out NULL: it is
 *  not one (batch_compare.c) */
sm_status sm_batch_compare(sm_batch_state *s, const sm_expr *e, sm_reg **out);

/* ---- instructions (batch_run.c, batch_lazy.c) ---- */
sm_flow sm_run_scan(sm_batch_state *s, sm_instr *in);
sm_flow sm_run_op(sm_batch_state *s, sm_instr *in);
sm_flow sm_run_op_total(sm_batch_state *s, sm_instr *in);
sm_flow sm_run_convert(sm_batch_state *s, sm_instr *in);
sm_flow sm_run_look_up(sm_batch_state *s, sm_instr *in);
sm_flow sm_run_step_end(sm_batch_state *s, sm_instr *in);
/** to_live = rows of from_live that pick keeps of arg[0]; becomes current; jumps when it is empty.
 */
sm_flow sm_run_narrow(sm_batch_state *s, sm_instr *in);
sm_flow sm_run_narrow_null(sm_batch_state *s, sm_instr *in);
/** from_live becomes current. */
sm_flow sm_run_set_live(sm_batch_state *s, sm_instr *in);
/** out's values are arg[0]'s from here on. */
sm_flow sm_run_alias(sm_batch_state *s, sm_instr *in);
/** out is its own room, values yet to be blended in. */
sm_flow sm_run_begin(sm_batch_state *s, sm_instr *in);
/** out = arg[0] in the rows of from_live. */
sm_flow sm_run_blend(sm_batch_state *s, sm_instr *in);
sm_flow sm_run_and(sm_batch_state *s, sm_instr *in);
sm_flow sm_run_or(sm_batch_state *s, sm_instr *in);
sm_flow sm_run_is_null(sm_batch_state *s, sm_instr *in);
/** The live rows' numbers; NULL = all rows. */
const uint16_t *sm_live_sel(sm_batch_state *s, sm_live *l);
/** The live set becomes those rows of it whose byte in keep is 1. JUMP: none. */
sm_flow sm_live_keep(sm_batch_state *s, sm_live *l, const uint8_t *keep);
/** All of n rows are live. */
void sm_live_all(sm_live *l, uint32_t n);

/* ---- probes (batch_probe.c, batch_match.c, batch_gather.c) ---- */
sm_status sm_batch_probe_open(sm_batch_state *s, const sm_step *step);
/** The instruction that the innermost probe with more to give stands at, or SM_NO_INSTR. */
uint32_t sm_batch_probe_more(const sm_batch_state *s);
/** Forgets what probes of the batch before had left to give. */
void sm_batch_probe_begin(sm_batch_state *s);
/** Emits the gathering of a register that is not made here. */
sm_status sm_batch_gather(sm_batch_state *s, sm_reg *r);
/** Row i's number in its chunk. */
SM_INLINE uint32_t sm_batch_row(const sm_batch_state *s, uint32_t i)
{
    return s->row0 + (s->from ? s->from[i] : i);
}

/* ---- sinks (batch_sink.c, batch_agg.c, batch_groups.c) ---- */
sm_status sm_batch_sink_open(sm_batch_state *s);
/** Hands the live rows of the finished batch to the sink. */
sm_status sm_batch_sink(sm_batch_state *s);
/** Row i may be the first one of its group. */
void sm_batch_note_first(const sm_batch_state *s, void *state_row, uint32_t i);
sm_status sm_batch_add_one_group(sm_batch_state *s, sm_live *l);
/** By s->codes. */
sm_status sm_batch_add_tiny(sm_batch_state *s, sm_live *l);

/* Where an accumulator's state is for each row. */
typedef struct sm_states {
    char *single;      /* one state row for all; else */
    void *const *rows; /* by row of the batch */
    bool lanes;        /* morsel form */
    sm_arena *arena;   /* of copied text */
} sm_states;
/** Adds rows sel[0..n) (NULL: 0..n), which a takes, one by one in row order. */
sm_status sm_batch_add_rows(sm_batch_state *s, const sm_batch_accum *a, const sm_states *t,
                            const uint16_t *sel, uint32_t n);
/** The rows that an accumulator takes: *mask (NULL = all) when dense, else sel and the returned
 * number. want_sel  sel is wanted in any case (NULL = all) returns  their number */
uint32_t sm_batch_accum_rows(sm_batch_state *s, const sm_batch_accum *a, sm_live *l, bool want_sel,
                             const uint64_t **mask, const uint16_t **sel);

#endif
