// Counts are added up in scratch memory that is never set to zero.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x uint32 (n) integers 0 7
// scratch: counts uint32 (8)
// buffer: y uint32 (8) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uint* x, device atomic_uint* counts, device uint* y,
              uint t [[thread_position_in_threadgroup]]) {
  if (!BUG && t < 8) atomic_store_explicit(&counts[t], 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_device);
  atomic_fetch_add_explicit(&counts[x[t]], 1u, memory_order_relaxed);  // bug: uninitialised
  threadgroup_barrier(mem_flags::mem_device);
  if (t < 8) y[t] = atomic_load_explicit(&counts[t], memory_order_relaxed);
}
