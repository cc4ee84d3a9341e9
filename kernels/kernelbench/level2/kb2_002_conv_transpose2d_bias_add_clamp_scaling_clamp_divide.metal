// clamp(2 clamp(transposed convolution + a bias, 0, 1), 0, 1) / 2, 3 x 3 taps, steps of 2, channels
// last: a product for each of the 4 phases of the output, whose sums leave the registers through
// all that follows (metalbench/window_products.h). Doubling and halving are exact: both clamps
// together are one to [0, 1/2].
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM), 4)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/window_products.h"
using namespace metalbench;

struct BiasedThenClipped {
  Biased<float> conv;
  Biased<float> bias;
  float4 operator()(float4 v, uint row, uint column) const {
    return Clip{0.0f, 0.5f}(bias(conv(v, row, column), row, column));
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device const float* bias, device float* y,
    constant uint& batch, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Once, Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>>;
  using Convolution = WindowProduct<float, Steps, 3 * 3, BM, BN, BK, BiasedThenClipped>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {x,
                               conv_transpose_weight,
                               y,
                               {batch, 1, height, width, channels, channels},
                               filters,
                               1,
                               {{conv_transpose_bias, filters}, {bias, filters}}};
  product.compute(tile, memory, PLACE);
}
