// Producers and consumers each have a separate barrier.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: pass_on threadgroups=(1) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void pass_on(device const float* x, device float* y,
                    uint t [[thread_position_in_threadgroup]]) {
  threadgroup float s[32];
  if (t < 32) {
    s[t] = x[t];
    if (BUG) threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
  } else if (BUG) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t >= 32) y[t - 32] = s[t - 32];
}
