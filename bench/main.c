/* jit-bench: times queries, prints the ladder, explains, runs SQL. This file finds the command and
 * hands it its options; each command is a file cmd_<name>.c. Read bench.h next. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *doc;
    int (*run)(const options *o);
} commands[] = {
#define BENCH_COMMAND(name, function, doc) {#name, doc, function},
#include "commands.def"
#undef BENCH_COMMAND
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void usage(FILE *to)
{
    fprintf(to, "jit-bench, with smelt %s\n\n", smelt_version());
    for (uint32_t i = 0; i < N_COMMANDS; i++)
        fprintf(to, "    jit-bench %-9s %s\n", commands[i].name, commands[i].doc);
    fprintf(to, "\njit-bench COMMAND --help lists the options of a command.\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        usage(stdout);
        return 0;
    }
    for (uint32_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) != 0) continue;
        if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
            printf("jit-bench %s: %s\n\n", commands[i].name, commands[i].doc);
            options_usage(i);
            return 0;
        }
        options o = {.runs = 5};
        if (!options_read(&o, i, argc - 2, argv + 2)) return 2;
        return commands[i].run(&o);
    }
    fprintf(stderr, "jit-bench: no command \"%s\"\n", argv[1]);
    usage(stderr);
    return 2;
}
