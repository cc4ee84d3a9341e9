// An atomic counter behind the last.
// tune: BUG = 1, 0
// value: n = 256
// buffer: bins uint32 (16) zeros inout
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_uint* bins, uint i [[thread_position_in_grid]]) {
  uint bin = i % 16 + BUG;
  atomic_fetch_add_explicit(&bins[bin], 1u, memory_order_relaxed);  // bug: out-of-bounds
}
