// Means of 4 x 4 x 4 voxels, which are two times means of 2 x 2 x 2, of batch_norm(transposed
// convolution), 3 x 3 x 3 taps, steps of 2, channels last. Each tile leaves the moments of its
// channels next to its sums; the norm is applied to what the pool leaves (metalbench/window_norms.h,
// metalbench/pool.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * depth * height * width, BM), 8)  threads=(128)
// dispatch: join  threadgroups=(filters)  threads=(TG)
// dispatch: pool  threads_in_grid=(ceil_div(filters, 4), (2 * width - 1) / 4, batch * ((2 * depth - 1) / 4) * ((2 * height - 1) / 4))  threads=(4, 8, 4)
// scratch: shares float32 (1, 8 * ceil_div(batch * depth * height * width, BM), filters, 4)
// scratch: moments float32 (1, filters, 2)
// scratch: sums float32 (batch * (2 * depth - 1) * (2 * height - 1) * (2 * width - 1), filters)
// tune: BM = 64, 32
// tune: BN = 16, 32
// tune: BK = 16, 8
// tune: TG = 64, 32, 128, 256
#include "metalbench/activations.h"
#include "metalbench/pool.h"
#include "metalbench/window_norms.h"
using namespace metalbench;

struct NormalisedMean {
  float4 mean;
  float4 scale;
  float4 weight;
  float4 bias;
  float4 first() const { return float4(0.0f); }
  float4 join(float4 a, float4 v) const { return a + (v - mean); }
  float4 finish(float4 v, uint count) const { return fma(v / float(count) * scale, weight, bias); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* sums, device float* shares,
    constant uint& batch, constant uint& depth, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    uint3 grid [[threadgroups_per_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3, 2, 1>, Along<3, 2, 1>, Along<3, 2, 1>>;
  using Convolution = WindowMoments<Steps, Biased<float>, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {x,
                                   conv_transpose_weight,
                                   sums,
                                   shares,
                                   {batch, depth, height, width, channels, channels},
                                   filters,
                                   {conv_transpose_bias, filters}};
  convolution.compute(tile, grid.y, memory, PLACE);
}

[[kernel]] void join(device const float* shares, device float* moments, constant uint& batch,
                     constant uint& depth, constant uint& height, constant uint& width,
                     constant uint& filters, uint index [[threadgroup_position_in_grid]],
                     PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = 8 * (((batch * depth * height * width) + BM - 1) / BM);
  join_moments<TG / 32>(shares, moments, count, filters, filters, 1e-5f, index, memory, PLACE);
}

[[kernel]] void pool(device const float* sums, device const float* moments,
                     device const float* batch_norm_weight, device const float* batch_norm_bias,
                     device float* y, constant uint& depth, constant uint& height,
                     constant uint& width, constant uint& filters,
                     uint3 place [[thread_position_in_grid]]) {
  const Extent from = {2 * depth - 1, 2 * height - 1, 2 * width - 1};
  const uint channel = 4 * place.x;
  NormalisedMean mean = {0.0f, 0.0f, load_quad(batch_norm_weight, channel, filters),
                         load_quad(batch_norm_bias, channel, filters)};
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    if (channel + i < filters) {
      const float2 moment = ((device const float2*)moments)[channel + i];
      mean.mean[i] = moment.x;
      mean.scale[i] = moment.y;
    }
  }
  metalbench::pool<4, 4, 4, 4>(mean, sums, y, from, filters, place);
}
