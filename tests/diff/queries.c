/* Queries around random expressions. Expressions stand bare, under an aggregate of their type
 * (alone, in a handful of groups, or one group per row, so that every value is seen), or as the
 * group key. */
#include "diff.h"

#include <stdlib.h>

/* Aggregates that a type has; float sums are among them, whose order of adding the tiers must agree
 * on. */
static const char *const numbers[] = {"sum(",   "min(",     "max(",           "avg(",
                                      "count(", "var_pop(", "count(DISTINCT "};
static const char *const others[] = {"min(", "max(", "count(", "count(DISTINCT "};
static const char *const booleans[] = {"bool_and(", "bool_or(", "count(", "count(DISTINCT "};

static const char *aggregate_of(const query *q, uint32_t i)
{
    type t = q->exprs[i]->type;
    uint32_t k = q->aggregate + i;
    if (q->shape == BY_ID) return t == B ? "bool_and(" : "max(";
    if (t == B) return booleans[k % (sizeof booleans / sizeof *booleans)];
    if (t >= I16 && t <= DEC) return numbers[k % (sizeof numbers / sizeof *numbers)];
    return others[k % (sizeof others / sizeof *others)];
}

void query_random(random_state *r, query *q)
{
    *q = (query){0};
    /* The table of several chunks costs most, and is taken least often. */
    uint32_t share = random_below(r, 100);
    q->table = &tables[share < 40 ? 0 : share < 75 ? 1 : share < 95 ? 3 : 2];
    q->shape = (shape)random_below(r, N_SHAPES);
    if (q->shape == BY_ID && q->table->rows > 10000) q->shape = TOTAL;
    q->aggregate = random_below(r, 1000);
    q->n = q->shape == BY_KEY ? 1 + random_below(r, 2)
           : q->table->wild   ? 1 + random_below(r, 3)
                              : MAX_EXPRS;
    if (q->table->rows > 10000 && q->shape == ROWS) q->n = 3;
    for (uint32_t i = 0; i < q->n; i++)
        q->exprs[i] =
            expr_random(r, (type)random_below(r, N_TYPES), 1 + random_below(r, 3), q->table->wild);
    if (random_chance(r, 40)) q->where = expr_random(r, B, 1 + random_below(r, 2), q->table->wild);
}

void query_print(const query *q, text *out)
{
    static const char *const few[] = {"dict", "flag", "i16n % 5::smallint", "small"};
    const char *group = few[q->aggregate % 4];
    text_puts(out, "SELECT ");
    if (q->shape == BY_FEW) text_printf(out, "%s, count(*), ", group);
    if (q->shape == BY_ID) text_puts(out, "id, ");
    for (uint32_t i = 0; i < q->n; i++) {
        bool bare = q->shape == ROWS || q->shape == BY_KEY;
        text_puts(out, i ? ", " : "");
        if (!bare) text_puts(out, aggregate_of(q, i));
        expr_print(q->exprs[i], out);
        if (!bare) text_puts(out, ")");
    }
    if (q->shape == BY_KEY) text_puts(out, ", count(*), sum(i32n), sum(f64n), min(txt)");
    text_printf(out, " FROM %s", q->table->name);
    if (q->where) {
        text_puts(out, " WHERE ");
        expr_print(q->where, out);
    }
    if (q->shape == BY_FEW) text_printf(out, " GROUP BY %s", group);
    if (q->shape == BY_ID) text_puts(out, " GROUP BY id");
    if (q->shape == BY_KEY) {
        text_puts(out, " GROUP BY ");
        for (uint32_t i = 0; i < q->n; i++) text_printf(out, "%s%u", i ? ", " : "", i + 1);
    }
}

void query_free(query *q)
{
    for (uint32_t i = 0; i < q->n; i++) expr_free(q->exprs[i]);
    expr_free(q->where);
}
