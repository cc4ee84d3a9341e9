// Every thread reads what its neighbour writes.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// buffer: z float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, device float* z, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
  if (BUG) {
    z[i] = y[i ^ 1];  // bug: race
  } else {
    z[i] = x[i ^ 1];
  }
}
