// max(transposed convolution, -1) / 2, 3 x 3 x 3 taps, steps of 2, channels last: a product for
// each of the 8 phases of the output, whose sums leave the registers through all that follows
// (metalbench/window_products.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * depth * height * width, BM), 8)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/window_products.h"
using namespace metalbench;

struct LimitedHalf {
  float4 operator()(float4 v) const { return 0.5f * max(v, -1.0f); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* y, constant uint& batch,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3, 2, 1>, Along<3, 2, 1>, Along<3, 2, 1>>;
  using Convolution =
      WindowProduct<float, Steps, 3 * 3 * 3, BM, BN, BK, BiasedThen<float, LimitedHalf>>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {x,
                               conv_transpose_weight,
                               y,
                               {batch, depth, height, width, channels, channels},
                               filters,
                               1,
                               {{conv_transpose_bias, filters}}};
  product.compute(tile, memory, PLACE);
}
