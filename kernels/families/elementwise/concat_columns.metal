// Two matrices side by side: a thread moves four columns of one of them, whose quads come first in
// the grid. Where the first has a number of columns that is not a multiple of four, the other's quads
// are written to where vectors are not aligned, but elements are.
// dispatch: concat_columns  threads_in_grid=(ceil_div(left, 4) + ceil_div(right, 4), rows)  threads=(QUADS, ROWS)
// tune: QUADS = 32, 8, 16, 64
// tune: ROWS = 4, 1, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * ROWS)]] void concat_columns(
    device const DTYPE* a, device const DTYPE* b, device DTYPE* y, constant uint& left,
    constant uint& right, uint2 place [[thread_position_in_grid]]) {
  const uint quads = (left + 3) / 4;
  device DTYPE* to = y + ulong(place.y) * (left + right);
  if (place.x < quads) {
    store_quad(to, 4 * place.x, left, load_quad(a + ulong(place.y) * left, 4 * place.x, left));
    return;
  }
  const uint column = 4 * (place.x - quads);
  store_quad(to + left, column, right, load_quad(b + ulong(place.y) * right, column, right));
}
