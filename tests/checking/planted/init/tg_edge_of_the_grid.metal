// Threads beyond the end write nothing, and all are read.
// tune: BUG = 1, 0
// value: n = 250
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup float s[64];
  if (i < n) s[t] = x[i];
  if (i >= n && !BUG) s[t] = 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint k = 0; k < 64; ++k) {
    sum += s[k];  // bug: uninitialised
  }
  if (i < n) y[i] = sum;
}
