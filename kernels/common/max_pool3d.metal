// 2 x 2 x 2 max pooling, channels last: a thread computes four channels of one output voxel from
// eight loads, all of them independent, so that they are under way together. Neighbouring threads
// read neighbouring channels, so every load is part of a whole cache line.
// dispatch: max_pool3d  threads_in_grid=(ceil_div(channels, 4), width / 2, batch * (depth / 2) * (height / 2))  threads=(QUADS, PIXELS)
// tune: QUADS = 16, 8, 32
// tune: PIXELS = 16, 4, 8, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/pool.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * PIXELS)]] void max_pool3d(
    device const DTYPE* x, device DTYPE* y, constant uint& depth, constant uint& height,
    constant uint& width, constant uint& channels, uint3 place [[thread_position_in_grid]]) {
  pool<2, 2, 2, 2>(Max(), x, y, Extent{depth, height, width}, channels, place);
}
