// Transposed convolution of 5 taps, dilation 3, channels last: each output gathers the taps that
// reach it, in an implicit matrix product (metalbench/window_products.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (length + 12), BM))  threads=(128)
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
  using Steps = Backward<Once, Once, Along<5, 1, 0, 3>>;
  using Convolution = WindowProduct<float, Steps, 5, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {
      x, conv1d_transpose_weight, y, {batch, 1, 1, length, channels, channels}, filters, 1};
  product.compute(tile, memory, PLACE);
}
