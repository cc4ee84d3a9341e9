// A local scan loads its element before it asks whether there is one, as fixed in boostorg/compute#772.
// tune: BUG = 1, 0
// value: n = 100
// buffer: x uint32 (n) integers 0 9
// buffer: y uint32 (n) output
// dispatch: local_scan threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void local_scan(device const uint* x, device uint* y, constant uint& n,
                       uint i [[thread_position_in_grid]],
                       uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint s[64];
  if (BUG) s[t] = x[i];  // bug: out-of-bounds
  else s[t] = i < n ? x[i] : 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint d = 1; d < 64; d *= 2) {
    uint v = t >= d ? s[t - d] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    s[t] += v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (i < n) y[i] = s[t];
}
