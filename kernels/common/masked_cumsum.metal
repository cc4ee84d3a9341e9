// Cumulative sum of those elements that a mask keeps. The mask, of one byte an element, is
// applied as quads are loaded, by selection: an infinity that is masked out is gone, where a
// product with 0 would make it NaN. The scan itself is that of cumsum.
// dispatch: masked_cumsum  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 64, 32, 128, 256
// tune: QUADS = 1, 4, 2
// tune: LEAST = 32, 1024
// defaults: cpu TG = 64, QUADS = 4, LEAST = 1024
// defaults: cuda TG = 128, LEAST = 1024
#include "metalbench/scan.h"
using namespace metal;
using namespace metalbench;

struct MaskedRow {
  device const DTYPE* at;
  device const bool* mask;
  uint cols;
  float4 operator()(uint column) const {
    return select(float4(0.0f), load_quad(at, column, cols), load_quad(mask, column, cols));
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void masked_cumsum(
    device const DTYPE* x, device const bool* mask, device DTYPE* y, constant uint& cols,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup ScanMemory<TG / 32> memory;
  device DTYPE* to = y + ulong(row) * cols;
  scan_row<TG, QUADS, false, false>(
      Sums(), MaskedRow{x + ulong(row) * cols, mask + ulong(row) * cols, cols}, to, memory, place);
}
