// The mean over everything of group_norm(convolution), 3 x 3 x 3 taps, channels last. Each tile of
// the convolution leaves the moments of its channels, and nothing else: they are all that the
// result depends on (metalbench/window_norms.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div((depth - 2) * (height - 2) * (width - 2), BM), batch)  threads=(128)
// dispatch: join  threadgroups=(batch * filters)  threads=(TG)
// dispatch: join_groups  threadgroups=(batch * groups)  threads=(TG)
// dispatch: finish  threadgroups=(batch)  threads=(32)
// scratch: shares float32 (batch, ceil_div((depth - 2) * (height - 2) * (width - 2), BM), filters, 4)
// scratch: moments float32 (batch, filters, 2)
// scratch: group_moments float32 (batch, groups, 2)
// tune: BM = 64, 32
// tune: BN = 32, 16
// tune: BK = 16, 8
// tune: TG = 64, 32, 128, 256
#include "metalbench/activations.h"
#include "metalbench/divisor.h"
#include "metalbench/window_norms.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device float* shares, constant uint& depth, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    uint3 grid [[threadgroups_per_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Along<3>, Along<3>, Along<3>>;
  using Convolution = WindowMoments<Steps, Biased<float>, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {
      x,       conv_weight,         nullptr, shares, {1, depth, height, width, channels, channels},
      filters, {conv_bias, filters}};
  convolution.compute(tile, grid.y, memory, PLACE);
}

[[kernel]] void join(device const float* shares, device float* moments, constant uint& depth,
                     constant uint& height, constant uint& width, constant uint& filters,
                     uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = (((depth - 2) * (height - 2) * (width - 2)) + BM - 1) / BM;
  join_moments<TG / 32>(shares, moments, count, filters, filters, 1e-5f, index, memory, PLACE);
}

[[kernel]] void join_groups(device const float* shares, device float* group_moments,
                            constant uint& depth, constant uint& height, constant uint& width,
                            constant uint& filters, constant uint& groups,
                            uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = (((depth - 2) * (height - 2) * (width - 2)) + BM - 1) / BM;
  join_moments<TG / 32>(shares, group_moments, count, filters, groups, 1e-5f, index, memory, PLACE);
}

[[kernel]] void finish(device const float* moments, device const float* group_moments,
                       device const float* group_norm_weight, device const float* group_norm_bias,
                       device float* y, constant uint& filters, constant uint& groups,
                       uint image [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  device const float2* channels = (device const float2*)moments + image * filters;
  device const float2* wholes = (device const float2*)group_moments + image * groups;
  const Divisor own = Divisor::of(filters / groups);
  float sum = 0.0f;
  for (uint c = lane; c < filters; c += 32) {
    const float2 whole = wholes[own.quotient(c)];
    // check: allow strided-access pairs of a mean and a deviation, few per image
    sum += fma((channels[c].x - whole.x) * whole.y, group_norm_weight[c], group_norm_bias[c]);
  }
  sum = simd_sum(sum);
  if (lane == 0) {
    y[image] = sum / float(filters);
  }
}
