// The cumulative sum of each row, from its end backwards: 128 threads, one quad a thread in a
// block. The last template arguments say whether the scan is exclusive, and whether backwards.
// Threadgroup memory: 32 bytes.
// dispatch: cumsum_reverse  threadgroups=(rows)  threads=(128)
#include "metalbench/scan.h"
using namespace metalbench;

[[kernel]] void cumsum_reverse(device const float* x, device float* y, constant uint& cols,
                               uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup ScanMemory<4> memory;
  device float* to = y + ulong(row) * cols;
  scan_row<128, 1, false, true>(Sums(), row_of(x, row, cols), to, memory, PLACE);
}
