// 256 bins, counted in threadgroup memory by 1024 threadgroups of 256, then added to the result.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint THREADS = 256;
constant constexpr uint EACH = 64;

kernel void clear(device uint* counts, uint i [[thread_position_in_grid]]) { counts[i] = 0; }

kernel void histogram(device const uint* x, device atomic_uint* counts,
                      uint group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_position_in_threadgroup]]) {
  threadgroup atomic_uint bins[THREADS];
  atomic_store_explicit(&bins[thread_index], 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device const uint* from = x + group * (EACH * THREADS);
  for (uint i = 0; i < EACH; ++i) {
    atomic_fetch_add_explicit(&bins[from[thread_index + i * THREADS]], 1, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&counts[thread_index],
                            atomic_load_explicit(&bins[thread_index], memory_order_relaxed),
                            memory_order_relaxed);
}
