// Every other element is written.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y,  // bug: output-not-written
              constant uint& n, uint i [[thread_position_in_grid]]) {
  if (i % 2 == 0 || !BUG) y[i] = x[i];
}
