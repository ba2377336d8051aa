/* One column of the chunk that a builder is filling: a growable typed buffer, and the dictionary
 * that text goes through while it pays. Internal to storage: the CSV loader writes whole runs of
 * values straight into it. */
#ifndef SM_BUILD_COL_H
#define SM_BUILD_COL_H

#include "storage/table.h"
#include "storage/text_heap.h"

/* A dictionary that is looked up and grown. Costs nothing before the first new text. */
typedef struct sm_dict_build {
    const sm_dict *base; /* entries [0, base->n) are its; NULL = none */
    sm_text *entries;    /* all n, once something was looked up */
    uint32_t n, cap;
    uint32_t *slots; /* code + 1 by hash; 0 = free */
    uint32_t n_slots;
    sm_text_heap *heap; /* bytes of the entries beyond base */
} sm_dict_build;

enum { SM_DICT_FULL = UINT32_MAX };

/** Code of t, which is added (and copied) if it is new; SM_DICT_FULL when there is no room for it. */
SM_MUST_CHECK sm_status sm_dict_build_code(sm_dict_build *d, sm_mem *m, sm_text t, uint32_t *code,
                                           sm_error *err);
/** The entries so far as a shared dictionary (base itself if nothing was added). */
SM_MUST_CHECK sm_status sm_dict_build_share(sm_dict_build *d, sm_mem *m, sm_dict **out,
                                            sm_error *err);
void sm_dict_build_reset(sm_dict_build *d, sm_mem *m);
SM_INLINE const sm_text *sm_dict_build_entries(const sm_dict_build *d)
{
    return d->entries ? d->entries : d->base ? d->base->entries : NULL;
}

typedef struct sm_build_col {
    sm_phys phys;
    sm_type type;
    bool not_null;
    uint32_t max_chars;
    const char *name; /* the builder's copy */
    /* values of the chunk being filled: int64_t for all integers up to 64 bits; uint16_t codes for
     * text while dict is set; else the physical form */
    void *data;
    uint32_t value_bytes;
    uint32_t cap;    /* rows */
    uint64_t *valid; /* cap bits, 1 beyond the rows; NULL while nothing is NULL */
    bool dict;
    sm_dict_build words;
    sm_text_heap *heap; /* plain text's bytes */
    /* encoding of the chunk before: the next is at least as wide */
    bool has_hint;
    uint8_t hint_enc, hint_width;
} sm_build_col;

/** Makes room for rows values (and their validity, if any). */
SM_MUST_CHECK sm_status sm_build_col_reserve(sm_build_col *c, sm_mem *m, uint32_t rows,
                                             sm_error *err);
/** Marks row as NULL; its value is set to zeros (codes: entry 0, which is made if need be). */
SM_MUST_CHECK sm_status sm_build_col_null(sm_build_col *c, sm_mem *m, uint32_t row, sm_error *err);
/** Stores a text, copied; cuts or refuses what is longer than varchar(n). */
SM_MUST_CHECK sm_status sm_build_col_text(sm_build_col *c, sm_mem *m, uint32_t row, sm_text t,
                                          sm_error *err);
/** What sm_build_col_text does about varchar(n): cuts blanks off *t.  errors  SM_ERR_VARCHAR_LENGTH */
SM_MUST_CHECK sm_status sm_build_fit_varchar(uint32_t max_chars, sm_text *t, sm_error *err);
/** Leaves the dictionary for good: codes become views. */
SM_MUST_CHECK sm_status sm_build_col_to_plain(sm_build_col *c, sm_mem *m, uint32_t rows,
                                              sm_error *err);
/** Forgets rows from `rows` on. */
void sm_build_col_truncate(sm_build_col *c, uint32_t rows);
/** Writes rows [0, rows) as a chunk column; the dictionary is set later. out is zeroed. */
SM_MUST_CHECK sm_status sm_build_col_seal(sm_build_col *c, sm_mem *m, uint32_t rows,
                                          sm_chunk_col *out, sm_error *err);
/** Stores a narrow or dictionary column of rows values in twice its width. */
SM_MUST_CHECK sm_status sm_chunk_col_widen(sm_chunk_col *c, sm_mem *m, uint32_t rows, sm_error *err);
void sm_build_col_reset(sm_build_col *c, sm_mem *m);

/* ---- what the CSV loader needs of a builder ---- */

struct sm_builder {
    sm_mem *mem;
    sm_version *base;  /* rows come after its; NULL = none */
    bool tail_pending; /* base's partial last chunk is not loaded yet */
    bool tail_taken;   /* it was: the new version leaves it out */
    uint32_t n_cols;
    uint32_t n_rows; /* of the chunk being filled */
    uint64_t added_rows;
    sm_build_col *cols;
    sm_table_col *defs; /* names, types, constraints */
    sm_chunk **chunks;  /* sealed */
    uint64_t n_chunks, cap_chunks;
    const char *relation;
};

/** Room for up to `want` further rows in all columns; *room is how many fit before the chunk is
 * full (>= 1). */
SM_MUST_CHECK sm_status sm_builder_room(sm_builder *b, uint32_t want, uint32_t *room,
                                        sm_error *err);
/** Counts n rows, written to all columns at [n_rows, n_rows + n), as added; seals a chunk that is
 * full. */
SM_MUST_CHECK sm_status sm_builder_commit(sm_builder *b, uint32_t n, sm_error *err);
/** The error of a NULL in a NOT NULL column. */
sm_status sm_builder_raise_null(const sm_builder *b, uint32_t col, sm_error *err);

/* ---- what makes versions ---- */

/** New chunk, one reference, columns zeroed. */
SM_MUST_CHECK sm_status sm_chunk_new(sm_mem *m, uint32_t n_rows, uint32_t n_cols, sm_chunk **out,
                                     sm_error *err);
/** A version of base's first `keep` chunks (base may be NULL) and n further ones, whose references
 * are taken over, also on failure. */
SM_MUST_CHECK sm_status sm_version_assemble(sm_mem *m, const sm_table_col *cols, uint32_t n_cols,
                                            const sm_version *base, uint64_t keep,
                                            sm_chunk **chunks, uint64_t n, sm_version **out,
                                            sm_error *err);

#endif
