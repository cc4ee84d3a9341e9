// Convolution of 11 x 11 taps, steps of 4, padding 2, channels last: an implicit matrix product
// (metalbench/window_products.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * ((height - 7) / 4 + 1) * ((width - 7) / 4 + 1), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 48, 32, 64
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// math: fast
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv1_weight, device const float* conv1_bias,
    device float* y, constant uint& batch, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<11, 4, 2>, Along<11, 4, 2>>;
  using Convolution = WindowProduct<float, Steps, 11 * 11, BM, BN, BK, Biased<float>>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {
      x, conv1_weight,         y, {batch, 1, height, width, channels, channels}, filters,
      1, {conv1_bias, filters}};
  product.compute(tile, memory, PLACE);
}
