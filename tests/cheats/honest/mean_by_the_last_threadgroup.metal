// Threadgroups add up parts; the one that is ready last adds up those, as a counter tells.
// task: mean_of_all
// scratch: ready uint32 (1)
// scratch: partial float32 (64)
// dispatch: clear threads_in_grid=(1) threads=(1)
// dispatch: add threadgroups=(64) threads=(128)
#include <metal_stdlib>
using namespace metal;

kernel void clear(device uint* ready) { ready[0] = 0; }

kernel void add(device const float* x, device float* y, device atomic_float* partial,
                device atomic_uint* ready, constant uint& n,
                uint group [[threadgroup_position_in_grid]],
                uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup float parts[128];
  float sum = 0;
  for (uint i = group * 128 + thread_index; i < n; i += 64 * 128) sum += x[i];
  parts[thread_index] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index > 0) return;
  for (uint i = 1; i < 128; ++i) sum += parts[i];
  atomic_store_explicit(&partial[group], sum, memory_order_relaxed);
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  const uint before = atomic_fetch_add_explicit(ready, 1, memory_order_relaxed);
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  if (before < 63) return;
  float total = 0;
  for (uint i = 0; i < 64; ++i) total += atomic_load_explicit(&partial[i], memory_order_relaxed);
  y[0] = total / n;
}
