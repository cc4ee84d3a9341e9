// Puzzle 11, convolution: y[i] is the sum of w[k] * x[i + k] over the nine weights.
// value: n = 100
// buffer: x float32 (n) uniform
// buffer: w float32 (9) uniform
// buffer: y float32 (n - 8) output
// dispatch: convolution  threadgroups=(ceil_div(n - 8, 64))  threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void convolution(device const float* x, device const float* w, device float* y,
                        constant uint& n, uint i [[thread_position_in_grid]],
                        uint t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[72], weights[9];
  float own = 0;
  if (i < n) {
    own = x[i];
    tile[t] = own;
  }
  if (t < 8 && i + 64 < n) {
    tile[t + 64] = x[i + 64];
  }
  if (t >= 32 && t < 41) {
    weights[t - 32] = w[t - 32];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i + 8 < n) {
    float sum = weights[0] * own;
    for (uint k = 1; k < 9; ++k) {
      sum += weights[k] * tile[t + k];
    }
    y[i] = sum;
  }
}
