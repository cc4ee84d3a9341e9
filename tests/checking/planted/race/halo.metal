// A tile's halo is loaded by some, and read by others.
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
  threadgroup float s[66];
  s[t + 1] = x[i];
  if (t == 0) s[0] = i == 0 ? 0 : x[i - 1];
  if (t == 63) s[65] = i == n - 1 ? 0 : x[i + 1];
  if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = s[t] + s[t + 2];  // bug: race
}
