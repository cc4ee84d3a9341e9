// gelu(clamp(leaky_relu(convolution) + a bias, -1, 1)), 3 x 3 x 3 taps, channels last: on the sums
// of the implicit matrix product as they leave the registers (metalbench/window_products.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (depth - 2) * (height - 2) * (width - 2), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/window_products.h"
using namespace metalbench;

struct LeakyThenBiasedGelu {
  Biased<float> conv;
  Biased<float> bias;
  float4 operator()(float4 v, uint row, uint column) const {
    const float4 leaky = LeakyRelu{0.2f}(conv(v, row, column));
    return Gelu()(HardTanh()(bias(leaky, row, column)));
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device const float* sum_tensor, device float* y, constant uint& batch, constant uint& depth,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Along<3>, Along<3>, Along<3>>;
  using Convolution = WindowProduct<float, Steps, 3 * 3 * 3, BM, BN, BK, LeakyThenBiasedGelu>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {x,
                               conv_weight,
                               y,
                               {batch, depth, height, width, channels, channels},
                               filters,
                               1,
                               {{conv_bias, filters}, {sum_tensor, filters}}};
  product.compute(tile, memory, PLACE);
}
