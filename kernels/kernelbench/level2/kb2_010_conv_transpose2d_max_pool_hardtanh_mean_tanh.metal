// tanh(the mean of clamped maxima of 2 x 2 pixels of a transposed convolution), 3 x 3 taps,
// channels last. Whole windows are rows of one tile, which leaves their sums, and nothing else is
// ever in memory (metalbench/pooled_windows.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(4 * ((1 * height) / 2) * ((1 * width) / 2), BM), batch)  threads=(128)
// dispatch: finish  threadgroups=(ceil_div(ceil_div(filters, 4), QUADS), batch)  threads=(QUADS, DOWN)
// scratch: shares float32 (batch, ceil_div(4 * ((1 * height) / 2) * ((1 * width) / 2), BM), filters)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: QUADS = 4, 8, 16
// tune: DOWN = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/columns.h"
#include "metalbench/pooled_windows.h"
using namespace metalbench;

// The sum of all shares, divided by the windows.
struct TanhOfMean : Sum {
  uint windows;
  TanhOfMean(uint windows) : windows(windows) {}
  float4 finish(float4 v, uint) const { return Tanh()(v / float(windows)); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* shares, constant uint& height,
    constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], uint3 grid [[threadgroups_per_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Backward<Once, Along<3, 1, 1>, Along<3, 1, 1>>;
  using Pool = PooledWindows<Steps, 2, Max, AsItIs, BM, BN, BK>;
  threadgroup float4 memory[Pool::kMemory];
  const Pool pool = Pool::of(x, conv_transpose_weight, {1, 1, height, width, channels, channels},
                             filters, {}, tile, memory, PLACE);
  pool.add(shares, BiasedThen<float, HardTanh>{{conv_transpose_bias, filters}}, tile.yz, grid.y,
           memory);
}

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void finish(
    device const float* shares, device float* y, constant uint& height, constant uint& width,
    constant uint& filters, uint2 group [[threadgroup_position_in_grid]],
    uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][QUADS];
  reduce_columns<QUADS, DOWN>(TanhOfMean(((1 * height) / 2) * ((1 * width) / 2)), shares, y,
                              (4 * ((1 * height) / 2) * ((1 * width) / 2) + BM - 1) / BM, filters,
                              group, at, partial);
}
