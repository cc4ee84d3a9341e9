// A packed vector behind the end.
// tune: BUG = 1, 0
// value: n = 255
// buffer: x float32 (n) normal
// buffer: y float32 (n / 3) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const packed_float3* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  if (i >= n / 3) return;
  y[i] = float3(x[i + BUG]).x;  // bug: out-of-bounds
}
