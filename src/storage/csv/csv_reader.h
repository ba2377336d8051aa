/* Records of a CSV stream, a few hundred at a time, as fields that point into the reader's buffer.
 * Internal to the folder. A field is already unquoted; what it was in the file is known from its
 * record's raw bytes. */
#ifndef SM_CSV_READER_H
#define SM_CSV_READER_H

#include <zlib.h>

#include "storage/csv/csv.h"

typedef struct sm_csv_field {
    const char *s;
    uint32_t len;
    bool is_null; /* equal to the null text, and not quoted */
} sm_csv_field;

typedef struct sm_csv_record {
    uint64_t line; /* 1-based, where the record begins */
    uint32_t first_field, n_fields;
    const char *raw;
    size_t raw_len; /* without the line end */
} sm_csv_record;

typedef enum sm_csv_eol { SM_EOL_UNKNOWN, SM_EOL_LF, SM_EOL_CR } sm_csv_eol; /* LF: and CRLF */

typedef struct sm_csv_reader {
    sm_mem *mem;
    const sm_csv_options *o;
    const char *path;
    size_t null_len;
    int fd;
    bool gzip, in_stream; /* in_stream: inside a gzip member */
    z_stream z;
    char *in; /* gzip: compressed bytes */
    /* the window: [at, end) is unread; SM_PAD_BYTES behind cap are readable */
    char *buf;
    size_t cap, at, end;
    bool eof;
    sm_csv_eol eol;
    uint64_t line;
    /* special bytes found in [.., scanned), from index special on; positions count from
     * special_base */
    uint32_t *specials;
    uint32_t n_specials, special;
    size_t special_base, scanned;
    char special_bytes[5];
    /* the records of this call */
    sm_csv_record *records;
    sm_csv_field *fields;
    uint32_t n_records, cap_records, n_fields, cap_fields;
    sm_arena scratch; /* fields that had to be unescaped */
    /* a failure that belongs to one record, met after n_records good ones; cleared by
     * sm_csv_reader_skip_line */
    const char *bad_record; /* message; NULL = none */
} sm_csv_reader;

enum { SM_CSV_BATCH_RECORDS = 256 };

/** errors  SM_ERR_FILE_MISSING, SM_ERR_IO */
SM_MUST_CHECK sm_status sm_csv_reader_open(sm_csv_reader *r, sm_mem *m, const char *path,
                                           const sm_csv_options *o, sm_error *err);
/** Up to max further records; none at the end. Those of the call before are gone.
 *  A record that cannot be told apart (bad_record) ends the call and every later one until it is
 * skipped. */
SM_MUST_CHECK sm_status sm_csv_reader_next(sm_csv_reader *r, uint32_t max, sm_error *err);
/** Skips the line at which a bad record begins; gives that line, good until the next call. */
SM_MUST_CHECK sm_status sm_csv_reader_skip_line(sm_csv_reader *r, sm_csv_record *line,
                                                sm_error *err);
void sm_csv_reader_close(sm_csv_reader *r);

/** Whether len bytes are UTF-8. */
bool sm_csv_is_utf8(const char *s, size_t len);

/** Appends " (line L, column c: "text")" to an error that was raised; column and field may be NULL. */
void sm_csv_error_where(sm_error *err, uint64_t line, const char *column,
                        const sm_csv_field *field);

#endif
