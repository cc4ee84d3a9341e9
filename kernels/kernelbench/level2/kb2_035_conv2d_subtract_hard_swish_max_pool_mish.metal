// mish(maxima of 2 x 2 pixels of hard_swish(convolution - 0.5)), 3 x 3 taps, channels last. Whole
// windows are rows of one tile, and only what they are joined to is ever in memory
// (metalbench/pooled_windows.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(4 * ((height - 2) / 2) * ((width - 2) / 2), BM), batch)  threads=(128)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/pooled_windows.h"
using namespace metalbench;

struct ShiftedHardSwish {
  float4 operator()(float4 v) const { return HardSwish()(v - 0.5f); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device float* y, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<3>, Along<3>>;
  using Pool = PooledWindows<Steps, 2, Max, BiasedThen<float, ShiftedHardSwish>, BM, BN, BK>;
  threadgroup float4 memory[Pool::kMemory];
  const Pool pool = Pool::of(x, conv_weight, {1, 1, height, width, channels, channels}, filters,
                             {{conv_bias, filters}}, tile, memory, PLACE);
  pool.store(y, Activated<Mish>(), tile.z);
}
