// A bitonic sort of a group: no barrier where a step is thought to stay within a SIMD-group.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x uint32 (n) integers 0 9999
// buffer: y uint32 (n) output
// dispatch: k threadgroups=(1) threads=(128)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uint* x, device uint* y, uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint s[128];
  s[t] = x[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint size = 2; size <= 128; size *= 2) {
    for (uint stride = size / 2; stride > 0; stride /= 2) {
      uint other = t ^ stride;
      if (other > t && (s[t] > s[other]) == ((t & size) == 0)) {  // bug: race
        uint kept = s[t];
        s[t] = s[other];
        s[other] = kept;
      }
      if (!BUG || stride != 64) threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = s[t];
}
