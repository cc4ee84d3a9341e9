// A queue of what is positive, with less room than there are values.
// tune: BUG = 1, 0
// value: n = 256
// value: room = 64
// buffer: x float32 (n) uniform 0.5 1
// buffer: queue uint32 (room) output
// buffer: tail uint32 (1) zeros inout
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device uint* queue, device atomic_uint* tail,
              constant uint& room, uint i [[thread_position_in_grid]]) {
  if (x[i] <= 0) return;
  uint slot = atomic_fetch_add_explicit(tail, 1u, memory_order_relaxed);
  if (!BUG && slot >= room) return;
  queue[slot] = i;  // bug: out-of-bounds
}
