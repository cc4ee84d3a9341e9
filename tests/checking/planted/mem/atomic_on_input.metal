// A counter among the inputs.
// tune: BUG = 1, 0
// value: n = 256
// buffer: seen uint32 (1) zeros
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device atomic_uint* seen, device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {
  y[i] = 1;
  if (BUG) atomic_fetch_add_explicit(seen, 1u, memory_order_relaxed);  // bug: write-to-input
}
