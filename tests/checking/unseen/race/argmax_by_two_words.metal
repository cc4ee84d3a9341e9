// The largest value and its index are two words, written one after the other by each thread with a larger value.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x float32 (n) uniform
// buffer: best float32 (2) zeros inout
// dispatch: argmax threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void argmax(device const float* x, device float* best,
                   uint i [[thread_position_in_grid]]) {
  float most = x[i];
  threadgroup float s[128];
  s[i] = most;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = 0; k < 128; ++k) most = max(most, s[k]);
  if (BUG ? x[i] > 0.5f : x[i] == most) {
    best[0] = x[i];  // bug: race
    best[1] = i;
  }
}
