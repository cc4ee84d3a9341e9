// Means over the middle axis of three: strips of columns, each thread every DOWN-th row of four of
// them (metalbench/columns.h).
// dispatch: reduce  threadgroups=(ceil_div(ceil_div(cols, 4), QUADS), batch)  threads=(QUADS, DOWN)
// tune: QUADS = 16, 8, 32
// tune: DOWN = 8, 4, 16
#include "metalbench/columns.h"
#include "metalbench/joins.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void reduce(
    device const float* x, device float* y, constant uint& rows, constant uint& cols,
    uint2 group [[threadgroup_position_in_grid]],
    uint2 thread_position [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][QUADS];
  reduce_columns<QUADS, DOWN>(Mean(), x, y, rows, cols, group, thread_position, partial);
}
