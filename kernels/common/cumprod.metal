// Cumulative product along each row: the scan of cumsum with products in the place of sums, and 1
// in the place of 0 beyond the row. A sum gains by being taken as a tree, a product does not: each
// of its roundings is relative, and counts in full in whatever order they come.
// dispatch: cumprod  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 64, 32, 128, 256
// tune: QUADS = 1, 4, 2
// tune: LEAST = 32, 1024
// defaults: cpu TG = 64, QUADS = 4, LEAST = 1024
// defaults: cuda TG = 128, LEAST = 1024
#include "metalbench/scan.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void cumprod(device const DTYPE* x,
                                                               device DTYPE* y, constant uint& cols,
                                                               uint row
                                                               [[threadgroup_position_in_grid]],
                                                               ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup ScanMemory<TG / 32> memory;
  device DTYPE* to = y + ulong(row) * cols;
  scan_row<TG, QUADS, false, false>(Products(), row_of(x, row, cols, 1.0f), to, memory, place);
}
