// Convolution of 3 x 3 taps, channels last: an implicit matrix product
// (metalbench/window_products.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (height - 2) * (width - 2), BM))  threads=(128)
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
    device const float* x, device const float* conv2d_weight, device float* y, constant uint& batch,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<3>, Along<3>>;
  using Convolution = WindowProduct<float, Steps, 3 * 3, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {
      x, conv2d_weight, y, {batch, 1, height, width, channels, channels}, filters, 1};
  product.compute(tile, memory, PLACE);
}
