// Batch norm without affine part: each column gets mean 0 and variance 1 over the rows. Every
// threadgroup normalises a strip of columns, which it reads once (metalbench/column_norm.h).
// dispatch: batch_norm  threadgroups=(ceil_div(ceil_div(cols, 4), QUADS))  threads=(QUADS, THREADS)
// tune: QUADS = 8, 4
// tune: THREADS = 64, 32
// tune: KEEP = 8, 16, 4
// defaults: cpu KEEP = 16
// defaults: cuda KEEP = 16
// dtypes: float32, float16, bfloat16
#include "metalbench/column_norm.h"
#include "metalbench/epilogues.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * THREADS)]] void batch_norm(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    constant float& eps, uint2 group [[threadgroup_position_in_grid]],
    uint2 thread_position [[thread_position_in_threadgroup]]) {
  threadgroup ColumnMemory<QUADS, THREADS> memory;
  normalise_columns<QUADS, THREADS, KEEP>(AsItIs(), x, y, rows, cols, eps, group.x, thread_position,
                                          memory);
}
