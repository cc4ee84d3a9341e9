// Three components are written, and four are read.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup float4 s[64];
  threadgroup float* p = (threadgroup float*)&s[t];
  for (uint k = 0; k < 4 - BUG; ++k) p[k] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float4 v = s[t];
  y[i] = v.x + v.w;  // bug: uninitialised
}
