// Cumulative sums down the columns of a matrix: a threadgroup has a strip of columns, each of its
// threads four of them in a block of rows. Blocks are summed first, then every thread adds what is
// above its own and writes running sums: rows are read twice, the second time mostly from the
// cache.
// dispatch: cumsum_columns  threadgroups=(ceil_div(ceil_div(cols, 4), QUADS))  threads=(QUADS, DOWN)
// tune: QUADS = 32, 8, 16
// tune: DOWN = 16, 8, 4
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void cumsum_columns(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint2 group [[threadgroup_position_in_grid]], uint2 place [[thread_position_in_threadgroup]]) {
  threadgroup float4 sums[DOWN][QUADS];
  const uint column = 4 * (group.x * QUADS + place.x);
  const uint block = (rows + DOWN - 1) / DOWN;
  const uint first = min(rows, place.y * block);
  const uint end = column < cols ? min(rows, first + block) : first;
  float4 sum = 0.0f;
  for (uint row = first; row < end; ++row) {
    sum += load_quad(x + ulong(row) * cols, column, cols);
  }
  sums[place.y][place.x] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  sum = 0.0f;
  for (uint i = 0; i < place.y; ++i) {
    sum += sums[i][place.x];
  }
  for (uint row = first; row < end; ++row) {
    sum += load_quad(x + ulong(row) * cols, column, cols);
    store_quad(y + ulong(row) * cols, column, cols, sum);
  }
}
