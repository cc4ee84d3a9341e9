// Cumulative sum of all elements before each one. Each result is what comes before the thread
// plus the sum of its own elements so far, shifted by one: the element itself is never added and
// then subtracted, which would leave its rounding error behind.
// dispatch: cumsum_exclusive  threadgroups=(rows)  threads=(TG)
// tune: TG = 64, 32, 128, 256
// tune: QUADS = 4, 1, 2
// defaults: cuda TG = 128, QUADS = 1
#include "metalbench/scan.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void cumsum_exclusive(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                                 uint row [[threadgroup_position_in_grid]],
                                 uint thread_index [[thread_index_in_threadgroup]],
                                 uint lane [[thread_index_in_simdgroup]],
                                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup ScanMemory<TG / 32> memory;
  device DTYPE* to = y + ulong(row) * cols;
  scan_row<TG, QUADS, true, false>(Sums(), row_of(x, row, cols), to, memory, place);
}
