// Every thread has as many rounds as it has numbers.
// tune: BUG = 1, 0
// value: n = 64
// buffer: counts uint32 (n) integers 1 4
// buffer: y uint32 (n) output
// dispatch: rounds threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void rounds(device const uint* counts, device uint* y,
                   uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint passed[64];
  passed[t] = 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint rounds = BUG ? counts[t] : 4;
  for (uint k = 0; k < rounds; ++k) {
    const uint next = passed[(t + 1) % 64];
    threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
    passed[t] = next + 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  y[t] = passed[t];
}
