// Convolution of 3 x 3 x 1 taps, channels last: an implicit matrix product
// (metalbench/window_products.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (depth - 2) * (height - 2) * width, BM))  threads=(128)
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
    device const float* x, device const float* conv3d_weight, device float* y, constant uint& batch,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Along<3>, Along<3>, Once>;
  using Convolution = WindowProduct<float, Steps, 3 * 3 * 1, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {
      x, conv3d_weight, y, {batch, depth, height, width, channels, channels}, filters, 1};
  product.compute(tile, memory, PLACE);
}
