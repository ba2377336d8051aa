/* Sorting by words: every key is a few 64-bit words whose unsigned order is the wanted order (null
 * flag, value, or the high and low half of it), most significant first. Rows are sorted by the
 * first word, then each run of equal words by the next one; long runs by radix, short ones by
 * merging. A text's words are 8 bytes each, zero behind its end, then its length; beyond 64 bytes,
 * runs are merged by whole comparison. */
#include "sort.h"

#include "agg.h"

enum {
    RADIX_ROWS = 256, /* shorter runs are merged */
    RADIX_BITS = 8,
    RADIX_SIZE = 1 << RADIX_BITS,
    INSERTION_ROWS = 12,
    TEXT_WORDS_BYTES = 64
};

#define SIGN_BIT ((uint64_t)1 << 63)

typedef struct entry {
    uint64_t word, row;
} entry;

typedef enum word_kind {
    WORD_NULL,
    WORD_VALUE,
    WORD_HIGH,
    WORD_LOW,
    WORD_BYTES,
    WORD_LENGTH
} word_kind;

typedef struct sorter {
    const sm_sort_key *keys;
    uint32_t n_keys;
    entry *spare; /* as many as entries, same index */
    entry *first;
} sorter;

/* Which word of which key is sorted by. */
typedef struct place {
    uint32_t key;
    word_kind kind;
    uint32_t at; /* WORD_BYTES: of the first byte */
} place;

/* ---- words ---- */

static bool is_null(const sm_sort_key *k, uint64_t row)
{
    return k->valid && !sm_bit_get(k->valid, row);
}

static uint64_t bytes_word(sm_text t, uint32_t at)
{
    unsigned char bytes[8] = {0};
    uint64_t w;
    if (t.len > at) memcpy(bytes, sm_text_bytes(&t) + at, t.len - at < 8 ? t.len - at : 8);
    memcpy(&w, bytes, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

static sm_i128 wide_value(const sm_sort_key *k, uint64_t row)
{
    if (k->phys == SM_PHYS_IV) return sm_interval_total(((const sm_interval *)k->data)[row]);
    return ((const sm_i128 *)k->data)[row];
}

static uint64_t value_word(const sm_sort_key *k, place p, uint64_t row)
{
    switch (p.kind) {
    case WORD_HIGH: return (uint64_t)((sm_u128)wide_value(k, row) >> 64) ^ SIGN_BIT;
    case WORD_LOW: return (uint64_t)wide_value(k, row);
    case WORD_BYTES: return bytes_word(((const sm_text *)k->data)[row], p.at);
    case WORD_LENGTH: return ((const sm_text *)k->data)[row].len;
    default: break;
    }
    switch (k->phys) {
    case SM_PHYS_BOOL: return ((const uint8_t *)k->data)[row];
    case SM_PHYS_I16: return (uint64_t)((const int16_t *)k->data)[row] ^ SIGN_BIT;
    case SM_PHYS_I32: return (uint64_t)((const int32_t *)k->data)[row] ^ SIGN_BIT;
    case SM_PHYS_F32:
        return (uint64_t)sm_float_key((double)((const float *)k->data)[row]) ^ SIGN_BIT;
    case SM_PHYS_F64: return (uint64_t)sm_float_key(((const double *)k->data)[row]) ^ SIGN_BIT;
    default: return (uint64_t)((const int64_t *)k->data)[row] ^ SIGN_BIT;
    }
}

static uint64_t word_of(const sm_sort_key *k, place p, uint64_t row)
{
    bool null = is_null(k, row);
    uint64_t w;
    if (p.kind == WORD_NULL) return null != k->nulls_first;
    if (null) return 0;
    w = value_word(k, p, row);
    return k->desc ? ~w : w;
}

static place value_place(const sorter *s, uint32_t key)
{
    switch (s->keys[key].phys) {
    case SM_PHYS_TEXT: return (place){key, WORD_BYTES, 0};
    case SM_PHYS_I128:
    case SM_PHYS_IV: return (place){key, WORD_HIGH, 0};
    default: return (place){key, WORD_VALUE, 0};
    }
}

static place first_place(const sorter *s, uint32_t key)
{
    if (key >= s->n_keys || s->keys[key].valid) return (place){key, WORD_NULL, 0};
    return value_place(s, key);
}

/* Do all texts of a run end within the words that were sorted by? */
static bool all_end(const sm_sort_key *k, const entry *e, uint64_t n, uint32_t at)
{
    for (uint64_t i = 0; i < n; i++)
        if (!is_null(k, e[i].row) && ((const sm_text *)k->data)[e[i].row].len > at) return false;
    return true;
}

/* After a run whose words here are equal. */
static place next_place(const sorter *s, place p, const entry *e, uint64_t n)
{
    switch (p.kind) {
    case WORD_NULL: return value_place(s, p.key);
    case WORD_HIGH: return (place){p.key, WORD_LOW, 0};
    case WORD_BYTES:
        if (all_end(&s->keys[p.key], e, n, p.at + 8)) return (place){p.key, WORD_LENGTH, 0};
        return (place){p.key, WORD_BYTES, p.at + 8};
    default: return first_place(s, p.key + 1);
    }
}

/* ---- whole comparison ---- */

static int compare_values(const sm_sort_key *x, const sm_sort_key *y, uint64_t a, uint64_t b)
{
    uint64_t v, w;
    if (x->phys == SM_PHYS_TEXT)
        return sm_text_cmp(((const sm_text *)x->data)[a], ((const sm_text *)y->data)[b]);
    if (x->phys == SM_PHYS_I128 || x->phys == SM_PHYS_IV) {
        sm_i128 p = wide_value(x, a), q = wide_value(y, b);
        return (p > q) - (p < q);
    }
    v = value_word(x, (place){0, WORD_VALUE, 0}, a);
    w = value_word(y, (place){0, WORD_VALUE, 0}, b);
    return (v > w) - (v < w);
}

static int compare_key(const sm_sort_key *x, const sm_sort_key *y, uint64_t a, uint64_t b)
{
    bool null_a = is_null(x, a), null_b = is_null(y, b);
    int order;
    if (null_a || null_b) {
        if (null_a == null_b) return 0;
        return null_a == x->nulls_first ? -1 : 1;
    }
    order = compare_values(x, y, a, b);
    return x->desc ? -order : order;
}

int sm_sort_compare(const sm_sort_key *keys, const sm_sort_key *other, uint32_t n_keys, uint64_t a,
                    uint64_t b)
{
    for (uint32_t i = 0; i < n_keys; i++) {
        int order = compare_key(&keys[i], &other[i], a, b);
        if (order) return order;
    }
    return 0;
}

/* ---- merging ---- */

/* By word, then (whole from this key on, if it is one) by comparison. */
typedef struct by {
    const sm_sort_key *keys;
    uint32_t n_keys; /* 0: the word decides */
} by;

static bool above(const by *o, entry a, entry b)
{
    if (a.word != b.word || o->n_keys == 0) return a.word > b.word;
    return sm_sort_compare(o->keys, o->keys, o->n_keys, a.row, b.row) > 0;
}

static void insertion_sort(const by *o, entry *e, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        entry x = e[i];
        uint64_t at = i;
        for (; at > 0 && above(o, e[at - 1], x); at--) e[at] = e[at - 1];
        e[at] = x;
    }
}

static void merge(const by *o, const entry *a, uint64_t n_a, const entry *b, uint64_t n_b,
                  entry *out)
{
    while (n_a && n_b) {
        if (above(o, *a, *b)) {
            *out++ = *b++;
            n_b--;
        } else {
            *out++ = *a++;
            n_a--;
        }
    }
    if (n_a) memcpy(out, a, n_a * sizeof *out); /* what is left of b lies there already */
}

/* Halves down to INSERTION_ROWS, so the depth is at most 60. */
static void merge_sort(const by *o, entry *e, entry *spare, uint64_t n)
{
    uint64_t half = n / 2;
    if (n <= INSERTION_ROWS) {
        insertion_sort(o, e, n);
        return;
    }
    merge_sort(o, e, spare, half);
    merge_sort(o, e + half, spare + half, n - half);
    if (!above(o, e[half - 1], e[half])) return;
    memcpy(spare, e, half * sizeof *e);
    merge(o, spare, half, e + half, n - half, e);
}

/* ---- radix ---- */

static void radix_pass(const entry *from, entry *to, uint64_t n, unsigned shift)
{
    uint64_t at[RADIX_SIZE] = {0}, sum = 0;
    for (uint64_t i = 0; i < n; i++) at[from[i].word >> shift & (RADIX_SIZE - 1)]++;
    for (unsigned d = 0; d < RADIX_SIZE; d++) {
        uint64_t count = at[d];
        at[d] = sum;
        sum += count;
    }
    for (uint64_t i = 0; i < n; i++) to[at[from[i].word >> shift & (RADIX_SIZE - 1)]++] = from[i];
}

/* Lowest digit first; digits in which no two words differ are left out. */
static void radix_sort(entry *e, entry *spare, uint64_t n)
{
    uint64_t differ = 0;
    entry *from = e, *to = spare;
    for (uint64_t i = 1; i < n; i++) differ |= e[i].word ^ e[0].word;
    for (unsigned shift = 0; shift < 64; shift += RADIX_BITS) {
        entry *swap = from;
        if (!(differ >> shift & (RADIX_SIZE - 1))) continue;
        radix_pass(from, to, n, shift);
        from = to;
        to = swap;
    }
    if (from != e) memcpy(e, from, n * sizeof *e);
}

static void sort_by_word(entry *e, entry *spare, uint64_t n)
{
    const by word = {NULL, 0};
    bool sorted = true;
    for (uint64_t i = 1; i < n && sorted; i++) sorted = e[i - 1].word <= e[i].word;
    if (sorted) return;
    if (n < RADIX_ROWS)
        merge_sort(&word, e, spare, n);
    else
        radix_sort(e, spare, n);
}

/* ---- all of it ---- */

static void sort_whole(const sorter *s, entry *e, entry *spare, uint64_t n, uint32_t key)
{
    by rest = {&s->keys[key], s->n_keys - key};
    for (uint64_t i = 0; i < n; i++) e[i].word = 0;
    merge_sort(&rest, e, spare, n);
}

/* Depth: words of the keys, at most ten each. */
static void sort_run(const sorter *s, entry *e, uint64_t n, place p)
{
    entry *spare = s->spare + (e - s->first);
    if (n < 2 || p.key >= s->n_keys) return;
    if (n <= INSERTION_ROWS || (p.kind == WORD_BYTES && p.at >= TEXT_WORDS_BYTES)) {
        sort_whole(s, e, spare, n, p.key);
        return;
    }
    for (uint64_t i = 0; i < n; i++) e[i].word = word_of(&s->keys[p.key], p, e[i].row);
    sort_by_word(e, spare, n);
    for (uint64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && e[end].word == e[i].word; end++) {
        }
        if (end - i > 1) sort_run(s, e + i, end - i, next_place(s, p, e + i, end - i));
    }
}

sm_status sm_sort_rows(const sm_sort_key *keys, uint32_t n_keys, uint64_t n_rows, uint64_t *order,
                       sm_mem *mem, sm_error *err)
{
    size_t bytes;
    sorter s = {.keys = keys, .n_keys = n_keys};
    void *room = NULL;
    if (__builtin_mul_overflow(n_rows, 2 * sizeof(entry), &bytes))
        return sm_raise(err, SM_ERR_OUT_OF_MEMORY, "sort", SIZE_MAX, SIZE_MAX);
    SM_TRY(sm_alloc(mem, bytes, "sort", &room, err));
    s.first = room;
    s.spare = s.first + n_rows;
    for (uint64_t i = 0; i < n_rows; i++) s.first[i] = (entry){0, i};
    if (n_keys) sort_run(&s, s.first, n_rows, first_place(&s, 0));
    for (uint64_t i = 0; i < n_rows; i++) order[i] = s.first[i].row;
    sm_free(mem, room, bytes);
    return SM_OK;
}
