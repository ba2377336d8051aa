/* Pipelines: source -> steps -> sink, the unit that a tier runs and that is compiled as one loop.
 *
 * An AGG sink's input is always made by a PROJECT as the last step: keys, then the distinct
 * arguments and filters (none of either: a PROJECT of no columns). Where a column enters a sink,
 * its proved phys is its type's own, but for arguments of integer and decimal sums: those may be
 * I64 for a decimal beyond 18 digits.
 *
 * sm_pipelines_build cuts a logical plan at its breakers; sm_pipeline_prepare, called when the
 * source's data are known, puts in parameters, proves ranges, chooses the grouping strategy and
 * lays the sink out. Proofs belong to that one execution. The row tier runs the bound expressions,
 * with every check, in full width; the batch and the jit tier run the proved ones: so a wrong proof
 * shows as a difference between tiers. */
#ifndef SM_PIPELINE_H
#define SM_PIPELINE_H

#include "plan/node.h"
#include "runtime/group_table.h"
#include "storage/source.h"

typedef enum sm_step_kind { SM_STEP_FILTER, SM_STEP_PROJECT, SM_STEP_PROBE } sm_step_kind;

/* Probing a hash table (or, without keys, every build row). The residual sees the input's columns,
 * then the n_build build columns, of any kind of join. Output columns: the input's, then the
 * n_build; of SEMI and the ANTI kinds the input's alone; of MARK the input's, then one bool. Rows
 * leave in order of the probing row, and for one probing row in build order. */
typedef struct sm_probe {
    sm_join_kind kind; /* RIGHT (an INNER that marks) and FULL (a LEFT that marks): unmatched build
                          rows are a pipeline of their own */
    uint32_t build;    /* number of the pipeline whose sink is the table */
    uint32_t n_keys;   /* step.exprs[0..n_keys) are the keys over the step's input; proved, they
                          have their types' own phys */
    const bool *null_safe;
    sm_expr *residual, *residual_proved; /* NULL = none */
    uint32_t n_build;
    uint32_t *build_cols; /* columns of the build side by their number in the table */
    sm_type *build_types; /* n_build */
    uint32_t n_out;       /* output columns */
    bool *used; /* n_out: a later step or the sink reads it; the others need not be made */
    struct sm_join_table *table; /* set by prepare; NULL where only shapes are explained */
} sm_probe;

/** Build columns go on to the output. */
SM_INLINE bool sm_probe_carries(const sm_probe *p)
{
    return p->kind == SM_JOIN_INNER || p->kind == SM_JOIN_LEFT || p->kind == SM_JOIN_RIGHT ||
           p->kind == SM_JOIN_FULL || p->kind == SM_JOIN_SINGLE;
}

typedef struct sm_step {
    sm_step_kind kind;
    uint32_t n_exprs; /* FILTER: 1, a bool; rows where it is not TRUE leave */
    sm_expr **exprs; /* bound; PROJECT: column i of the step's output; plain COLUMN expressions copy
                        nothing */
    sm_expr **proved;    /* narrowed copies */
    const sm_node *node; /* for EXPLAIN; NULL: made by the planner */
    sm_probe *probe;     /* PROBE */
} sm_step;

/* How groups are found: a property of plan and data, the same in all tiers. */
typedef enum sm_group_mode {
    SM_GROUPS_NONE,   /* no GROUP BY: one group, 32 lanes */
    SM_GROUPS_TINY,   /* at most 16 possible groups: 8 lanes, state rows indexed by code */
    SM_GROUPS_DIRECT, /* state rows indexed by code, one lane */
    SM_GROUPS_HASH    /* hash table, one lane */
} sm_group_mode;
enum { SM_TINY_GROUPS = 16, SM_DIRECT_GROUPS = 65536, SM_LANES_NONE = 32, SM_LANES_TINY = 8 };

/* TINY and DIRECT: group code = sum of stride * (dictionary code, or value - min, or n_values for
 * NULL). Booleans have min 0 and two values, whatever their range. */
typedef struct sm_code_key {
    bool dict;           /* text key that is a dictionary-coded source column */
    uint32_t source_col; /* of the dictionary's column */
    const sm_dict *dictionary;
    int64_t min;
    uint32_t n_values; /* without NULL */
    uint32_t stride;
    bool nullable;
} sm_code_key;

typedef struct sm_agg_out {
    sm_agg_fn fn;
    uint32_t accum; /* index in the layout's accums; aggregates over the same argument share one */
    sm_type type;
} sm_agg_out;

typedef struct sm_agg_sink {
    sm_group_mode mode;
    sm_group_layout layout; /* keys are the sink's input columns [0, n_keys) */
    sm_code_key *codes;     /* n_keys; TINY, DIRECT */
    uint32_t n_codes;       /* state rows of TINY, DIRECT; 1 for NONE */
    uint32_t n_outs;
    sm_agg_out *outs;
    bool order_sensitive; /* has float sums or variances: DIRECT and HASH then work by segments */
} sm_agg_sink;

typedef struct sm_rows_sink {
    uint32_t n_orders; /* sort by these input columns at finish */
    sm_order *orders;
    sm_expr *limit, *offset;          /* bound, or NULL */
    uint64_t limit_rows, offset_rows; /* their values, set by prepare; UINT64_MAX = all */
    uint32_t n_keep;                  /* columns [0, n_keep) are the result; the rest only order */
} sm_rows_sink;

/* The build side of a join: its rows are collected as in a ROWS sink, then sm_join_table_build
 * makes the table. */
typedef struct sm_build_sink {
    uint32_t
        n_keys; /* input columns [0, n_keys); the rest is payload and keys once more where needed */
    const bool *null_safe;
    bool keeps_null_keys; /* rows with a NULL key matter: RIGHT, FULL, MARK and NULL_ANTI */
    bool marks_matches;   /* RIGHT, FULL */
} sm_build_sink;

typedef enum sm_sink_kind { SM_SINK_ROWS, SM_SINK_AGG, SM_SINK_BUILD } sm_sink_kind;

typedef enum sm_input_kind {
    SM_INPUT_VERSION,  /* a table */
    SM_INPUT_SERIES,   /* generate_series */
    SM_INPUT_VALUES,   /* constant rows, evaluated by prepare */
    SM_INPUT_PIPELINE, /* the output of an earlier pipeline */
    SM_INPUT_CONCAT,   /* the outputs of earlier pipelines (UNION ALL), in order: parts[] */
    SM_INPUT_UNMATCHED /* build rows of pipeline `from` that no probe has matched, in build order */
} sm_input_kind;

typedef struct sm_pipeline {
    uint32_t number;
    sm_input_kind input;
    uint32_t from; /* INPUT_PIPELINE, INPUT_UNMATCHED: its number */
    uint32_t n_parts;
    uint32_t *parts; /* INPUT_CONCAT */
    const sm_node *source_node;
    sm_source source; /* set by prepare */
    uint32_t n_steps;
    sm_step *steps;
    sm_sink_kind sink;
    const sm_node *sink_node; /* the AGGREGATE, DISTINCT, SORT or LIMIT that ends it; NULL: plain
                                 result rows */
    union {
        sm_agg_sink agg;
        struct {
            sm_rows_sink rows; /* BUILD too: no order, no limit */
            sm_build_sink build;
        };
    };
    uint32_t n_in;         /* columns of the sink's input */
    sm_table_col *in_cols; /* their types and names */
    uint32_t n_out;
    sm_table_col *out_cols; /* of the pipeline's output */
    bool *used;             /* source columns that some step or the sink reads */
    uint64_t
        segment_chunks; /* chunks of a segment: ceil(morsels / 64); 1 when work goes by morsels */
} sm_pipeline;

typedef struct sm_pipelines {
    uint32_t n;
    sm_pipeline *list; /* in order of execution; the last gives the result, whatever its sink */
} sm_pipelines;

/** Cuts the plan into pipelines, drops columns nobody reads, folds constants. */
sm_status sm_pipelines_build(sm_arena *a, const sm_node *plan, sm_pipelines *out, sm_error *err);

/* What a pipeline has left behind: rows, or a join table (which holds its rows). */
typedef struct sm_output {
    sm_version *rows;
    struct sm_join_table *table;
} sm_output;

/** Makes the pipeline ready for its execution, in arena a (whose clean-ups release the source). It
 * writes into p, so a pipeline list serves one execution: building it anew costs microseconds.
 *  params  values of $1...; outputs  of the pipelines before it, by number
 *  errors  those of VALUES rows, series bounds, LIMIT values */
sm_status sm_pipeline_prepare(sm_pipeline *p, sm_arena *a, const sm_value *params,
                              const sm_type *param_types, uint32_t n_params,
                              const sm_output *outputs, sm_error *err);

/** Copy of e for one execution: ranges follow from the inputs, checks that cannot fail are dropped,
 * 128-bit decimals that fit are computed in 64 bits. inputs  inputs[i] tells what is known of input
 * column i (range, phys, nullable): a proved expression of the step before, or a COLUMN made from
 * the source's statistics by sm_prove_source */
sm_status sm_prove(sm_arena *a, const sm_expr *e, const sm_expr *const *inputs, sm_expr **out,
                   sm_error *err);
/** COLUMN expressions with range, phys and nullable from the statistics of a source. */
sm_status sm_prove_source(sm_arena *a, const sm_source *s, const sm_expr ***inputs, sm_error *err);

#endif
