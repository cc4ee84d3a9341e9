// A group's largest value goes to an atomic; threads outside of the row have none.
// tune: BUG = 1, 0
// value: n = 50
// buffer: x uint32 (n) integers 0 1000
// buffer: most uint32 (1) zeros inout
// buffer: last uint32 (1) zeros inout
// dispatch: largest threadgroups=(1) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void largest(device const uint* x, device atomic_uint* most, device atomic_uint* last,
                    constant uint& n, uint i [[thread_position_in_threadgroup]]) {
  uint own;
  if (!BUG) own = 0;
  if (i < n) own = x[i];
  atomic_fetch_max_explicit(most, own, memory_order_relaxed);  // bug: uninitialised
  if (i == n - 1) atomic_store_explicit(last, own, memory_order_relaxed);
}
