/* The random streams: seeds, jumping, and what is drawn from them. See gen.h. */
#include "gen.h"

const tpch_stream tpch_streams[TPCH_N_STREAMS] = {
#define TPCH_STREAM(name, seed, states, lo, hi) [name] = {seed, states, lo, hi},
#include "streams.def"
};

uint64_t tpch_power(uint64_t a, uint64_t n)
{
    uint64_t result = 1;
    for (; n; n >>= 1) {
        if (n & 1) result = tpch_times(result, a);
        a = tpch_times(a, a);
    }
    return result;
}

tpch_cursor tpch_cursor_of(uint32_t stream, uint64_t row, int64_t lo, int64_t hi)
{
    const tpch_stream *s = &tpch_streams[stream];
    uint64_t before = tpch_times(s->seed, tpch_power(TPCH_A, s->states * row));
    return (tpch_cursor){.row = before,
                         .jump = tpch_power(TPCH_A, s->states),
                         .x = before,
                         .lo = lo,
                         .range = (uint64_t)(hi - lo + 1)};
}

tpch_cursor tpch_cursor_at(uint32_t stream, uint64_t row)
{
    return tpch_cursor_of(stream, row, tpch_streams[stream].lo, tpch_streams[stream].hi);
}
