/* Writes the CSV file that chunks.test loads: 70,000 rows, so two chunks, with NULLs scattered and
 * in a run, few and many different texts, narrow and wide numbers. The recorded answers depend on
 * every digit of it. */
#include "harness.h"

#include <stdio.h>

static unsigned next(unsigned *state, unsigned below)
{
    *state = (*state * 1103515245u + 12345u) & 0x7fffffffu;
    return (*state >> 8) % below;
}

static void write_row(FILE *f, unsigned i, unsigned *state)
{
    static const char *const colors[] = {"red", "green", "blue", "a colour with a long name"};
    fprintf(f, "%u,", i);
    if (i % 11 != 0 && !(i > 30000 && i < 31000)) fprintf(f, "%u", next(state, 100));
    fputc(',', f);
    if (i % 17) fprintf(f, "%llu", next(state, 100000) * 100003ull);
    fprintf(f, ",%d,", -(int)next(state, 500));
    if (i % 13) fputs(colors[next(state, 4)], f);
    fprintf(f, ",key %u%s,%g,", next(state, 4000), i % 3 ? "" : " with a longer tail",
            (i % 16) / 4.0 - 1);
    if (i % 19) fprintf(f, "%.2f", ((int)next(state, 2000000) - 1000000) / 100.0);
    fputc(',', f);
    if (i % 23) {
        unsigned year = 1995 + next(state, 5), month = 1 + next(state, 12),
                 day = 1 + next(state, 28);
        fprintf(f, "%04u-%02u-%02u", year, month, day);
    }
    fprintf(f, ",%s\n", i % 7 == 0 ? "" : next(state, 2) ? "t" : "f");
}

bool big_file_write(const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f) return false;
    unsigned state = 12345;
    fputs("id,small,wide,neg,dict,many,f,d,day,flag\n", f);
    for (unsigned i = 1; i <= 70000; i++) write_row(f, i, &state);
    bool ok = !ferror(f);
    return fclose(f) == 0 && ok;
}
