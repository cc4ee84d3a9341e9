// What one SIMD-group pushes is popped by the other, by relaxed counters alone.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x uint32 (n) integers 1 9
// buffer: queue uint32 (32) zeros inout
// buffer: pushed uint32 (1) zeros inout
// buffer: y uint32 (32) output
// dispatch: pass threadgroups=(2) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void pass(device const uint* x, device uint* queue, device atomic_uint* pushed,
                 device uint* y, uint t [[thread_position_in_threadgroup]],
                 uint group [[threadgroup_position_in_grid]]) {
  if (group == 0) {
    queue[t] = x[t];
    if (!BUG) {
      atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    }
    atomic_fetch_add_explicit(pushed, 1u, memory_order_relaxed);
  } else {
    while (atomic_load_explicit(pushed, memory_order_relaxed) < 32) {
    }
    if (!BUG) {
      atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    }
    y[t] = queue[31 - t];  // bug: race
  }
}
