/* The ladder as a picture: a panel per query, a bar per rung on a logarithmic axis of milliseconds,
 * and the memory bandwidth of the same run as a line across the bars. */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTH = 900,
    LEFT = 130,
    RIGHT = 110,
    BAR = 20,
    GAP = 7,
    HEAD = 92,
    PANEL_HEAD = 58,
    PANEL_FOOT = 44
};

static const char engine_color[] = "#2b6cb0", hand_color[] = "#a0aec0", memory_color[] = "#c53030";

typedef struct axis {
    double low, high; /* log10 of milliseconds */
} axis;

static double x_of(const axis *a, double ms)
{
    double share = (log10(ms) - a->low) / (a->high - a->low);
    return LEFT + fmax(0, share) * (WIDTH - LEFT - RIGHT);
}

static bool drawn(const record *r)
{
    return !r->error[0] && r->median_ms > 0;
}

static axis axis_of(const record *r, uint32_t n)
{
    double low = 1e300, high = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!drawn(&r[i])) continue;
        low = fmin(low, r[i].median_ms);
        high = fmax(high, r[i].median_ms);
    }
    if (high == 0) return (axis){0, 1};
    axis a = {floor(log10(low) - 0.3), ceil(log10(high))};
    if (a.high <= a.low) a.high = a.low + 1;
    return a;
}

static void spell_ms(char *out, size_t bytes, double ms)
{
    snprintf(out, bytes, ms >= 100 ? "%.0f ms" : ms >= 10 ? "%.1f ms" : "%.2f ms", ms);
}

static void escaped(FILE *f, const char *t)
{
    for (; *t; t++) {
        if (*t == '<')
            fputs("&lt;", f);
        else if (*t == '>')
            fputs("&gt;", f);
        else if (*t == '&')
            fputs("&amp;", f);
        else
            fputc(*t, f);
    }
}

static void draw_axis(FILE *f, const axis *a, double top, double bottom)
{
    for (int p = (int)a->low; p <= (int)a->high; p++) {
        double x = x_of(a, pow(10, p));
        fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#e2e8f0\"/>\n",
                x, top, x, bottom);
        fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" class=\"s\">%g ms</text>\n",
                x, bottom + 15, pow(10, p));
    }
}

static void draw_bar(FILE *f, const axis *a, const record *r, double y)
{
    bool hand = strncmp(r->rung, "hand", 4) == 0;
    fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 8,
            y + BAR * 0.72, r->rung);
    if (!drawn(r)) {
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" class=\"s\">did not run</text>\n", LEFT + 6,
                y + BAR * 0.72);
        return;
    }
    double x = x_of(a, r->median_ms);
    fprintf(f, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", LEFT, y,
            x - LEFT, BAR, hand ? hand_color : engine_color);
}

static void draw_time(FILE *f, const axis *a, const record *r, double y)
{
    char label[64];
    if (!drawn(r)) return;
    spell_ms(label, sizeof label, r->median_ms);
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" class=\"halo\">%s</text>\n", x_of(a, r->median_ms) + 6,
            y + BAR * 0.72, label);
}

static void draw_bandwidth(FILE *f, const axis *a, const record *r, double top, double bottom)
{
    char label[64];
    double x = x_of(a, r->median_ms);
    spell_ms(label, sizeof label, r->median_ms);
    fprintf(f,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"2\" stroke-dasharray=\"5 3\"/>\n",
            x, top, x, bottom, memory_color);
    fprintf(f,
            "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\" fill=\"%s\" text-anchor=\"middle\">"
            "reading the bytes alone: %s, %.1f GB/s</text>\n",
            fmax(x, LEFT + 120), bottom + 30, memory_color, label, r->bytes / r->median_ms / 1e6);
}

static const char *title_of(const char *query)
{
    static const char *const titles[][2] = {
        {"sum", "Sum of one column, from memory"},
        {"sum-cache", "Sum of one column, in cache"},
        {"filter", "Filter and two aggregates over three columns, from memory"},
        {"filter-cache", "Filter and two aggregates over three columns, in cache"},
    };
    for (uint32_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        if (strcmp(query, titles[i][0]) == 0) return titles[i][1];
    return query;
}

/* One query: returns the y below it. */
static double draw_panel(FILE *f, const record *r, uint32_t n, double y)
{
    axis a = axis_of(r, n);
    const record *memory = NULL;
    uint32_t n_bars = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(r[i].rung, "memory") == 0)
            memory = &r[i];
        else
            n_bars++;
    }
    fprintf(
        f,
        "<text x=\"20\" y=\"%.1f\" class=\"h\">%s</text>\n<text x=\"20\" y=\"%.1f\" class=\"s\">",
        y + 20, title_of(r->query), y + 38);
    escaped(f, r->sql);
    fprintf(f, " · %.0f million rows, median of %u runs</text>\n", (double)r->rows / 1e6, r->runs);
    double top = y + PANEL_HEAD, bottom = top + n_bars * (BAR + GAP);
    draw_axis(f, &a, top - 6, bottom);
    double at = top;
    for (uint32_t i = 0; i < n; i++) {
        if (&r[i] == memory) continue;
        draw_bar(f, &a, &r[i], at);
        at += BAR + GAP;
    }
    if (memory && drawn(memory)) draw_bandwidth(f, &a, memory, top - 6, bottom);
    at = top;
    for (uint32_t i = 0; i < n; i++) { /* above the line */
        if (&r[i] == memory) continue;
        draw_time(f, &a, &r[i], at);
        at += BAR + GAP;
    }
    return bottom + PANEL_FOOT;
}

static void draw_head(FILE *f, double height)
{
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 "
            "%d %.0f\" "
            "font-family=\"sans-serif\" font-size=\"13\" fill=\"#1a202c\">\n"
            "<style>.s{font-size:11px;fill:#4a5568}.h{font-size:15px;font-weight:bold}"
            ".halo{paint-order:stroke;stroke:#fff;stroke-width:4px}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
            "<text x=\"20\" y=\"32\" font-size=\"20\" font-weight=\"bold\">One query, from row "
            "interpreter to "
            "compiled loop</text>\n"
            "<text x=\"20\" y=\"52\" class=\"s\">Time of the whole query in milliseconds, "
            "logarithmic; shorter is "
            "faster. One thread, but for jit-threads.</text>\n",
            WIDTH, height, WIDTH, height);
    const struct {
        const char *color, *text;
        int x;
    } legend[] = {{engine_color, "smelt, one engine for every query", 20},
                  {hand_color, "C written by hand for this query", 260},
                  {memory_color, "memory (or cache) bandwidth, measured in the same run", 490}};
    for (int i = 0; i < 3; i++)
        fprintf(f,
                "<rect x=\"%d\" y=\"64\" width=\"14\" height=\"%d\" fill=\"%s\"/><text x=\"%d\" "
                "y=\"75\" class=\"s\">%s</text>\n",
                legend[i].x, i == 2 ? 4 : 14, legend[i].color, legend[i].x + 20, legend[i].text);
}

bool svg_ladder(const char *path, const record *records, uint32_t n)
{
    FILE *f = fopen(path, "w");
    if (!f) {
        fprintf(stderr, "jit-bench: %s: %s\n", path, strerror(errno));
        return false;
    }
    double height = HEAD;
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(records[i].query, records[i - 1].query) != 0)
            height += PANEL_HEAD + PANEL_FOOT;
        if (strcmp(records[i].rung, "memory") != 0) height += BAR + GAP;
    }
    draw_head(f, height);
    double y = HEAD;
    for (uint32_t i = 0; i < n;) {
        uint32_t m = 1;
        while (i + m < n && strcmp(records[i].query, records[i + m].query) == 0) m++;
        y = draw_panel(f, records + i, m, y);
        i += m;
    }
    fprintf(f, "</svg>\n");
    bool ok = !ferror(f);
    if (fclose(f) != 0 || !ok) {
        fprintf(stderr, "jit-bench: %s could not be written\n", path);
        return false;
    }
    return true;
}
