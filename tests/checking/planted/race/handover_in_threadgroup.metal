// A flag in threadgroup memory, and no fence.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n / 64) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup float value;
  threadgroup atomic_uint flag;
  if (t == 0) atomic_store_explicit(&flag, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0) {
    value = x[i];
    atomic_store_explicit(&flag, 1u, memory_order_relaxed);
  }
  if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 40) {
    bool there = atomic_load_explicit(&flag, memory_order_relaxed) == 1;
    y[g] = there ? value : 0;  // bug: race
  }
}
