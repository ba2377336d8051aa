/* Columns that the bench makes itself: big zeroed buffers, seeded random values, and how many rows
 * fit. */
#ifndef BENCH_COLUMNS_H
#define BENCH_COLUMNS_H

#include "bench.h"
#include "hand.h"

/** Zeroed memory, in huge pages where the machine has them. NULL: there is not enough, said on
 * stderr. */
void *buffer_new(size_t bytes);
void buffer_free(void *buffer, size_t bytes);

/** Bytes of memory that this process may use. */
uint64_t memory_bytes(void);

/** xorshift64*: the same numbers on every machine. *state must not be 0. */
static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}
/** Below n, which is small against 2^32. */
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)((random_next(state) >> 32) * n >> 32);
}

/** x = 1.0, 2.0 ... rows. False: no memory. */
bool columns_series(hand_data *d, uint64_t rows);
/** a, b, c uniform in [0, 1), one value of a in ten NULL; k = 0.5. False: no memory. */
bool columns_random(hand_data *d, uint64_t rows);
void columns_free(hand_data *d);
/** A table of x, or of a, b, c, over the same memory: nothing is copied but the validity.
 *  times  above 1: the rows are repeated so often, without copying */
bool columns_table(smelt_db *db, const char *name, const hand_data *d);

/** A table like TPC-H's lineitem without comments. False: said on stderr. */
bool lineitem_table(smelt_db *db, uint64_t rows);

#endif
