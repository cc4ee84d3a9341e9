// The last group to finish adds up what the others have stored; nothing orders the stores.
// tune: BUG = 1, 0
// value: groups = 4
// buffer: x float32 (groups, 32) normal
// buffer: part float32 (groups) zeros inout
// buffer: done uint32 (1) zeros inout
// buffer: y float32 (1) output
// dispatch: total threadgroups=(groups) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void total(device const float* x, device float* part, device atomic_uint* done,
                  device float* y, constant uint& groups, uint g [[threadgroup_position_in_grid]],
                  uint t [[thread_position_in_threadgroup]]) {
  float sum = simd_sum(x[g * 32 + t]);
  if (t != 0) return;
  part[g] = sum;
  if (!BUG) atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  uint before = atomic_fetch_add_explicit(done, 1u, memory_order_relaxed);
  if (!BUG) atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  if (before + 1 == groups) {
    float all = 0;
    for (uint k = 0; k < groups; ++k) all += part[k];  // bug: race
    y[0] = all;
  }
}
