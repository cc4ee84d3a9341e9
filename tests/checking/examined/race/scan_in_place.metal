// A scan by doubling that writes where others still read.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x uint32 (n) integers 0 9
// buffer: y uint32 (n) output
// dispatch: scan threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void scan(device const uint* x, device uint* y, uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint sums[128];
  sums[t] = x[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint far = 1; far < 128; far *= 2) {
    const uint before = t >= far ? sums[t - far] : 0;
    if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
    sums[t] += before;  // bug: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  y[t] = sums[t];
}
