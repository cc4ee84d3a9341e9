// Maxima of 2 x 2 x 2 voxels of leaky_relu(leaky_relu(transposed convolution) a) with a number a
// for each channel, 3 x 3 x 3 taps, steps of 2, channels last. A window has a voxel of each of the
// 8 phases of the output, whose tiles are joined in registers (metalbench/pooled_windows.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(((2 * depth) / 2) * ((2 * height) / 2) * ((2 * width) / 2), BM), batch)  threads=(128)
// tune: BM = 32, 64
// tune: BN = 32, 64
// tune: BK = 16, 8
#include "metalbench/activations.h"
#include "metalbench/pooled_windows.h"
using namespace metalbench;

struct ScaledLeaky {
  Biased<float> conv;
  device const float* scale;
  float4 operator()(float4 v, uint row, uint column) const {
    const LeakyRelu leaky = {0.2f};
    return leaky(leaky(conv(v, row, column)) * load_quad(scale, column, conv.cols));
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device const float* multiplier, device float* y,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>>;
  using Pool = PooledWindows<Steps, 2, Max, ScaledLeaky, BM, BN, BK>;
  threadgroup float4 memory[Pool::kMemory];
  const Pool pool =
      Pool::of(x, conv_transpose_weight, {1, depth, height, width, channels, channels}, filters,
               {{conv_transpose_bias, filters}, multiplier}, tile, memory, PLACE);
  pool.store(y, AsItIs(), tile.z);
}
