// Cumulative sum of those elements that a mask keeps. The mask, of one byte an element, is
// applied as quads are loaded, by selection: an infinity that is masked out is gone, where a
// product with 0 would make it NaN. The scan itself is that of cumsum.
// dispatch: masked_cumsum  threadgroups=(rows)  threads=(TG)
// tune: TG = 64, 32, 128, 256
// tune: QUADS = 4, 1, 2
// defaults: cuda TG = 128, QUADS = 1
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

[[kernel]] void masked_cumsum(device const DTYPE* x, device const bool* mask, device DTYPE* y,
                              constant uint& cols, uint row [[threadgroup_position_in_grid]],
                              uint thread_index [[thread_index_in_threadgroup]],
                              uint lane [[thread_index_in_simdgroup]],
                              uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup ScanMemory<TG / 32> memory;
  device DTYPE* to = y + ulong(row) * cols;
  scan_row<TG, QUADS, false, false>(
      Sums(), MaskedRow{x + ulong(row) * cols, mask + ulong(row) * cols, cols}, to, memory, place);
}
