/* Tables: immutable lists of chunks of 65,536 rows (the last may be shorter), stored by column.
 *
 * A version is what a statement reads; appending makes a new version that shares the old chunks. A
 * chunk's column is plain, narrow (smallest unsigned width over value minus minimum) or dictionary
 * codes; that choice is the column's encoding, and the encodings of the columns a loop reads are
 * its signature. */
#ifndef SM_TABLE_H
#define SM_TABLE_H

#include <pthread.h>

#include "runtime/batch.h"
#include "runtime/error.h"
#include "runtime/memory.h"

typedef enum sm_enc {
    SM_ENC_PLAIN,  /* values of the physical form; bool: a bitmap */
    SM_ENC_NARROW, /* unsigned offsets of `width` bytes from `base`: integers, dates, timestamps,
                      decimals */
    SM_ENC_DICT    /* codes of `width` bytes (1 or 2) into dict: text */
} sm_enc;

/* Append-only: a larger dictionary of the same column begins with the smaller one's entries. */
typedef struct sm_dict {
    _Atomic uint32_t refs;
    uint32_t n;             /* 1 to 65,536 */
    const sm_text *entries; /* distinct; readable up to SM_PAD_BYTES behind the last */
    sm_mem *mem;
    sm_buffer *entries_buf;
    struct sm_text_heap *heap; /* owns the bytes */
} sm_dict;

enum { SM_DICT_MAX_ENTRIES = 65536 };

/* What lies under a NULL is harmless and inside the column's range (narrow: stored 0; text: empty;
 * code 0), except that numbers of foreign memory are as the caller left them. Bits and bytes behind
 * the last row are 0 in own buffers. */
typedef struct sm_chunk_col {
    uint8_t enc;     /* sm_enc */
    uint8_t width;   /* bytes of a stored value; plain: of the physical form, 0 for bool's bitmap */
    bool padded;     /* SM_PAD_BYTES behind the last row are readable (own buffers) */
    bool has_minmax; /* min and max below are set: some value is not NULL, no NaN, no interval */
    uint32_t null_count;
    const void *data;      /* 64-byte aligned if own; else aligned for its element */
    const uint64_t *valid; /* 1 = value present; NULL = no nulls; always own: padded, aligned */
    int64_t base;          /* narrow: value = base + stored */
    const sm_dict *dict;
    sm_value min, max; /* text: borrowed from the chunk */
    sm_buffer *data_buf, *valid_buf;
    struct sm_text_heap *heap; /* plain text's bytes */
} sm_chunk_col;

typedef struct sm_chunk {
    _Atomic uint32_t refs;
    uint32_t n_rows; /* 1..SM_CHUNK_ROWS */
    uint32_t n_cols;
    sm_mem *mem;
    sm_chunk_col cols[];
} sm_chunk;

typedef struct sm_table_col {
    char *name;
    sm_type type;
    bool not_null;
    uint32_t max_chars; /* varchar(n): checked on assignment; 0 = any */
    /* over all chunks of the version: */
    bool has_minmax;
    bool same_enc; /* every chunk has the encoding and width of the first */
    uint64_t null_count;
    sm_value min, max;
    sm_dict *dict; /* holds every chunk's codes; NULL unless every chunk is SM_ENC_DICT */
} sm_table_col;

typedef struct sm_version {
    _Atomic uint32_t refs;
    uint32_t n_cols;
    sm_table_col *cols;
    uint64_t n_chunks;
    sm_chunk **chunks;
    uint64_t *first_row; /* n_chunks; first row number of each chunk */
    uint64_t n_rows;
    sm_mem *mem;
} sm_version;

SM_INLINE sm_version *sm_version_ref(sm_version *v)
{
    atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}
void sm_version_unref(sm_version *v);
SM_INLINE sm_chunk *sm_chunk_ref(sm_chunk *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}
void sm_chunk_unref(sm_chunk *c);
/** Checks every invariant above; for debug builds and tests. */
bool sm_version_validate(const sm_version *v);

/** New version with columns and no rows; names are copied, statistics fields of cols ignored. */
sm_status sm_version_new(sm_mem *m, const sm_table_col *cols, uint32_t n_cols, sm_version **out,
                         sm_error *err);
/** New version: base's chunks, then chunks[0..n) (references are taken over, also on failure).
 * base's partial last chunk stays as it is; sm_builder is what fills it up. */
sm_status sm_version_extend(const sm_version *base, sm_chunk **chunks, uint64_t n, sm_version **out,
                            sm_error *err);
/** A version whose chunk list is base's repeated so many times (benchmarks and tests). */
sm_status sm_version_repeat(const sm_version *base, uint64_t times, sm_version **out,
                            sm_error *err);

/* Collects rows into chunks, choosing encodings when a chunk is full. One thread. */
typedef struct sm_builder sm_builder;
/** Rows will follow base's (NULL: start empty): takes its partial last chunk along and its
 * encodings as a hint. */
sm_status sm_builder_new(sm_mem *m, const sm_table_col *cols, uint32_t n_cols,
                         const sm_version *base, sm_builder **out, sm_error *err);
/** Names the relation in NOT NULL errors; borrowed. */
void sm_builder_set_relation(sm_builder *b, const char *name);
/** One row; text is copied. Values have the column's physical form.
 *  errors  SM_ERR_NOT_NULL, SM_ERR_VARCHAR_LENGTH (the row is not added), out of memory */
sm_status sm_builder_row(sm_builder *b, const sm_value *row, sm_error *err);
/** Live rows of a batch whose columns have the columns' physical forms, data decoded; text is
 * copied. After an error the builder can only be freed. */
sm_status sm_builder_batch(sm_builder *b, const sm_batch *batch, sm_error *err);
/** All rows of another chunk list, e.g. a worker's part, in order. Full chunks are shared when
 * possible. */
sm_status sm_builder_chunk(sm_builder *b, const sm_chunk *chunk, sm_error *err);
/** Rows added so far, base's not counted. */
uint64_t sm_builder_rows(const sm_builder *b);
/** Seals the rest and gives base + all rows as a new version. The builder is freed in any case. */
sm_status sm_builder_finish(sm_builder *b, sm_version **out, sm_error *err);
void sm_builder_free(sm_builder *b);
/** Zero-copy chunk columns from caller memory: data of the physical form, aligned for its element
 * (bool: one byte a value, is repacked; text: sm_text views, whose bytes are borrowed too), valid =
 * Arrow bitmap with a bit offset or NULL (it is copied). release(arg) is called when the last chunk
 * goes, or at once if all was copied; never when the call fails. Narrowing is not done. Min and max
 * are computed. All columns must have n_rows. If base ends in a partial chunk, or a NOT NULL or
 * varchar(n) is violated, rows go through a builder instead (copied, checked). */
typedef struct sm_foreign_col {
    const void *data;
    const uint8_t *valid;
    uint64_t valid_offset;
    void (*release)(void *arg);
    void *release_arg;
} sm_foreign_col;
sm_status sm_version_from_foreign(sm_mem *m, const sm_table_col *cols, uint32_t n_cols,
                                  const sm_foreign_col *data, uint64_t n_rows,
                                  const sm_version *base, sm_version **out, sm_error *err);

/* Named tables of a database. Any thread. */
typedef struct sm_table {
    char *name;
    sm_version *version; /* guarded by the catalog's lock; take it with sm_catalog_snapshot */
    struct sm_table *next;
} sm_table;
typedef struct sm_catalog {
    pthread_mutex_t lock;
    pthread_mutex_t
        write_lock; /* held by a statement that changes tables, from snapshot to publish */
    sm_mem *mem;
    sm_table *tables;
} sm_catalog;
sm_status sm_catalog_init(sm_catalog *c, sm_mem *m, sm_error *err);
void sm_catalog_reset(sm_catalog *c);
/** The current version with a reference; SM_ERR_UNDEFINED_TABLE. */
sm_status sm_catalog_snapshot(sm_catalog *c, const char *name, sm_version **out, sm_error *err);
/** Adds a table (reference taken over); SM_ERR_DUPLICATE_TABLE. */
sm_status sm_catalog_create(sm_catalog *c, const char *name, sm_version *v, sm_error *err);
/** Replaces the version of a table (reference taken over); SM_ERR_UNDEFINED_TABLE. */
sm_status sm_catalog_publish(sm_catalog *c, const char *name, sm_version *v, sm_error *err);
sm_status sm_catalog_drop(sm_catalog *c, const char *name, sm_error *err);

/* Where sm_chunk_col_decode may put what is not in the chunk already. All 64-byte aligned. Codes of
 * a dictionary column cost nothing or one widening, views one gather; so ask for codes alone where
 * the work can be done per dictionary entry, and call sm_dict_gather later if views are needed
 * after all. */
typedef struct sm_decode_room {
    void *data; /* n values of phys + SM_PAD_BYTES; NULL: only values that are views of the chunk, so
                   codes and validity alone of a dictionary or narrow column */
    uint16_t *codes; /* n codes + SM_PAD_BYTES; NULL: codes of a dictionary column are not wanted */
    uint64_t *valid; /* sm_bit_words(n) + 1 words */
} sm_decode_room;

/** Rows [from, from + n) of a column in their physical form; everything is a view of the chunk
 * where it can be. Sets all of vec: data (NULL where it would need room->data and there is none),
 * codes (dictionary columns with room->codes only), valid (NULL = no nulls; a view when from is a
 * multiple of 64, else shifted into room) and phys. phys is the type's own, or I64 for a narrow
 * decimal of more than 18 digits. */
void sm_chunk_col_decode(const sm_chunk_col *c, sm_phys phys, uint32_t from, uint32_t n,
                         const sm_decode_room *room, sm_vec *vec);
/** out[i] = entries[codes[i]] for i < n. */
void sm_dict_gather(const sm_dict *d, const uint16_t *codes, uint32_t n, sm_text *out);
/** One value of the type's physical form; text borrows from the chunk. */
void sm_chunk_col_get(const sm_chunk_col *c, sm_type type, uint32_t row, sm_value *out);

SM_INLINE sm_dict *sm_dict_ref(const sm_dict *d)
{
    sm_dict *own = (sm_dict *)(uintptr_t)d;
    if (own) atomic_fetch_add_explicit(&own->refs, 1, memory_order_relaxed);
    return own;
}
void sm_dict_unref(sm_dict *d);

#endif
