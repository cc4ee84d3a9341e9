// Index of the largest element of each row, the first of equals: one threadgroup per row. A thread
// meets its columns in ascending order and keeps the first maximum. Lanes are combined with two
// SIMD-group functions, the maximum and then the smallest index that attains it, and the SIMD-
// groups in the same way by the first thread: the order of execution cannot show.
// dispatch: argmax  threadgroups=(rows)  threads=(TG)
// tune: TG = 32, 64, 128, 256
// defaults: cuda TG = 64
// dtypes: float32, float16, bfloat16
#include "metalbench/arg_rows.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void argmax(device const DTYPE* x, device uint* y, constant uint& cols,
                       uint row [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_index_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup ArgMemory<TG / 32> memory;
  arg_of_row<TG>(1.0f, x + ulong(row) * cols, y + row, cols, memory, place);
}
