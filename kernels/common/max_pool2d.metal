// 2 x 2 max pooling, channels last: a thread computes four channels of one output pixel.
// Neighbouring threads read neighbouring channels, so every load is part of a whole cache line,
// and each input element is read exactly once. An odd last row or column is not part of any
// window.
// dispatch: max_pool2d  threads_in_grid=(ceil_div(channels, 4), width / 2, batch * (height / 2))  threads=(QUADS, PIXELS)
// tune: QUADS = 16, 8, 32
// tune: PIXELS = 16, 4, 8, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/pool.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * PIXELS)]] void max_pool2d(
    device const DTYPE* x, device DTYPE* y, constant uint& height, constant uint& width,
    constant uint& channels, uint3 place [[thread_position_in_grid]]) {
  pool<1, 2, 2, 2>(Max(), x, y, Extent{1, height, width}, channels, place);
}
