// Mean of three neighbours, two apart, channels last: a thread computes four channels of one
// output in float, and divides once, by three: 1/3 is not a float. Neighbouring threads read
// neighbouring channels, so every load is part of a whole cache line.
// dispatch: avg_pool1d  threads_in_grid=(ceil_div(channels, 4), (width - 3) / 2 + 1, batch)  threads=(QUADS, PIXELS)
// tune: QUADS = 16, 8, 32
// tune: PIXELS = 16, 4, 8, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/pool.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * PIXELS)]] void avg_pool1d(
    device const DTYPE* x, device DTYPE* y, constant uint& width, constant uint& channels,
    uint3 place [[thread_position_in_grid]]) {
  pool<1, 1, 3, 2>(Mean(), x, y, Extent{1, 1, width}, channels, place);
}
