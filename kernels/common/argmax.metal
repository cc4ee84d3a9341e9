// Index of the largest element of each row, the first of equals: one threadgroup per row. A thread
// meets its columns in ascending order and keeps the first maximum. Lanes are combined with two
// SIMD-group functions, the maximum and then the smallest index that attains it, and the SIMD-
// groups in the same way by the first thread: the order of execution cannot show.
// dispatch: argmax  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32
// defaults: cuda TG = 64, LEAST = 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/arg_rows.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void argmax(device const DTYPE* x, device uint* y,
                                                              constant uint& cols,
                                                              uint row
                                                              [[threadgroup_position_in_grid]],
                                                              ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup ArgMemory<TG / 32> memory;
  arg_of_row<TG>(1.0f, x + ulong(row) * cols, y + row, cols, memory, place);
}
