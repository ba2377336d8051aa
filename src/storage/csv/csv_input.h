/* Bytes of a file, plain or gzip, into a reader's window. Internal to the folder. */
#ifndef SM_CSV_INPUT_H
#define SM_CSV_INPUT_H

#include "storage/csv/csv_reader.h"

SM_MUST_CHECK sm_status sm_csv_input_open(sm_csv_reader *r, sm_error *err);
/** Reads more behind r->end, at least a byte unless it sets eof; there must be room. */
SM_MUST_CHECK sm_status sm_csv_input_fill(sm_csv_reader *r, sm_error *err);
void sm_csv_input_close(sm_csv_reader *r);

#endif
