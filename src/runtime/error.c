/* Raising errors: a status finds its row of errors.def, the row's message is printed into the
 * caller's sm_error. An error that is already there stays, so that the first cause is what the user
 * reads. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct row {
    const char *state;
    const char *message;
} row;

static const row rows[SM_N_STATUS] = {
    [SM_OK] = {"00000", "success"},
#define SM_ERROR(id, state, message) [SM_ERR_##id] = {state, message},
#include "errors.def"
#undef SM_ERROR
};

static const row *row_of(sm_status status)
{
    unsigned i = (unsigned)status;
    return &rows[i < SM_N_STATUS ? i : SM_ERR_INTERNAL];
}

static void fill(sm_error *err, int32_t position, sm_status status, va_list args)
{
    const row *r = row_of(status);
    if (!err || err->status != SM_OK || status == SM_OK) return;
    err->status = status;
    memcpy(err->sqlstate, r->state, sizeof err->sqlstate);
    err->position = position;
    err->hint[0] = 0;
    vsnprintf(err->message, sizeof err->message, r->message, args);
}

sm_status sm_raise(sm_error *err, sm_status status, ...)
{
    va_list args;
    va_start(args, status);
    fill(err, 0, status, args);
    va_end(args);
    return status;
}

sm_status sm_raise_at(sm_error *err, int32_t position, sm_status status, ...)
{
    va_list args;
    va_start(args, status);
    fill(err, position, status, args);
    va_end(args);
    return status;
}

void sm_error_hint(sm_error *err, const char *format, ...)
{
    va_list args;
    if (!err || err->status == SM_OK) return;
    va_start(args, format);
    vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
}

void sm_error_reset(sm_error *err)
{
    if (err) *err = (sm_error){0};
}

const char *sm_status_sqlstate(sm_status status)
{
    return row_of(status)->state;
}

const char *sm_status_message(sm_status status)
{
    return row_of(status)->message;
}
