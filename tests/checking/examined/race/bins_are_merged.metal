// Each threadgroup adds its bins to those of all, one after the other as it believes.
// tune: BUG = 1, 0
// value: n = 512
// buffer: x uint32 (n) integers 0 8
// buffer: bins uint32 (8) zeros inout
// dispatch: histogram threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device const uint* x, device uint* bins, uint i [[thread_position_in_grid]],
                      uint t [[thread_position_in_threadgroup]]) {
  threadgroup atomic_uint own[8];
  if (t < 8) atomic_store_explicit(&own[t], 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&own[x[i]], 1u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 8) {
    const uint count = atomic_load_explicit(&own[t], memory_order_relaxed);
    if (BUG) {
      bins[t] += count;  // bug: race
    } else {
      atomic_fetch_add_explicit((device atomic_uint*)&bins[t], count, memory_order_relaxed);
    }
  }
}
