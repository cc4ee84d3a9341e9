// The share of a total that may be nothing.
// tune: BUG = 1, 0
// value: n = 16
// buffer: part int32 (n) integers 0 10
// buffer: total int32 (n) integers 0 3
// buffer: y int32 (n) output
// dispatch: share threads_in_grid=(n) threads=(16)
#include <metal_stdlib>
using namespace metal;

kernel void share(device const int* part, device const int* total, device int* y,
                  uint i [[thread_position_in_grid]]) {
  int t = total[i];
  y[i] = BUG || t != 0 ? 100 * part[i] / t : 0;  // bug: division
}
