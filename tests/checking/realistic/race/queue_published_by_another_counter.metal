// A queue publishes its items with one counter, and the consumer reads the other one.
// tune: BUG = 1, 0
// value: n = 4
// buffer: x uint32 (n) integers 1 9
// buffer: reserved uint32 (1) zeros inout
// buffer: ready uint32 (1) zeros inout
// scratch: items uint32 (n)
// buffer: y uint32 (1) output
// dispatch: k threadgroups=(5) threads=(1)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uint* x, device atomic_uint* reserved, device atomic_uint* ready,
              device uint* items, device uint* y, constant uint& n,
              uint g [[threadgroup_position_in_grid]]) {
  if (g < n) {
    uint slot = atomic_fetch_add_explicit(reserved, 1u, memory_order_relaxed);
    items[slot] = x[g];
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    atomic_fetch_add_explicit(ready, 1u, memory_order_relaxed);
    return;
  }
  device atomic_uint* read = BUG ? reserved : ready;
  while (atomic_load_explicit(read, memory_order_relaxed) < n) {}
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
  uint sum = 0;
  for (uint j = 0; j < n; ++j)
    sum += items[j];  // bug: race
  y[0] = sum;
}
