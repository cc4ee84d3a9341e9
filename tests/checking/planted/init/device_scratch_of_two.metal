// The second dispatch reads more of the scratch than the first has written.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// scratch: part float32 (n)
// dispatch: k threadgroups=(4) threads=(64)
// dispatch: second threadgroups=(4) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void second(device const float* part, device float* y,
                   uint i [[thread_position_in_grid]]) {
  y[i] = part[i];  // bug: uninitialised
}

kernel void k(device const float* x, device float* part, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  if (i < n - 64 * BUG) part[i] = x[i];
}
