// The sum over channels of maxima of 6 x 6 x 6 voxels, which are maxima of 3 x 3 x 3 maxima of 2 x
// 2 x 2, of a transposed convolution, 5 x 5 x 5 taps, steps of 2, channels last. A window of 2 x 2
// x 2 has a voxel of each of the 8 phases of the output, whose tiles are joined in registers; a
// SIMD-group then has the channels of a voxel of the result (metalbench/pooled_windows.h,
// metalbench/pool.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(((2 * depth - 1) / 2) * ((2 * height - 1) / 2) * ((2 * width - 1) / 2), BM), batch)  threads=(128)
// dispatch: finish  threadgroups=((2 * width - 1) / 2 / 3, (2 * height - 1) / 2 / 3, batch * ((2 * depth - 1) / 2 / 3))  threads=(32)
// scratch: pooled float32 (batch, ((2 * depth - 1) / 2) * ((2 * height - 1) / 2) * ((2 * width - 1) / 2), filters)
// tune: BM = 32, 64
// tune: BN = 32, 64
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/pool.h"
#include "metalbench/pooled_windows.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* pooled, constant uint& depth,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Along<5, 2, 2>, Along<5, 2, 2>, Along<5, 2, 2>>;
  using Pool = PooledWindows<Steps, 2, Max, AsItIs, BM, BN, BK>;
  threadgroup float4 memory[Pool::kMemory];
  const Pool pool =
      Pool::of(x, conv_transpose_weight, {1, depth, height, width, channels, channels}, filters, {},
               tile, memory, PLACE);
  pool.store(pooled, Biased<float>{conv_transpose_bias, filters}, tile.z);
}

[[kernel]] void finish(device const float* pooled, device float* y, constant uint& depth,
                       constant uint& height, constant uint& width, constant uint& filters,
                       uint3 at [[threadgroup_position_in_grid]],
                       uint3 grid [[threadgroups_per_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  const Extent from = {(2 * depth - 1) / 2, (2 * height - 1) / 2, (2 * width - 1) / 2};
  const uint deep = from.depth / 3;
  const uint3 corner = uint3(3 * at.x, 3 * at.y, at.z / deep * from.depth + 3 * (at.z % deep));
  float sum = 0.0f;
  for (uint channel = 4 * lane; channel < filters; channel += 128) {
    const float4 top = window<3, 3, 3, false>(Max(), pooled, from, filters, channel, corner);
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      if (channel + i < filters) {
        sum += top[i];
      }
    }
  }
  sum = simd_sum(sum);
  if (lane == 0) {
    y[(at.z * grid.y + at.y) * grid.x + at.x] = sum;
  }
}
