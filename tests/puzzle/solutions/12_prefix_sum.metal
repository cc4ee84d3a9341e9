// Puzzle 12, prefix sum: in each block of 128, y[i] is the sum of the block's elements up to x[i].
// value: n = 200
// buffer: x float32 (n) uniform
// buffer: y float32 (n) output
// dispatch: prefix_sum  threadgroups=(ceil_div(n, 128))  threads=(128)
#include <metal_stdlib>
using namespace metal;

kernel void prefix_sum(device const float* x, device float* y, constant uint& n,
                       uint i [[thread_position_in_grid]],
                       uint t [[thread_position_in_threadgroup]]) {
  threadgroup float sums[128];
  float sum = i < n ? x[i] : 0;
  sums[t] = sum;
  for (uint distance = 1; distance < 128; distance *= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t >= distance) {
      sum += sums[t - distance];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (distance < 64) {
      sums[t] = sum;
    }
  }
  if (i < n) {
    y[i] = sum;
  }
}
