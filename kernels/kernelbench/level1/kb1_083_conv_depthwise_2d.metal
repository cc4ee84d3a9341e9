// Depthwise convolution of 3 x 1 taps, channels last: a thread walks down ROWS outputs
// (metalbench/depthwise.h).
// dispatch: convolve  threads_in_grid=(ceil_div(channels, 4) * width, ceil_div(height - 2, ROWS), batch)  threads=(TG)
// tune: ROWS = 8, 4, 16
// tune: TG = 128, 64, 256
#include "metalbench/depthwise.h"
using namespace metalbench;

[[kernel]] void convolve(device const float* x, device const float* conv2d_weight, device float* y,
                         constant uint& height, constant uint& width, constant uint& channels,
                         uint3 where [[thread_position_in_grid]]) {
  depthwise<ROWS, Along<3>, Along<1>>(x, conv2d_weight, y, height, width, channels, where);
}
