// Transpose of a matrix through 32 x 32 tiles in threadgroup memory.
// A SIMD-group reads 32 columns of one row and writes 32 columns of one row of the result: both
// sides move whole cache lines. The tile's rows are one element longer than needed, so that walking
// down a column of it meets 32 different banks.
// dispatch: transpose_2d  threadgroups=(ceil_div(cols, 32), ceil_div(rows, 32))  threads=(32, HEIGHT)
// tune: HEIGHT = 4, 8, 16
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

constant constexpr uint TILE = 32;

[[kernel]] void transpose_2d(device const DTYPE* x, device DTYPE* y, constant uint& rows,
                             constant uint& cols, uint2 tile [[threadgroup_position_in_grid]],
                             uint2 thread_position [[thread_position_in_threadgroup]]) {
  threadgroup DTYPE block[TILE][TILE + 1];
  const uint2 corner = tile * TILE;
  const uint across = thread_position.x;

  const uint column = corner.x + across;
  for (uint down = thread_position.y; down < TILE; down += HEIGHT) {
    const uint row = corner.y + down;
    if (row < rows && column < cols) {
      block[down][across] = x[ulong(row) * cols + column];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint y_column = corner.y + across;
  for (uint down = thread_position.y; down < TILE; down += HEIGHT) {
    const uint y_row = corner.x + down;
    if (y_row < cols && y_column < rows) {
      y[ulong(y_row) * rows + y_column] = block[across][down];
    }
  }
}
