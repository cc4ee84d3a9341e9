// The last threadgroup sums up the others' parts, with no fence between part and counter.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: parts float32 (4) zeros inout
// buffer: done uint32 (1) zeros inout
// buffer: y float32 (1) output
// dispatch: total threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void total(device const float* x, device float* parts, device atomic_uint* done,
                  device float* y, uint i [[thread_position_in_grid]],
                  uint t [[thread_position_in_threadgroup]],
                  uint group [[threadgroup_position_in_grid]],
                  uint groups [[threadgroups_per_grid]]) {
  threadgroup float shared[64];
  shared[t] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t != 0) return;
  float sum = 0;
  for (uint k = 0; k < 64; ++k) sum += shared[k];
  parts[group] = sum;
  if (!BUG) {
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  }
  if (atomic_fetch_add_explicit(done, 1u, memory_order_relaxed) == groups - 1) {
    if (!BUG) {
      atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    }
    float all = 0;
    for (uint k = 0; k < groups; ++k) {
      all += parts[k];  // bug: race
    }
    y[0] = all;
  }
}
