/* SQL types, and the physical form that a value of each has in registers and vectors.
 * A type is four bytes and passed by value; decimals carry precision and scale in it. */
#ifndef SM_TYPES_H
#define SM_TYPES_H

#include "base.h"

typedef enum sm_type_id {
#define SM_TYPE(id, name, others, phys) SM_##id,
#include "types.def"
#undef SM_TYPE
    SM_UNKNOWN, /* an untyped literal or NULL before the binder has decided */
    SM_N_TYPES
} sm_type_id;

/* How a value lies in memory. The order is relied on: integers ascend in width. */
typedef enum sm_phys {
    SM_PHYS_BOOL, /* uint8_t, 0 or 1, in vectors and values; a bitmap in chunks */
    SM_PHYS_I16,
    SM_PHYS_I32,
    SM_PHYS_I64,
    SM_PHYS_I128,
    SM_PHYS_F32,
    SM_PHYS_F64,
    SM_PHYS_IV,   /* sm_interval */
    SM_PHYS_TEXT, /* sm_text */
    SM_N_PHYS
} sm_phys;

enum { SM_DEC64_DIGITS = 18, SM_DEC_MAX_DIGITS = 38 };

typedef struct sm_type {
    uint8_t id;        /* sm_type_id */
    uint8_t precision; /* decimals: 1..38; otherwise 0 */
    uint8_t scale;     /* decimals: 0..38; otherwise 0 */
    uint8_t flags;     /* SM_TYPE_* */
} sm_type;
static_assert(sizeof(sm_type) == 4, "a type is copied everywhere");

/* numeric written without (p,s): a literal keeps its digits, a column is decimal(38,10). */
enum { SM_TYPE_BARE_DECIMAL = 1 };

SM_INLINE sm_type sm_type_of(sm_type_id id)
{
    return (sm_type){(uint8_t)id, 0, 0, 0};
}
SM_INLINE sm_type sm_decimal(unsigned precision, unsigned scale)
{
    return (sm_type){SM_DECIMAL, (uint8_t)precision, (uint8_t)scale, 0};
}
SM_INLINE bool sm_type_eq(sm_type a, sm_type b)
{
    return a.id == b.id && a.precision == b.precision && a.scale == b.scale;
}
SM_INLINE bool sm_type_is_int(sm_type t)
{
    return t.id >= SM_INT16 && t.id <= SM_INT64;
}
SM_INLINE bool sm_type_is_float(sm_type t)
{
    return t.id == SM_FLOAT32 || t.id == SM_FLOAT64;
}

extern const uint8_t sm_type_phys_rows[SM_N_TYPES];

/** Physical form of a type's values; decimals of at most 18 digits are I64, above I128. */
SM_INLINE sm_phys sm_type_phys(sm_type t)
{
    if (t.id == SM_DECIMAL && t.precision <= SM_DEC64_DIGITS) return SM_PHYS_I64;
    return (sm_phys)sm_type_phys_rows[t.id < SM_N_TYPES ? t.id : SM_TEXT];
}
/** Bytes of one value in a vector: 1, 2, 4, 8 or 16. */
SM_INLINE size_t sm_phys_bytes(sm_phys p)
{
    return p == SM_PHYS_BOOL                      ? 1
           : p == SM_PHYS_I16                     ? 2
           : p == SM_PHYS_I32 || p == SM_PHYS_F32 ? 4
           : p == SM_PHYS_I64 || p == SM_PHYS_F64 ? 8
                                                  : 16;
}
/** Writes the SQL spelling, with precision and scale, e.g. numeric(15,2); returns its length. */
size_t sm_type_name(sm_type t, char *out, size_t out_bytes);
/** Finds a type by any of its SQL names (lower case, no modifiers). False if there is none. */
bool sm_type_find(const char *name, sm_type *out);

#endif
