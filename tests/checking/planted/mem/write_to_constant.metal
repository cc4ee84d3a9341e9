// What lies in constant memory is written.
// tune: BUG = 1, 0
// value: n = 256
// buffer: w float32 (8) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(constant float* w, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  y[i] = w[i % 8];
  if (BUG && i < 8) {
    ((device float*)ulong(&w[0]))[i] = 0;  // bug: write-to-constant
  }
}
