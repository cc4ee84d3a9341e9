// y = 2 x for rows of any length: a thread moves four columns of a row by one load and one store.
// Threadgroup memory: 0 bytes.
// dispatch: twice  threads_in_grid=(ceil_div(cols, 4), rows)  threads=(32, 1)
#include "metalbench/quads.h"
using namespace metalbench;

[[kernel]] void twice(device const half* x, device half* y, constant uint& cols,
                      uint2 at [[thread_position_in_grid]]) {
  const ulong row = ulong(at.y) * cols;
  const uint column = 4 * at.x;
  // Past the end of the row, load_quad returns zeros and store_quad stores nothing.
  const float4 v = load_quad(x + row, column, cols);
  store_quad(y + row, column, cols, 2.0f * v);
}
