// A stencil in place.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal inout
// buffer: y float32 (n) zeros inout
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  if (BUG) {
    x[i] += i == 0 ? 0 : x[i - 1];  // bug: race
  } else {
    y[i] = x[i] + (i == 0 ? 0 : x[i - 1]);
  }
}
