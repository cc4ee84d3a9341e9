// Maxima of 4 x 4 pixels of 2 tanh(convolution) + a bias, 3 x 3 taps, channels last. Whole windows
// are rows of one tile, and only what they are joined to is ever in memory
// (metalbench/pooled_windows.h). What follows the convolution grows with it, so it is asked of the
// largest alone.
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(16 * ((height - 2) / 4) * ((width - 2) / 4), BM), batch)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/pooled_windows.h"
using namespace metalbench;

struct DoubledTanh {
  Biased<float> conv;
  Biased<float> bias;
  float4 operator()(float4 v, uint row, uint column) const {
    return bias(2.0f * Tanh()(conv(v, row, column)), row, column);
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device const float* bias, device float* y, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<3>, Along<3>>;
  using Pool = PooledWindows<Steps, 4, Max, AsItIs, BM, BN, BK>;
  threadgroup float4 memory[Pool::kMemory];
  const Pool pool = Pool::of(x, conv_weight, {1, 1, height, width, channels, channels}, filters, {},
                             tile, memory, PLACE);
  pool.store(y, DoubledTanh{{conv_bias, filters}, {bias, filters}}, tile.z);
}
