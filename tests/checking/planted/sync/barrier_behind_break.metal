// A thread leaves a loop early, and its barrier.
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
  threadgroup float s[64];
  s[t] = 0;
  for (uint k = 0; k < 4; ++k) {
    if (BUG && k == 2 && t == 9) break;
    s[t] += x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
  }
  y[i] = s[t];
}
