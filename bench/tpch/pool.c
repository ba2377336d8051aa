/* The text pool: 300 MiB of sentences, from which every comment is cut. The sentences follow a
 * grammar and one random stream. A word is found by its draw in one array per list, which names the
 * word for every possible value; it is copied as 16 bytes, whatever its length, with its space. */
#include "gen.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef enum list {
    NOUN,
    VERB,
    ADVERB,
    ADJECTIVE,
    PREPOSITION,
    AUXILIARY,
    TERMINATOR,
    N_LISTS
} list;

enum { MAX_WORDS = 64, MAX_WEIGHT = 512, SENTENCE_ROOM = 256, BLOCK_BYTES = 1 << 20 };

typedef struct word {
    char bytes[16];
    uint32_t n_bytes; /* with the space */
} word;

typedef struct words {
    uint32_t n[N_LISTS], weight[N_LISTS];
    word word[N_LISTS][MAX_WORDS];
    uint8_t by_draw[N_LISTS][MAX_WEIGHT];
} words;

/* Forms, by weight: which letters a sentence or phrase consists of. */
typedef struct form {
    const char *letters;
    uint32_t weight;
} form;

static const form sentences[] = {{"NVT", 3}, {"NVPT", 3}, {"NVNT", 3}, {"NPVNT", 1}, {"NPVPT", 1}};
static const form noun_phrases[] = {{"N", 10}, {"JN", 20}, {"KJN", 10}, {"DJN", 50}}; /* K: "J," */
static const form verb_phrases[] = {{"V", 30}, {"XV", 1}, {"VD", 40}, {"XVD", 1}};
enum { SENTENCE_WEIGHT = 11, NOUN_PHRASE_WEIGHT = 90, VERB_PHRASE_WEIGHT = 72 };

static void words_init(words *w)
{
    static const struct {
        list list;
        uint32_t weight;
        const char *text;
    } all[] = {
#define TPCH_WORD(list, text, weight) {list, weight, text},
#include "words.def"
    };
    memset(w, 0, sizeof *w);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        list l = all[i].list;
        word *to = &w->word[l][w->n[l]];
        to->n_bytes = (uint32_t)strlen(all[i].text) + 1;
        memset(to->bytes, ' ', sizeof to->bytes);
        memcpy(to->bytes, all[i].text, to->n_bytes - 1);
        for (uint32_t k = 0; k < all[i].weight; k++)
            w->by_draw[l][w->weight[l]++] = (uint8_t)w->n[l];
        w->n[l]++;
    }
}

/* Where the next byte goes, and the stream's state. */
typedef struct pen {
    const words *words;
    char *to;
    uint64_t x;
} pen;

static uint32_t draw(pen *p, uint32_t range)
{
    p->x = tpch_times(p->x, TPCH_A);
    return (uint32_t)tpch_value(p->x, 0, range);
}

static const char *draw_form(pen *p, const form *forms, uint32_t weight)
{
    uint32_t r = draw(p, weight);
    while (r >= forms->weight) r -= forms++->weight;
    return forms->letters;
}

static void put_word(pen *p, list l)
{
    const word *w = &p->words->word[l][p->words->by_draw[l][draw(p, p->words->weight[l])]];
    memcpy(p->to, w->bytes, sizeof w->bytes);
    p->to += w->n_bytes;
}

static void put_words(pen *p, const char *letters)
{
    for (; *letters; letters++) {
        switch (*letters) {
        case 'N': put_word(p, NOUN); break;
        case 'V': put_word(p, VERB); break;
        case 'D': put_word(p, ADVERB); break;
        case 'X': put_word(p, AUXILIARY); break;
        default: put_word(p, ADJECTIVE); break;
        }
        if (*letters == 'K') {
            memcpy(p->to - 1, ", ", 2);
            p->to++;
        }
    }
}

static void put_sentence(pen *p)
{
    for (const char *s = draw_form(p, sentences, SENTENCE_WEIGHT); *s; s++) {
        switch (*s) {
        case 'V': put_words(p, draw_form(p, verb_phrases, VERB_PHRASE_WEIGHT)); break;
        case 'T':
            p->to--;
            put_word(p, TERMINATOR);
            break;
        default:
            if (*s == 'P') {
                put_word(p, PREPOSITION);
                memcpy(p->to, "the ", 4);
                p->to += 4;
            }
            put_words(p, draw_form(p, noun_phrases, NOUN_PHRASE_WEIGHT));
        }
    }
}

static uint64_t write_sentences(const words *w, char *out, size_t *at, size_t end, uint64_t state)
{
    pen p = {w, out + *at, state};
    while (p.to < out + end) put_sentence(&p);
    *at = (size_t)(p.to - out);
    return p.x;
}

uint64_t tpch_pool_sentences(char *out, size_t *at, size_t end, uint64_t state)
{
    words w;
    words_init(&w);
    return write_sentences(&w, out, at, end, state);
}

/* ---- all of it, by many threads ---- */

static const struct {
    uint32_t behind, state;
} starts[] = {
#define TPCH_POOL_START(mib, behind, state) {behind, state},
#include "pool_starts.def"
};
enum { N_BLOCKS = sizeof starts / sizeof starts[0] };
_Static_assert((int64_t)N_BLOCKS *BLOCK_BYTES == TPCH_POOL_BYTES, "a start for every MiB");

typedef struct pool_work {
    words words;
    char *pool;
    _Atomic uint32_t next;
} pool_work;

/* Every block is written aside and then copied: its last sentence and its last word reach into the
 * next block, which another thread may be writing. */
static void write_blocks(void *arg)
{
    pool_work *w = arg;
    char *aside = malloc(BLOCK_BYTES + 2 * SENTENCE_ROOM);
    for (uint32_t i; aside && (i = atomic_fetch_add(&w->next, 1)) < N_BLOCKS;) {
        size_t at = starts[i].behind, from = at;
        size_t end = i + 1 < N_BLOCKS ? BLOCK_BYTES + starts[i + 1].behind : BLOCK_BYTES;
        write_sentences(&w->words, aside, &at, end, starts[i].state);
        memcpy(w->pool + (size_t)i * BLOCK_BYTES + from, aside + from, end - from);
    }
    free(aside);
}

char *tpch_pool_new(uint32_t n_threads)
{
    char *pool = mmap(NULL, (size_t)TPCH_POOL_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool == MAP_FAILED) return NULL;
    madvise(pool, (size_t)TPCH_POOL_BYTES, MADV_HUGEPAGE);
    pool_work w = {.pool = pool};
    words_init(&w.words);
    atomic_init(&w.next, 0);
    tpch_parallel(n_threads, write_blocks, &w);
    if (atomic_load(&w.next) >= N_BLOCKS) return pool;
    tpch_pool_free(pool); /* no thread had memory for a block */
    return NULL;
}

void tpch_pool_free(char *pool)
{
    if (pool) munmap(pool, (size_t)TPCH_POOL_BYTES);
}
