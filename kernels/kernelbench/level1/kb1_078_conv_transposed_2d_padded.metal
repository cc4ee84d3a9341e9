// Transposed convolution of 3 x 7 taps, padding 1 x 3, channels last: each output gathers the taps
// that reach it, in an implicit matrix product (metalbench/window_products.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 32, 64, 16
// tune: BK = 16, 8
// math: fast
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose2d_weight, device float* y,
    constant uint& batch, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Once, Along<3, 1, 1>, Along<7, 1, 3>>;
  using Convolution = WindowProduct<float, Steps, 3 * 7, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {
      x, conv_transpose2d_weight, y, {batch, 1, height, width, channels, channels}, filters, 1};
  product.compute(tile, memory, PLACE);
}
