// Means of blocks of 11 x 11 pixels, channels last: a thread computes four channels of one block.
// dispatch: means  threads_in_grid=(ceil_div(channels, 4), width / 11, batch * (height / 11))  threads=(QUADS, PIXELS)
// tune: QUADS = 16, 8, 32
// tune: PIXELS = 4, 8, 16
// dtypes: float32, float16, bfloat16
#include "metalbench/pool.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void means(device const DTYPE* x, device DTYPE* y, constant uint& height,
                      constant uint& width, constant uint& channels,
                      uint3 place [[thread_position_in_grid]]) {
  pool<1, 11, 11, 11>(Mean(), x, y, Extent{1, height, width}, channels, place);
}
