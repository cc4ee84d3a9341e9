// A float2 is written to an odd element.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) zeros inout
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  if (i >= n / 2 - 1) return;
  device float2* v = (device float2*)(y + 2 * i + BUG);
  *v = float2(x[i]);  // bug: misaligned
}
