// An atomic store behind the end.
// tune: BUG = 1, 0
// value: n = 256
// buffer: flags uint32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_uint* flags, constant uint& n, uint i [[thread_position_in_grid]]) {
  atomic_store_explicit(&flags[i == n - 1 ? i + BUG : i], 1u, memory_order_relaxed);  // bug: out-of-bounds
}
