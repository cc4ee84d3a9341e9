// One SIMD-group makes a table, another one waits for a flag, and no fence is in between.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, uint t [[thread_position_in_threadgroup]]) {
  threadgroup float table[32];
  threadgroup atomic_uint ready;
  if (t == 0) atomic_store_explicit(&ready, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 32) {
    table[t] = x[t] * x[t];
    if (!BUG) atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst,
                                  thread_scope_threadgroup);
    atomic_fetch_add_explicit(&ready, 1u, memory_order_relaxed);
  } else {
    while (atomic_load_explicit(&ready, memory_order_relaxed) < 32) {}
    if (!BUG) atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst,
                                  thread_scope_threadgroup);
    y[t - 32] = table[63 - t];  // bug: race
  }
}
