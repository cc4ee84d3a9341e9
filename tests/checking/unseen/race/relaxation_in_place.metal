// Gauss-Seidel by accident: a stencil writes where its neighbours of other groups read.
// tune: BUG = 1, 0
// value: n = 256
// buffer: u float32 (n) normal inout
// buffer: v float32 (n) output
// dispatch: relax threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void relax(device float* u, device float* v, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
  float left = i > 0 ? u[i - 1] : 0, right = i + 1 < n ? u[i + 1] : 0;
  float mean = 0.5f * (left + right);
  v[i] = mean;
  if (BUG) u[i] = mean;  // bug: race
}
