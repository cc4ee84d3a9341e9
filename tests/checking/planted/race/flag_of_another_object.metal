// The flag that is read is not the one that was set.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: part float32 (1) output
// buffer: done uint32 (2) zeros inout
// buffer: y float32 (1) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* part, device atomic_uint* done, device float* y,
              constant uint& n, uint i [[thread_position_in_grid]],
              uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  if (t != 0) return;
  if (g == 0) {
    part[0] = x[0];
    atomic_store_explicit(&done[1], 1u, memory_order_relaxed);
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    atomic_store_explicit(&done[0], 1u, memory_order_relaxed);
  }
  if (g != n / 64 - 1) return;
  while (atomic_load_explicit(&done[BUG], memory_order_relaxed) == 0) {}
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  y[0] = part[0];  // bug: race
}
