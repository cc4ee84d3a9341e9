// Transposed convolution of 3 x 5 taps, steps of 2 x 3, padding 1 x 2, dilation 2 x 1, 4 groups,
// channels last: a product for each of the 6 phases of the output, which take their own taps and
// meet no zeros (metalbench/window_products.h).
// dispatch: convolve  threadgroups=(ceil_div(filters / 4, BN), ceil_div(batch * ceil_div(height * 2 + 1, 2) * ceil_div(width * 3 - 2, 3), BM), 24)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 16, 32, 64
// tune: BK = 16, 8
// math: fast
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose2d_weight, device float* y,
    constant uint& batch, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Once, Along<3, 2, 1, 2>, Along<5, 3, 2>>;
  using Convolution = WindowProduct<float, Steps, 3 * 5, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {
      x, conv_transpose2d_weight, y, {batch, 1, height, width, channels, channels}, filters, 4};
  product.compute(tile, memory, PLACE);
}
