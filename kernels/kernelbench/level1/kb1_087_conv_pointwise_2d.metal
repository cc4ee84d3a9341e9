// Convolution of 1 x 1 taps, channels last: a matrix product of pixels and filters.
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 48, 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// math: fast
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv1d_weight, device float* y, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Once, Once>;
  using Convolution = WindowProduct<float, Steps, 1 * 1, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {
      x, conv1d_weight, y, {batch, 1, height, width, channels, channels}, filters, 1};
  product.compute(tile, memory, PLACE);
}
