// softmax over channels of the least element along depth of a convolution, 3 x 3 x 3 taps, channels
// last. A threadgroup goes through the depth of its pixels and keeps the least in registers;
// softmax works on what it leaves, in place, some lanes a pixel (metalbench/pooled_windows.h,
// metalbench/channel_rows.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div((height - 2) * (width - 2), BM), batch)  threads=(128)
// dispatch: normalise  threads_in_grid=(LANES * batch * (height - 2) * (width - 2))  threads=(128)
// tune: BM = 32, 64
// tune: BN = 32, 16
// tune: BK = 16, 8
// tune: LANES = 4, 2, 8
#include "metalbench/activations.h"
#include "metalbench/channel_rows.h"
#include "metalbench/pooled_windows.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device float* y, constant uint& depth, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Forward<Along<3>, Along<3>, Along<3>>;
  using Pool = PooledWindows<Steps, 1, Min, AsItIs, BM, BN, BK>;
  threadgroup float4 memory[Pool::kMemory];
  const Pool pool = Pool::of(x, conv_weight, {1, 3, height, width, channels, channels}, filters, {},
                             tile, memory, PLACE, depth - 2);
  pool.store(y, Biased<float>{conv_bias, filters}, tile.z);
}

[[kernel]] void normalise(device float* y, constant uint& filters,
                          uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint2 at = lane_of_row<LANES>(group, PLACE);
  device float* pixel = y + ulong(at.y) * filters;
  const SoftmaxOf<RowInPlace<float>> softmax =
      softmax_of<LANES>(RowInPlace<float>{pixel, filters, 0.0f}, filters, at.x);
  for (uint column = 4 * at.x; column < filters; column += 4 * LANES) {
    store_quad(pixel, column, filters, softmax(column));
  }
}
