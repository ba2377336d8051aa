/* Random typed expressions: a row of exprs.def whose result fits, its arguments made the same way,
 * down to columns and literals. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct form {
    type result;
    const char *text;
    type args[3];
} form;

static const form forms[] = {
#define DIFF_EXPR(result, text, a, b, c) {result, text, {a, b, c}},
#include "exprs.def"
#undef DIFF_EXPR
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

static expr *expr_new(type t)
{
    expr *e = calloc(1, sizeof *e);
    if (!e) exit(1);
    e->type = t;
    return e;
}

static expr *leaf(random_state *r, type t, bool wild)
{
    expr *e = expr_new(t);
    text s = {0};
    uint32_t start = random_below(r, N_COLUMNS), i = 0;
    while (i < N_COLUMNS && columns[(start + i) % N_COLUMNS].type != t) i++;
    if (i == N_COLUMNS || random_chance(r, 25))
        literal_print(r, t, wild, &s);
    else
        text_puts(&s, columns[(start + i) % N_COLUMNS].name);
    e->leaf = s.bytes;
    return e;
}

static expr *small_number(random_state *r)
{
    expr *e = expr_new(I32);
    text s = {0};
    text_printf(&s, "%d", (int)random_below(r, 9) - 2);
    e->leaf = s.bytes;
    return e;
}

static expr *copy_of(const expr *e)
{
    text s = {0};
    expr_print(e, &s);
    expr *copy = expr_new(e->type);
    copy->leaf = s.bytes;
    return copy;
}

expr *expr_random(random_state *r, type t, uint32_t depth, bool wild)
{
    if (depth == 0 || random_chance(r, 15)) return leaf(r, t, wild);
    const form *f;
    do {
        f = &forms[random_below(r, N_FORMS)];
    } while (f->result != t && f->result != ANY);
    /* ANY is one type throughout: the result's, or a random one. */
    type any = f->result == ANY ? t : (type)random_below(r, N_TYPES);
    expr *e = expr_new(t);
    e->form = f->text;
    for (uint32_t i = 0; i < 3 && f->args[i] != N; i++) {
        type a = f->args[i];
        e->args[e->n_args++] = a == SMALL  ? small_number(r)
                               : a == SAME ? copy_of(e->args[0])
                                           : expr_random(r, a == ANY ? any : a, depth - 1, wild);
    }
    return e;
}

void expr_print(const expr *e, text *out)
{
    if (!e->form) {
        text_puts(out, e->leaf);
        return;
    }
    uint32_t arg = 0;
    for (const char *p = e->form; *p; p++) {
        if (*p == '#')
            expr_print(e->args[arg++], out);
        else
            text_printf(out, "%c", *p);
    }
}

void expr_free(expr *e)
{
    if (!e) return;
    for (uint32_t i = 0; i < e->n_args; i++) expr_free(e->args[i]);
    free(e->leaf);
    free(e);
}
