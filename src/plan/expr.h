/* Bound expressions: names and types resolved, casts explicit. Trees live in an arena and are
 * immutable once bound; sm_prove makes a narrowed copy for one execution.
 *
 * Operations of ops.def are strict. The lazy kinds (AND, OR, CASE, COALESCE, IS_NULL) are control
 * flow: a tier evaluates an argument only for the rows that need it, in order, so that a guarded
 * error is never raised. */
#ifndef SM_EXPR_H
#define SM_EXPR_H

#include "runtime/ops.h"

typedef enum sm_expr_kind {
    SM_EXPR_CONST,  /* value */
    SM_EXPR_PARAM,  /* $n; replaced by CONST before execution */
    SM_EXPR_COLUMN, /* column of the input row */
    SM_EXPR_OP,     /* op(args) */
    SM_EXPR_AND,    /* args >= 2, left to right; later ones only where no earlier one is FALSE */
    SM_EXPR_OR,     /* args >= 2; later ones only where no earlier one is TRUE */
    SM_EXPR_CASE,   /* args: condition, value, condition, value, ..., else: always an odd number */
    SM_EXPR_COALESCE, /* args >= 1; later ones only where all earlier ones are NULL */
    SM_EXPR_IS_NULL,  /* one arg; never NULL itself */
    /* Only from the binder to sm_unnest, which turns them into joins: */
    SM_EXPR_OUTER,   /* column of a query `level` (imm[0], from 1) further out */
    SM_EXPR_SUBQUERY /* subquery->plan over args; see sm_subquery */
} sm_expr_kind;

/* What is known of an expression's values in one execution. */
typedef struct sm_range {
    bool known; /* lo and hi are set: integers, dates, timestamps, decimals (as scaled integers),
                   bool */
    sm_i128 lo, hi;
} sm_range;

typedef struct sm_expr sm_expr;
struct sm_node;

typedef enum sm_subquery_kind {
    SM_SUBQUERY_SCALAR, /* one column, at most one row (more: 21000); no row is NULL */
    SM_SUBQUERY_EXISTS, /* bool, never NULL */
    SM_SUBQUERY_ANY, /* args[i] op plan column i, for all i: TRUE if some row is, else NULL if some
                        is NULL; IN is = ANY */
    SM_SUBQUERY_ALL /* NOT (args negated-op ANY): FALSE if some row is, else NULL if some is NULL */
} sm_subquery_kind;

typedef struct sm_subquery {
    sm_subquery_kind kind;
    struct sm_node *plan; /* may hold SM_EXPR_OUTER of this query and further out */
    sm_op *compare;       /* ANY, ALL: n_args comparisons; both sides already have one type */
} sm_subquery;

struct sm_expr {
    sm_expr_kind kind;
    sm_type type;
    sm_op op;
    int32_t imm[2];
    uint32_t n_args;
    sm_expr **args;
    sm_value value;  /* CONST */
    uint32_t column; /* COLUMN, OUTER: index in the input row; PARAM: number, from 1 */
    sm_subquery *subquery;
    int32_t position; /* in the statement, characters, from 1; 0 = unknown */
    /* set by sm_prove, else from the type: */
    sm_phys phys; /* of the values; I64 instead of I128 where the range allows */
    sm_range range;
    bool nullable; /* may be NULL */
    bool can_fail; /* may still raise an error, in itself or below */
    bool no_check; /* this operation's own check is proved away: wrap-around arithmetic is right.
                    * NULL slots and dead rows hold any bits even so: a division still has to guard
                    * itself against them. */
};

sm_expr *sm_expr_const(sm_arena *a, sm_type type, const sm_value *v);
sm_expr *sm_expr_null(sm_arena *a, sm_type type);
sm_expr *sm_expr_column(sm_arena *a, uint32_t column, sm_type type, bool nullable);
/** Result type's id comes from ops.def; type gives precision and scale for decimals. NULL when
 * memory is out. */
sm_expr *sm_expr_op(sm_arena *a, sm_op op, sm_type type, sm_expr *const *args, uint32_t n_args);
sm_expr *sm_expr_node(sm_arena *a, sm_expr_kind kind, sm_type type, sm_expr *const *args,
                      uint32_t n_args);
bool sm_expr_equal(const sm_expr *a, const sm_expr *b);
uint64_t sm_expr_hash(const sm_expr *e);
sm_expr *sm_expr_clone(sm_arena *a, const sm_expr *e);
/** Calls fn on e and everything below, parents first, until it returns false. */
bool sm_expr_walk(const sm_expr *e, bool (*fn)(const sm_expr *e, void *arg), void *arg);

/** Copy of e in which every leaf for which fn gives an expression is replaced by it; what follows
 * from the arguments is worked out anew. The replacements are shared, not copied.  returns  NULL
 * when memory is out */
sm_expr *sm_expr_replace(sm_arena *a, const sm_expr *e,
                         sm_expr *(*fn)(const sm_expr *leaf, void *arg), void *arg);

/* The scalar evaluator: the row tier's, and the planner's for folding and dictionaries. The meaning
 * of an expression is what this function does. */
typedef struct sm_eval {
    const sm_value *row; /* column i is row[i]; or NULL with fetch */
    void (*fetch)(void *arg, uint32_t column, sm_value *out);
    void *fetch_arg;
    sm_arena *scratch; /* text results */
    sm_error *err;
} sm_eval;
sm_status sm_expr_eval(const sm_eval *ev, const sm_expr *e, sm_value *out);

/** Evaluates constant subtrees that cannot fail; a constant that fails stays as it is and fails
 * when reached. */
sm_status sm_expr_fold(sm_arena *a, sm_expr **e, sm_error *err);

#endif
