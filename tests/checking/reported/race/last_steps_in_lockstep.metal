// The last five steps of a tree take it that a SIMD-group runs in lockstep, as reported of OP-DSL/OP2-Common#185.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: reduce threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device const float* x, device float* y, uint i [[thread_position_in_grid]],
                   uint t [[thread_position_in_threadgroup]]) {
  threadgroup float s[64];
  s[t] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 32) {
    for (uint d = 32; d > 0; d /= 2) {
      float other = s[t + d];
      if (!BUG) simdgroup_barrier(mem_flags::mem_threadgroup);
      s[t] += other;  // bug: race
      if (!BUG) simdgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = s[0];
}
