// Counts of digits that do not begin at zero.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x uint32 (n) integers 0 100000
// buffer: y uint32 (n) output
// dispatch: commonest threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void commonest(device const uint* x, device uint* y, uint i [[thread_position_in_grid]]) {
  uint counts[10];
  for (uint d = 0; d < (BUG ? 9 : 10); ++d) counts[d] = 0;
  for (uint rest = x[i]; rest > 0; rest /= 10) ++counts[rest % 10];
  uint best = 0;
  for (uint d = 1; d < 10; ++d) {
    if (counts[d] > counts[best]) best = d;  // bug: uninitialised
  }
  y[i] = best;
}
