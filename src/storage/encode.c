/* Sealing a builder's column into a chunk: statistics first, then the smallest encoding that is no
 * narrower than the chunk's before, so that a column keeps one signature where that costs little.
 * What lies under a NULL takes the smallest value, so that the loops need not know about NULLs. */
#include "storage/build_col.h"
#include "storage/kernels.h"

static uint32_t count_nulls(const uint64_t *valid, uint32_t rows)
{
    uint32_t set = 0, whole = rows / 64;
    for (uint32_t w = 0; w < whole; w++) set += (uint32_t)__builtin_popcountll(valid[w]);
    if (rows % 64) set += (uint32_t)__builtin_popcountll(valid[whole] << (64 - rows % 64));
    return rows - set;
}

static sm_status seal_valid(const sm_build_col *c, sm_mem *m, uint32_t rows, sm_chunk_col *out,
                            sm_error *err)
{
    size_t words = sm_bit_words(rows);
    uint64_t *bits;
    out->null_count = c->valid ? count_nulls(c->valid, rows) : 0;
    if (!out->null_count) return SM_OK;
    SM_TRY(sm_buffer_new(m, words * 8, "table chunk", &out->valid_buf, err));
    bits = (uint64_t *)(void *)out->valid_buf->data;
    memcpy(bits, c->valid, words * 8);
    if (rows % 64) bits[words - 1] &= ~(uint64_t)0 >> (64 - rows % 64);
    out->valid = bits;
    return SM_OK;
}

static sm_status new_data(sm_mem *m, uint32_t rows, unsigned width, sm_enc enc, sm_chunk_col *out,
                          sm_error *err)
{
    SM_TRY(sm_buffer_new(m, (size_t)rows * width, "table chunk", &out->data_buf, err));
    out->enc = (uint8_t)enc;
    out->width = (uint8_t)width;
    out->data = out->data_buf->data;
    out->padded = true;
    return SM_OK;
}

static uint32_t first_present(const sm_chunk_col *out)
{
    uint32_t w = 0;
    if (!out->valid) return 0;
    while (!out->valid[w]) w++;
    return w * 64 + (uint32_t)__builtin_ctzll(out->valid[w]);
}

/* Runs body with i at every NULL of the chunk. */
#define FOR_NULLS(out, rows, body)                                                                 \
    for (uint32_t w_ = 0; (out)->valid && w_ < sm_bit_words(rows); w_++) {                         \
        uint64_t gone_ = ~(out)->valid[w_];                                                        \
        if (w_ == (rows) / 64) gone_ &= ((uint64_t)1 << ((rows)&63)) - 1;                          \
        for (; gone_; gone_ &= gone_ - 1) {                                                        \
            uint32_t i = w_ * 64 + (uint32_t)__builtin_ctzll(gone_);                               \
            body;                                                                                  \
        }                                                                                          \
    }

static unsigned log2_width(uint64_t span)
{
    return span > UINT32_MAX ? 3 : span > UINT16_MAX ? 2 : span > UINT8_MAX ? 1 : 0;
}

static void set_int(sm_value *v, sm_phys p, sm_i128 x)
{
    *v = (sm_value){.is_null = false};
    switch (p) {
    case SM_PHYS_I16: v->i16 = (int16_t)x; break;
    case SM_PHYS_I32: v->i32 = (int32_t)x; break;
    case SM_PHYS_I64: v->i64 = (int64_t)x; break;
    default: v->i128 = x; break;
    }
}

/* v is int64 whatever the column's form is; plain columns are cut to it. */
static sm_status encode_ints(const sm_build_col *c, sm_mem *m, const int64_t *v, uint32_t rows,
                             int64_t lo, int64_t hi, sm_chunk_col *out, sm_error *err)
{
    const sm_column_kernels *k = sm_column_kernels_get();
    unsigned full = (unsigned)__builtin_ctz((unsigned)sm_phys_bytes(c->phys));
    unsigned log2 = log2_width((uint64_t)hi - (uint64_t)lo);
    if (c->has_hint && c->hint_enc == SM_ENC_NARROW && (1u << log2) < c->hint_width)
        log2 = (unsigned)__builtin_ctz(c->hint_width);
    if (log2 >= full || (c->has_hint && c->hint_enc == SM_ENC_PLAIN)) {
        SM_TRY(new_data(m, rows, 1u << full, SM_ENC_PLAIN, out, err));
        if (c->phys == SM_PHYS_I128)
            k->widen[3][3](v, 0, rows, out->data_buf->data);
        else
            k->narrow[full](v, 0, rows, out->data_buf->data);
        return SM_OK;
    }
    SM_TRY(new_data(m, rows, 1u << log2, SM_ENC_NARROW, out, err));
    out->base = lo;
    k->narrow[log2](v, lo, rows, out->data_buf->data);
    return SM_OK;
}

static sm_status seal_ints(sm_build_col *c, sm_mem *m, uint32_t rows, sm_chunk_col *out,
                           sm_error *err)
{
    int64_t *v = c->data, lo = 0, hi = 0;
    if (out->null_count < rows) {
        int64_t some = v[first_present(out)];
        FOR_NULLS(out, rows, v[i] = some)
        sm_column_kernels_get()->minmax_i64(v, rows, &lo, &hi);
        FOR_NULLS(out, rows, v[i] = lo)
        out->has_minmax = true;
        set_int(&out->min, c->phys, lo);
        set_int(&out->max, c->phys, hi);
    }
    return encode_ints(c, m, v, rows, lo, hi, out, err);
}

static sm_status seal_i128(sm_build_col *c, sm_mem *m, uint32_t rows, sm_chunk_col *out,
                           sm_error *err)
{
    sm_i128 *v = c->data, lo = 0, hi = 0;
    if (out->null_count < rows) {
        lo = hi = v[first_present(out)];
        for (uint32_t i = 0; i < rows; i++) {
            if (out->valid && !sm_bit_get(out->valid, i)) continue;
            lo = v[i] < lo ? v[i] : lo;
            hi = v[i] > hi ? v[i] : hi;
        }
        FOR_NULLS(out, rows, v[i] = lo)
        out->has_minmax = true;
        set_int(&out->min, c->phys, lo);
        set_int(&out->max, c->phys, hi);
    }
    if (lo >= INT64_MIN && hi <= INT64_MAX && !(c->has_hint && c->hint_enc == SM_ENC_PLAIN)) {
        /* packed in place: the low half of value i is written behind all that is still read */
        int64_t *low = c->data;
        for (uint32_t i = 0; i < rows; i++) {
            int64_t x = (int64_t)v[i];
            memcpy(low + i, &x, sizeof x);
        }
        return encode_ints(c, m, low, rows, (int64_t)lo, (int64_t)hi, out, err);
    }
    SM_TRY(new_data(m, rows, sizeof *v, SM_ENC_PLAIN, out, err));
    memcpy(out->data_buf->data, v, rows * sizeof *v);
    return SM_OK;
}

static sm_status seal_floats(sm_build_col *c, sm_mem *m, uint32_t rows, sm_chunk_col *out,
                             sm_error *err)
{
    const sm_column_kernels *k = sm_column_kernels_get();
    SM_TRY(new_data(m, rows, c->value_bytes, SM_ENC_PLAIN, out, err));
    if (out->null_count < rows) {
        uint32_t some = first_present(out);
        if (c->phys == SM_PHYS_F32) {
            float *v = c->data, x = v[some];
            FOR_NULLS(out, rows, v[i] = x)
            out->has_minmax = k->minmax_f32(v, rows, &out->min.f32, &out->max.f32);
            FOR_NULLS(out, rows, v[i] = 0)
        } else {
            double *v = c->data, x = v[some];
            FOR_NULLS(out, rows, v[i] = x)
            out->has_minmax = k->minmax_f64(v, rows, &out->min.f64, &out->max.f64);
            FOR_NULLS(out, rows, v[i] = 0)
        }
    }
    memcpy(out->data_buf->data, c->data, (size_t)rows * c->value_bytes);
    return SM_OK;
}

static sm_status seal_bools(const sm_build_col *c, sm_mem *m, uint32_t rows, sm_chunk_col *out,
                            sm_error *err)
{
    const uint8_t *v = c->data;
    uint32_t set = 0, present = rows - out->null_count;
    uint64_t *bits;
    SM_TRY(sm_buffer_new(m, sm_bit_words(rows) * 8, "table chunk", &out->data_buf, err));
    bits = (uint64_t *)(void *)out->data_buf->data;
    sm_column_kernels_get()->pack_bits(v, rows, bits);
    for (size_t w = 0; w < sm_bit_words(rows); w++) set += (uint32_t)__builtin_popcountll(bits[w]);
    out->enc = SM_ENC_PLAIN;
    out->data = bits;
    out->padded = true;
    out->has_minmax = present > 0;
    out->min.b = present && set == present; /* what is under a NULL is false */
    out->max.b = set > 0;
    return SM_OK;
}

static void take_minmax(sm_chunk_col *out, sm_text t)
{
    if (!out->has_minmax || sm_text_cmp(t, out->min.text) < 0) out->min.text = t;
    if (!out->has_minmax || sm_text_cmp(t, out->max.text) > 0) out->max.text = t;
    out->has_minmax = true;
}

static sm_status seal_codes(sm_build_col *c, sm_mem *m, uint32_t rows, sm_chunk_col *out,
                            sm_error *err)
{
    const uint16_t *codes = c->data;
    const sm_text *entries = sm_dict_build_entries(&c->words);
    uint32_t n = c->words.entries ? c->words.n : c->words.base->n;
    unsigned width =
        n > 256 || (c->has_hint && c->hint_enc == SM_ENC_DICT && c->hint_width == 2) ? 2 : 1;
    uint64_t seen[SM_DICT_MAX_ENTRIES / 64];
    memset(seen, 0, sm_bit_words(n) * 8);
    SM_TRY(new_data(m, rows, width, SM_ENC_DICT, out, err));
    if (width == 2) {
        memcpy(out->data_buf->data, codes, rows * sizeof *codes);
    } else {
        uint8_t *to = (uint8_t *)out->data_buf->data;
        for (uint32_t i = 0; i < rows; i++) to[i] = (uint8_t)codes[i];
    }
    for (uint32_t i = 0; i < rows; i++)
        if (!out->valid || sm_bit_get(out->valid, i)) sm_bit_set(seen, codes[i]);
    for (size_t w = 0; w < sm_bit_words(n); w++)
        for (uint64_t bits = seen[w]; bits; bits &= bits - 1)
            take_minmax(out, entries[w * 64 + (size_t)__builtin_ctzll(bits)]);
    return SM_OK;
}

static sm_status seal_views(sm_build_col *c, sm_mem *m, uint32_t rows, sm_chunk_col *out,
                            sm_error *err)
{
    const sm_text *v = c->data;
    SM_TRY(new_data(m, rows, sizeof *v, SM_ENC_PLAIN, out, err));
    memcpy(out->data_buf->data, v, rows * sizeof *v);
    for (uint32_t i = 0; i < rows; i++)
        if (!out->valid || sm_bit_get(out->valid, i)) take_minmax(out, v[i]);
    out->heap = c->heap;
    c->heap = NULL;
    return SM_OK;
}

static sm_status seal_plain(sm_build_col *c, sm_mem *m, uint32_t rows, sm_chunk_col *out,
                            sm_error *err)
{
    SM_TRY(new_data(m, rows, c->value_bytes, SM_ENC_PLAIN, out, err));
    memcpy(out->data_buf->data, c->data, (size_t)rows * c->value_bytes);
    return SM_OK;
}

sm_status sm_build_col_seal(sm_build_col *c, sm_mem *m, uint32_t rows, sm_chunk_col *out,
                            sm_error *err)
{
    SM_TRY(seal_valid(c, m, rows, out, err));
    switch (c->phys) {
    case SM_PHYS_I16:
    case SM_PHYS_I32:
    case SM_PHYS_I64: SM_TRY(seal_ints(c, m, rows, out, err)); break;
    case SM_PHYS_I128: SM_TRY(seal_i128(c, m, rows, out, err)); break;
    case SM_PHYS_F32:
    case SM_PHYS_F64: SM_TRY(seal_floats(c, m, rows, out, err)); break;
    case SM_PHYS_BOOL: SM_TRY(seal_bools(c, m, rows, out, err)); break;
    case SM_PHYS_TEXT:
        SM_TRY(c->dict ? seal_codes(c, m, rows, out, err) : seal_views(c, m, rows, out, err));
        break;
    default: SM_TRY(seal_plain(c, m, rows, out, err)); break;
    }
    c->has_hint = true;
    c->hint_enc = out->enc;
    c->hint_width = out->width;
    sm_build_col_truncate(c, 0);
    return SM_OK;
}

/* Stored values are unsigned and fit half the new width, so signed widening from base 0 gives their
 * bits. */
sm_status sm_chunk_col_widen(sm_chunk_col *c, sm_mem *m, uint32_t rows, sm_error *err)
{
    unsigned log2 = (unsigned)__builtin_ctz(c->width);
    sm_buffer *wide;
    SM_TRY(sm_buffer_new(m, (size_t)rows * c->width * 2, "table chunk", &wide, err));
    sm_column_kernels_get()->widen[log2][log2](c->data, 0, rows, wide->data);
    sm_buffer_unref(c->data_buf);
    c->data_buf = wide;
    c->data = wide->data;
    c->width = (uint8_t)(c->width * 2);
    return SM_OK;
}
