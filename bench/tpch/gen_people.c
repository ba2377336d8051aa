/* Rows of region, nation, supplier and customer. */
#include "gen_names.h"

#include <string.h>

void tpch_fill_region(tpch_piece *p)
{
    int32_t *key = p->columns[0];
    smelt_text *name = p->columns[1], *comment = p->columns[2];
    tpch_cursor comments = tpch_cursor_at(R_COMMENT, p->first_row);
    for (uint32_t i = 0; i < p->n_rows; i++) {
        key[i] = (int32_t)(p->first_row + i);
        name[i] = tpch_names(REGION)[key[i]];
        tpch_next_row(&comments);
        comment[i] = tpch_comment(p->shared, &comments);
    }
}

void tpch_fill_nation(tpch_piece *p)
{
    int32_t *key = p->columns[0], *region = p->columns[2];
    smelt_text *name = p->columns[1], *comment = p->columns[3];
    tpch_cursor comments = tpch_cursor_at(N_COMMENT, p->first_row);
    for (uint32_t i = 0; i < p->n_rows; i++) {
        key[i] = (int32_t)(p->first_row + i);
        name[i] = tpch_nations[key[i]].name;
        region[i] = tpch_nations[key[i]].region;
        tpch_next_row(&comments);
        comment[i] = tpch_comment(p->shared, &comments);
    }
}

/* ---- suppliers and customers ---- */

smelt_text tpch_padded(tpch_piece *p, const char *word, size_t n, int64_t number)
{
    char digits[20], *to = p->text;
    uint32_t n_digits = 0;
    for (; number || n_digits < 9; number /= 10) digits[n_digits++] = (char)('0' + number % 10);
    memcpy(to, word, n);
    for (uint32_t i = 0; i < n_digits; i++) to[n + i] = digits[n_digits - 1 - i];
    p->text += n + n_digits;
    return (smelt_text){to, n + n_digits};
}

/* Every fifth character draws 2^31 values from a range whose size overflowed to -2^31 in the
 * original; so the value is -x or, near the top, one less. Six bits of it make a character. */
static smelt_text address(tpch_piece *p, tpch_cursor *c)
{
    static const char alphabet[] =
        "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    enum { FIRST_ONE_LESS = 2147483392 };
    char *start = p->text;
    tpch_next_row(c);
    uint32_t n = (uint32_t)tpch_draw(c);
    int64_t v = 0;
    for (uint32_t i = 0; i < n; i++, v >>= 6) {
        if (i % 5 == 0) {
            c->x = tpch_times(c->x, TPCH_A);
            v = -(int64_t)c->x - (c->x >= FIRST_ONE_LESS);
        }
        start[i] = alphabet[v & 63];
    }
    p->text += n;
    return (smelt_text){start, n};
}

static char *put_digits(char *to, int64_t number, uint32_t n)
{
    for (uint32_t i = n; i-- > 0; number /= 10) to[i] = (char)('0' + number % 10);
    to[n] = '-';
    return to + n + 1;
}

static smelt_text phone(tpch_piece *p, tpch_cursor *c, int32_t nation)
{
    char *start = p->text;
    tpch_next_row(c);
    char *to = put_digits(start, 10 + nation, 2);
    to = put_digits(to, tpch_draw_range(c, 100, 900), 3);
    to = put_digits(to, tpch_draw_range(c, 100, 900), 3);
    p->text = put_digits(to, tpch_draw_range(c, 1000, 9000), 4);
    return (smelt_text){start, (size_t)(p->text - start) - 1};
}

/* Key, name, address, nation, phone, balance: what suppliers and customers have in common, in
 * columns 0 to 5, from streams that follow each other in streams.def. */
static void fill_people(tpch_piece *p, const char *word, size_t n, uint32_t address_stream)
{
    int64_t *key = p->columns[0], *balance = p->columns[5];
    int32_t *nation = p->columns[3];
    smelt_text *name = p->columns[1], *addresses = p->columns[2], *phones = p->columns[4];
    tpch_cursor a = tpch_cursor_at(address_stream, p->first_row),
                nations = tpch_cursor_at(address_stream + S_NATION - S_ADDRESS, p->first_row),
                numbers = tpch_cursor_at(address_stream + S_PHONE - S_ADDRESS, p->first_row),
                balances = tpch_cursor_at(address_stream + S_ACCTBAL - S_ADDRESS, p->first_row);
    for (uint32_t i = 0; i < p->n_rows; i++) {
        key[i] = (int64_t)p->first_row + i + 1;
        name[i] = tpch_padded(p, word, n, key[i]);
        addresses[i] = address(p, &a);
        nation[i] = (int32_t)tpch_row_draw(&nations);
        phones[i] = phone(p, &numbers, nation[i]);
        balance[i] = tpch_row_draw(&balances);
    }
}
_Static_assert(C_NATION - C_ADDRESS == S_NATION - S_ADDRESS &&
                   C_PHONE - C_ADDRESS == S_PHONE - S_ADDRESS &&
                   C_ACCTBAL - C_ADDRESS == S_ACCTBAL - S_ADDRESS,
               "streams of suppliers and customers have the same order");

/* One supplier in a thousand has customers that complain, or recommend it. */
static smelt_text with_customers(tpch_piece *p, smelt_text comment, uint64_t row)
{
    enum { WORDS = 19 }; /* bytes of both */
    char *text = p->text;
    tpch_cursor noises = tpch_cursor_at(S_BBB_NOISE, row),
                offsets = tpch_cursor_at(S_BBB_OFFSET, row),
                types = tpch_cursor_at(S_BBB_TYPE, row);
    uint64_t noise = (uint64_t)tpch_draw_range(&noises, 0, comment.length - WORDS + 1);
    uint64_t at = (uint64_t)tpch_draw_range(&offsets, 0, comment.length - WORDS - noise + 1);
    memcpy(text, comment.bytes, comment.length);
    memcpy(text + at, "Customer ", 9);
    memcpy(text + at + 9 + noise, tpch_draw(&types) < 50 ? "Complaints" : "Recommends", 10);
    p->text += comment.length;
    return (smelt_text){text, comment.length};
}

void tpch_fill_supplier(tpch_piece *p)
{
    smelt_text *comment = p->columns[6];
    tpch_cursor comments = tpch_cursor_at(S_COMMENT, p->first_row),
                special = tpch_cursor_at(S_BBB, p->first_row);
    fill_people(p, "Supplier#", 9, S_ADDRESS);
    for (uint32_t i = 0; i < p->n_rows; i++) {
        tpch_next_row(&comments);
        comment[i] = tpch_comment(p->shared, &comments);
        if (tpch_row_draw(&special) <= 10)
            comment[i] = with_customers(p, comment[i], p->first_row + i);
    }
}

void tpch_fill_customer(tpch_piece *p)
{
    smelt_text *segment = p->columns[6], *comment = p->columns[7];
    tpch_cursor segments = tpch_cursor_at(C_MKTSEGMENT, p->first_row),
                comments = tpch_cursor_at(C_COMMENT, p->first_row);
    const smelt_text *names = tpch_names(SEGMENT);
    fill_people(p, "Customer#", 9, C_ADDRESS);
    for (uint32_t i = 0; i < p->n_rows; i++) {
        segment[i] = names[tpch_row_draw(&segments)];
        tpch_next_row(&comments);
        comment[i] = tpch_comment(p->shared, &comments);
    }
}
