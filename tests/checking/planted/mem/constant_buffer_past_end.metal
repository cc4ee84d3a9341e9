// A weight that is not there.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// buffer: w float32 (8) normal
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, constant float* w, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  y[i] = x[i] * w[i % 8 + BUG];  // bug: out-of-bounds
}
