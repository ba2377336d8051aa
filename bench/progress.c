/* The progress bar: on stderr, only when that is a terminal, so that output can be piped. */
#include "bench.h"

#include <stdio.h>
#include <unistd.h>

void progress_show(uint32_t done, uint32_t total, const char *what)
{
    enum { WIDTH = 30 };
    if (!isatty(STDERR_FILENO)) return;
    uint32_t filled = total ? done * WIDTH / total : 0;
    fprintf(stderr, "\r\033[K[");
    for (uint32_t i = 0; i < WIDTH; i++) fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "] %u/%u %.40s", done, total, what);
    fflush(stderr);
}

void progress_clear(void)
{
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
}
