// clamp(2 clamp(conv_transpose + bias, -1, 1), -1, 1) / 2 for a 3 x 3 kernel and stride 2, channels
// last.
// One implicit matrix product for each of the four phases of the output (see conv_transpose2d); the
// rest is the map through which the sums leave the registers. Doubling and halving are exact, so
// both clamps together are one to [-1/2, 1/2].
// dispatch: conv_transpose2d_clamp_scale_div  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (height + 1) * (width + 1), BM), 4)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/window_products.h"
using namespace metalbench;

struct BiasedThenClipped {
  Biased<DTYPE> bias;
  float4 operator()(float4 v, uint row, uint column) const {
    return Clip{-0.5f, 0.5f}(bias(v, row, column));
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void conv_transpose2d_clamp_scale_div(
    device const DTYPE* x, device const DTYPE* w, device const DTYPE* bias, device DTYPE* y,
    constant uint& batch, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Once, Along<3, 2>, Along<3, 2>>;
  using Convolution = WindowProduct<DTYPE, Steps, 3 * 3, BM, BN, BK, BiasedThenClipped>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {
      x, w, y, {batch, 1, height, width, channels, channels}, filters, 1, {{bias, filters}}};
  product.compute(tile, memory, PLACE);
}
