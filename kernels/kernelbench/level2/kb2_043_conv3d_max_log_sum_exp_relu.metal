// relu(the logsumexp over channels of maxima of 2 x 2 x 2 voxels of a convolution), 3 x 3 x 3 taps,
// padding 1, channels last. Whole windows are rows of one tile; their maxima are all that is in
// memory, of which some lanes have a pixel (metalbench/pooled_windows.h,
// metalbench/channel_rows.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(8 * (depth / 2) * (height / 2) * (width / 2), BM), batch)  threads=(128)
// dispatch: finish  threads_in_grid=(LANES * batch * (depth / 2) * (height / 2) * (width / 2))  threads=(128)
// scratch: pooled float32 (batch, (depth / 2) * (height / 2) * (width / 2), filters)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: LANES = 8, 4, 16
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/channel_rows.h"
#include "metalbench/pooled_windows.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device float* pooled, constant uint& depth, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Forward<Along<3, 1, 1>, Along<3, 1, 1>, Along<3, 1, 1>>;
  using Pool = PooledWindows<Steps, 2, Max, AsItIs, BM, BN, BK>;
  threadgroup float4 memory[Pool::kMemory];
  const Pool pool = Pool::of(x, conv_weight, {1, depth, height, width, channels, channels}, filters,
                             {}, tile, memory, PLACE);
  pool.store(pooled, Biased<float>{conv_bias, filters}, tile.z);
}

[[kernel]] void finish(device const float* pooled, device float* y, constant uint& filters,
                       uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint2 at = lane_of_row<LANES>(group, PLACE);
  const Row<float> source = {pooled + ulong(at.y) * filters, filters, 0.0f};
  const float2 state = join_channels<RowExpSum, LANES>(source, filters, at.x);
  if (at.x == 0) {
    y[at.y] = Relu()(log_sum_exp(state));
  }
}
