// clamp(the mean of maxima of 2 x 2 x 2 voxels of half a transposed convolution, 0, 1), 3 x 3 x 3
// taps, steps of 2, channels last. A window has a voxel of each of the 8 phases of the output,
// whose tiles are joined in registers; each tile leaves the sums of its windows
// (metalbench/pooled_windows.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(((2 * depth - 1) / 2) * ((2 * height - 1) / 2) * ((2 * width - 1) / 2), BM), batch)  threads=(128)
// dispatch: finish  threadgroups=(ceil_div(ceil_div(filters, 4), QUADS), batch)  threads=(QUADS, DOWN)
// scratch: shares float32 (batch, ceil_div(((2 * depth - 1) / 2) * ((2 * height - 1) / 2) * ((2 * width - 1) / 2), BM), filters)
// tune: BM = 32, 64
// tune: BN = 16, 32
// tune: BK = 16, 8
// tune: QUADS = 4, 8, 16
// tune: DOWN = 16, 8, 32
#include "metalbench/activations.h"
#include "metalbench/columns.h"
#include "metalbench/pooled_windows.h"
using namespace metalbench;

struct Halved {
  float4 operator()(float4 v) const { return 0.5f * v; }
};

// The sum of all shares, divided by the windows.
struct ClippedMean : Sum {
  uint windows;
  ClippedMean(uint windows) : windows(windows) {}
  float4 finish(float4 v, uint) const { return Clip{0.0f, 1.0f}(v / float(windows)); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* shares, constant uint& depth,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], uint3 grid [[threadgroups_per_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3, 2, 1>, Along<3, 2, 1>, Along<3, 2, 1>>;
  using Pool = PooledWindows<Steps, 2, Max, AsItIs, BM, BN, BK>;
  threadgroup float4 memory[Pool::kMemory];
  const Pool pool =
      Pool::of(x, conv_transpose_weight, {1, depth, height, width, channels, channels}, filters, {},
               tile, memory, PLACE);
  pool.add(shares, BiasedThen<float, Halved>{{conv_transpose_bias, filters}}, tile.yz, grid.y,
           memory);
}

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void finish(
    device const float* shares, device float* y, constant uint& depth, constant uint& height,
    constant uint& width, constant uint& filters, uint2 group [[threadgroup_position_in_grid]],
    uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][QUADS];
  reduce_columns<QUADS, DOWN>(
      ClippedMean(((2 * depth - 1) / 2) * ((2 * height - 1) / 2) * ((2 * width - 1) / 2)), shares,
      y, (((2 * depth - 1) / 2) * ((2 * height - 1) / 2) * ((2 * width - 1) / 2) + BM - 1) / BM,
      filters, group, at, partial);
}
