/* From a chunk's column to vectors and values: views where the chunk already holds the physical
 * form, else one widening loop of the host's instruction-set level. */
#include "storage/kernels.h"
#include "storage/table.h"

static const uint64_t *decode_valid(const sm_chunk_col *c, uint32_t from, uint32_t n,
                                    uint64_t *room)
{
    const uint64_t *words;
    unsigned shift = from & 63;
    if (!c->valid) return NULL;
    words = c->valid + (from >> 6);
    if (!shift) return words;
    /* own bitmaps are padded, so the word after the last may be read */
    for (size_t w = 0; w < sm_bit_words(n); w++)
        room[w] = words[w] >> shift | words[w + 1] << (64 - shift);
    return room;
}

void sm_dict_gather(const sm_dict *d, const uint16_t *codes, uint32_t n, sm_text *out)
{
    const sm_text *entries = d->entries;
    for (uint32_t i = 0; i < n; i++) out[i] = entries[codes[i]];
}

static void gather_bytes(const sm_dict *d, const uint8_t *codes, uint32_t n, sm_text *out)
{
    const sm_text *entries = d->entries;
    for (uint32_t i = 0; i < n; i++) out[i] = entries[codes[i]];
}

static void decode_dict(const sm_chunk_col *c, uint32_t from, uint32_t n,
                        const sm_decode_room *room, sm_vec *vec)
{
    const uint8_t *stored = (const uint8_t *)c->data + (size_t)from * c->width;
    if (room->codes) {
        if (c->width == 1) sm_column_kernels_get()->widen_codes(stored, n, room->codes);
        vec->codes = c->width == 1 ? room->codes : (const uint16_t *)(const void *)stored;
    }
    if (!room->data) return;
    vec->data = room->data;
    if (c->width == 1)
        gather_bytes(c->dict, stored, n, room->data);
    else
        sm_dict_gather(c->dict, (const uint16_t *)(const void *)stored, n, room->data);
}

void sm_chunk_col_decode(const sm_chunk_col *c, sm_phys phys, uint32_t from, uint32_t n,
                         const sm_decode_room *room, sm_vec *vec)
{
    const char *stored = (const char *)c->data + (size_t)from * c->width;
    *vec = (sm_vec){.phys = phys, .valid = decode_valid(c, from, n, room->valid)};
    if (c->enc == SM_ENC_DICT) {
        decode_dict(c, from, n, room, vec);
    } else if (c->enc == SM_ENC_NARROW) {
        vec->data = room->data;
        if (!room->data) return;
        sm_column_kernels_get()->widen[__builtin_ctz(c->width)][phys - SM_PHYS_I16](stored, c->base,
                                                                                    n, room->data);
    } else if (phys == SM_PHYS_BOOL) {
        vec->data = room->data;
        if (!room->data) return;
        sm_column_kernels_get()->unpack_bits(c->data, from, n, room->data);
    } else {
        vec->data = (void *)(uintptr_t)stored;
    }
}

static int64_t stored_at(const sm_chunk_col *c, uint32_t row)
{
    switch (c->width) {
    case 1: return ((const uint8_t *)c->data)[row];
    case 2: return ((const uint16_t *)c->data)[row];
    case 4: return ((const uint32_t *)c->data)[row];
    default: return (int64_t)((const uint64_t *)c->data)[row];
    }
}

static void get_narrow(const sm_chunk_col *c, sm_phys phys, uint32_t row, sm_value *out)
{
    int64_t x = (int64_t)((uint64_t)c->base + (uint64_t)stored_at(c, row));
    switch (phys) {
    case SM_PHYS_I16: out->i16 = (int16_t)x; break;
    case SM_PHYS_I32: out->i32 = (int32_t)x; break;
    case SM_PHYS_I64: out->i64 = x; break;
    default: out->i128 = x; break;
    }
}

void sm_chunk_col_get(const sm_chunk_col *c, sm_type type, uint32_t row, sm_value *out)
{
    sm_phys phys = sm_type_phys(type);
    *out = (sm_value){.is_null = c->valid && !sm_bit_get(c->valid, row)};
    if (out->is_null) return;
    if (c->enc == SM_ENC_DICT) {
        out->text = c->dict->entries[stored_at(c, row)];
        return;
    }
    if (c->enc == SM_ENC_NARROW) {
        get_narrow(c, phys, row, out);
        return;
    }
    switch (phys) {
    case SM_PHYS_BOOL: out->b = sm_bit_get(c->data, row); break;
    case SM_PHYS_I16: out->i16 = ((const int16_t *)c->data)[row]; break;
    case SM_PHYS_I32: out->i32 = ((const int32_t *)c->data)[row]; break;
    case SM_PHYS_I64: out->i64 = ((const int64_t *)c->data)[row]; break;
    case SM_PHYS_I128: out->i128 = ((const sm_i128 *)c->data)[row]; break;
    case SM_PHYS_F32: out->f32 = ((const float *)c->data)[row]; break;
    case SM_PHYS_F64: out->f64 = ((const double *)c->data)[row]; break;
    case SM_PHYS_IV: out->iv = ((const sm_interval *)c->data)[row]; break;
    default: out->text = ((const sm_text *)c->data)[row]; break;
    }
}
