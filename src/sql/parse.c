/* Text to parse tree by libpg_query, guarded: the parser, its protobuf packing and the unpacking
 * all recurse, so they run on a big stack, on texts whose nesting was bounded before. Read parse.h
 * first.
 *
 * Two guards (docs/dialect.md, "Limits"). Before parsing, a pass over the scanner's tokens bounds
 * the depth of the tree from above: a level of brackets is as deep as its operators and its deepest
 * bracket together, and a comma starts afresh. AND and OR do not count: the grammar makes flat
 * lists of them. After parsing, the tree's real depth. */
#include "sql/parse.h"

#include <pg_query.h>
#include <pthread.h>
#include <string.h>

enum {
    STACK_BYTES = 64 << 20,
    SHORT_STACK_BYTES = 16 << 20, /* the C library keeps stacks of this size for the next thread */
    SHORT_TEXT_BYTES = 4096,      /* at most 2,048 levels */
    MAX_OPERATORS = 20000,
    MAX_DEPTH = 2000
};

const char *sm_pg_string(const pg_node *n)
{
    return PG_IS(n, STRING) ? n->string->sval : NULL;
}

/* ---- before parsing ---- */

typedef struct level {
    uint32_t operators; /* since the last comma */
    uint32_t inner;     /* depth of the deepest closed bracket since the last comma */
    uint32_t done;      /* depth of the deepest item before the last comma */
} level;

static bool counts_as_operator(const PgQuery__ScanToken *t)
{
    switch (t->token) {
    case PG_QUERY__TOKEN__AND:
    case PG_QUERY__TOKEN__OR:
    case PG_QUERY__TOKEN__IDENT:
    case PG_QUERY__TOKEN__ICONST:
    case PG_QUERY__TOKEN__FCONST:
    case PG_QUERY__TOKEN__SCONST:
    case PG_QUERY__TOKEN__PARAM:
    case PG_QUERY__TOKEN__SQL_COMMENT:
    case PG_QUERY__TOKEN__C_COMMENT:
    case PG_QUERY__TOKEN__ASCII_46: return false;
    default: return true;
    }
}

static uint32_t item_depth(const level *l)
{
    return l->operators + l->inner;
}

static sm_status too_complex(sm_error *err)
{
    return sm_raise(err, SM_ERR_TOO_COMPLEX,
                    "more than 20000 operators and brackets nested in one expression");
}

static sm_status bound_depth(sm_arena *scratch, const PgQuery__ScanResult *scan, sm_error *err)
{
    level *levels = SM_NEW_N(scratch, level, MAX_OPERATORS + 1);
    uint32_t at = 0;
    if (!levels) return sm_arena_failed(scratch, err);
    for (size_t i = 0; i < scan->n_tokens; i++) {
        level *l = &levels[at];
        switch (scan->tokens[i]->token) {
        case PG_QUERY__TOKEN__ASCII_40: /* ( */
        case PG_QUERY__TOKEN__ASCII_91: /* [ */
        case PG_QUERY__TOKEN__CASE:
            if (++at > MAX_OPERATORS) return too_complex(err);
            levels[at] = (level){0, 0, 0};
            break;
        case PG_QUERY__TOKEN__ASCII_41:
        case PG_QUERY__TOKEN__ASCII_93:
        case PG_QUERY__TOKEN__END_P:
            if (at > 0) {
                uint32_t depth = item_depth(l) > l->done ? item_depth(l) : l->done;
                l = &levels[--at];
                if (depth + 1 > l->inner) l->inner = depth + 1;
            }
            break;
        case PG_QUERY__TOKEN__ASCII_44: /* , */
            if (item_depth(l) > l->done) l->done = item_depth(l);
            l->operators = l->inner = 0;
            break;
        default: l->operators += counts_as_operator(scan->tokens[i]); break;
        }
        if (item_depth(&levels[at]) > MAX_OPERATORS) return too_complex(err);
    }
    return SM_OK;
}

static void *arena_alloc(void *arena, size_t bytes)
{
    return sm_arena_alloc(arena, bytes ? bytes : 1);
}
static void arena_keep(void *arena, void *p)
{
    (void)arena, (void)p;
}

static sm_status guard_operators(sm_arena *scratch, const char *text, size_t bytes, sm_error *err)
{
    if (bytes <= MAX_OPERATORS) return SM_OK; /* not enough room for so many */
    ProtobufCAllocator alloc = {arena_alloc, arena_keep, scratch};
    PgQueryScanResult r = pg_query_scan(text);
    sm_status s = SM_OK;
    if (!r.error) { /* else the parser finds the same error */
        PgQuery__ScanResult *scan =
            pg_query__scan_result__unpack(&alloc, r.pbuf.len, (const uint8_t *)r.pbuf.data);
        s = scan ? bound_depth(scratch, scan, err) : sm_arena_failed(scratch, err);
    }
    pg_query_free_scan_result(r);
    return s;
}

/* ---- after parsing ---- */

/* The messages in a field of m; the first of them is at *first. */
static size_t children(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                       const char **first)
{
    size_t n = 1;
    const char *base = (const char *)m;
    *first = base + f->offset;
    if (f->type != PROTOBUF_C_TYPE_MESSAGE) return 0;
    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        memcpy(&n, base + f->quantifier_offset, sizeof(n));
        memcpy(first, base + f->offset, sizeof(*first));
    } else if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        uint32_t which;
        memcpy(&which, base + f->quantifier_offset, sizeof(which));
        n = which == f->id;
    }
    return n;
}

static const ProtobufCMessage *child_at(const char *first, size_t k)
{
    const ProtobufCMessage *child;
    memcpy(&child, first + k * sizeof(child), sizeof(child));
    return child;
}

/* Depth in nodes (and set operations, which nest without a Node between), by the generated
 * descriptors; stops above MAX_DEPTH. */
static unsigned tree_depth(const ProtobufCMessage *m, unsigned depth)
{
    unsigned deepest = depth;
    const char *first;
    depth += m->descriptor == &pg_query__node__descriptor ||
             m->descriptor == &pg_query__select_stmt__descriptor;
    if (depth > MAX_DEPTH) return depth;
    for (unsigned i = 0; i < m->descriptor->n_fields && deepest <= MAX_DEPTH; i++) {
        size_t n = children(m, &m->descriptor->fields[i], &first);
        for (size_t k = 0; k < n; k++) {
            const ProtobufCMessage *child = child_at(first, k);
            unsigned d = child ? tree_depth(child, depth) : depth;
            if (d > deepest) deepest = d;
        }
    }
    return deepest;
}

static void least_location(const ProtobufCMessage *m, int32_t *least)
{
    const char *first;
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        if (f->type == PROTOBUF_C_TYPE_INT32 && strcmp(f->name, "location") == 0) {
            int32_t at;
            memcpy(&at, (const char *)m + f->offset, sizeof(at));
            if (at > 0 && (*least < 0 || at < *least)) *least = at;
        }
        size_t n = children(m, f, &first);
        for (size_t k = 0; k < n; k++)
            if (child_at(first, k)) least_location(child_at(first, k), least);
    }
}

int32_t sm_pg_location(const pg_node *n)
{
    int32_t least = -1;
    if (n) least_location(&n->base, &least);
    return least;
}

/* PostgreSQL's grammar reports what it has no room for as these. */
static bool is_memory_exhausted(const char *message)
{
    return strstr(message, "memory exhausted") || strstr(message, "stack depth limit");
}

sm_status sm_parse(sm_arena *scratch, const char *text, size_t bytes, PgQuery__ParseResult **out,
                   sm_parse_error *where, sm_error *err)
{
    ProtobufCAllocator alloc = {arena_alloc, arena_keep, scratch};
    where->position = 0;
    SM_TRY(guard_operators(scratch, text, bytes, err));
    PgQueryProtobufParseResult r = pg_query_parse_protobuf(text);
    sm_status s = SM_OK;
    if (r.error) {
        where->position = r.error->cursorpos;
        if (is_memory_exhausted(r.error->message))
            s = sm_raise(err, SM_ERR_TOO_COMPLEX, "brackets nested too deep");
        else
            s = sm_raise(err, SM_ERR_SYNTAX, r.error->message);
    } else {
        *out = pg_query__parse_result__unpack(&alloc, r.parse_tree.len,
                                              (const uint8_t *)r.parse_tree.data);
        if (!*out) s = sm_arena_failed(scratch, err);
    }
    pg_query_free_protobuf_parse_result(r);
    if (s == SM_OK && tree_depth(&(*out)->base, 0) > MAX_DEPTH)
        s = sm_raise(err, SM_ERR_TOO_COMPLEX, "expressions nested more than 2000 deep");
    return s;
}

/* ---- the stack ---- */

typedef struct big_call {
    sm_status (*fn)(void *arg);
    void *arg;
    sm_status status;
} big_call;

static void *run_call(void *p)
{
    big_call *c = p;
    c->status = c->fn(c->arg); /* libpg_query frees its memory when the thread ends */
    return NULL;
}

sm_status sm_on_big_stack(sm_status (*fn)(void *arg), void *arg, size_t text_bytes, sm_error *err)
{
    big_call call = {fn, arg, SM_OK};
    pthread_attr_t attr;
    pthread_t thread;
    int failed = pthread_attr_init(&attr);
    if (failed) return sm_raise(err, SM_ERR_INTERNAL, "the parser's thread could not be described");
    size_t stack = text_bytes <= SHORT_TEXT_BYTES ? SHORT_STACK_BYTES : STACK_BYTES;
    failed = pthread_attr_setstacksize(&attr, stack);
    if (!failed) failed = pthread_create(&thread, &attr, run_call, &call);
    pthread_attr_destroy(&attr);
    if (failed) return sm_raise(err, SM_ERR_INTERNAL, "the parser's thread could not be started");
    pthread_join(thread, NULL);
    return call.status;
}
