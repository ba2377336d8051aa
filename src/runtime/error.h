/* Statuses and errors. A status is a row of errors.def; 0 is success. The detail (SQLSTATE,
 * message, hint, position) is written to the caller's sm_error, which may be NULL. The first error
 * written stays. */
#ifndef SM_ERROR_H
#define SM_ERROR_H

#include "base.h"

typedef enum sm_status {
    SM_OK = 0,
#define SM_ERROR(id, state, message) SM_ERR_##id,
#include "errors.def"
#undef SM_ERROR
    SM_N_STATUS
} sm_status;

enum { SM_MESSAGE_BYTES = 512, SM_HINT_BYTES = 256 };

typedef struct sm_error {
    sm_status status;
    char sqlstate[6];
    int32_t position; /* 1-based, in characters of the statement; 0 = unknown */
    char message[SM_MESSAGE_BYTES];
    char hint[SM_HINT_BYTES]; /* "" = none */
} sm_error;

/** Fills err (if not NULL and still empty) from the status' row and the arguments of its message.
 *  returns  the status, so that `return sm_raise(...)` reads well */
sm_status sm_raise(sm_error *err, sm_status status, ...);
/** As sm_raise, with a 1-based character position. */
sm_status sm_raise_at(sm_error *err, int32_t position, sm_status status, ...);
/** Adds a hint to an error already raised. */
void sm_error_hint(sm_error *err, const char *format, ...) SM_PRINTF(2, 3);
void sm_error_reset(sm_error *err);
const char *sm_status_sqlstate(sm_status status);
/** The row's message, with its printf conversions unexpanded. */
const char *sm_status_message(sm_status status);

/* Passes a failure on. */
#define SM_TRY(call)                                                                               \
    do {                                                                                           \
        sm_status sm_try_status_ = (call);                                                         \
        if (SM_UNLIKELY(sm_try_status_ != SM_OK)) return sm_try_status_;                           \
    } while (0)

#endif
