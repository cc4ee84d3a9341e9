// The logsumexp over channels of hard_swish(tanh(group_norm(z))) + z of a convolution z, 3 x 3
// taps, channels last. Each tile leaves the moments of its channels next to its sums, which are read
// only once more, some lanes a pixel (metalbench/window_norms.h, metalbench/channel_rows.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div((height - 2) * (width - 2), BM), batch)  threads=(128)
// dispatch: join  threadgroups=(batch * groups)  threads=(TG)
// dispatch: finish  threads_in_grid=(LANES * (height - 2) * (width - 2), batch)  threads=(128, 1)
// scratch: shares float32 (batch, ceil_div((height - 2) * (width - 2), BM), filters, 4)
// scratch: moments float32 (batch, groups, 2)
// scratch: sums float32 (batch, (height - 2) * (width - 2), filters)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: TG = 64, 32, 128, 256
// tune: LANES = 8, 4, 16
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/channel_rows.h"
#include "metalbench/divisor.h"
#include "metalbench/window_norms.h"
using namespace metalbench;

// Four channels of a pixel, normalised.
struct Normalised {
  device const float* sums;
  device const float2* moments;
  uint channels;
  Divisor own;  // channels of a group
  float4 operator()(uint column) const {
    float4 v = load_quad(sums, column, channels);
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const float2 moment = moments[own.quotient(min(column + i, channels - 1))];
      v[i] = (v[i] - moment.x) * moment.y;
    }
    return v;
  }
};

struct Residual {
  Normalised norm;
  Affine<false> affine;
  float4 operator()(uint column) const {
    const float4 z = load_quad(norm.sums, column, norm.channels);
    return HardSwish()(Tanh()(affine(norm(column), 0, column))) + z;
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device float* sums, device float* shares, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    uint3 grid [[threadgroups_per_grid]], PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<3>, Along<3>>;
  using Convolution = WindowMoments<Steps, Biased<float>, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {
      x,       conv_weight,         sums, shares, {1, 1, height, width, channels, channels},
      filters, {conv_bias, filters}};
  convolution.compute(tile, grid.y, memory, PLACE);
}

[[kernel]] void join(device const float* shares, device float* moments, constant uint& height,
                     constant uint& width, constant uint& filters, constant uint& groups,
                     uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = (((height - 2) * (width - 2)) + BM - 1) / BM;
  join_moments<TG / 32>(shares, moments, count, filters, groups, 1e-5f, index, memory, PLACE);
}

[[kernel]] void finish(device const float* sums, device const float* moments,
                       device const float* group_norm_weight, device const float* group_norm_bias,
                       device float* y, constant uint& height, constant uint& width,
                       constant uint& filters, constant uint& groups,
                       uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint2 at = lane_of_row<LANES>(group.x, PLACE);
  const ulong pixel = ulong(group.y) * ((height - 2) * (width - 2)) + at.y;
  device const float2* own = (device const float2*)moments + group.y * groups;
  const Normalised norm = {sums + pixel * filters, own, filters, Divisor::of(filters / groups)};
  const Residual source = {norm, {group_norm_weight, group_norm_bias, filters}};
  const float2 state = join_channels<RowExpSum, LANES>(source, filters, at.x);
  if (at.x == 0) {
    y[pixel] = log_sum_exp(state);
  }
}
