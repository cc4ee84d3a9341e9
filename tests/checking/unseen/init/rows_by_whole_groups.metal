// The number of groups is rounded down.
// tune: BUG = 1, 0
// value: n = 100
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: copy threadgroups=(4 - BUG) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void copy(device const float* x,
                 device float* y,  // bug: output-not-written
                 constant uint& n, uint i [[thread_position_in_grid]]) {
  if (i < n) y[i] = x[i];
}
