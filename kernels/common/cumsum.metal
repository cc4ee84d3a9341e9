// Cumulative sum along each row: one threadgroup per row, in blocks of QUADS quads a thread. A
// block is scanned in three levels: the quads of a thread, 32 lanes with a SIMD-group prefix sum,
// and the few SIMD-group totals, which every thread adds itself. The carry into the next block
// needs no communication, and two sets of totals in turn make one barrier per block enough.
// dispatch: cumsum  threadgroups=(rows)  threads=(TG)
// tune: TG = 64, 32, 128, 256
// tune: QUADS = 4, 1, 2
// defaults: cuda TG = 128, QUADS = 1
#include "metalbench/scan.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void cumsum(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                       uint row [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_index_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup ScanMemory<TG / 32> memory;
  device DTYPE* to = y + ulong(row) * cols;
  scan_row<TG, QUADS, false, false>(Sums(), row_of(x, row, cols), to, memory, place);
}
