// A vector of halves behind the end.
// tune: BUG = 1, 0
// value: n = 256
// buffer: h float16 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const half4* h, device float4* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  if (i < n / 4) y[i] = float4(h[i + BUG]);  // bug: out-of-bounds
}
