// The largest channel of clamp(instance_norm(z a), -1, 1) a of a convolution z and a number a for
// each channel, 3 x 3 x 3 taps, channels last. Each tile leaves the moments of its channels next to
// its sums, which are read only once more, some lanes a pixel (metalbench/window_norms.h,
// metalbench/channel_rows.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div((depth - 2) * (height - 2) * (width - 2), BM), batch)  threads=(128)
// dispatch: join  threadgroups=(batch * filters)  threads=(TG)
// dispatch: finish  threads_in_grid=(LANES * (depth - 2) * (height - 2) * (width - 2), batch)  threads=(128, 1)
// scratch: shares float32 (batch, ceil_div((depth - 2) * (height - 2) * (width - 2), BM), filters, 4)
// scratch: moments float32 (batch, filters, 2)
// scratch: sums float32 (batch, (depth - 2) * (height - 2) * (width - 2), filters)
// tune: BM = 64, 32
// tune: BN = 16, 32
// tune: BK = 16, 8
// tune: TG = 64, 32, 128, 256
// tune: LANES = 4, 2, 8
#include "metalbench/activations.h"
#include "metalbench/channel_rows.h"
#include "metalbench/window_norms.h"
using namespace metalbench;

struct BiasedThenScaled {
  Biased<float> bias;
  device const float* scale;
  float4 operator()(float4 v, uint row, uint column) const {
    return bias(v, row, column) * load_quad(scale, column, bias.cols);
  }
};

// Four channels of a pixel, normalised.
struct Normalised {
  device const float* sums;
  device const float2* moments;
  uint channels;
  uint own;  // channels of a group
  float4 operator()(uint column) const {
    float4 v = load_quad(sums, column, channels);
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const float2 moment = moments[min(column + i, channels - 1) / own];
      v[i] = (v[i] - moment.x) * moment.y;
    }
    return v;
  }
};

struct ClippedThenScaled {
  Normalised norm;
  device const float* scale;
  float4 operator()(uint column) const {
    return HardTanh()(norm(column)) * load_quad(scale, column, norm.channels);
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device const float* multiplier, device float* sums, device float* shares, constant uint& depth,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], uint3 grid [[threadgroups_per_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Forward<Along<3>, Along<3>, Along<3>>;
  using Convolution = WindowMoments<Steps, BiasedThenScaled, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {x,
                                   conv_weight,
                                   sums,
                                   shares,
                                   {1, depth, height, width, channels, channels},
                                   filters,
                                   {{conv_bias, filters}, multiplier}};
  convolution.compute(tile, grid.y, memory, PLACE);
}

[[kernel]] void join(device const float* shares, device float* moments, constant uint& depth,
                     constant uint& height, constant uint& width, constant uint& filters,
                     uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = (((depth - 2) * (height - 2) * (width - 2)) + BM - 1) / BM;
  join_moments<TG / 32>(shares, moments, count, filters, filters, 1e-5f, index, memory, PLACE);
}

[[kernel]] void finish(device const float* sums, device const float* moments,
                       device const float* multiplier, device float* y, constant uint& depth,
                       constant uint& height, constant uint& width, constant uint& filters,
                       uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint2 at = lane_of_row<LANES>(group.x, PLACE);
  const ulong pixel = ulong(group.y) * ((depth - 2) * (height - 2) * (width - 2)) + at.y;
  device const float2* own = (device const float2*)moments + group.y * filters;
  const Normalised norm = {sums + pixel * filters, own, filters, 1};
  const ClippedThenScaled source = {norm, multiplier};
  const float state = join_channels<RowMax, LANES>(source, filters, at.x);
  if (at.x == 0) {
    y[pixel] = state;
  }
}
