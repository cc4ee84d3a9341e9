// clamp(maxima of 4 x 4 pixels of group_norm(convolution) c, 0, 1) with a number c for each
// channel, 3 x 3 taps, channels last. Each tile leaves the moments of its channels next to its sums,
// which are read only once more, window by window (metalbench/window_norms.h, metalbench/pool.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div((height - 2) * (width - 2), BM), batch)  threads=(128)
// dispatch: join  threadgroups=(batch * groups)  threads=(TG)
// dispatch: pool  threads_in_grid=(ceil_div(filters, 4), (width - 2) / 4, batch * ((height - 2) / 4))  threads=(16, 8, 1)
// scratch: shares float32 (batch, ceil_div((height - 2) * (width - 2), BM), filters, 4)
// scratch: moments float32 (batch, groups, 2)
// scratch: sums float32 (batch, (height - 2) * (width - 2), filters)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: TG = 64, 32, 128, 256
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/pool.h"
#include "metalbench/window_norms.h"
using namespace metalbench;

// The largest of normalised elements, whose channels' weights may be negative.
struct LargestNormalised {
  float4 mean;
  float4 scale;
  float4 weight;
  float4 bias;
  float4 factor;
  float4 first() const { return float4(-INFINITY); }
  float4 join(float4 a, float4 v) const {
    return max(a, fma((v - mean) * scale, weight, bias) * factor);
  }
  float4 finish(float4 v, uint) const { return Clip{0.0f, 1.0f}(v); }
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

[[kernel]] void pool(device const float* sums, device const float* moments,
                     device const float* group_norm_weight, device const float* group_norm_bias,
                     device const float* scale, device float* y, constant uint& height,
                     constant uint& width, constant uint& filters, constant uint& groups,
                     uint3 place [[thread_position_in_grid]]) {
  const Extent from = {1, height - 2, width - 2};
  const uint channel = 4 * place.x;
  const uint image = place.z / (from.height / 4);
  LargestNormalised largest;
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    const uint group = min(channel + i, filters - 1) / (filters / groups);
    const float2 moment = ((device const float2*)moments)[image * groups + group];
    largest.mean[i] = moment.x;
    largest.scale[i] = moment.y;
  }
  largest.weight = load_quad(group_norm_weight, channel, filters);
  largest.bias = load_quad(group_norm_bias, channel, filters);
  largest.factor = load_quad(scale, channel, filters);
  metalbench::pool<1, 4, 4, 4>(largest, sums, y, from, filters, place);
}
