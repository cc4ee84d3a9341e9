// Rows with a number of zeros before and after them: a thread writes four columns of the result, loaded
// as one where all of them lie inside, else one by one. Nothing is written twice, as it would be by
// filling and copying.
// dispatch: pad_columns  threads_in_grid=(ceil_div(cols + 2 * border, 4), rows)  threads=(QUADS, ROWS)
// tune: QUADS = 32, 8, 16, 64
// tune: ROWS = 4, 1, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * ROWS)]] void pad_columns(
    device const DTYPE* x, device DTYPE* y, constant uint& cols, constant int& border,
    uint2 place [[thread_position_in_grid]]) {
  const uint width = cols + 2 * uint(border);
  const uint first = 4 * place.x;
  const uint before = uint(border);
  device const DTYPE* from = x + ulong(place.y) * cols;
  float4 v = 0.0f;
  if (first >= before && first - before < cols) {
    v = load_quad(from, first - before, cols);
  } else if (first < before) {
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const uint column = first + i;
      v[i] = column >= before && column - before < cols ? float(from[column - before]) : 0.0f;
    }
  }
  store_quad(y + ulong(place.y) * width, first, width, v);
}
