// Elements of rows written by index: y = x, but y[r, index[r, c]] = values[r, c]. The rows go over
// first, in quads, then a thread a value writes it where its index says; no index is there twice in
// a row, so that what is written has no order. Two launches: no thread looks for its own place.
// dispatch: copy  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// dispatch: put  threads_in_grid=(chosen, rows)  threads=(TG, 1)
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void copy(device const DTYPE* x, device DTYPE* y, constant uint& rows,
                     constant uint& cols, uint i [[thread_position_in_grid]]) {
  const uint count = rows * cols;
  store_quad(y, 4 * i, count, load_quad(x, 4 * i, count));
}

[[kernel]] void put(device const uint* index, device const DTYPE* values, device DTYPE* y,
                    constant uint& cols, constant uint& chosen,
                    uint2 at [[thread_position_in_grid]]) {
  const ulong place = ulong(at.y) * chosen + at.x;
  y[ulong(at.y) * cols + index[place]] = values[place];
}
