/* Rows of orders and lineitem, 1 to 7 lines an order. Both come from the streams of the lines: an
 * order's total and status follow from its lines. */
#include "gen_names.h"

static const smelt_text open_state = TPCH_LITERAL("O"), final_state = TPCH_LITERAL("F"),
                        partial_state = TPCH_LITERAL("P");

static tpch_cursor part_keys(const tpch_shared *s, uint64_t order)
{
    return tpch_cursor_of(L_PARTKEY, order, 1, s->scale.parts);
}

/* ---- orders ---- */

/* Every third customer never orders. */
static int64_t customer_that_orders(int64_t c, int64_t n)
{
    for (int64_t delta = 1; c % 3 == 0; delta = -delta) c = c + delta < n ? c + delta : n;
    return c;
}

typedef struct line_cursors {
    tpch_cursor quantity, discount, tax, part, ship;
} line_cursors;

/* Total price in cents and number of lines that are shipped by today. */
static int64_t order_total(line_cursors *c, int64_t n_lines, int64_t date, int64_t *n_shipped)
{
    int64_t total = 0;
    tpch_next_row(&c->quantity);
    tpch_next_row(&c->discount);
    tpch_next_row(&c->tax);
    tpch_next_row(&c->part);
    tpch_next_row(&c->ship);
    *n_shipped = 0;
    for (int64_t i = 0; i < n_lines; i++) {
        int64_t price = tpch_draw(&c->quantity) * tpch_part_price(tpch_draw(&c->part));
        total += price * (100 - tpch_draw(&c->discount)) / 100 * (100 + tpch_draw(&c->tax)) / 100;
        *n_shipped += date + tpch_draw(&c->ship) <= TPCH_TODAY;
    }
    return total;
}

static void fill_totals(tpch_piece *p)
{
    uint64_t first = p->first_row;
    int64_t *total = p->columns[3];
    int32_t *date = p->columns[4];
    smelt_text *status = p->columns[2];
    tpch_cursor dates = tpch_cursor_at(O_DATE, first), lines = tpch_cursor_at(O_LINES, first);
    line_cursors c = {tpch_cursor_at(L_QUANTITY, first), tpch_cursor_at(L_DISCOUNT, first),
                      tpch_cursor_at(L_TAX, first), part_keys(p->shared, first),
                      tpch_cursor_at(L_SHIPDATE, first)};
    for (uint32_t i = 0; i < p->n_rows; i++) {
        int64_t day = tpch_row_draw(&dates), n = tpch_row_draw(&lines), shipped;
        total[i] = order_total(&c, n, day, &shipped);
        date[i] = TPCH_FIRST_DAY + (int32_t)day;
        status[i] = shipped == n ? final_state : shipped ? partial_state : open_state;
    }
}

void tpch_fill_orders(tpch_piece *p)
{
    const tpch_shared *s = p->shared;
    uint64_t first = p->first_row;
    int64_t *key = p->columns[0], *customer = p->columns[1];
    int32_t *ship_priority = p->columns[7];
    smelt_text *priority = p->columns[5], *clerk = p->columns[6], *comment = p->columns[8];
    tpch_cursor customers = tpch_cursor_of(O_CUSTKEY, first, 1, s->scale.customers),
                priorities = tpch_cursor_at(O_PRIORITY, first),
                clerks = tpch_cursor_of(O_CLERK, first, 1, s->scale.clerks),
                comments = tpch_cursor_at(O_COMMENT, first);
    const smelt_text *names = tpch_names(PRIORITY);
    fill_totals(p);
    for (uint32_t i = 0; i < p->n_rows; i++) {
        key[i] = tpch_order_key(first + i);
        customer[i] = customer_that_orders(tpch_row_draw(&customers), s->scale.customers);
        priority[i] = names[tpch_row_draw(&priorities)];
        clerk[i] = tpch_padded(p, "Clerk#", 6, tpch_row_draw(&clerks));
        ship_priority[i] = 0;
        tpch_next_row(&comments);
        comment[i] = tpch_comment(s, &comments);
    }
}

/* ---- lineitem: whole orders, column by column ---- */

typedef struct lines {
    tpch_piece *p;
    uint64_t first; /* order, from 0 */
    uint32_t n_orders, n_lines;
    const int32_t *counts; /* lines of each */
} lines;

/* Runs body for every line, i counting them, after the cursor was moved to its order. */
#define FOR_LINES(l, cursor, body)                                                                 \
    for (uint32_t o_ = 0, i = 0; o_ < (l)->n_orders; o_++) {                                       \
        tpch_next_row(&(cursor));                                                                  \
        for (int32_t k_ = (l)->counts[o_]; k_ > 0; k_--, i++) body;                                \
    }

static void draw_ints(const lines *l, uint32_t stream, int64_t times, int64_t *out)
{
    tpch_cursor c = tpch_cursor_at(stream, l->first);
    FOR_LINES(l, c, out[i] = times * tpch_draw(&c))
}

static void draw_days(const lines *l, uint32_t stream, const int32_t *from, int32_t *out)
{
    tpch_cursor c = tpch_cursor_at(stream, l->first);
    FOR_LINES(l, c, out[i] = from[i] + (int32_t)tpch_draw(&c))
}

static void draw_names(const lines *l, uint32_t stream, tpch_list list, smelt_text *out)
{
    const smelt_text *names = tpch_names(list);
    tpch_cursor c = tpch_cursor_at(stream, l->first);
    FOR_LINES(l, c, out[i] = names[tpch_draw(&c)])
}

static void fill_keys(const lines *l)
{
    const tpch_shared *s = l->p->shared;
    int64_t *order = l->p->columns[0], *part = l->p->columns[1], *supplier = l->p->columns[2],
            *quantity = l->p->columns[4], *price = l->p->columns[5];
    int32_t *number = l->p->columns[3];
    tpch_cursor parts = part_keys(s, l->first), suppliers = tpch_cursor_at(L_SUPP, l->first);
    for (uint32_t o = 0, i = 0; o < l->n_orders; o++) {
        for (int32_t k = 0; k < l->counts[o]; k++, i++) {
            order[i] = tpch_order_key(l->first + o);
            number[i] = k + 1;
        }
    }
    FOR_LINES(l, parts, part[i] = tpch_draw(&parts))
    FOR_LINES(l, suppliers,
              supplier[i] = tpch_part_supplier(&s->scale, part[i], tpch_draw(&suppliers)))
    draw_ints(l, L_QUANTITY, 100, quantity);
    for (uint32_t i = 0; i < l->n_lines; i++)
        price[i] = quantity[i] / 100 * tpch_part_price(part[i]);
}

/* Days since 1970, and the flags that follow from them. The return flag is drawn only for lines
 * that have been received. */
static void fill_days(const lines *l, int32_t *ordered)
{
    static const smelt_text returned = TPCH_LITERAL("R"), accepted = TPCH_LITERAL("A"),
                            not_yet = TPCH_LITERAL("N");
    enum { TODAY = TPCH_FIRST_DAY + TPCH_TODAY };
    int32_t *ship = l->p->columns[10], *commit = l->p->columns[11], *receipt = l->p->columns[12];
    smelt_text *flag = l->p->columns[8], *status = l->p->columns[9];
    tpch_cursor dates = tpch_cursor_at(O_DATE, l->first),
                flags = tpch_cursor_at(L_RETURNFLAG, l->first);
    for (uint32_t o = 0, i = 0; o < l->n_orders; o++) {
        int32_t day = TPCH_FIRST_DAY + (int32_t)tpch_row_draw(&dates);
        for (int32_t k = 0; k < l->counts[o]; k++) ordered[i++] = day;
    }
    draw_days(l, L_SHIPDATE, ordered, ship);
    draw_days(l, L_COMMITDATE, ordered, commit);
    draw_days(l, L_RECEIPTDATE, ship, receipt);
    FOR_LINES(l, flags, {
        flag[i] = receipt[i] > TODAY ? not_yet : tpch_draw(&flags) ? accepted : returned;
        status[i] = ship[i] > TODAY ? open_state : final_state;
    })
}

static void fill_comments(const lines *l, smelt_text *comment)
{
    tpch_cursor c = tpch_cursor_at(L_COMMENT, l->first);
    FOR_LINES(l, c, comment[i] = tpch_comment(l->p->shared, &c))
}

void tpch_fill_lineitem(tpch_piece *p)
{
    tpch_line_start start = p->shared->line_starts[p->first_row / TPCH_PIECE_ROWS];
    lines l = {p, start.order, 0, 0, p->spare[0]};
    tpch_cursor counts = tpch_cursor_at(O_LINES, start.order);
    while (l.n_lines < start.skip + p->n_rows) {
        int32_t n = (int32_t)tpch_row_draw(&counts);
        p->spare[0][l.n_orders++] = n;
        l.n_lines += (uint32_t)n;
    }
    fill_keys(&l);
    draw_ints(&l, L_DISCOUNT, 1, p->columns[6]);
    draw_ints(&l, L_TAX, 1, p->columns[7]);
    fill_days(&l, p->spare[1]);
    draw_names(&l, L_SHIPINSTRUCT, INSTRUCTION, p->columns[13]);
    draw_names(&l, L_SHIPMODE, MODE, p->columns[14]);
    fill_comments(&l, p->columns[15]);
    for (uint32_t i = 0; i < p->table->n_columns; i++) {
        size_t skip = start.skip * tpch_kind_bytes(p->table->columns[i].kind);
        p->columns[i] = (char *)p->columns[i] + skip;
    }
}
