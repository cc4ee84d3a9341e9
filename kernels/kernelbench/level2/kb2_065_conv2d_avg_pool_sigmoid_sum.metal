// The sum over everything of sigmoid(means of 4 x 4 pixels of a convolution), 3 x 3 taps, channels
// last. Whole windows are rows of one tile, which leaves their sums, and nothing else is ever in
// memory (metalbench/pooled_windows.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(16 * ((height - 2) / 4) * ((width - 2) / 4), BM), batch)  threads=(128)
// dispatch: finish  threadgroups=(batch)  threads=(TG)
// scratch: shares float32 (batch, ceil_div(16 * ((height - 2) / 4) * ((width - 2) / 4), BM), filters)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: TG = 64, 32, 128, 256
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/pooled_windows.h"
#include "metalbench/rows.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device float* shares, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    uint3 grid [[threadgroups_per_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<3>, Along<3>>;
  using Pool = PooledWindows<Steps, 4, Mean, AsItIs, BM, BN, BK>;
  threadgroup float4 memory[Pool::kMemory];
  const Pool pool = Pool::of(x, conv_weight, {1, 1, height, width, channels, channels}, filters, {},
                             tile, memory, PLACE);
  pool.add(shares, BiasedThen<float, Sigmoid>{{conv_bias, filters}}, tile.yz, grid.y, memory);
}

[[kernel]] void finish(device const float* shares, device float* y, constant uint& height,
                       constant uint& width, constant uint& filters,
                       uint image [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float partial[TG / 32];
  const uint count = (16 * ((height - 2) / 4) * ((width - 2) / 4) + BM - 1) / BM * filters;
  const Row<float> row = row_of(shares, image, count);
  float4 sum = 0.0f;
  for (uint column = 4 * thread_index; column < count; column += 4 * TG) {
    sum += row(column);
  }
  const float all = group_sum<TG / 32>(total(sum), partial, PLACE);
  if (thread_index == 0) {
    y[image] = all;
  }
}
