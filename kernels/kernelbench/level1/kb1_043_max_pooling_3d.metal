// Maxima of 3 x 3 x 3 voxels 3 apart, in steps of 2, padded by 1, channels last: a thread has four channels of one output
// (metalbench/pool.h).
// dispatch: pool  threads_in_grid=(ceil_div(channels, 4), ((width - 5) / 2 + 1), batch * ((depth - 5) / 2 + 1) * ((height - 5) / 2 + 1))  threads=(QUADS, PIXELS)
// tune: QUADS = 8, 4, 16
// tune: PIXELS = 16, 4, 8, 32
#include "metalbench/pool.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * PIXELS)]] void pool(
    device const float* x, device float* y, constant uint& depth, constant uint& height,
    constant uint& width, constant uint& channels, uint3 place [[thread_position_in_grid]]) {
  pool_windows<Along<3, 2, 1, 3>, Along<3, 2, 1, 3>, Along<3, 2, 1, 3>>(
      Max(), x, y, Extent{depth, height, width}, channels, place);
}
