// The mean over pixels of batch_norm(2 transposed convolution), 5 x 5 x 5 taps, channels last. Each
// tile of the convolution leaves the moments of its channels, and nothing else: they are all that
// the result depends on (metalbench/window_norms.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div((depth + 4) * (height + 4) * (width + 4), BM), batch)  threads=(128)
// dispatch: join  threadgroups=(batch * filters)  threads=(TG)
// dispatch: join_batch  threadgroups=(filters)  threads=(TG)
// dispatch: finish  threads_in_grid=(filters, batch)  threads=(16, 8)
// scratch: shares float32 (batch, ceil_div((depth + 4) * (height + 4) * (width + 4), BM), filters, 4)
// scratch: moments float32 (batch, filters, 2)
// scratch: batch_moments float32 (filters, 2)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: TG = 64, 32, 128, 256
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/window_norms.h"
using namespace metalbench;

struct Doubled {
  float4 operator()(float4 v) const { return 2.0f * v; }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* shares, constant uint& depth,
    constant uint& height, constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], uint3 grid [[threadgroups_per_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Backward<Along<5>, Along<5>, Along<5>>;
  using Convolution = WindowMoments<Steps, BiasedThen<float, Doubled>, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {x,
                                   conv_transpose_weight,
                                   nullptr,
                                   shares,
                                   {1, depth, height, width, channels, channels},
                                   filters,
                                   {{conv_transpose_bias, filters}}};
  convolution.compute(tile, grid.y, memory, PLACE);
}

[[kernel]] void join(device const float* shares, device float* moments, constant uint& depth,
                     constant uint& height, constant uint& width, constant uint& filters,
                     uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = (((depth + 4) * (height + 4) * (width + 4)) + BM - 1) / BM;
  join_moments<TG / 32>(shares, moments, count, filters, filters, 1e-5f, index, memory, PLACE);
}

[[kernel]] void join_batch(device const float* shares, device float* batch_moments,
                           constant uint& batch, constant uint& depth, constant uint& height,
                           constant uint& width, constant uint& filters,
                           uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = (((depth + 4) * (height + 4) * (width + 4)) + BM - 1) / BM;
  join_moments<TG / 32>(shares, batch_moments, batch * count, filters, filters, 1e-5f, index,
                        memory, PLACE);
}

[[kernel]] void finish(device const float* moments, device const float* batch_moments,
                       device const float* batch_norm_weight, device const float* batch_norm_bias,
                       device float* y, constant uint& filters,
                       uint2 at [[thread_position_in_grid]]) {
  const uint index = at.y * filters + at.x;
  // check: allow strided-access pairs of a mean and a deviation, few per image
  const float mean = ((device const float2*)moments)[index].x;
  const float2 whole = ((device const float2*)batch_moments)[at.x];
  y[index] = fma((mean - whole.x) * whole.y, batch_norm_weight[at.x], batch_norm_bias[at.x]);
}
