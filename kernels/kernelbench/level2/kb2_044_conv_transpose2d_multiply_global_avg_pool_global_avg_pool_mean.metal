// The mean over pixels of half a transposed convolution, 3 x 3 taps, steps of 2, padding 1,
// channels last. Each input meets each tap once, but the first line not the first line of taps, nor
// the first column the first column of them, which would land in the padding. So the mean is the
// product of four sums of pixels, with and without these, with the sums of the taps that meet them.
// Pixels are added line by line.
// dispatch: add_pixels  threadgroups=(ceil_div(ceil_div(channels, 4), QUADS), batch * height)  threads=(QUADS, DOWN)
// dispatch: add_lines  threads_in_grid=(ceil_div(channels, 4), 4, batch)  threads=(8, 4, 2)
// dispatch: finish  threadgroups=(filters, batch)  threads=(32)
// scratch: lines float32 (batch, height, channels)
// scratch: sums float32 (batch, 4, channels)
// tune: QUADS = 16, 4, 8
// tune: DOWN = 8, 4, 16, 32
#include "metalbench/columns.h"
#include "metalbench/divisor.h"
#include "metalbench/joins.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS* DOWN)]] void add_pixels(
    device const float* x, device float* lines, constant uint& width, constant uint& channels,
    uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][QUADS];
  reduce_columns<QUADS, DOWN>(Sum(), x, lines, width, channels, group, at, partial);
}

// Sum at.y: bit 0 leaves out the first column, bit 1 the first line.
[[kernel]] void add_lines(device const float* x, device const float* lines, device float* sums,
                          constant uint& height, constant uint& width, constant uint& channels,
                          uint3 at [[thread_position_in_grid]]) {
  const uint column = 4 * at.x;
  const ulong first = ulong(at.z) * height + at.y / 2;
  device const float* line = lines + first * channels;
  device const float* pixel = x + first * width * channels;
  float4 sum = 0.0f;
  for (uint i = at.y / 2; i < height; ++i) {
    sum += load_quad(line, column, channels);
    if (at.y % 2 == 1) {
      sum -= load_quad(pixel, column, channels);
    }
    line += channels;
    pixel += width * channels;
  }
  store_quad(sums + (at.z * 4 + at.y) * channels, column, channels, sum);
}

[[kernel]] void finish(device const float* sums, device const float* conv_transpose_weight,
                       device const float* conv_transpose_bias, device float* y,
                       constant uint& height, constant uint& width, constant uint& channels,
                       constant uint& filters, uint2 at [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  const RowColumn step = RowColumn::of(32, channels);
  RowColumn position = RowColumn::of(lane, channels);
  float sum = 0.0f;
  for (uint i = lane; i < 9 * channels; i += 32) {
    const uint tap = position.row;
    const uint kind = (tap / 3 == 0 ? 2 : 0) + (tap % 3 == 0 ? 1 : 0);
    sum = fma(conv_transpose_weight[at.x * 9 * channels + i],
              sums[(at.y * 4 + kind) * channels + position.column], sum);
    position = position.after(step, channels);
  }
  sum = simd_sum(sum);
  if (lane == 0) {
    y[at.y * filters + at.x] = 0.5f * (sum / float(4 * height * width) + conv_transpose_bias[at.x]);
  }
}
