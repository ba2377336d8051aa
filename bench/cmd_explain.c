/* jit-bench explain: the plan of every statement as text, or the code that was compiled for it. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool explain(smelt_db *db, const char *start, size_t n, unsigned flags,
                    const smelt_options *how)
{
    char *sql = malloc(n + 1), *out = NULL;
    if (!sql) return false;
    memcpy(sql, start, n);
    sql[n] = 0;
    smelt_error e = {0};
    bool ok = smelt_explain(db, sql, flags, how, &out, &e) == SMELT_OK;
    if (ok)
        fputs(out, stdout);
    else
        printf("ERROR: %s: %s\n", e.sqlstate, e.message);
    smelt_free(out);
    free(sql);
    return ok;
}

int cmd_explain(const options *o)
{
    size_t bytes, at = 0, n;
    char *text = options_text(o, &bytes);
    if (!text) return 1;
    smelt_db *db = options_open(o);
    if (!db) {
        free(text);
        return 1;
    }
    unsigned flags = (o->analyze ? SMELT_EXPLAIN_ANALYZE : 0u) | (o->ir ? SMELT_EXPLAIN_IR : 0u) |
                     (o->assembly ? SMELT_EXPLAIN_ASM : 0u);
    smelt_options how = {0};
    if (o->n_tiers) {
        how.tier = o->tiers[0];
        how.auto_tier = how.tier == SMELT_TIER_AUTO;
    }
    if (o->n_threads) how.threads = o->threads[0];
    bool ok = true;
    const char *start;
    while (smelt_next_statement(text, bytes, &at, &start, &n)) {
        if (is_query(start, n)) {
            ok = explain(db, start, n, flags, &how) && ok;
            continue;
        }
        smelt_error e = {0};
        smelt_stmt *s = NULL;
        smelt_result *r = NULL;
        if (smelt_prepare_n(db, start, n, &s, &e) || smelt_execute(s, NULL, &r, &e)) {
            printf("ERROR: %s: %s\n", e.sqlstate, e.message);
            ok = false;
        }
        smelt_result_free(r);
        smelt_stmt_free(s);
    }
    smelt_db_close(db);
    free(text);
    return ok ? 0 : 1;
}
