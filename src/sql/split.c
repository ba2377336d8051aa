/* A script cut into statements. Read text.h first: a semicolon that the lexer sees as a token of
 * its own, outside brackets or not, ends a statement (the grammar has no use for one inside). */
#include <utf8proc.h>

#include "sql/sql.h"
#include "sql/text.h"

/* Characters of a range; bytes that are no UTF-8 count as one each. */
static int32_t count_characters(const char *s, size_t n)
{
    int32_t chars = 0;
    for (size_t i = 0; i < n; chars++) {
        utf8proc_int32_t code;
        utf8proc_ssize_t k =
            utf8proc_iterate((const utf8proc_uint8_t *)s + i, (utf8proc_ssize_t)(n - i), &code);
        i += k > 0 ? (size_t)k : 1;
    }
    return chars;
}

sm_status sm_sql_split(sm_arena *a, const char *text, size_t bytes, sm_sql_part **parts,
                       uint32_t *n, sm_error *err)
{
    uint32_t room = 0, used = 0;
    sm_sql_part *list = NULL;
    size_t at = 0, start = 0, end = 0, counted = 0;
    int32_t chars = 0;
    bool any = false;
    sm_tok t;
    do {
        t = sm_tok_next(text, bytes, &at);
        bool ends = t.kind == SM_TOK_END || (t.kind == SM_TOK_OTHER && text[t.start] == ';');
        if (!ends) {
            if (!any) start = t.start;
            any = true;
            end = t.end;
        } else if (any) {
            if (used == room) {
                uint32_t more = room ? room * 2 : 4;
                sm_sql_part *grown = SM_NEW_N(a, sm_sql_part, more);
                if (!grown) return sm_arena_failed(a, err);
                if (used) memcpy(grown, list, used * sizeof(*list));
                list = grown, room = more;
            }
            chars += count_characters(text + counted, start - counted);
            counted = start;
            list[used++] = (sm_sql_part){text + start, end - start, chars};
            any = false;
        }
    } while (t.kind != SM_TOK_END);
    *parts = list;
    *n = used;
    return SM_OK;
}
