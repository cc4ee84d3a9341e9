// An input is sorted in place.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x, device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
  if (BUG) x[i] = 0;  // bug: write-to-input
}
