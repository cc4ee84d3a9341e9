// Odd and even pairs are sorted without anything in between.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: sort threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void sort(device const float* x, device float* y, uint t [[thread_position_in_threadgroup]]) {
  threadgroup float s[64];
  s[t] = x[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint phase = 0; phase < 64; ++phase) {
    uint a = 2 * t + phase % 2;
    if (a + 1 < 64) {
      float low = min(s[a], s[a + 1]), high = max(s[a], s[a + 1]);
      s[a] = low;
      s[a + 1] = high;  // bug: race
    }
    if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = s[t];
}
