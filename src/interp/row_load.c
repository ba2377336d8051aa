/* Readers of one value of a chunk column: one for each of the usual encodings, chosen once per
 * morsel; the others go through storage's own. Read row_state.h first. */
#include "interp/row_state.h"

#define READER(name, T, FIELD, VALUE)                                                              \
    static void name(const sm_chunk_col *c, sm_type type, uint32_t row, sm_value *out)             \
    {                                                                                              \
        const T *v = c->data;                                                                      \
        (void)type;                                                                                \
        out->is_null = c->valid && !sm_bit_get(c->valid, row);                                     \
        out->FIELD = VALUE;                                                                        \
    }
#define BASED(T)                (T)(int64_t)((uint64_t)c->base + (uint64_t)v[row])
#define NARROW(T, width, FIELD) READER(narrow_##FIELD##_##width, T, FIELD, BASED(sm_##FIELD))
typedef int16_t sm_i16;
typedef int32_t sm_i32;
typedef int64_t sm_i64;
#define NARROWS(FIELD)                                                                             \
    NARROW(uint8_t, 1, FIELD)                                                                      \
    NARROW(uint16_t, 2, FIELD)                                                                     \
    NARROW(uint32_t, 4, FIELD)
NARROWS(i16)
NARROWS(i32)
NARROWS(i64)
NARROWS(i128)
READER(plain_i32, int32_t, i32, v[row])
READER(plain_i64, int64_t, i64, v[row])
READER(plain_f64, double, f64, v[row])
READER(dict_1, uint8_t, text, c->dict->entries[v[row]])
READER(dict_2, uint16_t, text, c->dict->entries[v[row]])

typedef void (*reader)(const sm_chunk_col *c, sm_type type, uint32_t row, sm_value *out);

static reader narrow_reader(sm_phys phys, unsigned width)
{
#define WIDTHS(FIELD)                                                                              \
    {                                                                                              \
        NULL, narrow_##FIELD##_1, narrow_##FIELD##_2, NULL, narrow_##FIELD##_4                     \
    }
    static const reader readers[SM_N_PHYS][5] = {[SM_PHYS_I16] = WIDTHS(i16),
                                                 [SM_PHYS_I32] = WIDTHS(i32),
                                                 [SM_PHYS_I64] = WIDTHS(i64),
                                                 [SM_PHYS_I128] = WIDTHS(i128)};
    return width > 4 ? NULL : readers[phys][width];
}

static reader plain_reader(sm_phys phys)
{
    switch (phys) {
    case SM_PHYS_I32: return plain_i32;
    case SM_PHYS_I64: return plain_i64;
    case SM_PHYS_F64: return plain_f64;
    default: return NULL;
    }
}

void sm_row_load_choose(sm_row_load *l, const sm_chunk *chunk)
{
    const sm_chunk_col *c = l->col = &chunk->cols[l->column];
    reader get = NULL;
    switch (c->enc) {
    case SM_ENC_PLAIN: get = plain_reader(sm_type_phys(l->type)); break;
    case SM_ENC_NARROW: get = narrow_reader(sm_type_phys(l->type), c->width); break;
    default: get = c->width == 1 ? dict_1 : dict_2; break;
    }
    l->get = get ? get : sm_chunk_col_get;
}
