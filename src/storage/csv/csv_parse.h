/* Fields to values: short paths for the usual spellings of each type. Whatever they do not take,
 * valid or not, goes to sm_parse_value, which decides and raises. Internal to the folder. */
#ifndef SM_CSV_PARSE_H
#define SM_CSV_PARSE_H

#include "runtime/format.h"
#include "storage/csv/csv_reader.h"

/** Up to 18 digits with an optional sign. */
SM_INLINE bool sm_csv_fast_int(const sm_csv_field *f, int64_t *out)
{
    const char *s = f->s, *end = s + f->len;
    bool minus = f->len && *s == '-';
    int64_t x = 0;
    s += minus;
    if (s == end || end - s > 18) return false;
    for (; s < end; s++) {
        unsigned digit = (unsigned)(unsigned char)*s - '0';
        if (digit > 9) return false;
        x = x * 10 + digit;
    }
    *out = minus ? -x : x;
    return true;
}

/** Digits with an optional sign and point, no more fraction digits than scale, at most 18 digits
 * when scaled. */
bool sm_csv_fast_decimal(const sm_csv_field *f, unsigned scale, int64_t *out);
/** YYYY-MM-DD of a day that exists. */
bool sm_csv_fast_date(const char *s, uint32_t len, int32_t *out);
/** YYYY-MM-DD HH:MM:SS with an optional fraction of up to 6 digits; T may stand between. */
bool sm_csv_fast_timestamp(const sm_csv_field *f, int64_t *out);

/** A field that is not NULL, as a value of the type; text is borrowed and not checked. */
SM_MUST_CHECK sm_status sm_csv_parse(sm_type type, const sm_csv_field *f, sm_value *out,
                                     sm_error *err);

#endif
