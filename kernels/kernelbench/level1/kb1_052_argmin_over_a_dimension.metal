// Where the smallest along the middle axis of three is, the first of several: strips of columns, each
// thread every DOWN-th row of four of them (metalbench/columns.h).
// dispatch: arg  threadgroups=(ceil_div(ceil_div(cols, 4), QUADS), batch)  threads=(QUADS, DOWN)
// tune: QUADS = 16, 8, 32
// tune: DOWN = 8, 4, 16
#include "metalbench/columns.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void arg(
    device const float* x, device uint* y, constant uint& rows, constant uint& cols,
    uint2 group [[threadgroup_position_in_grid]],
    uint2 thread_position [[thread_position_in_threadgroup]]) {
  threadgroup LargestOfColumns<QUADS, DOWN> partial;
  arg_of_columns(-1.0f, x, y, rows, cols, group, thread_position, partial);
}
