/* Rows of part and partsupp: four partsupp rows belong to one part. */
#include "gen_names.h"

#include <string.h>

/* Five different colours: the first places of a list that is shuffled anew for each part. Only the
 * places that were touched are put back. */
static smelt_text part_name(tpch_piece *p, tpch_cursor *c, uint8_t *order)
{
    const smelt_text *colors = tpch_names(COLOR);
    uint8_t touched[5];
    char *start = p->text, *to = start;
    tpch_next_row(c);
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t j = (uint32_t)tpch_draw_range(c, i, TPCH_N_COLORS - i);
        uint8_t name = order[j];
        order[j] = order[i];
        order[i] = name;
        touched[i] = (uint8_t)j;
        if (i) *to++ = ' ';
        memcpy(to, colors[name].bytes, colors[name].length);
        to += colors[name].length;
    }
    for (uint8_t i = 0; i < 5; i++) {
        order[i] = i;
        order[touched[i]] = touched[i];
    }
    p->text = to;
    return (smelt_text){start, (size_t)(to - start)};
}

static void fill_part_names(tpch_piece *p, smelt_text *to)
{
    tpch_cursor c = tpch_cursor_at(P_NAME, p->first_row);
    uint8_t order[TPCH_N_COLORS];
    for (uint8_t i = 0; i < TPCH_N_COLORS; i++) order[i] = i;
    for (uint32_t i = 0; i < p->n_rows; i++) to[i] = part_name(p, &c, order);
}

void tpch_fill_part(tpch_piece *p)
{
    const tpch_shared *s = p->shared;
    int64_t *key = p->columns[0], *price = p->columns[7];
    int32_t *size = p->columns[5];
    smelt_text *mfgr = p->columns[2], *brand = p->columns[3], *type = p->columns[4],
               *container = p->columns[6], *comment = p->columns[8];
    tpch_cursor makers = tpch_cursor_at(P_MFGR, p->first_row),
                brands = tpch_cursor_at(P_BRAND, p->first_row),
                types = tpch_cursor_at(P_TYPE, p->first_row),
                sizes = tpch_cursor_at(P_SIZE, p->first_row),
                containers = tpch_cursor_at(P_CONTAINER, p->first_row),
                comments = tpch_cursor_at(P_COMMENT, p->first_row);
    fill_part_names(p, p->columns[1]);
    for (uint32_t i = 0; i < p->n_rows; i++) {
        int64_t maker = tpch_row_draw(&makers) - 1;
        key[i] = (int64_t)p->first_row + i + 1;
        mfgr[i] = s->makers[maker];
        brand[i] = s->brands[5 * maker + tpch_row_draw(&brands) - 1];
        type[i] = s->types[tpch_row_draw(&types)];
        size[i] = (int32_t)tpch_row_draw(&sizes);
        container[i] = s->containers[tpch_row_draw(&containers)];
        price[i] = tpch_part_price(key[i]);
        tpch_next_row(&comments);
        comment[i] = tpch_comment(s, &comments);
    }
}

void tpch_fill_partsupp(tpch_piece *p)
{
    const tpch_shared *s = p->shared;
    uint64_t part = p->first_row / 4; /* pieces begin with a part's first row */
    int64_t *partkey = p->columns[0], *suppkey = p->columns[1], *cost = p->columns[3];
    int32_t *quantity = p->columns[2];
    smelt_text *comment = p->columns[4];
    tpch_cursor quantities = tpch_cursor_at(PS_AVAILQTY, part),
                costs = tpch_cursor_at(PS_SUPPLYCOST, part),
                comments = tpch_cursor_at(PS_COMMENT, part);
    for (uint32_t i = 0; i < p->n_rows; i++) {
        if (i % 4 == 0) {
            tpch_next_row(&quantities);
            tpch_next_row(&costs);
            tpch_next_row(&comments);
        }
        partkey[i] = (int64_t)part + i / 4 + 1;
        suppkey[i] = tpch_part_supplier(&s->scale, partkey[i], i % 4);
        quantity[i] = (int32_t)tpch_draw(&quantities);
        cost[i] = tpch_draw(&costs);
        comment[i] = tpch_comment(s, &comments);
    }
}
