// Each row minus its largest element. A thread keeps two quads of its row in registers, so rows of
// up to 256 columns are read once.
// Threadgroup memory: 0 bytes.
// dispatch: below_largest  threadgroups=(rows)  threads=(32)
// limits: cols <= 256
#include "metalbench/rows.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void below_largest(device const float* x, device float* y, constant uint& cols,
                              uint row [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
  const Row<float> source = row_of(x, row, cols, -INFINITY);  // -inf past the end of the row
  float4 kept[2];
  float most = -INFINITY;
  UNROLLED
  for (uint i = 0; i < 2; ++i) {
    kept[i] = source(4 * (lane + 32 * i));
    most = max(most, largest(kept[i]));
  }
  const ToRow<float> to = {y + ulong(row) * cols, cols};
  put_kept(to, ShiftScale{simd_max(most), 1.0f}, kept, cols, lane, 32);
}
