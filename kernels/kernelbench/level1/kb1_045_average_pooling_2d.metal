// Means of blocks of 11 x 11 pixels, channels last: a thread has four channels of one output
// (metalbench/pool.h).
// dispatch: pool  threads_in_grid=(ceil_div(channels, 4), (width / 11), batch * (height / 11))  threads=(QUADS, PIXELS)
// tune: QUADS = 8, 4, 16
// tune: PIXELS = 16, 4, 8, 32
#include "metalbench/pool.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * PIXELS)]] void pool(
    device const float* x, device float* y, constant uint& height, constant uint& width,
    constant uint& channels, uint3 place [[thread_position_in_grid]]) {
  pool_windows<Once, Along<11, 11>, Along<11, 11>>(Mean(), x, y, Extent{1, height, width}, channels,
                                                   place);
}
