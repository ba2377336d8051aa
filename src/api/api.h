/* What the files of this folder share: the handles behind smelt.h, and the way of errors out. */
#ifndef SM_API_H
#define SM_API_H

#include "exec/statement.h"
#include "runtime/decimal.h"
#include "runtime/format.h"
#include "smelt.h"

struct smelt_db {
    sm_engine engine;
};

struct smelt_stmt {
    smelt_db *db;
    sm_statement *statement;
    sm_value *params; /* bound.n_params; text is in texts */
    sm_arena texts;
    sm_control control;
    double bind_ms;
};

struct smelt_result {
    smelt_db *db;
    sm_outcome outcome;
    double total_ms, bind_ms;
    uint64_t row;   /* rows stepped over; the current row is row - 1 */
    uint64_t chunk; /* of the current row */
    uint64_t next_chunk, next_row; /* of smelt_result_batch */
    sm_arena scratch; /* of the current batch */
    char text[SM_FORMAT_BYTES];
    smelt_column *columns;
};

/** Copies an internal error out and gives its public status. */
smelt_status sm_api_error(sm_status s, const sm_error *from, smelt_error *to);
/** A misuse, told as such. */
smelt_status sm_api_misuse(smelt_error *err, const char *message);
/** Runs a bound statement and makes its result (NULL: dropped). */
smelt_status sm_api_run(smelt_stmt *stmt, const smelt_options *options, smelt_result **result, smelt_error *err);
smelt_type sm_api_type(sm_type t);
bool sm_api_type_in(smelt_type t, sm_type *out);

#endif
