// mish(mish(convolution)), 3 x 3 taps, channels last: on the sums of the implicit matrix product as
// they leave the registers (metalbench/window_products.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (height - 2) * (width - 2), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/window_products.h"
using namespace metalbench;

struct MishTwice {
  float4 operator()(float4 v) const { return Mish()(Mish()(v)); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device float* y, constant uint& batch, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<3>, Along<3>>;
  using Convolution = WindowProduct<float, Steps, 3 * 3, BM, BN, BK, BiasedThen<float, MishTwice>>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {
      x, conv_weight,           y, {batch, 1, height, width, channels, channels}, filters,
      1, {{conv_bias, filters}}};
  product.compute(tile, memory, PLACE);
}
