// A search: each thread that finds the value writes the flag.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x uint32 (n) integers 0 3
// buffer: found uint32 (1) zeros inout
// dispatch: k threadgroups=(2) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uint* x, device uint* found, uint i [[thread_position_in_grid]]) {
  if (x[i] != 2) return;
  if (BUG) found[0] = 1;  // bug: same-value-race
  else atomic_store_explicit((device atomic_uint*)found, 1u, memory_order_relaxed);
}
