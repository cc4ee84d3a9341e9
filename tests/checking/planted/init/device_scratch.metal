// Scratch is read before it is written.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// scratch: part float32 (n)
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* part, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  if (!BUG) part[i] = x[i];
  threadgroup_barrier(mem_flags::mem_device);
  y[i] = part[i];  // bug: uninitialised
}
