/* The logical plan: a tree of bound nodes, in a statement's arena. Column i of a node's output is
 * cols[i]; an expression of a node refers to its input's columns by index. */
#ifndef SM_NODE_H
#define SM_NODE_H

#include "plan/expr.h"
#include "runtime/agg.h"
#include "storage/table.h"

typedef enum sm_node_kind {
#define SM_NODE(id, step, inputs) SM_NODE_##id,
#include "node.def"
#undef SM_NODE
    SM_N_NODES
} sm_node_kind;

typedef struct sm_col {
    const char *name;
    sm_type type;
    bool nullable;
} sm_col;

typedef struct sm_agg_call {
    sm_agg_fn fn;
    sm_expr *arg;    /* NULL for count(*) */
    sm_expr *filter; /* FILTER (WHERE ...); NULL = none */
    bool distinct;
    sm_type type; /* of the result */
    int32_t position;
} sm_agg_call;

typedef struct sm_order {
    sm_expr *expr; /* always a COLUMN of the input (the binder projects it first) */
    bool desc, nulls_first;
} sm_order;

/* Kinds of join. The left side is probed, the right side is built. Output columns: left's, then
 * right's; SEMI and the ANTI kinds: left's; MARK: left's, then one bool. */
typedef enum sm_join_kind {
#define SM_JOIN(id, name, left_nullable, right_nullable) SM_JOIN_##id,
#include "joins.def"
#undef SM_JOIN
    SM_N_JOINS
} sm_join_kind;

/* A subplan that is computed once and read by several SHARED nodes (a materialised CTE). */
typedef struct sm_shared {
    const char *name;
    struct sm_node *plan;
} sm_shared;

typedef struct sm_node sm_node;
struct sm_node {
    sm_node_kind kind;
    sm_node *input; /* JOIN, UNION_ALL: the left one */
    sm_node *right; /* JOIN, UNION_ALL */
    uint32_t n_cols;
    sm_col *cols;
    uint32_t
        hidden_cols; /* SORT: trailing input columns that only order; dropped by a PROJECT above */
    union {
        struct {
            const char *table;
            sm_version *version; /* referenced by the statement's arena */
        } scan;
        struct {
            uint32_t n_rows;
            sm_expr ***rows; /* [row][column], no columns in them, already of the column's type */
        } values;
        struct {
            sm_expr *start, *stop,
                *step; /* constants or parameters of cols[0].type (timestamp: interval step) */
        } series;
        struct {
            sm_expr *condition; /* bool */
        } filter;
        struct {
            sm_expr **exprs; /* n_cols */
        } project;
        struct { /* output: keys, then aggregates; no keys and no rows still give one group */
            uint32_t n_keys, n_aggs;
            sm_expr **keys;
            sm_agg_call *aggs;
        } aggregate;
        struct {
            uint32_t n_orders;
            sm_order *orders;
        } sort;
        struct {
            sm_expr *limit, *offset; /* bigint, no columns; NULL = none */
        } limit;
        struct {
            sm_join_kind kind;
            uint32_t n_keys;      /* 0: nested loop */
            sm_expr **left_keys;  /* over left's columns */
            sm_expr **right_keys; /* over right's columns, same types */
            bool *null_safe;      /* IS NOT DISTINCT FROM: NULL keys are equal */
            sm_expr *residual;    /* bool over left's columns, then right's; NULL = none */
            bool lateral;         /* right has SM_EXPR_OUTER of left; only before sm_unnest */
        } join;
        sm_shared *shared;
    };
};

sm_node *sm_node_new(sm_arena *a, sm_node_kind kind, sm_node *input);

typedef enum sm_stmt_kind {
    SM_STMT_QUERY,
    SM_STMT_EXPLAIN, /* plan is the explained query */
    SM_STMT_CREATE_TABLE,
    SM_STMT_DROP_TABLE,
    SM_STMT_INSERT, /* plan gives the rows, already cast to the table's columns */
    SM_STMT_COPY_FROM,
    SM_STMT_COPY_TO,
    SM_STMT_CREATE_VIEW,
    SM_STMT_DROP_VIEW,
    SM_STMT_CREATE_AS, /* table, cols; plan gives the rows */
    SM_STMT_SET,       /* SET name = value */
    SM_STMT_NONE       /* empty text, or accepted without effect (BEGIN, COMMIT, ANALYZE) */
} sm_stmt_kind;

enum { SM_EXPLAIN_ANALYZE = 1, SM_EXPLAIN_IR = 2, SM_EXPLAIN_ASM = 4 };

/* One bound statement. */
typedef struct sm_stmt {
    sm_stmt_kind kind;
    const char *tag; /* "SELECT", "CREATE TABLE", ...: what psql prints */
    sm_node *plan;
    unsigned explain;
    uint32_t n_params;
    sm_type *param_types;
    const char *table;
    bool if_exists, if_not_exists;
    uint32_t n_cols; /* CREATE TABLE */
    sm_table_col *cols;
    uint32_t n_map; /* COPY FROM (columns) */
    uint32_t *map;
    const char *path; /* COPY; NULL = plan's rows to the caller's FILE are not supported */
    struct sm_csv_options *copy;      /* COPY */
    const char *reject_table;         /* COPY ... reject_table 'name' */
    const char *set_name, *set_value; /* SET */
    const char *view_text; /* CREATE VIEW: the query's text, bound anew wherever it is used */
    bool or_replace;
} sm_stmt;

/** Writes the plan as a pipe plan that the pipe parser reads back, one step a line. */
sm_status sm_node_print(const sm_node *n, sm_arena *a, char **out, sm_error *err);
/** Writes an expression as SQL; cols name the columns. */
sm_status sm_expr_print(const sm_expr *e, const sm_col *cols, uint32_t n_cols, sm_arena *a,
                        char **out, sm_error *err);

#endif
