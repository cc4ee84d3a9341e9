// The last column of a matrix is left out.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y,  // bug: output-not-written
              constant uint& n, uint i [[thread_position_in_grid]]) {
  uint column = i % 16;
  if (column < 16 - BUG) y[i] = x[i];
}
