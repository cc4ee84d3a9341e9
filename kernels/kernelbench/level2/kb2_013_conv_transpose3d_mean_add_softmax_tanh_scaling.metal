// 2 tanh(softmax over channels of the mean along depth of a transposed convolution + a bias), 3 x 3
// x 3 taps, padding 1, channels last. The mean is the convolution of sums along depth: one for each
// slice of taps, without the slices of the input that it moves into the padding. Softmax works on
// the result in place, some lanes a pixel (metalbench/channel_rows.h).
// dispatch: add_slices  threads_in_grid=(ceil_div(channels, 4), height * width, batch)  threads=(4, 32, 1)
// dispatch: convolve  threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM))  threads=(128)
// dispatch: normalise  threads_in_grid=(LANES * batch * height * width)  threads=(128)
// scratch: planes float32 (batch, 3, height, width, channels)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: LANES = 16, 8, 32
// tune: BUFFERS = 1, 2
// defaults: cpu BUFFERS = 2
// defaults: cuda BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/channel_rows.h"
#include "metalbench/window_products.h"
using namespace metalbench;

// The plane of the last taps, which no input meets in the last slice, that of the middle ones, and
// that of the first, which none meets in the first slice: as a transposed convolution takes them.
[[kernel]] void add_slices(device const float* x, device float* planes, constant uint& depth,
                           constant uint& height, constant uint& width, constant uint& channels,
                           uint3 at [[thread_position_in_grid]]) {
  const uint column = 4 * at.x;
  const uint pixels = height * width;
  const ulong plane = ulong(pixels) * channels;
  device const float* slice = x + (ulong(at.z) * depth * pixels + at.y) * channels;
  const float4 first = load_quad(slice, column, channels);
  float4 inner = 0.0f;
  for (uint i = 1; i + 1 < depth; ++i) {
    slice += plane;
    inner += load_quad(slice, column, channels);
  }
  const float4 last = depth > 1 ? load_quad(slice + plane, column, channels) : float4(0.0f);
  device float* to = planes + (ulong(at.z) * 3 * pixels + at.y) * channels;
  store_quad(to, column, channels, depth > 1 ? inner + first : float4(0.0f));
  store_quad(to + plane, column, channels, inner + first + last);
  store_quad(to + 2 * plane, column, channels, inner + last);
}

struct MeanThenBias {
  float depth;
  Biased<float> conv;
  Biased<float> bias;
  float4 operator()(float4 v, uint row, uint column) const {
    return bias(conv(v / depth, row, column), row, column);
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void convolve(
    device const float* planes, device const float* conv_transpose_weight,
    device const float* conv_transpose_bias, device const float* bias, device float* y,
    constant uint& batch, constant uint& depth, constant uint& height, constant uint& width,
    constant uint& channels, constant uint& filters, uint3 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  // Of the depth of three planes one slice is left, which all of them reach.
  using Steps = Backward<Along<3, 1, 2>, Along<3, 1, 1>, Along<3, 1, 1>>;
  using Convolution = WindowProduct<float, Steps, 3 * 3 * 3, BM, BN, BK, MeanThenBias>;
  threadgroup float4 memory[Convolution::kMemory];
  const Convolution product = {planes,
                               conv_transpose_weight,
                               y,
                               {batch, 3, height, width, channels, channels},
                               filters,
                               1,
                               {float(depth), {conv_transpose_bias, filters}, {bias, filters}}};
  product.compute(tile, memory, PLACE);
}

[[kernel]] void normalise(device float* y, constant uint& filters,
                          uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint2 at = lane_of_row<LANES>(group, PLACE);
  device float* pixel = y + ulong(at.y) * filters;
  const SoftmaxOf<RowInPlace<float>> softmax =
      softmax_of<LANES>(RowInPlace<float>{pixel, filters, 0.0f}, filters, at.x);
  for (uint column = 4 * at.x; column < filters; column += 4 * LANES) {
    store_quad(pixel, column, filters, 2.0f * Tanh()(softmax(column)));
  }
}
