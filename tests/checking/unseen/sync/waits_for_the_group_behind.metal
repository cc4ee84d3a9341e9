// The first group waits for a flag that is never set.
// tune: BUG = 1, 0
// value: n = 64
// buffer: flag uint32 (1) zeros inout
// buffer: y uint32 (n) output
// dispatch: chain threadgroups=(2) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void chain(device atomic_uint* flag, device uint* y, uint i [[thread_position_in_grid]],
                  uint g [[threadgroup_position_in_grid]]) {
  if (g == 1 && !BUG) atomic_store_explicit(flag, 1u, memory_order_relaxed);
  if (g == 0 && BUG) {
    while (atomic_load_explicit(flag, memory_order_relaxed) == 0) {}  // bug: time-limit
  }
  y[i] = g;
}
