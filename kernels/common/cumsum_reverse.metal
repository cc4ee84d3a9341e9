// Cumulative sum from the right end of each row. Quads are counted from the end and turned round,
// so that the same scan runs on the row backwards, while memory is still read and written four
// columns at a time. Total minus prefix sum would need no reversal, but cancels at the right end.
// dispatch: cumsum_reverse  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 64, 32, 128, 256
// tune: QUADS = 1, 4, 2
// tune: LEAST = 32, 1024
// defaults: cpu TG = 64, QUADS = 4, LEAST = 1024
// defaults: cuda TG = 128, LEAST = 1024
#include "metalbench/scan.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void cumsum_reverse(
    device const DTYPE* x, device DTYPE* y, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup ScanMemory<TG / 32> memory;
  device DTYPE* to = y + ulong(row) * cols;
  scan_row<TG, QUADS, false, true>(Sums(), row_of(x, row, cols), to, memory, place);
}
