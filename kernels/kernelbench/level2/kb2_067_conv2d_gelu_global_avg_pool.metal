// The mean over pixels of gelu(convolution), 3 x 3 taps, channels last. Each tile leaves the sums
// of its channels, and nothing else is ever in memory (metalbench/pooled_windows.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div((height - 2) * (width - 2), BM), batch)  threads=(128)
// dispatch: finish  threadgroups=(ceil_div(ceil_div(filters, 4), QUADS), batch)  threads=(QUADS, DOWN)
// scratch: shares float32 (batch, ceil_div((height - 2) * (width - 2), BM), filters)
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
struct MeanOfShares : Sum {
  uint windows;
  MeanOfShares(uint windows) : windows(windows) {}
  float4 finish(float4 v, uint) const { return v / float(windows); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device float* shares, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    uint3 grid [[threadgroups_per_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<3>, Along<3>>;
  using Pixels = PixelSums<Steps, BiasedThen<float, Gelu>, BM, BN, BK>;
  threadgroup float4 memory[Pixels::kMemory];
  Pixels::add(x, conv_weight, shares, {1, 1, height, width, channels, channels}, filters,
              {{conv_bias, filters}}, tile, grid.y, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(QUADS* DOWN)]] void finish(
    device const float* shares, device float* y, constant uint& height, constant uint& width,
    constant uint& filters, uint2 group [[threadgroup_position_in_grid]],
    uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][QUADS];
  reduce_columns<QUADS, DOWN>(MeanOfShares((height - 2) * (width - 2)), shares, y,
                              ((height - 2) * (width - 2) + BM - 1) / BM, filters, group, at,
                              partial);
}
