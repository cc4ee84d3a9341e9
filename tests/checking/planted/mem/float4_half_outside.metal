// A vector lies across the end.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float4* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  device const packed_float4* v = (device const packed_float4*)(x + 4 * i + 2 * BUG);
  if (i < n / 4) y[i] = float4(*v);  // bug: out-of-bounds
}
