// Cumulative sum from the right end of each row. Quads are counted from the end and turned round,
// so that the same scan runs on the row backwards, while memory is still read and written four
// columns at a time. Total minus prefix sum would need no reversal, but cancels at the right end.
// dispatch: cumsum_reverse  threadgroups=(rows)  threads=(TG)
// tune: TG = 64, 32, 128, 256
// tune: QUADS = 4, 1, 2
// defaults: cuda TG = 128, QUADS = 1
#include "metalbench/scan.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void cumsum_reverse(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                               uint row [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]],
                               uint lane [[thread_index_in_simdgroup]],
                               uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup ScanMemory<TG / 32> memory;
  device DTYPE* to = y + ulong(row) * cols;
  scan_row<TG, QUADS, false, true>(Sums(), row_of(x, row, cols), to, memory, place);
}
