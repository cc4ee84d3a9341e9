// A barrier in a function that not all call.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

static void meet() {
  threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
}

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup float s[64];
  s[t] = x[i];
  if (t != 3 || !BUG) meet();
  y[i] = s[t];
}
