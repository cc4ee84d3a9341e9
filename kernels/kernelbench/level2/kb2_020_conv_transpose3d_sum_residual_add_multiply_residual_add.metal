// ((z + a bias) + z) z + z of a transposed convolution z, 3 x 3 x 3 taps, steps of 2, channels
// last: a product for each of the 8 phases of the output, whose sums leave the registers through
// all that follows (metalbench/window_products.h).
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

struct ResidualProduct {
  Biased<float> conv;
  Biased<float> bias;
  float4 operator()(float4 v, uint row, uint column) const {
    const float4 z = conv(v, row, column);
    return (bias(z, row, column) + z) * z + z;
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device const float* bias, device float* y,
    constant uint& batch, constant uint& depth, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>>;
  using Convolution = WindowProduct<float, Steps, 3 * 3 * 3, BM, BN, BK, ResidualProduct>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {x,
                               conv_transpose_weight,
                               y,
                               {batch, depth, height, width, channels, channels},
                               filters,
                               1,
                               {{conv_transpose_bias, filters}, {bias, filters}}};
  product.compute(tile, memory, PLACE);
}
