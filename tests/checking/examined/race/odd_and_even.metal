// Odd-even sort whose phases have a barrier of the SIMD-group only.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x uint32 (n) integers 0 500
// buffer: y uint32 (n) output
// dispatch: sort threadgroups=(1) threads=(64)
#include <metal_stdlib>
using namespace metal;

inline void meet() {
  if (BUG)
    simdgroup_barrier(mem_flags::mem_threadgroup);
  else
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

kernel void sort(device const uint* x, device uint* y, uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint keys[128];
  keys[2 * t] = x[2 * t];
  keys[2 * t + 1] = x[2 * t + 1];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint phase = 0; phase < 128; ++phase) {
    const uint first = 2 * t + phase % 2;
    if (first + 1 < 128) {
      const uint one = keys[first], other = keys[first + 1];  // bug: race
      const uint low = min(one, other), high = max(one, other);
      keys[first] = low;
      keys[first + 1] = high;
    }
    meet();
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[2 * t] = keys[2 * t];
  y[2 * t + 1] = keys[2 * t + 1];
}
