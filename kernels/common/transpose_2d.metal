// Transpose of a matrix through square tiles in threadgroup memory.
// A SIMD-group reads 32 columns of one row and writes 32 columns of one row of the result: both
// sides move whole cache lines. A thread reads all of its elements before it writes the first one,
// so that they are on their way at once. The tile's rows are one element longer than needed, so
// that walking down a column of it meets 32 different banks.
// dispatch: transpose_2d  threadgroups=(ceil_div(cols, TILE), ceil_div(rows, TILE))  threads=(32, HEIGHT)
// tune: TILE = 32, 64
// tune: HEIGHT = 4, 8, 16
// defaults: cuda TILE = 64
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>

#include "metalbench/inlined.h"
using namespace metal;

[[kernel, max_total_threads_per_threadgroup(32 * HEIGHT)]] void transpose_2d(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint2 tile [[threadgroup_position_in_grid]],
    uint2 thread_position [[thread_position_in_threadgroup]]) {
  threadgroup DTYPE block[TILE][TILE + 1];
  constexpr uint WIDE = TILE / 32, DEEP = TILE / HEIGHT;
  const uint2 corner = tile * TILE;

  DTYPE kept[DEEP][WIDE];
  UNROLLED
  for (uint i = 0; i < DEEP; ++i) {
    UNROLLED
    for (uint j = 0; j < WIDE; ++j) {
      const uint2 at = corner + thread_position + uint2(j * 32, i * HEIGHT);
      kept[i][j] = at.y < rows && at.x < cols ? x[ulong(at.y) * cols + at.x] : DTYPE(0);
    }
  }
  UNROLLED
  for (uint i = 0; i < DEEP; ++i) {
    UNROLLED
    for (uint j = 0; j < WIDE; ++j) {
      block[thread_position.y + i * HEIGHT][thread_position.x + j * 32] = kept[i][j];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  UNROLLED
  for (uint i = 0; i < DEEP; ++i) {
    UNROLLED
    for (uint j = 0; j < WIDE; ++j) {
      const uint2 inside = thread_position + uint2(j * 32, i * HEIGHT);
      const uint2 at = corner.yx + inside;
      if (at.y < cols && at.x < rows) {
        y[ulong(at.y) * rows + at.x] = block[inside.x][inside.y];
      }
    }
  }
}
