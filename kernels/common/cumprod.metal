// Cumulative product along each row: the scan of cumsum with products in the place of sums, and 1
// in the place of 0 beyond the row. A sum gains by being taken as a tree, a product does not: each
// of its roundings is relative, and counts in full in whatever order they come.
// dispatch: cumprod  threadgroups=(rows)  threads=(TG)
// tune: TG = 64, 32, 128, 256
// tune: QUADS = 4, 1, 2
// defaults: cuda TG = 128, QUADS = 1
#include "metalbench/scan.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void cumprod(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                        uint row [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup ScanMemory<TG / 32> memory;
  device DTYPE* to = y + ulong(row) * cols;
  scan_row<TG, QUADS, false, false>(Products(), row_of(x, row, cols, 1.0f), to, memory, place);
}
