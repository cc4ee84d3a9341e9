// Transposed convolution of 3 x 3 taps, steps of 5, padding 1, dilation 2, channels last: a product
// for each of the 25 phases of the output, which take their own taps and meet no zeros
// (metalbench/window_products.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * ceil_div(height * 5 - 2, 5) * ceil_div(width * 5 - 2, 5), BM), 25)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// math: fast
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose2d_weight, device float* y,
    constant uint& batch, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Once, Along<3, 5, 1, 2>, Along<3, 5, 1, 2>>;
  using Convolution = WindowProduct<float, Steps, 3 * 3, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {
      x, conv_transpose2d_weight, y, {batch, 1, height, width, channels, channels}, filters, 1};
  product.compute(tile, memory, PLACE);
}
