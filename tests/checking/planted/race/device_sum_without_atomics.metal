// All threads add to one number without atomics.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: total uint32 (1) zeros inout
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device uint* total, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  if (BUG) {
    total[0] += uint(x[i] > 0);  // bug: race
  } else {
    atomic_fetch_add_explicit((device atomic_uint*)total, uint(x[i] > 0), memory_order_relaxed);
  }
}
