// A group's histogram is added to, and was never cleared.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x uint32 (n) integers 0 8
// buffer: y uint32 (8) output
// dispatch: histogram threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device const uint* x, device uint* y,
                      uint t [[thread_position_in_threadgroup]]) {
  threadgroup atomic_uint bins[8];
  if (!BUG && t < 8) atomic_store_explicit(&bins[t], 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&bins[x[t]], 1u, memory_order_relaxed);  // bug: uninitialised
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 8) y[t] = atomic_load_explicit(&bins[t], memory_order_relaxed);
}
