/* Lists of names, and those put together from syllables, once: part types, containers, brands. */
#include "gen_names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const tpch_nation tpch_nations[TPCH_N_NATIONS] = {
#define TPCH_NATION(text, region) {TPCH_LITERAL(text), region},
#include "words.def"
};

static const smelt_text texts[] = {
#define TPCH_NAME(list, text) TPCH_LITERAL(text),
#include "words.def"
};

static const uint8_t lists[] = {
#define TPCH_NAME(list, text) list,
#include "words.def"
};

const smelt_text *tpch_names(tpch_list list)
{
    uint32_t i = 0;
    while (lists[i] != list) i++;
    return &texts[i];
}

typedef struct maker {
    char *to, *end;
} maker;

__attribute__((format(printf, 2, 3))) static smelt_text make(maker *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(m->to, (size_t)(m->end - m->to), format, args);
    va_end(args);
    smelt_text t = {m->to, (size_t)n};
    m->to += n;
    return t;
}

void tpch_names_init(tpch_shared *s)
{
    const smelt_text *a = tpch_names(TYPE_1), *b = tpch_names(TYPE_2), *c = tpch_names(TYPE_3);
    maker m = {s->words, s->words + sizeof s->words};
    for (uint32_t i = 0; i < 150; i++)
        s->types[i] = make(&m, "%s %s %s", a[i / 25].bytes, b[i / 5 % 5].bytes, c[i % 5].bytes);
    a = tpch_names(CONTAINER_1);
    b = tpch_names(CONTAINER_2);
    for (uint32_t i = 0; i < 40; i++)
        s->containers[i] = make(&m, "%s %s", a[i / 8].bytes, b[i % 8].bytes);
    for (uint32_t i = 0; i < 25; i++) s->brands[i] = make(&m, "Brand#%u%u", i / 5 + 1, i % 5 + 1);
    for (uint32_t i = 0; i < 5; i++) s->makers[i] = make(&m, "Manufacturer#%u", i + 1);
}
