// Means of 8 places, padded by 4 zeros, channels last: a thread has four channels of one output
// (metalbench/pool.h).
// dispatch: pool  threads_in_grid=(ceil_div(channels, 4), (length + 1), batch)  threads=(QUADS, PIXELS)
// tune: QUADS = 8, 4, 16
// tune: PIXELS = 16, 4, 8, 32
#include "metalbench/pool.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * PIXELS)]] void pool(
    device const float* x, device float* y, constant uint& length, constant uint& channels,
    uint3 place [[thread_position_in_grid]]) {
  pool_windows<Once, Once, Along<8, 1, 4>>(Mean(), x, y, Extent{1, 1, length}, channels, place);
}
