// The sum of a matrix and the transposed view of another, without a copy of the view: tiles of the
// second pass through threadgroup memory, so that both are read and the result is written in whole
// pieces of rows. One column more a row avoids conflicts of banks.
// dispatch: add  threadgroups=(ceil_div(cols, TILE), ceil_div(rows, TILE))  threads=(TILE, LINES)
// tune: TILE = 32, 16, 64
// tune: LINES = 8, 4, 16
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel, max_total_threads_per_threadgroup(TILE * LINES)]] void add(
    device const DTYPE* a, device const DTYPE* b, device DTYPE* y, constant uint& rows,
    constant uint& cols, uint2 tile [[threadgroup_position_in_grid]],
    uint2 place [[thread_position_in_threadgroup]]) {
  threadgroup DTYPE turned[TILE][TILE + 1];
  const uint2 corner = tile * TILE;
  for (uint line = place.y; line < TILE; line += LINES) {
    const uint row = corner.y + place.x, column = corner.x + line;
    if (row < rows && column < cols) {
      turned[line][place.x] = b[ulong(column) * rows + row];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint line = place.y; line < TILE; line += LINES) {
    const uint row = corner.y + line, column = corner.x + place.x;
    if (row < rows && column < cols) {
      const ulong at = ulong(row) * cols + column;
      y[at] = DTYPE(float(a[at]) + float(turned[place.x][line]));
    }
  }
}
