/* Compiler and language helpers that every file may use: the one place for GCC/Clang builtins.
 * Nothing here allocates or knows a type of the engine. */
#ifndef SM_BASE_H
#define SM_BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SM_LIKELY(x) __builtin_expect(!!(x), 1)
#define SM_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SM_INLINE static inline __attribute__((always_inline))
#define SM_NOINLINE __attribute__((noinline))
#define SM_MUST_CHECK __attribute__((warn_unused_result))
#define SM_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define SM_COUNT(array) (sizeof(array) / sizeof((array)[0]))

__extension__ typedef __int128 sm_i128;
__extension__ typedef unsigned __int128 sm_u128;

/* The three sizes that everything is cut into (docs/architecture.md, "Words"). */
enum {
    SM_CHUNK_ROWS = 65536, /* rows of a chunk, and of a morsel */
    SM_BATCH_ROWS = 1024,  /* most rows of a batch */
    SM_BLOCK_ROWS = 32,    /* rows of a block: what compiled code handles per step */
    SM_PAD_BYTES = 512,    /* readable bytes behind every own buffer: a block of 16-byte values */
    SM_ALIGN_BYTES = 64
};

SM_INLINE bool sm_bit_get(const uint64_t *bits, size_t i) { return (bits[i >> 6] >> (i & 63)) & 1; }
SM_INLINE void sm_bit_set(uint64_t *bits, size_t i) { bits[i >> 6] |= (uint64_t)1 << (i & 63); }
SM_INLINE void sm_bit_clear(uint64_t *bits, size_t i) { bits[i >> 6] &= ~((uint64_t)1 << (i & 63)); }
SM_INLINE size_t sm_bit_words(size_t n_bits) { return (n_bits + 63) / 64; }

#endif
