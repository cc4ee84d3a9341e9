// An output is added to, and was never set.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: add threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void add(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  if (!BUG) y[i] = 0;
  for (int k = 0; k < 3; ++k) {
    y[i] += x[i] * k;  // bug: uninitialised
  }
}
