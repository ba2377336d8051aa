/* MD5 (RFC 1321), and the known digests of dbgen's files. */
#include "tpch.h"

#include <stdio.h>
#include <string.h>

static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};
static const uint8_t turns[4][4] = {
    {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static void add_block(uint32_t state[4], const unsigned char *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], word[16];
    memcpy(word, block, sizeof word); /* little-endian, as all that smelt runs on */
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t f, k, turn = turns[i / 16][i % 4];
        switch (i / 16) {
        case 0: f = d ^ (b & (c ^ d)), k = i; break;
        case 1: f = c ^ (d & (b ^ c)), k = (5 * i + 1) % 16; break;
        case 2: f = b ^ c ^ d, k = (3 * i + 5) % 16; break;
        default: f = c ^ (b | ~d), k = 7 * i % 16; break;
        }
        f += a + sines[i] + word[k];
        a = d;
        d = c;
        c = b;
        b += f << turn | f >> (32 - turn);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void tpch_md5_init(tpch_md5 *m)
{
    *m = (tpch_md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

void tpch_md5_add(tpch_md5 *m, const void *bytes, size_t n_bytes)
{
    const unsigned char *p = bytes;
    size_t held = m->n_bytes % 64;
    m->n_bytes += n_bytes;
    if (held) {
        size_t n = n_bytes < 64 - held ? n_bytes : 64 - held;
        memcpy(m->block + held, p, n);
        if (held + n < 64) return;
        add_block(m->state, m->block);
        p += n;
        n_bytes -= n;
    }
    for (; n_bytes >= 64; p += 64, n_bytes -= 64) add_block(m->state, p);
    memcpy(m->block, p, n_bytes);
}

void tpch_md5_end(tpch_md5 *m, char out[33])
{
    static const unsigned char padding[64] = {0x80};
    uint64_t n_bits = m->n_bytes * 8;
    tpch_md5_add(m, padding, (119 - m->n_bytes % 64) % 64 + 1);
    tpch_md5_add(m, &n_bits, sizeof n_bits);
    for (uint32_t i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", m->state[i / 4] >> (i % 4 * 8) & 0xFF);
}

const char *tpch_md5_expected(const tpch_scale *scale, const char *table, uint64_t *rows)
{
    static const struct {
        uint32_t thousandths;
        const char *table;
        uint64_t rows;
        const char *md5;
    } known[] = {
#define TPCH_MD5(thousandths, table, rows, md5) {thousandths, #table, rows, md5},
#include "checksums.def"
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].thousandths != scale->thousandths || strcmp(known[i].table, table)) continue;
        *rows = known[i].rows;
        return known[i].md5;
    }
    return NULL;
}
