// An atomic counter at an odd byte.
// tune: BUG = 1, 0
// value: n = 256
// buffer: b uint8 (32) zeros inout
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device uchar* b, uint i [[thread_position_in_grid]]) {
  device atomic_uint* c = (device atomic_uint*)(b + 4 * (i % 4) + BUG);
  atomic_fetch_add_explicit(c, 1u, memory_order_relaxed);  // bug: misaligned
}
