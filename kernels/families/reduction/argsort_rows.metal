// Where the elements of each row, in ascending order, come from: equal ones stay in their order. A
// key is an integer of the same order and the column below it, so that no two are equal and a sort
// that is not stable becomes one. Rows of up to 4096 elements, one threadgroup each. Memory follows
// the row, in four steps.
// dispatch: argsort_rows  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 256))))  threadgroup_bytes=(keys: 2048 * (1 + 3 * min(1, (cols - 1) / 256) + 4 * min(1, (cols - 1) / 1024) + 8 * min(1, (cols - 1) / 2048)))
// tune: TG = 1024, 128, 64, 256, 512
// tune: HELD = 8, 0, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 128, HELD = 0, LEAST = 1024
// defaults: cuda TG = 128, HELD = 4, LEAST = 1024
// dtypes: float32, float16, bfloat16
// limits: cols <= 4096
#include "metalbench/reduce.h"
#include "metalbench/sort.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void argsort_rows(
    device const DTYPE* x, device uint* y, constant uint& cols,
    threadgroup ulong* keys [[threadgroup(0)]], uint row [[threadgroup_position_in_grid]],
    ROW_PLACE_ARGUMENTS) {
  const uint threads = threads_of<TG>(ROW_PLACE(LEAST, TG));
  const ulong start = ulong(row) * cols;
  const uint n = sorted_length<HELD>(cols);
  for (uint i = thread_index; i < n; i += threads) {
    keys[i] = i < cols ? ulong(sort_key(x[start + i])) << 32 | i : ~ulong(0);
  }
  bitonic_sort<HELD>(keys, n, thread_index, threads);
  for (uint i = thread_index; i < cols; i += threads) {
    y[start + i] = uint(keys[i]);
  }
}
