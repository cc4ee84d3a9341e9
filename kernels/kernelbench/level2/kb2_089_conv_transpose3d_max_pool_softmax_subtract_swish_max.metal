// The largest channel of silu(softmax over channels of maxima of 2 x 2 x 2 voxels of a transposed
// convolution - a bias), 3 x 3 x 3 taps, steps of 2, channels last. A window has a voxel of each of
// the 8 phases of the output, whose tiles are joined in registers; their maxima are all that is in
// memory, of which some lanes have a pixel (metalbench/pooled_windows.h,
// metalbench/channel_rows.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(((2 * depth) / 2) * ((2 * height) / 2) * ((2 * width) / 2), BM), batch)  threads=(128)
// dispatch: finish  threads_in_grid=(LANES * batch * ((2 * depth) / 2) * ((2 * height) / 2) * ((2 * width) / 2))  threads=(128)
// scratch: pooled float32 (batch, ((2 * depth) / 2) * ((2 * height) / 2) * ((2 * width) / 2), filters)
// tune: BM = 32, 64
// tune: BN = 16, 32
// tune: BK = 16, 8
// tune: LANES = 4, 2, 8
#include "metalbench/activations.h"
#include "metalbench/channel_rows.h"
#include "metalbench/pooled_windows.h"
using namespace metalbench;

struct SiluOfLess {
  SoftmaxOf<Row<float>> softmax;
  device const float* less;
  float4 operator()(uint column) const {
    return Silu()(softmax(column) - load_quad(less, column, softmax.source.cols));
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* pooled, constant uint& depth,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>>;
  using Pool = PooledWindows<Steps, 2, Max, AsItIs, BM, BN, BK>;
  threadgroup float4 memory[Pool::kMemory];
  const Pool pool =
      Pool::of(x, conv_transpose_weight, {1, depth, height, width, channels, channels}, filters, {},
               tile, memory, PLACE);
  pool.store(pooled, Biased<float>{conv_transpose_bias, filters}, tile.z);
}

[[kernel]] void finish(device const float* pooled, device const float* subtract, device float* y,
                       constant uint& filters, uint group [[threadgroup_position_in_grid]],
                       PLACE_ARGUMENTS) {
  const uint2 at = lane_of_row<LANES>(group, PLACE);
  const Row<float> source = {pooled + ulong(at.y) * filters, filters, 0.0f};
  const SiluOfLess silu = {softmax_of<LANES>(source, filters, at.x), subtract};
  const float top = join_channels<RowMax, LANES>(silu, filters, at.x);
  if (at.x == 0) {
    y[at.y] = top;
  }
}
