// A double buffer that is none.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup float s[2][64];
  float sum = 0;
  for (uint k = 0; k < 4; ++k) {
    uint which = BUG ? 0 : k % 2;
    s[which][t] = x[(i + k) % n];  // bug: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum += s[which][63 - t];
  }
  y[i] = sum;
}
