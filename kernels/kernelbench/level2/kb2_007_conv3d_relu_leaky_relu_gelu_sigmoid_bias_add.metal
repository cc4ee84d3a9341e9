// sigmoid(gelu(leaky_relu(relu(convolution)))) + a bias, 3 x 3 x 3 taps, channels last: on the sums
// of the implicit matrix product as they leave threadgroup memory (metalbench/window_products.h,
// metalbench/spilled_tile.h). What relu leaves is not negative: leaky relu has nothing to do.
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (depth - 2) * (height - 2) * (width - 2), BM))  threads=(128)
// tune: BM = 64, 32
// tune: BN = 32, 64, 16
// tune: BK = 16, 8
#include "metalbench/activations.h"
#include "metalbench/spilled_tile.h"
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
  using Sources = WindowTile<float, Steps, BM, BN, BK>;
  threadgroup float4 memory[Spilled<Sources::Tile, BM, BN>::kMemory];
  const Sources sources =
      Sources::of(x, conv_weight, {batch, depth, height, width, channels, channels}, filters, 0);
  Sources::Tile product(tile.xy * uint2(BN, BM), memory, PLACE);
  sources.multiply(product);
  const ActivatedThenBias map = {{conv_bias, filters}, {bias, filters}};
  store_spilled<BM, BN>(product, StoreWindows<float, Sources::Input, ActivatedThenBias>{
                                     y, sources.patches, filters, filters, map});
}
