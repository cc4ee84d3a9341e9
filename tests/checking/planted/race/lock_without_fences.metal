// A spin lock around a plain counter, and no fences.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: total uint32 (1) zeros inout
// buffer: lock uint32 (1) zeros inout
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device uint* total, device atomic_uint* lock,
              constant uint& n, uint i [[thread_position_in_grid]],
              uint t [[thread_index_in_threadgroup]]) {
  if (t != 0) return;
  uint expected = 0;
  while (!atomic_compare_exchange_weak_explicit(lock, &expected, 1u, memory_order_relaxed,
                                                memory_order_relaxed)) {
    expected = 0;
  }
  if (!BUG) atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  total[0] += 1 + (x[i] > 0);  // bug: race
  if (!BUG) atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  atomic_store_explicit(lock, 0u, memory_order_relaxed);
}
