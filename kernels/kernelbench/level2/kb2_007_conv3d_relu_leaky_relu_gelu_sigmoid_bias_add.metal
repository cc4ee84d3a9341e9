// sigmoid(gelu(leaky_relu(relu(convolution)))) + a bias, 3 x 3 x 3 taps, channels last: on the sums
// of the implicit matrix product as they leave the registers (metalbench/window_products.h). What
// relu leaves is not negative: leaky relu has nothing to do.
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (depth - 2) * (height - 2) * (width - 2), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 32, 64, 16
// tune: BK = 16, 8
#include "metalbench/activations.h"
#include "metalbench/window_products.h"
using namespace metalbench;

struct ActivatedThenBias {
  Biased<float> conv;
  Biased<float> bias;
  float4 operator()(float4 v, uint row, uint column) const {
    return bias(Sigmoid()(Gelu()(Relu()(conv(v, row, column)))), row, column);
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device const float* bias, device float* y, constant uint& batch, constant uint& depth,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Along<3>, Along<3>, Along<3>>;
  using Convolution = WindowProduct<float, Steps, 3 * 3 * 3, BM, BN, BK, ActivatedThenBias>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {x,
                               conv_weight,
                               y,
                               {batch, depth, height, width, channels, channels},
                               filters,
                               1,
                               {{conv_bias, filters}, {bias, filters}}};
  product.compute(tile, memory, PLACE);
}
