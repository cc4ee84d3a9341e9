// Transposed convolution of 3 taps, steps of 2, padding 1, dilation 2, channels last: a product for
// each of the 2 phases of the output, which take their own taps and meet no zeros
// (metalbench/window_products.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * ceil_div(length * 2 + 1, 2), BM), 2)  threads=(128)
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
    device const float* x, device const float* conv1d_transpose_weight, device float* y,
    constant uint& batch, constant uint& length, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Once, Once, Along<3, 2, 1, 2>>;
  using Convolution = WindowProduct<float, Steps, 3, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {
      x, conv1d_transpose_weight, y, {batch, 1, 1, length, channels, channels}, filters, 1};
  product.compute(tile, memory, PLACE);
}
