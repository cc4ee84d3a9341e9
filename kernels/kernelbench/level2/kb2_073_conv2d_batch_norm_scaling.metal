// 2 batch_norm(convolution), 3 x 3 taps, channels last. Each tile of the convolution leaves the
// moments of its channels next to its sums, which are read only once more, to be normalised in place
// (metalbench/window_norms.h).
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * (height - 2) * (width - 2), BM))  threads=(128)
// dispatch: join  threadgroups=(filters)  threads=(TG)
// dispatch: apply  threads_in_grid=(ceil_div(filters, 4), ceil_div(batch * (height - 2) * (width - 2), ROWS), 1)  threads=(QUADS, DOWN)
// scratch: shares float32 (1, ceil_div(batch * (height - 2) * (width - 2), BM), filters, 4)
// scratch: moments float32 (1, filters, 2)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: TG = 64, 32, 128, 256
// tune: QUADS = 8, 4, 16
// tune: DOWN = 16, 8, 32
// tune: ROWS = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/window_norms.h"
using namespace metalbench;

struct Doubled {
  Affine<false> affine;
  float4 operator()(float4 v, uint row, uint column) const { return 2.0f * affine(v, row, column); }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* x, device const float* conv_weight, device const float* conv_bias,
    device float* y, device float* shares, constant uint& batch, constant uint& height,
    constant uint& width, constant uint& channels, constant uint& filters,
    uint3 tile [[threadgroup_position_in_grid]], uint3 grid [[threadgroups_per_grid]],
    PLACE_ARGUMENTS) {
  using Steps = Forward<Once, Along<3>, Along<3>>;
  using Convolution = WindowMoments<Steps, Biased<float>, BM, BN, BK>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution convolution = {
      x,       conv_weight,         y, shares, {batch, 1, height, width, channels, channels},
      filters, {conv_bias, filters}};
  convolution.compute(tile, grid.y, memory, PLACE);
}

[[kernel]] void join(device const float* shares, device float* moments, constant uint& batch,
                     constant uint& height, constant uint& width, constant uint& filters,
                     uint index [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[TG / 32];
  const uint count = ((batch * (height - 2) * (width - 2)) + BM - 1) / BM;
  join_moments<TG / 32>(shares, moments, count, filters, filters, 1e-5f, index, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void apply(
    device const float* moments, device const float* bn_weight, device const float* bn_bias,
    device float* y, constant uint& batch, constant uint& height, constant uint& width,
    constant uint& filters, uint3 place [[thread_position_in_grid]]) {
  apply_moments<ROWS>(Doubled{{bn_weight, bn_bias, filters}}, y, moments, y,
                      batch * (height - 2) * (width - 2), filters, filters, place);
}
