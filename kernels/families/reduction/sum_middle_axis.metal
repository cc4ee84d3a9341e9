// Sums, or largest elements, over the middle axis of three: strips of columns, wide enough for
// whole cache lines, in which each thread takes every DOWN-th row of four columns (columns.h).
// Partial results are joined in the same order always.
// dispatch: join_columns  threadgroups=(ceil_div(ceil_div(cols, 4), QUADS), batch)  threads=(QUADS, DOWN)
// instance: sum_middle_axis FUNCTION = 0
// instance: max_middle_axis FUNCTION = 1
// tune: QUADS = 16, 8, 32
// tune: DOWN = 32, 8, 4, 16, 64
// defaults: cpu DOWN = 4
// defaults: cuda DOWN = 64
// dtypes: float32, float16, bfloat16
#include "metalbench/columns.h"
#include "metalbench/joins.h"
using namespace metal;
using namespace metalbench;

template <uint Function>
struct Chosen;
template <>
struct Chosen<0> : Sum {};
template <>
struct Chosen<1> : Max {};

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void join_columns(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint2 group [[threadgroup_position_in_grid]],
    uint2 thread_position [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][QUADS];
  reduce_columns<QUADS, DOWN>(Chosen<FUNCTION>(), x, y, rows, cols, group, thread_position,
                              partial);
}
