/* Text form of values, as PostgreSQL prints and reads them. Parsers are strict and locale-free. */
#ifndef SM_FORMAT_H
#define SM_FORMAT_H

#include "error.h"
#include "memory.h"
#include "value.h"

enum { SM_FORMAT_BYTES = 128, SM_TEXT_MAX_BYTES = 1 << 30 }; /* text apart, every value fits */

/** Text of a value that is not NULL and not text; returns its length. Booleans are t and f. */
size_t sm_format_value(sm_type t, const sm_value *v, char out[SM_FORMAT_BYTES]);
/** Parses len bytes as type t; text is borrowed from s.  errors  22P02, 22003, 22007, 22008 */
sm_status sm_parse_value(sm_type t, const char *s, size_t len, sm_value *out, sm_error *err);
/** Parses digits with optional sign, point and exponent into value * 10^scale, half away from zero.
 *  precision  most digits of the result; more is SM_ERR_DECIMAL_RANGE */
sm_status sm_parse_decimal(const char *s, size_t len, unsigned precision, unsigned scale,
                           sm_i128 *out, sm_error *err);
/** Precision and scale that a numeric literal needs, e.g. 1.50 -> 3,2. False if beyond 38 digits.
 */
bool sm_decimal_literal_type(const char *s, size_t len, unsigned *precision, unsigned *scale);
/** 10^n, n <= 38. */
sm_i128 sm_pow10(unsigned n);

/* Dates are PostgreSQL's: 4714-11-24 BC to 5874897-12-31. Timestamps begin there too, and end with
 * int64. */
#define SM_DATE_MIN_DAYS    (-2440588)
#define SM_DATE_MAX_DAYS    2145042905
#define SM_DAY_US           86400000000
#define SM_TIMESTAMP_MIN_US (SM_DATE_MIN_DAYS * SM_DAY_US)

/** Days since 1970-01-01 of a proleptic Gregorian date and back; year 0 is 1 BC. */
int64_t sm_days_from_civil(int64_t year, unsigned month, unsigned day);
void sm_civil_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day);

/* Fields of extract, date_part and date_trunc. */
typedef enum sm_date_field {
#define SM_DATE_FIELD(id, names, scale) SM_FIELD_##id,
#include "date_fields.def"
#undef SM_DATE_FIELD
    SM_N_DATE_FIELDS
} sm_date_field;
/** Field by any of its names, any case. */
bool sm_date_field_find(const char *name, sm_date_field *out);
/** Decimals of extract(field ...): 0, 3 or 6. */
unsigned sm_date_field_scale(sm_date_field f);

#endif
