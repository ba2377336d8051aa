/* What the files of the binder share. The order to read them in: bind.c (statements),
 * bind_select.c, bind_from.c, bind_scope.c, bind_join.c, join_order.c, bind_union.c, bind_group.c,
 * bind_expr.c, bind_subquery.c, lift.c, bind_rewrite.c, bind_op.c, bind_func.c, bind_special.c,
 * bind_cast.c, bind_make.c, bind_type.c, names.c. */
#ifndef SM_SQL_BIND_H
#define SM_SQL_BIND_H

#include "runtime/group_table.h"
#include "sql/parse.h"
#include "sql/sql.h"
#include "sql/text.h"

/* One statement being bound. */
typedef struct sm_binder {
    sm_arena *a;       /* the statement's: what the plan is made of */
    sm_arena *scratch; /* parse trees and name tables; gone after binding */
    sm_catalog *catalog;
    sm_error *err;
    const sm_chars *chars;
    ptrdiff_t shift; /* byte of the statement = location in the parsed text + shift */
    sm_type *params; /* SM_UNKNOWN until a context decides */
    uint32_t n_params, params_room;
    struct sm_cte *ctes; /* visible WITH names, innermost first */
    struct sm_outer *outer; /* queries around the one being bound, innermost first */
    int32_t unresolved; /* position of a subquery that could not be made a join; 0 = none */
} sm_binder;

/* A WITH query: bound anew wherever its name is used. */
typedef struct sm_cte {
    const PgQuery__CommonTableExpr *def;
    struct sm_cte *outer;
    struct sm_outer *queries; /* around the WITH */
    bool used;
} sm_cte;

typedef struct sm_scope_col {
    const char *rel, *name; /* rel may be NULL */
    sm_type type;
    bool nullable;
    bool hidden;     /* USING made one of two: only rel.name finds it */
    uint32_t column; /* of the node below */
    sm_expr *expr;   /* over the node's columns, where USING had to compute one; NULL = column */
} sm_scope_col;

/* The columns that names can mean, in the order of SELECT *. */
typedef struct sm_scope {
    uint32_t n_cols, n_rels;
    sm_scope_col *cols;
    const char **rels; /* names of the relations, those without columns too */
} sm_scope;

/* A query around the one being bound: where its names are looked up. */
typedef struct sm_outer {
    const sm_scope *scope;
    struct sm_outer *next;
} sm_outer;

/* What FROM names: relations that are joined by inner joins in any order, and the conditions
 * between them. Expressions are over the columns of all members, side by side as written. */
typedef struct sm_from {
    uint32_t n, n_cols, n_conjuncts;
    sm_node **members;
    uint32_t *first; /* number of each member's first column */
    sm_expr **conjuncts;
    uint32_t members_room, conjuncts_room;
} sm_from;

/* Aggregate calls met while binding expressions. A call stands in an expression as a COLUMN
 * numbered from SM_AGG_COLUMN until sm_regroup replaces it. */
typedef struct sm_agg_list {
    uint32_t n, room;
    sm_agg_call *calls;
} sm_agg_list;
enum { SM_AGG_COLUMN = 1 << 30 };

/* Where an expression stands. */
typedef struct sm_ctx {
    sm_binder *b;
    const sm_scope *scope; /* NULL: no columns at all */
    const char *clause;    /* "WHERE": for messages */
    const char
        *no_columns; /* message of SM_ERR_INVALID_REFERENCE where columns are not allowed at all */
    sm_agg_list *aggs; /* NULL: no aggregates here */
    bool in_aggregate;
} sm_ctx;

/* A type as written in a cast or column definition. */
typedef struct sm_target {
    sm_type type;            /* numeric without (p,s): SM_TYPE_BARE_DECIMAL */
    int32_t max_chars;       /* varchar(n), char(n); 0 = none */
    bool is_char;            /* char(n): trailing blanks are cut */
    int32_t interval_fields; /* interval '1' month: PostgreSQL's field bits; 0 = all */
    const char *name;        /* output column name of a cast to it */
} sm_target;

typedef enum sm_cast_kind { SM_CAST_IMPLICIT, SM_CAST_ASSIGN, SM_CAST_EXPLICIT } sm_cast_kind;

/* ---- bind.c ---- */
/** Position of a parse location, in characters of the statement, from 1; 0 for -1. */
int32_t sm_position(const sm_binder *b, int32_t location);
/** Raises with a parse location instead of a position. */
#define SM_FAIL(b, location, ...) sm_raise_at((b)->err, sm_position((b), (location)), __VA_ARGS__)
/** Gives an error that was just raised a position, if it has none. */
sm_status sm_blame(const sm_binder *b, int32_t location, sm_status s);
sm_status sm_out_of_memory(const sm_binder *b);
/** Parses a piece of the statement, [from, to), between a prefix and a suffix, and makes b->shift
 * fit it. *out is NULL if there is nothing; more than one statement is an error. */
sm_status sm_parse_piece(sm_binder *b, const char *prefix, size_t from, size_t to,
                         const char *suffix, const pg_node **out);
/** Binds a parsed statement. */
sm_status sm_bind_statement(sm_binder *b, const pg_node *stmt, sm_stmt *out);
/** Options of EXPLAIN. */
sm_status sm_bind_explain_options(sm_binder *b, const PgQuery__ExplainStmt *e, unsigned *out);
/** Value of an option that is on, off or, without a value, on. */
sm_status sm_bind_switch(sm_binder *b, const PgQuery__DefElem *d, bool *out);
/** Is the statement a pipe plan? */
bool sm_is_pipe(const char *text, size_t bytes);
/** Binds a pipe plan, or EXPLAIN of one (pipe.c). */
sm_status sm_bind_pipe(sm_binder *b, sm_stmt *out);

/* ---- bind_ddl.c ---- */
/** CREATE TABLE: columns and their constraints; whether the table exists is exec's question. */
sm_status sm_bind_create(sm_binder *b, const PgQuery__CreateStmt *c, sm_stmt *out);
/** CREATE TABLE AS: out->plan gives the rows, out->cols the table's columns. */
sm_status sm_bind_create_as(sm_binder *b, const PgQuery__CreateTableAsStmt *c, sm_stmt *out);
/** DROP TABLE. */
sm_status sm_bind_drop(sm_binder *b, const PgQuery__DropStmt *d, sm_stmt *out);
/** INSERT: out->plan gives rows in the table's columns, order and types. */
sm_status sm_bind_insert(sm_binder *b, const PgQuery__InsertStmt *i, sm_stmt *out);
/** SET and RESET; a value of NULL means the default. */
sm_status sm_bind_set(sm_binder *b, const PgQuery__VariableSetStmt *s, sm_stmt *out);
/** Number of a table's column; a hint names the nearest. */
sm_status sm_find_table_column(sm_binder *b, const sm_version *t, const char *name,
                               int32_t location, uint32_t *out);
/* ---- bind_copy.c ---- */
/** COPY: options, path, and the columns or the plan. */
sm_status sm_bind_copy(sm_binder *b, const PgQuery__CopyStmt *c, sm_stmt *out);

/* ---- bind_select.c ---- */
/** A whole query, WITH, ORDER BY and LIMIT included. */
sm_status sm_bind_select(sm_binder *b, const PgQuery__SelectStmt *s, sm_node **out);
/** Rows of VALUES; types (n_types of them) are the columns' if given, else the common ones. */
sm_status sm_bind_values(sm_binder *b, const PgQuery__SelectStmt *s, const sm_target *types,
                         uint32_t n_types, sm_node **out);
/* An item list of SELECT (stars expanded): expressions and output names. */
typedef struct sm_targets {
    uint32_t n, room;
    sm_expr **exprs;
    const char **names;
} sm_targets;
/** The items of a list; aggregates are allowed if cx says so. */
sm_status sm_bind_targets(sm_ctx *cx, size_t n, pg_node *const *items, sm_targets *out);
/** Adds an item; the name is copied. */
sm_status sm_targets_add(sm_binder *b, sm_targets *t, sm_expr *e, const char *name);
/** A LIMIT or OFFSET expression as bigint; NULL when there is none, or it is NULL. */
sm_status sm_bind_count(sm_binder *b, const char *clause, const pg_node *n, sm_expr **out);
/** LIMIT node above in, or in itself. */
sm_status sm_bind_limit(sm_binder *b, const pg_node *count, const pg_node *offset, sm_node *in,
                        sm_node **out);
/** Direction and place of NULLs of an ORDER BY item. */
void sm_order_flags(const PgQuery__SortBy *s, sm_order *o);

/* ---- bind_from.c ---- */
/** One item of FROM, added to from; scope is what names mean in it. */
sm_status sm_bind_from_item(sm_binder *b, const pg_node *item, sm_from *from, sm_scope *scope);
/** The items of FROM, and what names mean above it; no items give one row. */
sm_status sm_bind_from(sm_binder *b, size_t n, pg_node *const *items, sm_from *from,
                       sm_scope *scope);
/** The current version of a table, referenced by the statement; a hint names the nearest table. */
sm_status sm_bind_table(sm_binder *b, const PgQuery__RangeVar *v, sm_version **out);
/** SCAN node. */
sm_status sm_scan(sm_binder *b, const PgQuery__RangeVar *v, sm_node **out);
/** The plan of a WITH query. */
sm_status sm_bind_cte(sm_binder *b, sm_cte *cte, sm_node **out);
/** Renames a node's first n columns. */
sm_status sm_rename(sm_binder *b, sm_node *in, const char *const *names, uint32_t n, sm_node **out);
/** PROJECT above in, or in itself if that changes nothing but names. */
sm_status sm_project(sm_binder *b, sm_node *in, sm_expr *const *exprs, const char *const *names,
                     uint32_t n, sm_node **out);
/** A node that passes its input's columns through. */
sm_node *sm_pass(sm_binder *b, sm_node_kind kind, sm_node *in);

/* ---- bind_scope.c ---- */
/** The scope of a node's columns under a relation name (may be NULL). */
sm_status sm_scope_of(sm_binder *b, const sm_node *n, const char *rel, sm_scope *out);
/** Both scopes' columns, those of right behind those of left.
 *  errors  SM_ERR_DUPLICATE_ALIAS: both have a relation of one name */
sm_status sm_scope_both(sm_binder *b, const sm_scope *left, const sm_scope *right, int32_t location,
                        sm_scope *out);
/** Adds n to the number of every column. */
sm_status sm_scope_shift(sm_binder *b, sm_scope *s, uint32_t n);
/** What a column of the scope means, as an expression of its own. */
sm_status sm_scope_expr(sm_binder *b, const sm_scope_col *c, int32_t location, sm_expr **out);
/** The scope's column that is this column of the node; NULL if none is. */
const sm_scope_col *sm_scope_at(const sm_scope *s, uint32_t column);
/** Has it a relation of this name? */
bool sm_scope_has(const sm_scope *s, const char *rel);
/** The error for a relation that FROM does not name; a hint names the nearest. */
sm_status sm_no_relation(sm_binder *b, const sm_scope *s, const char *rel, int32_t location);
/** A column by name, here or in a query around this one; hints name the nearest. */
sm_status sm_bind_column(sm_ctx *cx, const PgQuery__ColumnRef *c, sm_expr **out);

/* ---- bind_join.c ---- */
/** A JOIN of FROM, added to from. */
sm_status sm_bind_join(sm_binder *b, const PgQuery__JoinExpr *j, sm_from *from, sm_scope *scope);
/** Adds a relation; its columns get the numbers from from->n_cols on. */
sm_status sm_from_add(sm_binder *b, sm_from *from, sm_node *n);
/** JOIN node of left and right. on is over left's, then right's columns; equalities between the
 * sides become keys, the rest is the residual. NULL: no condition. */
sm_status sm_join(sm_binder *b, sm_join_kind kind, sm_node *left, sm_node *right, sm_expr *on,
                  sm_node **out);

/* ---- join_order.c ---- */
/* A list of conditions that all must be true. */
typedef struct sm_conjuncts {
    uint32_t n, room;
    sm_expr **exprs;
} sm_conjuncts;
/** Adds e, or what it is an AND of. */
sm_status sm_conjuncts_add(sm_binder *b, sm_conjuncts *l, sm_expr *e);
/** The AND of all; NULL if there is none. */
sm_status sm_conjuncts_all(sm_binder *b, const sm_conjuncts *l, sm_expr **out);
/** The plan of FROM and WHERE (may be NULL): its first columns are those of from, in order. */
sm_status sm_from_plan(sm_binder *b, const sm_from *from, sm_expr *where, sm_node **out);
/** An equality as its two sides.  returns  false if e is none */
bool sm_is_equality(const sm_expr *e, sm_expr **left, sm_expr **right, bool *null_safe);
/** Copy in which column c is to[c]; columns keep their types. NULL when memory is out. */
sm_expr *sm_expr_moved(sm_binder *b, const sm_expr *e, const uint32_t *to);

/* ---- bind_union.c ---- */
/** UNION and UNION ALL of two queries, without ORDER BY and LIMIT. */
sm_status sm_bind_union(sm_binder *b, const PgQuery__SelectStmt *s, sm_node **out);
/** Column i of a plan; a text literal that SELECT lists is of no type yet, as in VALUES. */
sm_expr *sm_source_expr(sm_binder *b, const sm_node *plan, uint32_t i);

/* ---- bind_subquery.c ---- */
/** A subquery in an expression, as SM_EXPR_SUBQUERY. */
sm_status sm_bind_sublink(sm_ctx *cx, const PgQuery__SubLink *s, sm_expr **out);
/** Does an expression of the plan refer to a query around it? */
bool sm_has_outer(const sm_node *n);
/** Does e have a subquery, or refer to a query around its own? */
bool sm_is_open(const sm_expr *e);

/* ---- lift.c ---- */
/** FILTER above *node; subqueries of the condition become joins. Columns stay as they are. */
sm_status sm_filter(sm_binder *b, sm_expr *condition, sm_node **node);
/** Subqueries in expressions over *node become joins, whose results are new last columns of it. */
sm_status sm_lift(sm_binder *b, sm_node **node, sm_expr **exprs, uint32_t n);

/* ---- bind_group.c ---- */
/** base, or base_1, base_2, ...: a name that no column has. */
const char *sm_unique_name(sm_binder *b, const char *base, const sm_col *cols, uint32_t n);
/** Adds a call, or finds its equal; *column is its placeholder's number. */
sm_status sm_agg_add(sm_binder *b, sm_agg_list *l, const sm_agg_call *call, uint32_t *column);
/** AGGREGATE node. */
sm_status sm_aggregate(sm_binder *b, sm_node *in, const sm_scope *scope, sm_expr *const *keys,
                       uint32_t n_keys, const sm_agg_list *aggs, sm_node **out);
/** e, which was bound over the aggregate's input, as an expression over its output.
 *  errors  SM_ERR_GROUPING: a column that is neither a key nor inside an aggregate */
sm_status sm_regroup(sm_binder *b, const sm_scope *scope, sm_expr *const *keys, uint32_t n_keys,
                     sm_expr *e, sm_expr **out);

/* ---- bind_expr.c ---- */
/** Any expression. A literal or parameter may still be of type SM_UNKNOWN: see sm_decide. */
sm_status sm_bind_expr(sm_ctx *cx, const pg_node *n, sm_expr **out);
/** As sm_bind_expr, and the result is a boolean. */
sm_status sm_bind_condition(sm_ctx *cx, const pg_node *n, sm_expr **out);

/* ---- bind_op.c ---- */
/** An operator as written; left may be NULL (prefix operator). */
sm_status sm_bind_operator(sm_ctx *cx, const char *op, sm_expr *left, sm_expr *right,
                           int32_t location, sm_expr **out);
/** l op r, at a type both can take.  errors  SM_ERR_UNDEFINED_OPERATOR */
sm_status sm_compare(sm_binder *b, const char *op, sm_expr *left, sm_expr *right, int32_t location,
                     sm_expr **out);
/** -e; *out is NULL if the type has no negation. */
sm_status sm_negate(sm_binder *b, sm_expr *e, sm_expr **out);
/** Refuses an operand that a rewriting repeats so often that the expression would explode. */
sm_status sm_check_repeat(sm_binder *b, const sm_expr *e, uint32_t times, int32_t location);

/* ---- bind_func.c ---- */
/** A function or aggregate call, or a cast written as one. */
sm_status sm_bind_function(sm_ctx *cx, const PgQuery__FuncCall *f, sm_expr **out);
/** The operation of an operator or function name for these arguments, which are coerced to it. *op
 *  is SM_N_OPS if none fits. Operations on decimals are not looked at. */
sm_status sm_find_op(sm_binder *b, const char *name, sm_expr **args, uint32_t n_args, sm_op *op);

/* ---- bind_cast.c ---- */
/** e as another type, by the operations it takes; location -1 blames e's own position. */
sm_status sm_cast(sm_binder *b, sm_expr *e, const sm_target *to, sm_cast_kind kind,
                  int32_t location, sm_expr **out);
/** Implicit cast to a plain type. */
sm_status sm_coerce(sm_binder *b, sm_expr *e, sm_type to, sm_expr **out);
/** Is there an implicit cast? */
bool sm_can_coerce(sm_type from, sm_type to);
/** Is there a cast on assignment? */
bool sm_can_assign(sm_type from, sm_type to);
/** Decimal at another scale and precision; checks that the digits fit if they may not. */
sm_status sm_rescale(sm_binder *b, sm_expr *e, unsigned precision, unsigned scale, sm_expr **out);
/** An integer or decimal as a decimal that keeps all its digits. */
sm_status sm_to_decimal(sm_binder *b, sm_expr *e, sm_expr **out);
/** Literals and parameters of no type yet become text. */
sm_status sm_decide(sm_binder *b, sm_expr **e);
/** One type for all; what names the construct in the error ("CASE").
 *  errors  SM_ERR_TYPE_MISMATCH */
sm_status sm_common_type(sm_binder *b, const char *what, sm_expr **exprs, uint32_t n, sm_type *out);
/** Coerces all to one type. */
sm_status sm_unify(sm_binder *b, const char *what, sm_expr **exprs, uint32_t n, sm_type *out);
/** Operation node with imm and position set, folded if it is constant. */
sm_status sm_make_op(sm_binder *b, sm_op op, sm_type type, sm_expr *const *args, uint32_t n,
                     int32_t imm0, int32_t imm1, sm_expr **out);
/** AND, OR, CASE, COALESCE or IS_NULL node. */
sm_status sm_make_node(sm_binder *b, sm_expr_kind kind, sm_type type, sm_expr *const *args,
                       uint32_t n, int32_t position, sm_expr **out);
/** Constants; NULL when memory is out. Text is copied. */
sm_expr *sm_make_bool(sm_binder *b, bool v, int32_t position);
sm_expr *sm_make_int(sm_binder *b, int32_t v, int32_t position);
sm_expr *sm_make_text(sm_binder *b, const char *s, int32_t position);

/* ---- bind_type.c ---- */
/** A type name with its modifiers. */
sm_status sm_bind_type(sm_binder *b, const PgQuery__TypeName *t, sm_target *out);
/** SQL spelling for messages, without modifiers; static. */
const char *sm_type_word(sm_type t);
/** Integer and decimal types as the decimal that holds them; a constant's own digits count. */
sm_type sm_decimal_of(const sm_expr *e);

/* ---- names.c ---- */
/* The name nearest to `name` by edit distance, if it is near enough to be meant; else NULL. */
typedef struct sm_nearest {
    const char *name, *best;
    unsigned distance;
} sm_nearest;
/** Makes a candidate the best one if it is nearer than those before. */
void sm_nearest_offer(sm_nearest *n, const char *candidate);
/** Name that PostgreSQL gives an unnamed output column. */
const char *sm_output_name(const pg_node *n);
/** Last part of a qualified function, operator or type name; *foreign if another schema than the
 *  usual is named. */
const char *sm_last_name(size_t n, pg_node *const *names, bool *foreign);
/** Copy in the statement's memory. */
const char *sm_keep(sm_binder *b, const char *s);

#endif
