// Depthwise 3 x 3 convolution, channels last: nothing is summed over channels, so there is no
// matrix in it. Bandwidth bounds it: a thread walks down ROWS outputs of four channels, whose
// filters and running sums stay in registers, so that each pixel that it reads serves three outputs
// (metalbench/depthwise.h).
// dispatch: depthwise_conv2d  threads_in_grid=(ceil_div(channels, 4) * (width - 2), ceil_div(height - 2, ROWS), batch)  threads=(TG)
// tune: ROWS = 8, 4, 16
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/depthwise.h"
using namespace metalbench;

[[kernel]] void depthwise_conv2d(device const DTYPE* x, device const DTYPE* w, device DTYPE* y,
                                 constant uint& height, constant uint& width,
                                 constant uint& channels, uint3 where [[thread_position_in_grid]]) {
  depthwise<ROWS, Along<3>, Along<3>>(x, w, y, height, width, channels, where);
}
