// a - mean(a) over the pixels of each image, of a = batch_norm(transposed convolution), 3 x 3 x 3
// taps, steps of 2, channels last. Each tile leaves the moments of its channels next to its sums,
// which are read only once more, in place: with the images' own means and the batch's scale
// (metalbench/window_norms.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(depth * height * width, BM), 8 * batch)  threads=(128)
// dispatch: join  threadgroups=(batch * filters)  threads=(TG)
// dispatch: join_batch  threadgroups=(filters)  threads=(TG)
// check: allow few-threadgroups it computes one factor for each channel and image
// dispatch: scale  threads_in_grid=(filters, batch)  threads=(16, 8)
// dispatch: apply  threads_in_grid=(ceil_div(filters, 4), ceil_div((2 * depth - 1) * (2 * height - 1) * (2 * width - 1), ROWS), batch)  threads=(QUADS, DOWN)
// scratch: shares float32 (batch, 8 * ceil_div(depth * height * width, BM), filters, 4)
// scratch: moments float32 (batch, filters, 2)
// scratch: batch_moments float32 (filters, 2)
// tune: BM = 64, 32
// tune: BN = 32, 16
// tune: BK = 16, 8
// tune: TG = 64, 32, 128, 256
// tune: QUADS = 8, 4, 16
// tune: DOWN = 16, 8, 32
// tune: ROWS = 16, 8, 32
#include "metalbench/activations.h"
#include "metalbench/window_norms.h"
using namespace metalbench;

// a from an image's own mean: what this mean becomes is part of both a and its mean.
struct LessOwnMean {
  Affine<false> affine;
  float4 operator()(float4 v, uint row, uint column) const {
    return affine(v, row, column) - affine(float4(0.0f), row, column);
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* y, device float* shares,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    uint3 grid [[threadgroups_per_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3, 2, 1>, Along<3, 2, 1>, Along<3, 2, 1>>;
  using Convolution = WindowMoments<Steps, Biased<float>, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {x,
                                   conv_transpose_weight,
                                   y,
                                   shares,
                                   {1, depth, height, width, channels, channels},
                                   filters,
                                   {conv_transpose_bias, filters}};
  convolution.compute(tile, grid.y, memory, PLACE);
}

[[kernel]] void join(device const float* shares, device float* moments, constant uint& depth,
                     constant uint& height, constant uint& width, constant uint& filters,
                     uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = 8 * (((depth * height * width) + BM - 1) / BM);
  join_moments<TG / 32>(shares, moments, count, filters, filters, 1e-5f, index, memory, PLACE);
}

[[kernel]] void join_batch(device const float* shares, device float* batch_moments,
                           constant uint& batch, constant uint& depth, constant uint& height,
                           constant uint& width, constant uint& filters,
                           uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = 8 * (((depth * height * width) + BM - 1) / BM);
  join_moments<TG / 32>(shares, batch_moments, batch * count, filters, filters, 1e-5f, index,
                        memory, PLACE);
}

[[kernel]] void scale(device float* moments, device const float* batch_moments,
                      constant uint& filters, uint2 at [[thread_position_in_grid]]) {
  // check: allow strided-access pairs of a mean and a factor, few per image
  moments[2 * (at.y * filters + at.x) + 1] = batch_moments[2 * at.x + 1];
}

[[kernel, max_total_threads_per_threadgroup(QUADS* DOWN)]] void apply(
    device const float* moments, device const float* batch_norm_weight,
    device const float* batch_norm_bias, device float* y, constant uint& depth,
    constant uint& height, constant uint& width, constant uint& filters,
    uint3 place [[thread_position_in_grid]]) {
  apply_moments<ROWS>(LessOwnMean{{batch_norm_weight, batch_norm_bias, filters}}, y, moments, y,
                      (2 * depth - 1) * (2 * height - 1) * (2 * width - 1), filters, filters,
                      place);
}
