/* jit-bench workload: a handful of queries of TPC-H's kind over generated rows, so that the tiers
 * can be compared on a machine that has nothing but this program. */
#include "columns.h"

#include <stdio.h>

#define QUERIES(Q)                                                                                 \
    Q("Q1", "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), "           \
            "sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * "   \
            "(1 + l_tax)), "                                                                       \
            "avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*) FROM lineitem "      \
            "WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus "           \
            "ORDER BY l_returnflag, l_linestatus")                                                 \
    Q("Q6", "SELECT sum(l_extendedprice * l_discount) FROM lineitem WHERE l_shipdate >= DATE "     \
            "'1994-01-01' "                                                                        \
            "AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND "         \
            "l_quantity < 24")                                                                     \
    Q("by year",                                                                                   \
      "SELECT extract(year FROM l_shipdate) AS y, count(*), sum(l_quantity) FROM lineitem "        \
      "GROUP BY y ORDER BY y")                                                                     \
    Q("by supplier",                                                                               \
      "SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem "        \
      "GROUP BY l_suppkey ORDER BY revenue DESC, l_suppkey LIMIT 10")                              \
    Q("by part",                                                                                   \
      "SELECT l_partkey, count(*), avg(l_quantity) AS q FROM lineitem GROUP BY l_partkey "         \
      "HAVING count(*) > 2 ORDER BY q DESC, l_partkey LIMIT 10")                                   \
    Q("late by mode",                                                                              \
      "SELECT l_shipmode, count(*) FILTER (WHERE l_receiptdate > l_commitdate), "                  \
      "count(DISTINCT l_suppkey) FROM lineitem WHERE l_shipinstruct LIKE '%BACK%' "                \
      "GROUP BY l_shipmode ORDER BY l_shipmode")                                                   \
    Q("top rows",                                                                                  \
      "SELECT l_orderkey, l_linenumber, l_extendedprice FROM lineitem WHERE l_quantity > 45 "      \
      "ORDER BY l_extendedprice DESC, l_orderkey LIMIT 5")

static const char *const names[] = {
#define Q(name, sql) name,
    QUERIES(Q)
#undef Q
};
static const char *const texts[] = {
#define Q(name, sql) sql,
    QUERIES(Q)
#undef Q
};

int cmd_workload(const options *o)
{
    enum { DEFAULT_ROWS = 1000000 };
    smelt_error e = {0};
    smelt_db *db = NULL;
    uint64_t rows = o->rows ? o->rows : DEFAULT_ROWS;
    if (smelt_db_open(NULL, &db, &e)) {
        fprintf(stderr, "jit-bench: %s\n", e.message);
        return 1;
    }
    bool ok = lineitem_table(db, rows);
    if (ok && o->repeat > 1 && smelt_repeat(db, "lineitem", o->repeat, &e)) {
        fprintf(stderr, "jit-bench: %s: %s\n", e.sqlstate, e.message);
        ok = false;
    }
    int code = ok ? run_queries(db, o, sizeof texts / sizeof texts[0], names, texts) : 1;
    smelt_db_close(db);
    return code;
}
