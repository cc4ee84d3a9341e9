// 10 times the logsumexp over filters of the mean over pixels of a transposed convolution + a bias,
// 3 x 3 taps, channels last. Without padding each input meets each tap once: the mean is a product
// of the pixels' sum with the taps' sum. Pixels are added line by line, then lines.
// dispatch: add_pixels  threadgroups=(ceil_div(ceil_div(channels, 4), QUADS), batch * height)  threads=(QUADS, DOWN)
// dispatch: add_lines  threadgroups=(ceil_div(ceil_div(channels, 4), QUADS), batch)  threads=(QUADS, DOWN)
// dispatch: add_taps  threadgroups=(ceil_div(ceil_div(channels, 4), QUADS), filters)  threads=(QUADS, DOWN)
// dispatch: finish  threadgroups=(batch)  threads=(32)
// scratch: lines float32 (batch, height, channels)
// scratch: sums float32 (batch, channels)
// scratch: folded float32 (filters, channels)
// tune: QUADS = 16, 4, 8
// tune: DOWN = 8, 4, 16, 32
#include "metalbench/columns.h"
#include "metalbench/joins.h"
#include "metalbench/row_shares.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS* DOWN)]] void add_pixels(
    device const float* x, device float* lines, constant uint& width, constant uint& channels,
    uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][QUADS];
  reduce_columns<QUADS, DOWN>(Sum(), x, lines, width, channels, group, at, partial);
}

[[kernel, max_total_threads_per_threadgroup(QUADS* DOWN)]] void add_lines(
    device const float* lines, device float* sums, constant uint& height, constant uint& channels,
    uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][QUADS];
  reduce_columns<QUADS, DOWN>(Sum(), lines, sums, height, channels, group, at, partial);
}

[[kernel, max_total_threads_per_threadgroup(QUADS* DOWN)]] void add_taps(
    device const float* conv_transpose_weight, device float* folded, constant uint& channels,
    uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][QUADS];
  reduce_columns<QUADS, DOWN>(Sum(), conv_transpose_weight, folded, 9, channels, group, at,
                              partial);
}

// Of 32 filters four lanes multiply one after the other, every eighth, so that they read
// neighbouring channels; then each lane has the sum of one filter.
[[kernel]] void finish(device const float* sums, device const float* folded,
                       device const float* conv_transpose_bias, device const float* bias,
                       device float* y, constant uint& height, constant uint& width,
                       constant uint& channels, constant uint& filters,
                       uint image [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  const float pixels = float((height + 2) * (width + 2));
  device const float* pixel = sums + image * channels;
  float2 state = RowExpSum::of(float4(0.0f), 0);
  for (uint first = 0; first < filters; first += 32) {
    float own = 0.0f;
    for (uint i = 0; i < 4; ++i) {
      const uint filter = min(first + 8 * i + lane / 4, filters - 1);
      float4 quads = 0.0f;
      for (uint c = 4 * (lane % 4); c < channels; c += 16) {
        quads = fma(load_quad(pixel, c, channels),
                    load_quad(folded + filter * channels, c, channels), quads);
      }
      float sum = total(quads);
      for (ushort apart = 2; apart > 0; apart /= 2) {
        sum += simd_shuffle_xor(sum, apart);
      }
      own = lane % 4 == i ? sum : own;
    }
    const uint filter = first + 8 * (lane % 4) + lane / 4;
    const uint at = min(filter, filters - 1);
    const float mean = own / pixels + conv_transpose_bias[at] + bias[at];
    state = RowExpSum::join(state, RowExpSum::of(float4(mean), uint(filter < filters)));
  }
  state = join_lanes<RowExpSum, 32>(state);
  if (lane == 0) {
    y[image] = 10.0f * log_sum_exp(state);
  }
}
