// 2 x 2 mean pooling, channels last: a thread computes four channels of one output pixel. Sums
// are of float whatever the elements are, and dividing by four is exact, so half precision rounds
// once, at the store. Neighbouring threads read neighbouring channels, so every load is part of a
// whole cache line.
// dispatch: avg_pool2d  threads_in_grid=(ceil_div(channels, 4), width / 2, batch * (height / 2))  threads=(QUADS, PIXELS)
// tune: QUADS = 16, 8, 32
// tune: PIXELS = 16, 4, 8, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/pool.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * PIXELS)]] void avg_pool2d(
    device const DTYPE* x, device DTYPE* y, constant uint& height, constant uint& width,
    constant uint& channels, uint3 place [[thread_position_in_grid]]) {
  pool<1, 2, 2, 2>(Mean(), x, y, Extent{1, height, width}, channels, place);
}
