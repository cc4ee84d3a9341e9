// An output is counted in atomically.
// tune: BUG = 1, 0
// value: n = 256
// buffer: hits uint32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_uint* hits, constant uint& n, uint i [[thread_position_in_grid]]) {
  if (!BUG) atomic_store_explicit(&hits[i], 0u, memory_order_relaxed);
  atomic_fetch_add_explicit(&hits[i], 1u, memory_order_relaxed);  // bug: uninitialised
}
