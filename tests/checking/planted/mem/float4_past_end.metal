// Four elements at a time, of which the last ones are not there.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float4* x, device float4* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  uint k = i + BUG * (i == n / 4 - 1);
  if (i < n / 4) {
    float4 v = x[k];  // bug: out-of-bounds
    y[i] = v;
  }
}
