/* The pipe language: one plan node a step, in the order written (docs/plan-language.md). Each
 * step's text goes through the SQL parser as a part of a SELECT, so that expressions and positions
 * are SQL's own; the steps are found with the lexer of text.h. Read bind.h first.
 *
 * Nothing is reordered or optimized here: a pipe plan is executed as it stands. */
#include <string.h>

#include "sql/bind.h"

enum { MAX_NESTED_PLANS = 100 };

typedef struct pipe_state {
    sm_binder *b;
    sm_node *node;
    sm_scope scope;
    unsigned depth;
} pipe_state;

/* A step's text: behind its first word, [rest, to). */
typedef struct step {
    size_t from, rest, to;
} step;

static sm_status bind_plan(sm_binder *b, size_t from, size_t to, unsigned depth, pipe_state *out);

static sm_tok token(const sm_binder *b, size_t to, size_t *at)
{
    return sm_tok_next(b->chars->text, to, at);
}

static bool is_char(const sm_binder *b, sm_tok t, char c)
{
    return t.kind == SM_TOK_OTHER && t.end == t.start + 1 && b->chars->text[t.start] == c;
}

static sm_status syntax_at(sm_binder *b, size_t byte, const char *message)
{
    return sm_raise_at(b->err, sm_chars_at(b->chars, byte), SM_ERR_SYNTAX, message);
}

bool sm_is_pipe(const char *text, size_t bytes)
{
    size_t at = 0;
    sm_tok t = sm_tok_next(text, bytes, &at);
    unsigned depth = 0;
    if (sm_tok_is(text, t, "explain")) {
        for (t = sm_tok_next(text, bytes, &at); t.kind != SM_TOK_END;
             t = sm_tok_next(text, bytes, &at)) {
            bool other = t.kind == SM_TOK_OTHER;
            if (other && text[t.start] == '(') depth++;
            if (other && text[t.start] == ')' && depth) depth--;
            bool option = sm_tok_is(text, t, "analyze") || sm_tok_is(text, t, "verbose");
            if (depth == 0 && !other && !option) break;
        }
    }
    if (sm_tok_is(text, t, "from")) return true;
    for (at = 0; t.kind != SM_TOK_END; t = sm_tok_next(text, bytes, &at))
        if (t.kind == SM_TOK_PIPE) return true;
    return false;
}

/* ---- pieces of SELECT ---- */

enum { PART_TARGETS = 1, PART_FROM = 2, PART_WHERE = 4, PART_ORDER = 8, PART_LIMIT = 16 };

/* Parses a step behind a prefix as a SELECT of which only these parts are there. */
static sm_status piece(sm_binder *b, const char *prefix, size_t from, size_t to, unsigned parts,
                       const PgQuery__SelectStmt **out)
{
    const pg_node *n;
    *out = NULL;
    SM_TRY(sm_parse_piece(b, prefix, from, to, "", &n));
    if (!PG_IS(n, SELECT_STMT))
        return syntax_at(b, from, "syntax error: a step of a pipe plan expected");
    const PgQuery__SelectStmt *s = n->select_stmt;
    unsigned has = (s->n_target_list ? PART_TARGETS : 0u) | (s->n_from_clause ? PART_FROM : 0u) |
                   (s->where_clause ? PART_WHERE : 0u) | (s->n_sort_clause ? PART_ORDER : 0u) |
                   (s->limit_count || s->limit_offset ? PART_LIMIT : 0u);
    bool other = s->n_group_clause || s->having_clause || s->n_window_clause || s->n_values_lists ||
                 s->larg || s->n_distinct_clause || s->into_clause || s->n_locking_clause ||
                 s->with_clause ||
                 s->limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES;
    if (other || (has & ~parts)) {
        sm_status st = syntax_at(b, from, "syntax error: this clause must be a step of its own");
        sm_error_hint(b->err, "Begin a step with |>.");
        return st;
    }
    *out = s;
    return SM_OK;
}

static sm_status rescope(pipe_state *p, const char *rel)
{
    return sm_scope_of(p->b, p->node, rel, &p->scope);
}

/* ---- FROM ---- */

/* AS name(columns), by the grammar of FROM items. */
static sm_status apply_alias(pipe_state *p, size_t from, size_t to)
{
    sm_binder *b = p->b;
    const PgQuery__SelectStmt *s;
    SM_TRY(piece(b, "SELECT * FROM x ", from, to, PART_TARGETS | PART_FROM, &s));
    if (s->n_from_clause != 1 || !PG_IS(s->from_clause[0], RANGE_VAR))
        return sm_raise_at(b->err, sm_chars_at(b->chars, from), SM_ERR_NOT_SUPPORTED,
                           "more than one item in FROM");
    const PgQuery__Alias *a = s->from_clause[0]->range_var->alias;
    if (!a) return SM_OK;
    if (a->n_colnames > p->node->n_cols)
        return sm_raise_at(b->err, sm_chars_at(b->chars, from), SM_ERR_INVALID_REFERENCE,
                           "more names than columns");
    const char **names = SM_NEW_N(b->scratch, const char *, a->n_colnames + 1);
    if (!names) return sm_out_of_memory(b);
    for (size_t i = 0; i < a->n_colnames; i++)
        if (!(names[i] = sm_keep(b, sm_pg_string(a->colnames[i])))) return sm_out_of_memory(b);
    SM_TRY(sm_rename(b, p->node, names, (uint32_t)a->n_colnames, &p->node));
    return rescope(p, a->aliasname);
}

/* The byte behind the bracket that closes the one before `at`; 0 if none does. */
static size_t behind_bracket(const sm_binder *b, size_t at, size_t to)
{
    unsigned depth = 1;
    for (sm_tok t = token(b, to, &at); t.kind != SM_TOK_END; t = token(b, to, &at)) {
        if (is_char(b, t, '(')) depth++;
        if (is_char(b, t, ')') && --depth == 0) return t.end;
    }
    return 0;
}

/* A step's columns are those that SELECT * would give, one name each. */
static sm_status visible_columns(pipe_state *p)
{
    sm_binder *b = p->b;
    sm_scope *s = &p->scope;
    sm_targets t = {0};
    bool same = s->n_cols == p->node->n_cols;
    for (uint32_t i = 0; i < s->n_cols; i++)
        same &= !s->cols[i].hidden && !s->cols[i].expr && s->cols[i].column == i;
    if (same) return SM_OK;
    for (uint32_t i = 0; i < s->n_cols; i++) {
        sm_expr *e;
        if (s->cols[i].hidden) continue;
        SM_TRY(sm_scope_expr(b, &s->cols[i], -1, &e));
        s->cols[t.n] = s->cols[i];
        s->cols[t.n].column = t.n;
        s->cols[t.n].expr = NULL;
        SM_TRY(sm_targets_add(b, &t, e, s->cols[t.n].name));
    }
    s->n_cols = t.n;
    return sm_project(b, p->node, t.exprs, t.names, t.n, &p->node);
}

static sm_status from_step(pipe_state *p, const step *s)
{
    sm_binder *b = p->b;
    const PgQuery__SelectStmt *q;
    size_t at = s->rest;
    sm_tok open = token(b, s->to, &at);
    size_t inside = at;
    if (is_char(b, open, '(') && sm_tok_is(b->chars->text, token(b, s->to, &at), "from")) {
        size_t behind = behind_bracket(b, inside, s->to);
        pipe_state inner;
        if (!behind) return syntax_at(b, open.start, "syntax error: bracket is not closed");
        SM_TRY(bind_plan(b, inside, behind - 1, p->depth + 1, &inner));
        p->node = inner.node;
        SM_TRY(rescope(p, NULL));
        return apply_alias(p, behind, s->to);
    }
    sm_from from;
    SM_TRY(piece(b, "SELECT * ", s->from, s->to, PART_TARGETS | PART_FROM, &q));
    SM_TRY(sm_bind_from(b, q->n_from_clause, q->from_clause, &from, &p->scope));
    SM_TRY(sm_from_plan(b, &from, NULL, &p->node));
    return visible_columns(p);
}

/* ---- the steps ---- */

static sm_status where_step(pipe_state *p, const step *s)
{
    const PgQuery__SelectStmt *q;
    sm_ctx cx = {.b = p->b, .scope = &p->scope, .clause = "WHERE"};
    sm_expr *condition;
    SM_TRY(piece(p->b, "SELECT ", s->from, s->to, PART_WHERE, &q));
    SM_TRY(sm_bind_condition(&cx, q->where_clause, &condition));
    return sm_filter(p->b, condition, &p->node);
}

static sm_status select_step(pipe_state *p, const step *s)
{
    const PgQuery__SelectStmt *q;
    sm_ctx cx = {.b = p->b, .scope = &p->scope, .clause = "SELECT"};
    sm_targets t;
    SM_TRY(piece(p->b, "", s->from, s->to, PART_TARGETS, &q));
    SM_TRY(sm_bind_targets(&cx, q->n_target_list, q->target_list, &t));
    if (!t.n) return syntax_at(p->b, s->from, "syntax error: SELECT of no columns");
    SM_TRY(sm_lift(p->b, &p->node, t.exprs, t.n));
    SM_TRY(sm_project(p->b, p->node, t.exprs, t.names, t.n, &p->node));
    return rescope(p, NULL);
}

/* Every column of the input, for a projection that adds some. */
static sm_status all_columns(pipe_state *p, sm_targets *t)
{
    *t = (sm_targets){0};
    for (uint32_t i = 0; i < p->node->n_cols; i++) {
        const sm_col *c = &p->node->cols[i];
        sm_expr *e = sm_expr_column(p->b->a, i, c->type, c->nullable);
        if (!e) return sm_out_of_memory(p->b);
        SM_TRY(sm_targets_add(p->b, t, e, c->name));
    }
    return SM_OK;
}

/* The names of a step that added columns behind the first n. */
static sm_status extend_scope(pipe_state *p, uint32_t n)
{
    sm_scope old = p->scope;
    SM_TRY(rescope(p, old.n_rels == 1 ? old.rels[0] : NULL));
    for (uint32_t i = 0; i < n; i++) p->scope.cols[i].rel = old.cols[i].rel;
    p->scope.n_rels = old.n_rels;
    p->scope.rels = old.rels;
    return SM_OK;
}

static sm_status extend_step(pipe_state *p, const step *s)
{
    const PgQuery__SelectStmt *q;
    sm_ctx cx = {.b = p->b, .scope = &p->scope, .clause = "EXTEND"};
    sm_targets all, added;
    SM_TRY(piece(p->b, "SELECT ", s->rest, s->to, PART_TARGETS, &q));
    SM_TRY(sm_bind_targets(&cx, q->n_target_list, q->target_list, &added));
    SM_TRY(all_columns(p, &all));
    SM_TRY(sm_lift(p->b, &p->node, added.exprs, added.n));
    for (uint32_t i = 0; i < added.n; i++)
        SM_TRY(sm_targets_add(p->b, &all, added.exprs[i], added.names[i]));
    SM_TRY(sm_project(p->b, p->node, all.exprs, all.names, all.n, &p->node));
    return extend_scope(p, p->scope.n_cols);
}

/* Where GROUP BY begins (the step's end if it is not there), and where its list does. */
static void find_group_by(const sm_binder *b, const step *s, size_t *group, size_t *list)
{
    const char *text = b->chars->text;
    unsigned depth = 0;
    *group = *list = s->to;
    size_t at = s->rest;
    for (sm_tok t = token(b, s->to, &at); t.kind != SM_TOK_END; t = token(b, s->to, &at)) {
        if (is_char(b, t, '(')) depth++;
        if (is_char(b, t, ')') && depth) depth--;
        size_t next = at;
        if (depth || !sm_tok_is(text, t, "group") || !sm_tok_is(text, token(b, s->to, &next), "by"))
            continue;
        *group = t.start;
        *list = next;
        return;
    }
}

static sm_status aggregate_step(pipe_state *p, const step *s)
{
    sm_binder *b = p->b;
    const PgQuery__SelectStmt *q;
    sm_agg_list aggs = {0};
    sm_ctx list = {.b = b, .scope = &p->scope, .clause = "AGGREGATE", .aggs = &aggs};
    sm_ctx keys_cx = {.b = b, .scope = &p->scope, .clause = "GROUP BY"};
    sm_targets calls, keys = {0}, out = {0};
    size_t group, key_list;
    find_group_by(b, s, &group, &key_list);
    SM_TRY(piece(b, "SELECT ", s->rest, group, PART_TARGETS, &q));
    SM_TRY(sm_bind_targets(&list, q->n_target_list, q->target_list, &calls));
    if (group < s->to) {
        SM_TRY(piece(b, "SELECT ", key_list, s->to, PART_TARGETS, &q));
        SM_TRY(sm_bind_targets(&keys_cx, q->n_target_list, q->target_list, &keys));
        if (!keys.n) return syntax_at(b, group, "syntax error: GROUP BY of nothing");
    } else if (!calls.n) {
        return syntax_at(b, s->from, "syntax error: AGGREGATE of nothing");
    }
    if (keys.n > SM_GROUP_MAX_KEYS)
        return sm_raise(b->err, SM_ERR_TOO_COMPLEX, "more than 64 columns in GROUP BY");
    for (uint32_t i = 0; i < keys.n; i++) {
        sm_expr *e = sm_expr_column(b->a, i, keys.exprs[i]->type, keys.exprs[i]->nullable);
        if (!e) return sm_out_of_memory(b);
        SM_TRY(sm_targets_add(b, &out, e, keys.names[i]));
    }
    for (uint32_t i = 0; i < calls.n; i++) {
        sm_expr *e;
        SM_TRY(sm_regroup(b, &p->scope, keys.exprs, keys.n, calls.exprs[i], &e));
        SM_TRY(sm_targets_add(b, &out, e, calls.names[i]));
    }
    for (uint32_t i = 0; i < aggs.n; i++) {
        if (aggs.calls[i].arg) SM_TRY(sm_lift(b, &p->node, &aggs.calls[i].arg, 1));
        if (aggs.calls[i].filter) SM_TRY(sm_lift(b, &p->node, &aggs.calls[i].filter, 1));
    }
    SM_TRY(sm_lift(b, &p->node, keys.exprs, keys.n));
    SM_TRY(sm_aggregate(b, p->node, &p->scope, keys.exprs, keys.n, &aggs, &p->node));
    SM_TRY(sm_project(b, p->node, out.exprs, out.names, out.n, &p->node));
    return rescope(p, NULL);
}

/* A number names a column by its place. */
static sm_status order_key(pipe_state *p, const PgQuery__SortBy *item, sm_targets *all,
                           uint32_t *column)
{
    sm_binder *b = p->b;
    sm_ctx cx = {.b = b, .scope = &p->scope, .clause = "ORDER BY"};
    const PgQuery__AConst *c = PG_IS(item->node, A_CONST) ? item->node->a_const : NULL;
    sm_expr *e;
    if (c && c->val_case == PG_QUERY__A__CONST__VAL_IVAL) {
        int32_t n = c->ival->ival;
        if (n >= 1 && (uint32_t)n <= p->node->n_cols) return *column = (uint32_t)n - 1, SM_OK;
        return SM_FAIL(b, c->location, SM_ERR_INVALID_REFERENCE,
                       "ORDER BY names no column of the input");
    }
    SM_TRY(sm_bind_expr(&cx, item->node, &e));
    SM_TRY(sm_decide(b, &e));
    if (e->kind == SM_EXPR_COLUMN) return *column = e->column, SM_OK;
    *column = all->n;
    const char *name = sm_unique_name(b, "order", p->node->cols, p->node->n_cols);
    if (!name) return sm_out_of_memory(b);
    return sm_targets_add(b, all, e, name);
}

static sm_status order_step(pipe_state *p, const step *s)
{
    sm_binder *b = p->b;
    const PgQuery__SelectStmt *q;
    sm_targets all;
    SM_TRY(piece(b, "SELECT ", s->from, s->to, PART_ORDER, &q));
    SM_TRY(all_columns(p, &all));
    uint32_t visible = all.n, n = (uint32_t)q->n_sort_clause;
    sm_order *orders = SM_NEW_N(b->a, sm_order, n);
    uint32_t *columns = SM_NEW_N(b->scratch, uint32_t, n);
    if (!orders || !columns) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n; i++) {
        const PgQuery__SortBy *item = q->sort_clause[i]->sort_by;
        if (item->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_USING)
            return SM_FAIL(b, item->location, SM_ERR_NOT_SUPPORTED, "ORDER BY ... USING");
        sm_order_flags(item, &orders[i]);
        SM_TRY(order_key(p, item, &all, &columns[i]));
    }
    if (all.n > visible) SM_TRY(sm_project(b, p->node, all.exprs, all.names, all.n, &p->node));
    for (uint32_t i = 0; i < n; i++) {
        const sm_col *c = &p->node->cols[columns[i]];
        if (!(orders[i].expr = sm_expr_column(b->a, columns[i], c->type, c->nullable)))
            return sm_out_of_memory(b);
    }
    sm_node *sort = sm_pass(b, SM_NODE_SORT, p->node);
    if (!sort) return sm_out_of_memory(b);
    sort->hidden_cols = all.n - visible;
    sort->sort.n_orders = n;
    sort->sort.orders = orders;
    p->node = sort;
    if (all.n > visible) SM_TRY(sm_project(b, sort, all.exprs, all.names, visible, &p->node));
    return SM_OK;
}

static sm_status limit_step(pipe_state *p, const step *s)
{
    const PgQuery__SelectStmt *q;
    SM_TRY(piece(p->b, "SELECT ", s->from, s->to, PART_LIMIT, &q));
    return sm_bind_limit(p->b, q->limit_count, q->limit_offset, p->node, &p->node);
}

static sm_status distinct_step(pipe_state *p, const step *s)
{
    size_t at = s->rest;
    sm_tok t = token(p->b, s->to, &at);
    if (t.kind != SM_TOK_END)
        return syntax_at(p->b, t.start, "syntax error: DISTINCT takes nothing");
    p->node = sm_pass(p->b, SM_NODE_DISTINCT, p->node);
    return p->node ? SM_OK : sm_out_of_memory(p->b);
}

static sm_status alias_step(pipe_state *p, const step *s)
{
    return apply_alias(p, s->from, s->to);
}

static const struct {
    const char *word;
    sm_status (*bind)(pipe_state *p, const step *s);
} steps[] = {{"where", where_step},         {"select", select_step},     {"extend", extend_step},
             {"aggregate", aggregate_step}, {"order", order_step},       {"limit", limit_step},
             {"offset", limit_step},        {"distinct", distinct_step}, {"as", alias_step}};

static const char *const later_steps[] = {
    "join", "left", "right",  "full",    "inner",  "cross", "semi",   "anti",
    "null", "mark", "single", "lateral", "window", "union", "except", "intersect"};

static sm_status unknown_step(pipe_state *p, sm_tok word)
{
    sm_binder *b = p->b;
    char name[32] = "";
    int32_t position = sm_chars_at(b->chars, word.start);
    for (size_t i = 0; i < SM_COUNT(later_steps); i++)
        if (sm_tok_is(b->chars->text, word, later_steps[i]))
            return sm_raise_at(b->err, position, SM_ERR_NOT_SUPPORTED, "this step");
    size_t n = word.end - word.start < sizeof(name) - 1 ? word.end - word.start : sizeof(name) - 1;
    for (size_t i = 0; i < n; i++) name[i] = b->chars->text[word.start + i];
    for (size_t i = 0; i < n; i++)
        if (name[i] >= 'A' && name[i] <= 'Z') name[i] = (char)(name[i] + 'a' - 'A');
    sm_nearest near = {.name = name};
    for (size_t i = 0; n && i < SM_COUNT(steps); i++) sm_nearest_offer(&near, steps[i].word);
    sm_status s = sm_raise_at(b->err, position, SM_ERR_SYNTAX,
                              "syntax error: a step of a pipe plan expected");
    if (near.best) sm_error_hint(b->err, "Perhaps you meant the step \"%s\".", near.best);
    return s;
}

static sm_status bind_step(pipe_state *p, const step *s, sm_tok word, bool first)
{
    const char *text = p->b->chars->text;
    if (first) {
        if (sm_tok_is(text, word, "from")) return from_step(p, s);
        return sm_raise_at(p->b->err, sm_chars_at(p->b->chars, word.start), SM_ERR_SYNTAX,
                           "syntax error: a pipe plan begins with FROM");
    }
    for (size_t i = 0; i < SM_COUNT(steps); i++)
        if (sm_tok_is(text, word, steps[i].word)) return steps[i].bind(p, s);
    return unknown_step(p, word);
}

/* Cuts [from, to) at its |> outside brackets. */
static sm_status bind_plan(sm_binder *b, size_t from, size_t to, unsigned depth, pipe_state *out)
{
    size_t at = from;
    bool first = true, last = false;
    *out = (pipe_state){.b = b, .depth = depth};
    if (depth > MAX_NESTED_PLANS)
        return sm_raise(b->err, SM_ERR_TOO_COMPLEX, "plans nested more than 100 deep");
    while (!last) {
        unsigned brackets = 0;
        sm_tok word = token(b, to, &at), t = word;
        step s = {word.start, word.end, to};
        for (;; t = token(b, to, &at)) {
            if (is_char(b, t, '(')) brackets++;
            if (is_char(b, t, ')') && brackets) brackets--;
            last = t.kind == SM_TOK_END;
            if (last || (t.kind == SM_TOK_PIPE && !brackets)) break;
        }
        s.to = t.start;
        SM_TRY(bind_step(out, &s, word, first));
        first = false;
    }
    return SM_OK;
}

/* ---- the statement ---- */

/* EXPLAIN's own part, by the grammar. */
static sm_status explain_header(sm_binder *b, size_t to, sm_stmt *out)
{
    const pg_node *n;
    SM_TRY(sm_parse_piece(b, "", 0, to, " SELECT 1", &n));
    if (!PG_IS(n, EXPLAIN_STMT)) return syntax_at(b, 0, "syntax error: EXPLAIN expected");
    SM_TRY(sm_bind_explain_options(b, n->explain_stmt, &out->explain));
    out->kind = SM_STMT_EXPLAIN;
    out->tag = "EXPLAIN";
    return SM_OK;
}

sm_status sm_bind_pipe(sm_binder *b, sm_stmt *out)
{
    size_t at = 0, from = 0, end = b->chars->bytes, last = 0;
    pipe_state p;
    sm_tok t = token(b, end, &at), first = t;
    for (; t.kind != SM_TOK_END; t = token(b, end, &at)) {
        if (sm_tok_is(b->chars->text, t, "from") && sm_tok_is(b->chars->text, first, "explain") &&
            !from)
            from = t.start;
        last = t.start;
    }
    if (end && b->chars->text[last] == ';') end = last;
    out->kind = SM_STMT_QUERY;
    out->tag = "SELECT";
    if (from) SM_TRY(explain_header(b, from, out));
    SM_TRY(bind_plan(b, from, end, 0, &p));
    out->plan = p.node;
    return SM_OK;
}
