// A scan of groups that wait for the one before: its sum is read without a fence behind the flag.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x uint32 (n) integers 0 9
// buffer: flags uint32 (4) zeros inout
// scratch: sums uint32 (4)
// buffer: y uint32 (4) output
// dispatch: k threadgroups=(4) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uint* x, device atomic_uint* flags, device uint* sums, device uint* y,
              uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup atomic_uint total;
  if (t == 0) atomic_store_explicit(&total, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&total, x[i], memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t != 0) return;
  uint before = 0;
  if (g > 0) {
    while (atomic_load_explicit(&flags[g - 1], memory_order_relaxed) == 0) {}
    if (!BUG) atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    before = sums[g - 1];  // bug: race
  }
  sums[g] = before + atomic_load_explicit(&total, memory_order_relaxed);
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  atomic_store_explicit(&flags[g], 1u, memory_order_relaxed);
  y[g] = before;
}
