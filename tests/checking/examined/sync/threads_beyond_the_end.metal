// Threads beyond the end go home before the barrier.
// tune: BUG = 1, 0
// value: n = 50
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: reverse threadgroups=(1) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void reverse(device const float* x, device float* y, constant uint& n,
                    uint t [[thread_position_in_threadgroup]]) {
  threadgroup float turned[64];
  if (BUG && t >= n) return;
  if (t < n) turned[n - 1 - t] = x[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
  if (t < n) y[t] = turned[t];
}
