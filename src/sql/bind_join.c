/* JOIN of FROM: what its names mean, its condition, and the JOIN node. The one idea: an inner join
 * only adds relations and conditions to the list that join_order.c makes a tree of; an outer join
 * is a tree of its own, and one relation of the list above it. Read bind.h and bind_scope.c first.
 */
#include <string.h>

#include "sql/bind.h"

static bool grow(sm_binder *b, void **list, uint32_t n, uint32_t *room, size_t bytes)
{
    if (n < *room) return true;
    uint32_t more = *room ? *room * 2 : 8;
    void *grown = sm_arena_alloc(b->scratch, more * bytes);
    if (!grown) return false;
    if (n) memcpy(grown, *list, n * bytes);
    *list = grown;
    *room = more;
    return true;
}

sm_status sm_conjuncts_add(sm_binder *b, sm_conjuncts *l, sm_expr *e)
{
    if (e->kind == SM_EXPR_AND) {
        for (uint32_t i = 0; i < e->n_args; i++) SM_TRY(sm_conjuncts_add(b, l, e->args[i]));
        return SM_OK;
    }
    void *list = l->exprs;
    if (!grow(b, &list, l->n, &l->room, sizeof(*l->exprs))) return sm_out_of_memory(b);
    l->exprs = list;
    l->exprs[l->n++] = e;
    return SM_OK;
}

sm_status sm_conjuncts_all(sm_binder *b, const sm_conjuncts *l, sm_expr **out)
{
    *out = l->n ? l->exprs[0] : NULL;
    if (l->n < 2) return SM_OK;
    return sm_make_node(b, SM_EXPR_AND, sm_type_of(SM_BOOL), l->exprs, l->n, l->exprs[0]->position,
                        out);
}

sm_status sm_from_add(sm_binder *b, sm_from *from, sm_node *n)
{
    uint32_t room = from->members_room;
    void *members = from->members, *first = from->first;
    if (!grow(b, &members, from->n, &room, sizeof(*from->members)) ||
        !grow(b, &first, from->n, &from->members_room, sizeof(*from->first)))
        return sm_out_of_memory(b);
    from->members = members;
    from->first = first;
    from->members[from->n] = n;
    from->first[from->n++] = from->n_cols;
    from->n_cols += n->n_cols;
    return SM_OK;
}

static sm_status add_condition(sm_binder *b, sm_from *from, sm_expr *e)
{
    sm_conjuncts l = {from->n_conjuncts, from->conjuncts_room, from->conjuncts};
    SM_TRY(sm_conjuncts_add(b, &l, e));
    from->conjuncts = l.exprs;
    from->n_conjuncts = l.n;
    from->conjuncts_room = l.room;
    return SM_OK;
}

/* ---- the node ---- */

typedef struct side {
    uint32_t split; /* columns of the left node */
    bool left, right;
} side;

static bool see_column(const sm_expr *e, void *arg)
{
    side *s = arg;
    if (e->kind != SM_EXPR_COLUMN) return true;
    if (e->column < s->split)
        s->left = true;
    else
        s->right = true;
    return true;
}

static side sides_of(const sm_expr *e, uint32_t split)
{
    side s = {.split = split};
    sm_expr_walk(e, see_column, &s);
    return s;
}

typedef struct joining {
    sm_binder *b;
    sm_node *node;
    uint32_t split;
    uint32_t *to_right; /* column of both -> column of the right node */
} joining;

static bool may_be_key(const sm_expr *e)
{
    return !e->can_fail && !sm_is_open(e);
}

static sm_status add_key(joining *j, const sm_expr *e, bool *added)
{
    sm_node *n = j->node;
    sm_expr *l, *r;
    bool null_safe;
    *added = false;
    if (!may_be_key(e) || !sm_is_equality(e, &l, &r, &null_safe)) return SM_OK;
    side a = sides_of(l, j->split), c = sides_of(r, j->split);
    if (a.right && c.left && !a.left && !c.right) {
        sm_expr *swap = l;
        l = r, r = swap;
    } else if (!(a.left && c.right && !a.right && !c.left)) {
        return SM_OK;
    }
    if (n->join.n_keys == SM_GROUP_MAX_KEYS) return SM_OK;
    n->join.left_keys[n->join.n_keys] = l;
    n->join.right_keys[n->join.n_keys] = sm_expr_moved(j->b, r, j->to_right);
    n->join.null_safe[n->join.n_keys] = null_safe;
    if (!n->join.right_keys[n->join.n_keys]) return sm_out_of_memory(j->b);
    n->join.n_keys++;
    *added = true;
    return SM_OK;
}

/* A condition on the side that gets NULLs decides only which of its rows may match. */
static sm_status push_down(joining *j, sm_join_kind kind, sm_expr *e, bool *pushed)
{
    side s = sides_of(e, j->split);
    sm_node *n = j->node;
    *pushed = false;
    if (!may_be_key(e) || s.left == s.right) return SM_OK;
    if (s.right && kind == SM_JOIN_LEFT) {
        sm_expr *moved = sm_expr_moved(j->b, e, j->to_right);
        if (!moved) return sm_out_of_memory(j->b);
        *pushed = true;
        return sm_filter(j->b, moved, &n->right);
    }
    if (s.left && kind == SM_JOIN_RIGHT) {
        *pushed = true;
        return sm_filter(j->b, e, &n->input);
    }
    return SM_OK;
}

static sm_status join_columns(sm_binder *b, sm_node *n)
{
    static const struct {
        bool left, right;
    } nullable[] = {
#define SM_JOIN(id, name, l, r) {l, r},
#include "plan/joins.def"
#undef SM_JOIN
    };
    sm_join_kind kind = n->join.kind;
    const sm_node *l = n->input, *r = n->right;
    bool left_only = kind == SM_JOIN_SEMI || kind == SM_JOIN_ANTI || kind == SM_JOIN_NULL_ANTI;
    n->n_cols = l->n_cols + (left_only ? 0 : kind == SM_JOIN_MARK ? 1 : r->n_cols);
    n->cols = SM_NEW_N(b->a, sm_col, n->n_cols + 1);
    if (!n->cols) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < n->n_cols; i++) {
        if (i < l->n_cols) {
            n->cols[i] = l->cols[i];
            n->cols[i].nullable |= nullable[kind].left;
        } else if (kind == SM_JOIN_MARK) {
            n->cols[i] = (sm_col){"mark", sm_type_of(SM_BOOL), true};
        } else {
            n->cols[i] = r->cols[i - l->n_cols];
            n->cols[i].nullable |= nullable[kind].right;
        }
    }
    return SM_OK;
}

static sm_status put_condition(joining *j, sm_expr *on)
{
    sm_node *n = j->node;
    sm_conjuncts all = {0}, rest = {0};
    uint32_t n_cols = n->input->n_cols + n->right->n_cols;
    SM_TRY(sm_conjuncts_add(j->b, &all, on));
    j->to_right = SM_NEW_N(j->b->scratch, uint32_t, n_cols + 1);
    n->join.left_keys = SM_NEW_N(j->b->a, sm_expr *, all.n);
    n->join.right_keys = SM_NEW_N(j->b->a, sm_expr *, all.n);
    n->join.null_safe = SM_NEW_N(j->b->a, bool, all.n);
    if (!j->to_right || !n->join.left_keys || !n->join.right_keys || !n->join.null_safe)
        return sm_out_of_memory(j->b);
    for (uint32_t i = j->split; i < n_cols; i++) j->to_right[i] = i - j->split;
    for (uint32_t i = 0; i < all.n; i++) {
        bool done;
        SM_TRY(add_key(j, all.exprs[i], &done));
        if (!done) SM_TRY(push_down(j, n->join.kind, all.exprs[i], &done));
        if (!done) SM_TRY(sm_conjuncts_add(j->b, &rest, all.exprs[i]));
    }
    return sm_conjuncts_all(j->b, &rest, &n->join.residual);
}

sm_status sm_join(sm_binder *b, sm_join_kind kind, sm_node *left, sm_node *right, sm_expr *on,
                  sm_node **out)
{
    sm_node *n = sm_node_new(b->a, SM_NODE_JOIN, left);
    if (!n) return sm_out_of_memory(b);
    joining j = {.b = b, .node = n, .split = left->n_cols};
    n->right = right;
    n->join.kind = kind;
    if (on) SM_TRY(put_condition(&j, on));
    SM_TRY(join_columns(b, n));
    *out = n;
    return SM_OK;
}

/* ---- USING and NATURAL ---- */

/* A column that USING names, on one side. */
static sm_status using_column(sm_binder *b, sm_scope *s, const char *name, const char *which,
                              int32_t location, sm_scope_col **out)
{
    *out = NULL;
    for (uint32_t i = 0; i < s->n_cols; i++) {
        if (s->cols[i].hidden || strcmp(s->cols[i].name, name) != 0) continue;
        if (*out) return SM_FAIL(b, location, SM_ERR_USING_AMBIGUOUS, name, which);
        *out = &s->cols[i];
    }
    return *out ? SM_OK : SM_FAIL(b, location, SM_ERR_USING_MISSING, name, which);
}

/* The one column that stands for both. */
static sm_status merge(sm_binder *b, sm_join_kind kind, sm_expr *l, sm_expr *r, const char *name,
                       sm_scope_col *out)
{
    sm_expr *both[2] = {l, r}, *e;
    sm_type type;
    SM_TRY(sm_unify(b, "JOIN/USING", both, 2, &type));
    if (kind == SM_JOIN_FULL)
        SM_TRY(sm_make_node(b, SM_EXPR_COALESCE, type, both, 2, 0, &e));
    else
        e = kind == SM_JOIN_RIGHT ? both[1] : both[0];
    *out = (sm_scope_col){.name = name, .type = e->type, .nullable = e->nullable};
    if (e->kind == SM_EXPR_COLUMN)
        out->column = e->column;
    else
        out->expr = e;
    return SM_OK;
}

typedef struct using_list {
    uint32_t n;
    const char **names;
    sm_scope_col *merged;
} using_list;

static bool has_visible(const sm_scope *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_cols; i++)
        if (!s->cols[i].hidden && strcmp(s->cols[i].name, name) == 0) return true;
    return false;
}

static sm_status using_names(sm_binder *b, const PgQuery__JoinExpr *j, const sm_scope *left,
                             const sm_scope *right, using_list *u)
{
    size_t most = j->is_natural ? left->n_cols : j->n_using_clause;
    *u = (using_list){0, SM_NEW_N(b->scratch, const char *, most + 1),
                      SM_NEW_N(b->scratch, sm_scope_col, most + 1)};
    if (!u->names || !u->merged) return sm_out_of_memory(b);
    for (size_t i = 0; i < most; i++) {
        const char *name = j->is_natural ? left->cols[i].name : sm_pg_string(j->using_clause[i]);
        if (j->is_natural && (left->cols[i].hidden || !has_visible(right, name))) continue;
        for (uint32_t k = 0; k < u->n && !j->is_natural; k++)
            if (strcmp(u->names[k], name) == 0)
                return SM_FAIL(b, sm_pg_location(j->rarg), SM_ERR_DUPLICATE_COLUMN, name);
        u->names[u->n++] = name;
    }
    return SM_OK;
}

/* The condition that USING means; both columns of each pair are hidden afterwards. */
static sm_status bind_using(sm_binder *b, const PgQuery__JoinExpr *j, sm_join_kind kind,
                            sm_scope *left, sm_scope *right, using_list *u, sm_expr **on)
{
    int32_t location = sm_pg_location(j->rarg);
    sm_conjuncts all = {0};
    SM_TRY(using_names(b, j, left, right, u));
    for (uint32_t i = 0; i < u->n; i++) {
        sm_scope_col *l, *r;
        sm_expr *le, *re, *equal;
        SM_TRY(using_column(b, left, u->names[i], "left", location, &l));
        SM_TRY(using_column(b, right, u->names[i], "right", location, &r));
        SM_TRY(sm_scope_expr(b, l, location, &le));
        SM_TRY(sm_scope_expr(b, r, location, &re));
        SM_TRY(sm_compare(b, "=", le, re, location, &equal));
        SM_TRY(sm_conjuncts_add(b, &all, equal));
        SM_TRY(merge(b, kind, le, re, u->names[i], &u->merged[i]));
        l->hidden = r->hidden = true;
    }
    return sm_conjuncts_all(b, &all, on);
}

/* The merged columns come first. */
static sm_status put_merged(sm_binder *b, const using_list *u, sm_scope *s)
{
    sm_scope_col *cols = SM_NEW_N(b->scratch, sm_scope_col, u->n + s->n_cols + 1);
    if (!cols) return sm_out_of_memory(b);
    for (uint32_t i = 0; i < u->n; i++) cols[i] = u->merged[i];
    for (uint32_t i = 0; i < s->n_cols; i++) cols[u->n + i] = s->cols[i];
    s->cols = cols;
    s->n_cols += u->n;
    return SM_OK;
}

/* ---- JOIN ---- */

static sm_status join_kind(sm_binder *b, const PgQuery__JoinExpr *j, sm_join_kind *kind)
{
    if (j->join_using_alias)
        return SM_FAIL(b, sm_pg_location(j->rarg), SM_ERR_NOT_SUPPORTED, "an alias of USING");
    switch (j->jointype) {
    case PG_QUERY__JOIN_TYPE__JOIN_INNER: *kind = SM_JOIN_INNER; return SM_OK;
    case PG_QUERY__JOIN_TYPE__JOIN_LEFT: *kind = SM_JOIN_LEFT; return SM_OK;
    case PG_QUERY__JOIN_TYPE__JOIN_RIGHT: *kind = SM_JOIN_RIGHT; return SM_OK;
    case PG_QUERY__JOIN_TYPE__JOIN_FULL: *kind = SM_JOIN_FULL; return SM_OK;
    default: return SM_FAIL(b, sm_pg_location(j->rarg), SM_ERR_NOT_SUPPORTED, "this kind of JOIN");
    }
}

/* Both sides' names, with the condition over them. */
static sm_status bind_condition(sm_binder *b, const PgQuery__JoinExpr *j, sm_join_kind kind,
                                sm_scope *left, sm_scope *right, sm_scope *scope, sm_expr **on)
{
    using_list u = {0};
    *on = NULL;
    if (j->is_natural || j->n_using_clause)
        SM_TRY(bind_using(b, j, kind, left, right, &u, on));
    SM_TRY(sm_scope_both(b, left, right, sm_pg_location(j->rarg), scope));
    if (u.n) SM_TRY(put_merged(b, &u, scope));
    sm_ctx cx = {.b = b, .scope = scope, .clause = "JOIN/ON"};
    return j->quals ? sm_bind_condition(&cx, j->quals, on) : SM_OK;
}

typedef struct nulls {
    sm_binder *b;
    const sm_node *node;
} nulls;

static sm_expr *joined_column(const sm_expr *leaf, void *arg)
{
    const nulls *n = arg;
    if (leaf->kind != SM_EXPR_COLUMN) return NULL;
    return sm_expr_column(n->b->a, leaf->column, leaf->type, n->node->cols[leaf->column].nullable);
}

/* What a join may make NULL may be NULL above it. */
static sm_status set_nullable(sm_binder *b, const sm_node *n, sm_scope *s)
{
    nulls arg = {b, n};
    for (uint32_t i = 0; i < s->n_cols; i++) {
        sm_scope_col *c = &s->cols[i];
        if (c->expr && !(c->expr = sm_expr_replace(b->a, c->expr, joined_column, &arg)))
            return sm_out_of_memory(b);
        c->nullable = c->expr ? c->expr->nullable : n->cols[c->column].nullable;
    }
    return SM_OK;
}

static sm_status outer_join(sm_binder *b, const PgQuery__JoinExpr *j, sm_join_kind kind,
                            sm_from *from, sm_scope *scope)
{
    sm_from sides[2] = {{0}, {0}};
    sm_scope left, right;
    sm_node *l, *r, *n;
    sm_expr *on;
    SM_TRY(sm_bind_from_item(b, j->larg, &sides[0], &left));
    SM_TRY(sm_bind_from_item(b, j->rarg, &sides[1], &right));
    SM_TRY(sm_from_plan(b, &sides[0], NULL, &l));
    SM_TRY(sm_from_plan(b, &sides[1], NULL, &r));
    SM_TRY(sm_scope_shift(b, &right, l->n_cols));
    SM_TRY(bind_condition(b, j, kind, &left, &right, scope, &on));
    if (on && sm_is_open(on))
        return sm_raise_at(b->err, on->position, SM_ERR_NOT_SUPPORTED,
                           "a subquery in the condition of an outer join");
    SM_TRY(sm_join(b, kind, l, r, on, &n));
    SM_TRY(set_nullable(b, n, scope));
    SM_TRY(sm_scope_shift(b, scope, from->n_cols));
    return sm_from_add(b, from, n);
}

/* (a JOIN b ...) AS x: all columns belong to x. */
static sm_status name_join(sm_binder *b, const PgQuery__JoinExpr *j, sm_scope *s)
{
    uint32_t n = 0;
    if (!j->alias) return SM_OK;
    for (uint32_t i = 0; i < s->n_cols; i++)
        if (!s->cols[i].hidden) s->cols[n++] = s->cols[i];
    s->n_cols = n;
    s->n_rels = 1;
    s->rels = SM_NEW(b->scratch, const char *);
    if (!s->rels) return sm_out_of_memory(b);
    s->rels[0] = j->alias->aliasname;
    for (uint32_t i = 0; i < n; i++) {
        s->cols[i].rel = j->alias->aliasname;
        if (i < j->alias->n_colnames)
            s->cols[i].name = sm_keep(b, sm_pg_string(j->alias->colnames[i]));
        if (!s->cols[i].name) return sm_out_of_memory(b);
    }
    return SM_OK;
}

sm_status sm_bind_join(sm_binder *b, const PgQuery__JoinExpr *j, sm_from *from, sm_scope *scope)
{
    sm_join_kind kind;
    sm_scope left, right;
    sm_expr *on;
    SM_TRY(join_kind(b, j, &kind));
    if (kind != SM_JOIN_INNER) {
        SM_TRY(outer_join(b, j, kind, from, scope));
        return name_join(b, j, scope);
    }
    SM_TRY(sm_bind_from_item(b, j->larg, from, &left));
    SM_TRY(sm_bind_from_item(b, j->rarg, from, &right));
    SM_TRY(bind_condition(b, j, kind, &left, &right, scope, &on));
    if (on) SM_TRY(add_condition(b, from, on));
    return name_join(b, j, scope);
}
