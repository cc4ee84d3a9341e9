// Words are counted with `++`.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x uint32 (n) integers 0 4
// buffer: y uint32 (4) output
// dispatch: count threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void count(device const uint* x, device uint* y, uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint bins[4];
  if (t < 4) bins[t] = 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (BUG) bins[x[t]]++;  // bug: race
  else atomic_fetch_add_explicit((threadgroup atomic_uint*)&bins[x[t]], 1u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 4) y[t] = bins[t];
}
