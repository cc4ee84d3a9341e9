// A threadgroup argument behind its end.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(4) threads=(64) threadgroup_bytes=(s: 256)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, threadgroup float* s, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
  s[t] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = s[t + BUG];  // bug: out-of-bounds
}
