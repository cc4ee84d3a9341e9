// softmax over pixels of clamp(transposed convolution of means of 2 x 2 x 2 voxels, 0, 1), times a
// number for each channel, 3 x 3 x 3 taps, steps of 2, channels last. Exponentials of [0, 1] need
// no largest element: they are what is stored, each tile stores their means, too, and they are
// read once more, to be divided in place (metalbench/window_norms.h).
// dispatch: average  threads_in_grid=(ceil_div(channels, 4), width / 2, batch * (depth / 2) * (height / 2))  threads=(8, 8, 2)
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div((depth / 2) * (height / 2) * (width / 2), BM), 8 * batch)  threads=(128)
// dispatch: join  threadgroups=(batch * filters)  threads=(TG)
// dispatch: divide  threads_in_grid=(ceil_div(filters, 4), 2 * (depth / 2) * 2 * (height / 2) * 2 * (width / 2), batch)  threads=(16, 8, 1)
// scratch: shares float32 (batch, 8 * ceil_div((depth / 2) * (height / 2) * (width / 2), BM), filters, 4)
// scratch: moments float32 (batch, filters, 2)
// scratch: means float32 (batch, depth / 2, height / 2, width / 2, channels)
// tune: BM = 64, 32
// tune: BN = 32, 64
// tune: BK = 16, 8
// tune: TG = 64, 32, 128, 256
#include "metalbench/activations.h"
#include "metalbench/pool.h"
#include "metalbench/window_norms.h"
using namespace metalbench;

struct ExpOfClipped {
  float4 operator()(float4 v) const { return precise::exp(Clip{0.0f, 1.0f}(v)); }
};

[[kernel]] void average(device const float* x, device float* means, constant uint& depth,
                        constant uint& height, constant uint& width, constant uint& channels,
                        uint3 place [[thread_position_in_grid]]) {
  pool<2, 2, 2, 2>(Mean(), x, means, {depth, height, width}, channels, place);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* means, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device float* y, device float* shares,
    constant uint& depth, constant uint& height, constant uint& width, constant uint& channels,
    constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    uint3 grid [[threadgroups_per_grid]], PLACE_ARGUMENTS) {
  using Steps = Backward<Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>, Along<3, 2, 1, 1, 1>>;
  using Convolution = WindowMoments<Steps, BiasedThen<float, ExpOfClipped>, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {means,
                                   conv_transpose_weight,
                                   y,
                                   shares,
                                   {1, depth / 2, height / 2, width / 2, channels, channels},
                                   filters,
                                   {{conv_transpose_bias, filters}}};
  convolution.compute(tile, grid.y, memory, PLACE);
}

[[kernel]] void join(device const float* shares, device float* moments, constant uint& depth,
                     constant uint& height, constant uint& width, constant uint& filters,
                     uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = 8 * ((((depth / 2) * (height / 2) * (width / 2)) + BM - 1) / BM);
  join_moments<TG / 32>(shares, moments, count, filters, filters, 1e-5f, index, memory, PLACE);
}

[[kernel]] void divide(device const float* moments, device const float* scale, device float* y,
                       constant uint& depth, constant uint& height, constant uint& width,
                       constant uint& filters, uint3 place [[thread_position_in_grid]]) {
  const uint pixels = 2 * (depth / 2) * 2 * (height / 2) * 2 * (width / 2);
  const uint column = 4 * place.x;
  device const float2* means = (device const float2*)moments + place.z * filters;
  float4 factor = load_quad(scale, column, filters) / float(pixels);
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    if (column + i < filters) {
      // check: allow strided-access pairs of a mean and a deviation, few per image
      factor[i] /= means[column + i].x;
    }
  }
  device float* pixel = y + (ulong(place.z) * pixels + place.y) * filters;
  store_quad(pixel, column, filters, load_quad(pixel, column, filters) * factor);
}
