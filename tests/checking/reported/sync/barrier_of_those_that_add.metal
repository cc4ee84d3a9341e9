// A missing barrier was put where only those come that add, as proposed in arrayfire/arrayfire#633.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x float32 (n) normal
// buffer: y float32 (ceil_div(n, 64)) output
// dispatch: reduce_first threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void reduce_first(device const float* x, device float* y,
                         uint i [[thread_position_in_grid]],
                         uint g [[threadgroup_position_in_grid]],
                         uint t [[thread_position_in_threadgroup]]) {
  threadgroup float s[64];
  s[t] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint d = 32; d > 0; d /= 2) {
    if (t < d) {
      s[t] += s[t + d];
      if (BUG) threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
    }
    if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (t == 0) y[g] = s[0];
}
