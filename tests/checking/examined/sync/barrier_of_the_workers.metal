// Only those that still add meet.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x float32 (n) normal
// buffer: y float32 (1) output
// dispatch: total threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void total(device const float* x, device float* y,
                  uint t [[thread_position_in_threadgroup]]) {
  threadgroup float part[128];
  part[t] = x[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint rest = 64; rest > 0; rest >>= 1) {
    if (t < rest) {
      part[t] += part[t + rest];
      if (BUG) threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
    }
    if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (t == 0) y[0] = part[0];
}
