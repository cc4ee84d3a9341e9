// Where the elements of each row, in ascending order, come from: equal ones stay in their order. A
// key is an integer of the same order and the column below it, so that no two are equal and a sort
// that is not stable becomes one. Rows of up to 4096 elements, one threadgroup each.
// dispatch: argsort_rows  threadgroups=(rows)  threads=(TG)
// tune: TG = 128, 64, 256, 512
// tune: HELD = 0, 4, 8
// defaults: cuda HELD = 4
// dtypes: float32, float16, bfloat16
// limits: cols <= 4096
#include "metalbench/sort.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint MOST = 4096;

[[kernel, max_total_threads_per_threadgroup(TG)]] void argsort_rows(
    device const DTYPE* x, device uint* y, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup ulong keys[MOST];
  const ulong start = ulong(row) * cols;
  const uint n = sorted_length<HELD>(cols);
  for (uint i = thread_index; i < n; i += TG) {
    keys[i] = i < cols ? ulong(sort_key(float(x[start + i]))) << 32 | i : ~ulong(0);
  }
  bitonic_sort<TG, HELD>(keys, n, thread_index);
  for (uint i = thread_index; i < cols; i += TG) {
    y[start + i] = uint(keys[i]);
  }
}
