// A search by halves that keeps its lower end where it is.
// tune: BUG = 1, 0
// value: n = 64
// buffer: table float32 (n) iota
// buffer: x float32 (32) uniform 0.0 60.0
// buffer: y uint32 (32) output
// dispatch: search threads_in_grid=(32) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void search(device const float* table, device const float* x, device uint* y,
                   constant uint& n, uint i [[thread_position_in_grid]]) {
  uint low = 0, high = n;
  while (low + (BUG ? 0 : 1) < high) {
    const uint middle = (low + high) / 2;
    if (table[middle] <= x[i])  // bug: time-limit
      low = middle;
    else
      high = middle;
  }
  y[i] = low;
}
