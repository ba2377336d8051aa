/* The text of a statement: its tokens as far as splitting needs them, and byte offsets as character
 * positions. */
#ifndef SM_SQL_TEXT_H
#define SM_SQL_TEXT_H

#include "runtime/error.h"
#include "runtime/memory.h"

typedef enum sm_tok_kind {
    SM_TOK_END,
    SM_TOK_WORD,   /* identifier or keyword, unquoted */
    SM_TOK_QUOTED, /* "identifier" */
    SM_TOK_STRING, /* '...', e'...', $tag$...$tag$ */
    SM_TOK_NUMBER,
    SM_TOK_PARAM, /* $1 */
    SM_TOK_PIPE,  /* |> */
    SM_TOK_OTHER  /* one character, or || */
} sm_tok_kind;

typedef struct sm_tok {
    sm_tok_kind kind;
    size_t start, end; /* bytes of the text */
} sm_tok;

/** The next token of text[0, bytes) from *at on, past white space and comments; moves *at behind
 * it. Lexes as PostgreSQL does; a quote that is never closed reaches to the end. */
sm_tok sm_tok_next(const char *text, size_t bytes, size_t *at);
/** Is the token this word, in any case? */
bool sm_tok_is(const char *text, sm_tok t, const char *word);

/* Character numbers of a text, found in constant time. */
typedef struct sm_chars {
    const char *text;
    size_t bytes;
    bool ascii;
    uint32_t *before; /* characters before every 256th byte; NULL if ascii */
} sm_chars;

/** Checks text (not empty of NULs, valid UTF-8, no identifier beyond 63 bytes) and prepares c.
 *  errors  SM_ERR_SYNTAX, SM_ERR_BAD_ENCODING, SM_ERR_NAME_TOO_LONG, each with its position */
sm_status sm_chars_init(sm_chars *c, sm_arena *a, const char *text, size_t bytes, sm_error *err);
/** Position, from 1, of the character at a byte; bytes beyond the end count as the end. */
int32_t sm_chars_at(const sm_chars *c, size_t byte);
/** The byte of a position, from 1. */
size_t sm_chars_byte(const sm_chars *c, int32_t position);

#endif
