// Transposed convolution of 3 x 5 x 7 taps, channels last: each output gathers the taps that reach
// it, in an implicit matrix product (metalbench/window_products.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (depth + 2) * (height + 4) * (width + 6), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 16, 32, 64
// tune: BK = 16, 8
// math: fast
#include "metalbench/window_products.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose3d_weight, device float* y,
    constant uint& batch, constant uint& depth, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3>, Along<5>, Along<7>>;
  using Convolution = WindowProduct<float, Steps, 3 * 5 * 7, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {
      x, conv_transpose3d_weight, y, {batch, depth, height, width, channels, channels}, filters, 1};
  product.compute(tile, memory, PLACE);
}
