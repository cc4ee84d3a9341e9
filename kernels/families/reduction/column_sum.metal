// Sums of columns: a threadgroup has 128 columns, four a lane, so that a row of them is read in
// whole cache lines; its SIMD-groups take turns at the rows of its share, and join through
// threadgroup memory. A second launch adds the shares, of which there are enough to fill a GPU.
// dispatch: shares  threadgroups=(ceil_div(cols, 128), SHARES)  threads=(TG)
// dispatch: total_of_shares  threads_in_grid=(cols)  threads=(64)
// scratch: partial float32 (SHARES, cols)
// tune: TG = 256, 128, 512
// tune: SHARES = 16, 1, 4, 32, 64
// defaults: cpu SHARES = 4, TG = 128
// defaults: cuda SHARES = 32
// dtypes: float32, float16, bfloat16
#include "metalbench/columns.h"
#include "metalbench/joins.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint SIMDGROUPS = TG / 32;

[[kernel, max_total_threads_per_threadgroup(TG)]] void shares(
    device const DTYPE* x, device float* partial, constant uint& rows, constant uint& cols,
    uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float4 sums[SIMDGROUPS][32];
  const uint column = 128 * group.x + 4 * lane;
  float4 sum = 0.0f;
  const uint first = group.y * SIMDGROUPS + simdgroup;
  if (column < cols) {
    sum = joined_rows<SHARES * SIMDGROUPS>(Sum(), x, first, rows, column, cols);
  }
  sums[simdgroup][lane] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup == 0 && column < cols) {
    for (uint i = 1; i < SIMDGROUPS; ++i) {
      sum += sums[i][lane];
    }
    store_quad(partial + ulong(group.y) * cols, column, cols, sum);
  }
}

[[kernel]] void total_of_shares(device const float* partial, device DTYPE* y, constant uint& cols,
                                uint column [[thread_position_in_grid]]) {
  float sum = 0.0f;
  for (uint i = 0; i < SHARES; ++i) {
    sum += partial[i * cols + column];
  }
  y[column] = DTYPE(sum);
}
