/* Loops over column buffers that profit from wide registers; built once per instruction-set level. */
#ifndef SM_STORAGE_KERNELS_H
#define SM_STORAGE_KERNELS_H

#include "runtime/base.h"

typedef struct sm_column_kernels {
    /* out[i] = base + stored[i]: [log2 of the stored width][int16, int32, int64, int128] */
    void (*widen[4][4])(const void *stored, int64_t base, uint32_t n, void *out);
    void (*widen_codes)(const void *stored, uint32_t n, uint16_t *out);
    /* out[i] = value[i] - base, in 1, 2, 4 or 8 bytes; the caller knows that it fits */
    void (*narrow[4])(const int64_t *value, int64_t base, uint32_t n, void *out);
    /* smallest and largest of n >= 1 values */
    void (*minmax_i16)(const void *v, uint32_t n, int64_t *min, int64_t *max);
    void (*minmax_i32)(const void *v, uint32_t n, int64_t *min, int64_t *max);
    void (*minmax_i64)(const void *v, uint32_t n, int64_t *min, int64_t *max);
    /* false if there is a NaN */
    bool (*minmax_f32)(const float *v, uint32_t n, float *min, float *max);
    bool (*minmax_f64)(const double *v, uint32_t n, double *min, double *max);
    /* bytes of 0 or not 0 to bits and back; from is any bit number, unset bits of the last word
     * become 0 */
    void (*pack_bits)(const uint8_t *bytes, uint32_t n, uint64_t *bits);
    void (*unpack_bits)(const uint64_t *bits, uint32_t from, uint32_t n, uint8_t *bytes);
    /* positions of any of 5 bytes among n (n a multiple of 64, all readable); returns how many */
    uint32_t (*find_bytes)(const char *s, uint32_t n, const char what[5], uint32_t *at);
    /* whether all n bytes are below 128 */
    bool (*is_ascii)(const char *s, size_t n);
} sm_column_kernels;

/** The table for this machine (runtime/cpu.h). */
const sm_column_kernels *sm_column_kernels_get(void);

#endif
