// Sums of segments of rows that offsets delimit, of any length, empty ones too: a threadgroup has a
// strip of columns of one segment, its threads every DOWN-th row of four columns. What they find is
// joined through threadgroup memory in the same order always: no atomics, equal bits.
// dispatch: segment_sum  threadgroups=(ceil_div(ceil_div(cols, 4), QUADS), segments)  threads=(QUADS, DOWN)
// tune: QUADS = 16, 8, 32
// tune: DOWN = 4, 1, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/columns.h"
#include "metalbench/joins.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void segment_sum(device const DTYPE* x, device const uint* offsets, device DTYPE* y,
                            constant uint& rows, constant uint& cols,
                            uint2 group [[threadgroup_position_in_grid]],
                            uint2 thread_position [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][QUADS];
  const uint first = min(offsets[group.y], rows);
  const uint end = clamp(offsets[group.y + 1], first, rows);
  device DTYPE* to = y + ulong(group.y) * cols;
  reduce_columns<QUADS, DOWN>(Sum(), x + ulong(first) * cols, to, end - first, cols,
                              uint2(group.x, 0), thread_position, partial);
}
