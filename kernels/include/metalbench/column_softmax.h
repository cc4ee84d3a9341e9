// Softmax of the columns of a matrix, such as the channels of a line of pixels: a threadgroup has a
// strip of 4 Quads columns, wide enough for whole cache lines, and Down threads down it. The strip
// is read twice, the second time from a cache. Needs
//   threadgroups=(ceil_div(ceil_div(cols, 4), Quads), matrices)  threads=(Quads, Down)
// A `Source` has quad(row, column): four columns of a row, anything past the last column.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

// A norm over columns without a bias, which shifts a column and no softmax of it: elements less the
// mean, over the deviation, times a weight. Moments are those of pixel_norm.h.
struct StandardColumns {
  device const float* matrix;
  device const float* moments;
  device const float* weight;
  uint cols;

  // What quads of a column share.
  struct Column {
    float4 mean;
    float4 scale;
  };
  Column column(uint first) const {
    Column found = {0.0f, load_quad(weight, first, cols)};
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const float2 moment = ((device const float2*)moments)[min(first + i, cols - 1)];
      found.mean[i] = moment.x;
      found.scale[i] *= moment.y;
    }
    return found;
  }
  float4 quad(uint row, uint first, Column of) const {
    return (load_quad(matrix + ulong(row) * cols, first, cols) - of.mean) * of.scale;
  }
};

template <uint Quads, uint Down>
struct ColumnSoftmaxMemory {
  float4 peaks[Down][Quads];
  float4 sums[Down][Quads];
};

// Of strip `strip`, into rows of `y` that are `pitch` elements apart.
template <uint Quads, uint Down, typename Source>
inline void softmax_columns(Source source, device float* y, uint rows, uint cols, uint pitch,
                            uint strip, uint2 at,
                            threadgroup ColumnSoftmaxMemory<Quads, Down>& memory) {
  const uint first = 4 * (strip * Quads + at.x);
  const typename Source::Column column = source.column(first);
  float4 peak = -FLT_MAX, sum = 0.0f;
  for (uint row = at.y; row < rows && first < cols; row += Down) {
    const float4 v = source.quad(row, first, column);
    const float4 higher = max(peak, v);
    sum = fma(sum, precise::exp(peak - higher), precise::exp(v - higher));
    peak = higher;
  }
  memory.peaks[at.y][at.x] = peak;
  memory.sums[at.y][at.x] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = 0; i < Down; ++i) {
    peak = max(peak, memory.peaks[i][at.x]);
  }
  sum = 0.0f;
  for (uint i = 0; i < Down; ++i) {
    sum = fma(memory.sums[i][at.x], precise::exp(memory.peaks[i][at.x] - peak), sum);
  }
  const float4 inverse = 1.0f / sum;
  for (uint row = at.y; row < rows && first < cols; row += Down) {
    const float4 v = source.quad(row, first, column);
    store_quad(y + ulong(row) * pitch, first, cols, precise::exp(v - peak) * inverse);
  }
}

}  // namespace metalbench
