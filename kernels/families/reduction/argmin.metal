// Index of the smallest element of each row, the first of equals: one threadgroup per row. The
// largest of the negated elements, whose negation is exact; of equal ones the smallest index wins
// at every level, so the order of execution cannot show.
// dispatch: argmin  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/arg_rows.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void argmin(device const DTYPE* x, device uint* y, constant uint& cols,
                       uint row [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_index_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup ArgMemory<TG / 32> memory;
  arg_of_row<TG>(-1.0f, x + ulong(row) * cols, y + row, cols, memory, place);
}
