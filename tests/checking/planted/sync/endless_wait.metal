// A loop that waits for what never comes.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: flag uint32 (1) zeros inout
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device atomic_uint* flag, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  while (atomic_load_explicit(flag, memory_order_relaxed) != 1 && BUG) {  // bug: time-limit
  }
  y[i] = x[i];
}
