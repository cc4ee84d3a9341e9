// A threadgroup counter behind the last.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (64) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup atomic_uint bins[16];
  if (t < 16) atomic_store_explicit(&bins[t], 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&bins[t % 16 + BUG], 1u, memory_order_relaxed);  // bug: out-of-bounds
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 16) y[g * 16 + t] = atomic_load_explicit(&bins[t], memory_order_relaxed);
}
