// Each row in ascending order, NaN last: a row of up to 8192 elements is sorted by one threadgroup
// in its memory, as integers of the same order, padded to a power of two with what no number is
// above. Exchanges are the same for all data, so equal elements cost what others do. Where a lane
// has HELD neighbours in registers, most of them are shuffles and wait for no other thread. Memory
// follows the row, in five steps, so that several threadgroups of short rows fit into a core.
// dispatch: sort_rows  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 256))))  threadgroup_bytes=(keys: 1024 * (1 + 3 * min(1, (cols - 1) / 256) + 4 * min(1, (cols - 1) / 1024) + 8 * min(1, (cols - 1) / 2048) + 16 * min(1, (cols - 1) / 4096)))
// tune: TG = 1024, 128, 64, 256, 512
// tune: HELD = 8, 0, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 128, HELD = 0, LEAST = 1024
// defaults: cuda TG = 128, HELD = 4, LEAST = 1024
// dtypes: float32, float16, bfloat16
// limits: cols <= 8192
#include "metalbench/reduce.h"
#include "metalbench/sort.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void sort_rows(
    device const DTYPE* x, device DTYPE* y, constant uint& cols,
    threadgroup uint* keys [[threadgroup(0)]], uint row [[threadgroup_position_in_grid]],
    ROW_PLACE_ARGUMENTS) {
  const uint threads = threads_of<TG>(ROW_PLACE(LEAST, TG));
  const ulong start = ulong(row) * cols;
  const uint n = sorted_length<HELD>(cols);
  for (uint i = thread_index; i < n; i += threads) {
    keys[i] = i < cols ? signed_sort_key(x[start + i]) : ~uint(0);
  }
  bitonic_sort<HELD>(keys, n, thread_index, threads);
  for (uint i = thread_index; i < cols; i += threads) {
    y[start + i] = of_signed_sort_key<DTYPE>(keys[i]);
  }
}
