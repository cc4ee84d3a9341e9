// The largest value falls into the bin behind the last one, in threadgroup memory.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) ones
// buffer: bins uint32 (16) zeros inout
// dispatch: histogram threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device const float* x, device atomic_uint* bins,
                      uint i [[thread_position_in_grid]],
                      uint t [[thread_position_in_threadgroup]]) {
  threadgroup atomic_uint local[16];
  if (t < 16) atomic_store_explicit(&local[t], 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint bin = uint(x[i] * 16);
  if (!BUG) bin = min(bin, 15u);
  atomic_fetch_add_explicit(&local[bin], 1u, memory_order_relaxed);  // bug: out-of-bounds
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 16) {
    uint count = atomic_load_explicit(&local[t], memory_order_relaxed);
    atomic_fetch_add_explicit(&bins[t], count, memory_order_relaxed);
  }
}
