// The last group does not wait for what it has heard of.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: part float32 (n / 64) output
// buffer: done uint32 (1) zeros inout
// buffer: y float32 (1) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* part, device atomic_uint* done, device float* y,
              constant uint& n, uint i [[thread_position_in_grid]],
              uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  if (t != 0) return;
  part[g] = x[i];
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  uint before = atomic_fetch_add_explicit(done, 1u, memory_order_relaxed);
  if (before != n / 64 - 1) return;
  if (!BUG) atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  float sum = 0;
  for (uint k = 0; k < n / 64; ++k) {
    sum += part[k];  // bug: race
  }
  y[0] = sum;
}
