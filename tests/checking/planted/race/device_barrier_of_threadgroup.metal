// Device memory is exchanged behind a barrier of threadgroup memory.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// buffer: z float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, device float* z, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
  if (BUG) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
  } else {
    threadgroup_barrier(mem_flags::mem_device);
  }
  z[i] = y[i ^ 63];  // bug: race
}
