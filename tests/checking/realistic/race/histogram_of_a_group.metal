// A histogram in threadgroup memory that counts without atomics.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x uint32 (n) integers 0 15
// buffer: bins uint32 (16) zeros inout
// dispatch: k threadgroups=(2) threads=(128)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uint* x, device atomic_uint* bins, uint i [[thread_position_in_grid]],
              uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint plain[16];
  threadgroup atomic_uint own[16];
  if (t < 16) {
    plain[t] = 0;
    atomic_store_explicit(&own[t], 0u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (BUG) plain[x[i]] += 1;  // bug: race
  else atomic_fetch_add_explicit(&own[x[i]], 1u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 16) {
    uint count = plain[t] + atomic_load_explicit(&own[t], memory_order_relaxed);
    atomic_fetch_add_explicit(&bins[t], count, memory_order_relaxed);
  }
}
