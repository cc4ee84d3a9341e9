// The next tile is loaded while the last one is still read.
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
  threadgroup float s[64];
  float sum = 0;
  for (uint k = 0; k < 4; ++k) {
    s[t] = x[k * 64 + t];  // bug: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0; j < 64; ++j) sum += s[j];
    if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  y[i] = sum;
}
