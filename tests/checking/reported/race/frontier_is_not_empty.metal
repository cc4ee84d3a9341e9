// Each thread that finds a vertex says that the frontier is not empty, with a plain store.
// tune: BUG = 1, 0
// value: n = 256
// buffer: depth uint32 (n) integers 0 3
// buffer: next uint32 (n) output
// buffer: again uint32 (1) zeros inout
// dispatch: expand threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void expand(device const uint* depth, device uint* next, device uint* again,
                   uint i [[thread_position_in_grid]]) {
  bool found = depth[i] == 1;
  next[i] = found ? 2 : depth[i];
  if (!BUG) {
    if (found) atomic_store_explicit((device atomic_uint*)again, 1u, memory_order_relaxed);
  } else if (found) {
    again[0] = 1;  // bug: same-value-race
  }
}
