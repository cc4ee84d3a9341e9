// A component that a vector has not.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// buffer: at uint32 (n) integers 0 4
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device const uint* at, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  float4 v = float4(1, 2, 3, 4) * x[i];
  y[i] = v[at[i] + BUG * 4];  // bug: out-of-bounds
}
