// dropout(clamp(min(group_norm(convolution), 0), floor, 1)), 3 x 3 x 3 taps, channels last. Each
// tile of the convolution leaves the moments of its channels next to its sums, which are read only
// once more, to be normalised in place (metalbench/window_norms.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div((depth - 2) * (height - 2) * (width - 2), BM), batch)  threads=(128)
// dispatch: join  threadgroups=(batch * groups)  threads=(TG)
// dispatch: apply  threads_in_grid=(ceil_div(filters, 4), ceil_div((depth - 2) * (height - 2) * (width - 2), ROWS), batch)  threads=(QUADS, DOWN)
// scratch: shares float32 (batch, ceil_div((depth - 2) * (height - 2) * (width - 2), BM), filters, 4)
// scratch: moments float32 (batch, groups, 2)
// tune: BM = 64, 32
// tune: BN = 16, 32
// tune: BK = 16, 8
// tune: TG = 64, 32, 128, 256
// tune: QUADS = 8, 4, 16
// tune: DOWN = 16, 8, 32
// tune: ROWS = 16, 8, 32
#include "metalbench/activations.h"
#include "metalbench/window_norms.h"
using namespace metalbench;

struct LimitedThenDropped {
  Affine<false> affine;
  float lowest;
  device const float* keep;
  float4 operator()(float4 v, uint row, uint column) const {
    const float4 limited = max(min(affine(v, row, column), 0.0f), lowest);
    const uint channels = affine.channels;
    return limited * load_quad(keep + ulong(row) * channels, column, channels) / 0.8f;
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device float* y, device float* shares, constant uint& depth, constant uint& height,
    constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], uint3 grid [[threadgroups_per_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Forward<Along<3>, Along<3>, Along<3>>;
  using Convolution = WindowMoments<Steps, Biased<float>, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {
      x,       conv_weight,         y, shares, {1, depth, height, width, channels, channels},
      filters, {conv_bias, filters}};
  convolution.compute(tile, grid.y, memory, PLACE);
}

[[kernel]] void join(device const float* shares, device float* moments, constant uint& depth,
                     constant uint& height, constant uint& width, constant uint& filters,
                     constant uint& groups, uint index [[threadgroup_position_in_grid]],
                     PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = (((depth - 2) * (height - 2) * (width - 2)) + BM - 1) / BM;
  join_moments<TG / 32>(shares, moments, count, filters, groups, 1e-5f, index, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void apply(
    device const float* moments, device const float* norm_weight, device const float* norm_bias,
    device const float* floor, device const float* keep, device float* y, constant uint& depth,
    constant uint& height, constant uint& width, constant uint& filters, constant uint& groups,
    uint3 place [[thread_position_in_grid]]) {
  apply_moments<ROWS>(
      LimitedThenDropped{
          {norm_weight, norm_bias, filters},
          floor[0],
          keep + ulong(place.z) * ((depth - 2) * (height - 2) * (width - 2)) * filters},
      y, moments, y, (depth - 2) * (height - 2) * (width - 2), filters, groups, place);
}
