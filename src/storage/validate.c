/* Every invariant that table.h states, checked the slow way: value by value. For debug builds and
 * tests. */
#include "storage/text_heap.h"
#include "storage/table.h"

static int compare(sm_phys p, const sm_value *a, const sm_value *b)
{
    switch (p) {
    case SM_PHYS_F32: return (a->f32 > b->f32) - (a->f32 < b->f32);
    case SM_PHYS_F64: return (a->f64 > b->f64) - (a->f64 < b->f64);
    case SM_PHYS_TEXT: return sm_text_cmp(a->text, b->text);
    default: {
        sm_i128 x = sm_value_int(a, p), y = sm_value_int(b, p);
        return (x > y) - (x < y);
    }
    }
}

static bool is_nan(sm_phys p, const sm_value *v)
{
    return (p == SM_PHYS_F32 && v->f32 != v->f32) || (p == SM_PHYS_F64 && v->f64 != v->f64);
}

static bool encoding_fits(const sm_chunk_col *c, sm_phys p)
{
    unsigned full = p == SM_PHYS_BOOL ? 0 : (unsigned)sm_phys_bytes(p);
    switch (c->enc) {
    case SM_ENC_PLAIN: return c->width == full && !c->dict;
    case SM_ENC_NARROW:
        return p >= SM_PHYS_I16 && p <= SM_PHYS_I128 && c->width < full && c->width <= 8 &&
               (c->width & (c->width - 1)) == 0 && c->width && !c->dict;
    case SM_ENC_DICT:
        return p == SM_PHYS_TEXT && (c->width == 1 || c->width == 2) && c->dict &&
               c->dict->n >= 1 && c->dict->n <= SM_DICT_MAX_ENTRIES;
    default: return false;
    }
}

static bool bits_end_clean(const uint64_t *bits, uint32_t rows)
{
    return rows % 64 == 0 || !(bits[rows / 64] >> (rows % 64));
}

static bool codes_in_range(const sm_chunk_col *c, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t code =
            c->width == 1 ? ((const uint8_t *)c->data)[i] : ((const uint16_t *)c->data)[i];
        if (code >= c->dict->n) return false;
    }
    return true;
}

static bool text_is_canonical(const sm_text *t)
{
    sm_text again = sm_text_view(sm_text_bytes(t), t->len);
    return memcmp(&again, t, sizeof again) == 0;
}

static bool values_agree(const sm_chunk_col *c, sm_type type, uint32_t rows)
{
    sm_phys p = sm_type_phys(type);
    uint32_t nulls = 0;
    bool nan = false, at_min = false, at_max = false;
    for (uint32_t i = 0; i < rows; i++) {
        sm_value v;
        sm_chunk_col_get(c, type, i, &v);
        nulls += v.is_null;
        if (v.is_null) continue;
        nan |= is_nan(p, &v);
        if (p == SM_PHYS_TEXT && !text_is_canonical(&v.text)) return false;
        if (!c->has_minmax) continue;
        if (compare(p, &v, &c->min) < 0 || compare(p, &v, &c->max) > 0) return false;
        at_min |= compare(p, &v, &c->min) == 0;
        at_max |= compare(p, &v, &c->max) == 0;
    }
    if (nulls != c->null_count || (nulls != 0) != (c->valid != NULL)) return false;
    if (c->has_minmax != (nulls < rows && !nan && p != SM_PHYS_IV)) return false;
    return !c->has_minmax || (at_min && at_max);
}

static bool chunk_col_holds(const sm_chunk_col *c, sm_type type, uint32_t rows)
{
    if (!encoding_fits(c, sm_type_phys(type))) return false;
    if (c->valid && ((uintptr_t)c->valid % SM_ALIGN_BYTES || !bits_end_clean(c->valid, rows)))
        return false;
    if (c->padded && (uintptr_t)c->data % SM_ALIGN_BYTES) return false;
    if (sm_type_phys(type) == SM_PHYS_BOOL && !bits_end_clean(c->data, rows)) return false;
    if (c->enc == SM_ENC_DICT && !codes_in_range(c, rows)) return false;
    return values_agree(c, type, rows);
}

static bool version_col_holds(const sm_version *v, uint32_t i)
{
    const sm_table_col *col = &v->cols[i];
    sm_phys p = sm_type_phys(col->type);
    uint64_t nulls = 0;
    bool same = true, dict = v->n_chunks > 0;
    for (uint64_t k = 0; k < v->n_chunks; k++) {
        const sm_chunk_col *c = &v->chunks[k]->cols[i], *first = &v->chunks[0]->cols[i];
        nulls += c->null_count;
        same &= c->enc == first->enc && c->width == first->width;
        dict &= c->enc == SM_ENC_DICT;
        if (col->has_minmax && c->has_minmax &&
            (compare(p, &c->min, &col->min) < 0 || compare(p, &c->max, &col->max) > 0))
            return false;
        if (col->dict && c->enc != SM_ENC_DICT) return false;
        for (uint32_t e = 0; col->dict && e < c->dict->n; e++)
            if (!sm_text_eq(col->dict->entries[e], c->dict->entries[e])) return false;
    }
    if (col->not_null && nulls) return false;
    return nulls == col->null_count && same == col->same_enc && (!col->dict || dict);
}

bool sm_version_validate(const sm_version *v)
{
    uint64_t rows = 0;
    for (uint64_t k = 0; k < v->n_chunks; k++) {
        const sm_chunk *chunk = v->chunks[k];
        if (v->first_row[k] != rows || chunk->n_cols != v->n_cols) return false;
        if (chunk->n_rows < 1 || chunk->n_rows > SM_CHUNK_ROWS || atomic_load(&chunk->refs) < 1)
            return false;
        for (uint32_t i = 0; i < v->n_cols; i++)
            if (!chunk_col_holds(&chunk->cols[i], v->cols[i].type, chunk->n_rows)) return false;
        rows += chunk->n_rows;
    }
    for (uint32_t i = 0; i < v->n_cols; i++)
        if (!version_col_holds(v, i)) return false;
    return rows == v->n_rows;
}
