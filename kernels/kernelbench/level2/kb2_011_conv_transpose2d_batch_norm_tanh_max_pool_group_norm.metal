// group_norm(maxima of 2 x 2 pixels of tanh(batch_norm(transposed convolution))), 5 x 5 taps,
// channels last. Each tile leaves the moments of its channels next to its sums, which are read only
// once more, window by window; tanh is asked of the largest alone. The second norm is one over
// pixels (metalbench/window_norms.h, metalbench/pool.h, metalbench/pixel_norm.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (height + 2) * (width + 2), BM))  threads=(128)
// dispatch: join  threadgroups=(filters)  threads=(TG)
// dispatch: pool  threads_in_grid=(ceil_div(filters, 4), (width + 2) / 2, batch * ((height + 2) / 2))  threads=(16, 8, 1)
// dispatch: share  threadgroups=(ceil_div(ceil_div(filters, 4), QUADS), ceil_div(((height + 2) / 2) * ((width + 2) / 2), SHARE), batch)  threads=(QUADS, DOWN)
// dispatch: join_groups  threadgroups=(batch * groups)  threads=(32)
// dispatch: apply  threads_in_grid=(ceil_div(filters, 4), ceil_div(((height + 2) / 2) * ((width + 2) / 2), ROWS), batch)  threads=(QUADS, DOWN)
// scratch: shares float32 (1, ceil_div(batch * (height + 2) * (width + 2), BM), filters, 4)
// scratch: moments float32 (1, filters, 2)
// scratch: sums float32 (batch * (1 * height + 2) * (1 * width + 2), filters)
// scratch: group_shares float32 (batch, ceil_div(((height + 2) / 2) * ((width + 2) / 2), SHARE), filters, 2)
// scratch: group_moments float32 (batch, groups, 2)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: TG = 64, 32, 128, 256
// tune: SHARE = 128, 512
// tune: QUADS = 8, 4, 16
// tune: DOWN = 16, 8, 32
// tune: ROWS = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/pool.h"
#include "metalbench/window_norms.h"
using namespace metalbench;

// tanh of the largest of normalised elements, whose channels' weights may be negative.
struct TanhOfLargest {
  float4 mean;
  float4 scale;
  float4 weight;
  float4 bias;
  float4 first() const { return float4(-INFINITY); }
  float4 join(float4 a, float4 v) const { return max(a, fma((v - mean) * scale, weight, bias)); }
  float4 finish(float4 v, uint) const { return Tanh()(v); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* sums, device float* shares,
    constant uint& batch, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    uint3 grid [[threadgroups_per_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Once, Along<5, 1, 1>, Along<5, 1, 1>>;
  using Convolution = WindowMoments<Steps, Biased<float>, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {x,
                                   conv_transpose_weight,
                                   sums,
                                   shares,
                                   {batch, 1, height, width, channels, channels},
                                   filters,
                                   {conv_transpose_bias, filters}};
  convolution.compute(tile, grid.y, memory, PLACE);
}

[[kernel]] void join(device const float* shares, device float* moments, constant uint& batch,
                     constant uint& height, constant uint& width, constant uint& filters,
                     uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = ((batch * (height + 2) * (width + 2)) + BM - 1) / BM;
  join_moments<TG / 32>(shares, moments, count, filters, filters, 1e-5f, index, memory, PLACE);
}

[[kernel]] void pool(device const float* sums, device const float* moments,
                     device const float* batch_norm_weight, device const float* batch_norm_bias,
                     device float* y, constant uint& height, constant uint& width,
                     constant uint& filters, uint3 place [[thread_position_in_grid]]) {
  const uint channel = 4 * place.x;
  TanhOfLargest largest = {0.0f, 0.0f, load_quad(batch_norm_weight, channel, filters),
                           load_quad(batch_norm_bias, channel, filters)};
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    if (channel + i < filters) {
      const float2 moment = ((device const float2*)moments)[channel + i];
      largest.mean[i] = moment.x;
      largest.scale[i] = moment.y;
    }
  }
  metalbench::pool<1, 2, 2, 2>(largest, sums, y, {1, height + 2, width + 2}, filters, place);
}

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void share(
    device const float* y, device float* group_shares, constant uint& height, constant uint& width,
    constant uint& filters, uint3 group [[threadgroup_position_in_grid]],
    uint3 at [[thread_position_in_threadgroup]]) {
  threadgroup SpreadMemory<QUADS, DOWN> memory;
  const uint pixels = ((height + 2) / 2) * ((width + 2) / 2);
  share_of_pixels<QUADS, DOWN, SHARE>(y, group_shares, pixels, filters, group, at.xy, memory);
}

[[kernel]] void join_groups(device const float* group_shares, device float* group_moments,
                            constant uint& height, constant uint& width, constant uint& filters,
                            constant uint& groups, uint index [[threadgroup_position_in_grid]],
                            uint lane [[thread_index_in_simdgroup]]) {
  const uint pixels = ((height + 2) / 2) * ((width + 2) / 2);
  join_shares<SHARE>(group_shares, group_moments, pixels, filters, groups, 1e-5f, index, lane);
}

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void apply(
    device const float* group_moments, device const float* group_norm_weight,
    device const float* group_norm_bias, device float* y, constant uint& height,
    constant uint& width, constant uint& filters, constant uint& groups,
    uint3 place [[thread_position_in_grid]]) {
  const uint pixels = ((height + 2) / 2) * ((width + 2) / 2);
  apply_moments<ROWS>(Affine<false>{group_norm_weight, group_norm_bias, filters}, y, group_moments,
                      y, pixels, filters, groups, place);
}
