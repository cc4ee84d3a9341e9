// Outer product of two vectors: y[r][c] = a[r] b[c]. Nothing but the result matters to memory, so
// a thread keeps four elements of b in registers and writes them, times a[r], to ROWS rows; lanes
// side by side write whole cache lines.
// dispatch: outer_product  threads_in_grid=(ceil_div(cols, 4), ceil_div(rows, ROWS))  threads=(TG)
// tune: TG = 256, 64, 128, 512
// tune: ROWS = 4, 1, 2, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void outer_product(
    device const DTYPE* a, device const DTYPE* b, device DTYPE* y, constant uint& rows,
    constant uint& cols, uint2 place [[thread_position_in_grid]]) {
  const uint column = 4 * place.x;
  const float4 values = load_quad(b, column, cols);
  const uint end = min(rows, (place.y + 1) * ROWS);
  for (uint row = place.y * ROWS; row < end; ++row) {
    store_quad(y + ulong(row) * cols, column, cols, float(a[row]) * values);
  }
}
