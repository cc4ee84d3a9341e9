// A work-efficient scan whose way down has no barrier between its steps.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, uint t [[thread_position_in_threadgroup]]) {
  threadgroup float s[128];
  s[2 * t] = x[2 * t];
  s[2 * t + 1] = x[2 * t + 1];
  uint stride = 1;
  for (uint d = 64; d > 0; d >>= 1) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < d) s[stride * (2 * t + 2) - 1] += s[stride * (2 * t + 1) - 1];
    stride *= 2;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0) s[127] = 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint d = 1; d < 128; d *= 2) {
    stride >>= 1;
    if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < d) {
      float left = s[stride * (2 * t + 1) - 1];
      s[stride * (2 * t + 1) - 1] = s[stride * (2 * t + 2) - 1];  // bug: race
      s[stride * (2 * t + 2) - 1] += left;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[2 * t] = s[2 * t];
  y[2 * t + 1] = s[2 * t + 1];
}
