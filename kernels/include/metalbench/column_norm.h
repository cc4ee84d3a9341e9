// Norms of the columns of a matrix in one dispatch: a threadgroup has a strip of 4 Quads columns,
// wide enough for whole cache lines, and Down threads down it. Each keeps up to Keep quads of its
// column in registers, so that the matrix is read once, unless it is longer than Down * Keep rows;
// the rest is read again from the cache. The variance is taken from deviations, whose own mean
// corrects the rounding of the first. Needs
// `threadgroups=(ceil_div(ceil_div(cols, 4), Quads))  threads=(Quads, Down)`.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

template <uint Quads, uint Down>
struct ColumnMemory {
  float4 sums[2][Down][Quads];
};

// The sum over the threads of a column of quads, by eights: rows of zeros all add the same number,
// and a long chain would round each of them the same way. `partial` may be used again only behind a
// barrier, which the next sum has: two are enough for any number of sums.
template <uint Quads, uint Down>
inline float4 sum_down(float4 value, threadgroup float4 (&partial)[Down][Quads], uint2 at) {
  partial[at.y][at.x] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float4 result = 0.0f;
  ROLLED
  for (uint i = 0; i < Down; i += 8) {
    float4 eight = partial[i][at.x];
    for (uint j = i + 1; j < min(i + 8, Down); ++j) {
      // check: allow registers the rows that are kept are live across the sums
      eight += partial[j][at.x];
    }
    result += eight;
  }
  return result;
}

// y = map((x - mean) / sqrt(variance + eps), row, column); y may be x.
template <uint Quads, uint Down, uint Keep, typename Map, typename X, typename Y>
inline void normalise_columns(Map map, device const X* x, device Y* y, uint rows, uint cols,
                              float eps, uint group, uint2 at,
                              threadgroup ColumnMemory<Quads, Down>& memory) {
  const uint column = 4 * (group * Quads + at.x);
  const uint beyond = at.y + Keep * Down;
  float4 kept[Keep];
  float4 sum = 0.0f;
  UNROLLED
  for (uint i = 0; i < Keep; ++i) {
    const uint row = at.y + i * Down;
    kept[i] = row < rows ? load_quad(x + ulong(row) * cols, column, cols) : float4(0.0f);
    sum += kept[i];
  }
  for (uint row = beyond; row < rows; row += Down) {
    sum += load_quad(x + ulong(row) * cols, column, cols);
  }
  const float4 mean = sum_down<Quads, Down>(sum, memory.sums[0], at) / float(rows);

  float4 drift = 0.0f;
  float4 square = 0.0f;
  UNROLLED
  for (uint i = 0; i < Keep; ++i) {
    // check: allow registers the rows that are kept are read from memory once
    kept[i] = at.y + i * Down < rows ? kept[i] - mean : float4(0.0f);
    drift += kept[i];
    square = fma(kept[i], kept[i], square);
  }
  for (uint row = beyond; row < rows;) {
    float4 squares_of_few = 0.0f;
    for (uint i = 0; i < Keep && row < rows; ++i, row += Down) {
      const float4 d = load_quad(x + ulong(row) * cols, column, cols) - mean;
      drift += d;
      squares_of_few = fma(d, d, squares_of_few);
    }
    square += squares_of_few;
  }
  drift = sum_down<Quads, Down>(drift, memory.sums[1], at) / float(rows);
  const float4 variance =
      sum_down<Quads, Down>(square, memory.sums[0], at) / float(rows) - drift * drift;

  const float4 scale = precise::rsqrt(variance + eps);
  UNROLLED
  for (uint i = 0; i < Keep; ++i) {
    const uint row = at.y + i * Down;
    if (row < rows) {
      store_quad(y + ulong(row) * cols, column, cols, map((kept[i] - drift) * scale, row, column));
    }
  }
  for (uint row = beyond; row < rows; row += Down) {
    const float4 d = load_quad(x + ulong(row) * cols, column, cols) - mean;
    store_quad(y + ulong(row) * cols, column, cols, map((d - drift) * scale, row, column));
  }
}

}  // namespace metalbench
