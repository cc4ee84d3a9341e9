// A loop with a barrier runs as often as each thread's own count says.
// tune: BUG = 1, 0
// value: n = 32
// buffer: count uint32 (n) integers 1 5
// buffer: y float32 (n) output
// dispatch: rounds threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void rounds(device const uint* count, device float* y,
                   uint t [[thread_position_in_threadgroup]]) {
  threadgroup float s[32];
  float v = 1;
  uint turns = BUG ? count[t] : 4;
  for (uint k = 0; k < turns; ++k) {
    s[t] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
    v += s[(t + 1) % 32];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  y[t] = v;
}
