// Index of the smallest element of each row, the first of equals: one threadgroup per row. The
// largest of the negated elements, whose negation is exact; of equal ones the smallest index wins
// at every level, so the order of execution cannot show.
// dispatch: argmin  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32
// defaults: cuda TG = 32
// dtypes: float32, float16, bfloat16
#include "metalbench/arg_rows.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void argmin(device const DTYPE* x, device uint* y,
                                                              constant uint& cols,
                                                              uint row
                                                              [[threadgroup_position_in_grid]],
                                                              ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup ArgMemory<TG / 32> memory;
  arg_of_row<TG>(-1.0f, x + ulong(row) * cols, y + row, cols, memory, place);
}
