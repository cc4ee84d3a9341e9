// A binary search whose lower end does not move past the middle.
// tune: BUG = 1, 0
// value: n = 32
// buffer: sorted uint32 (n) iota
// buffer: y uint32 (n) output
// dispatch: search threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void search(device const uint* sorted, device uint* y, constant uint& n,
                   uint i [[thread_position_in_grid]]) {
  uint low = 0, high = n;
  while (low < high) {
    uint middle = (low + high) / 2;
    if (sorted[middle] < i) low = middle + (BUG ? 0 : 1);  // bug: time-limit
    else high = middle;
  }
  y[i] = low;
}
