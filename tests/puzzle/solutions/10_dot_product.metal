// Puzzle 10, dot product: y[0] is the sum of all a[i] * b[i].
// value: n = 1000
// buffer: a float32 (n) uniform
// buffer: b float32 (n) uniform
// buffer: y float32 (1) output
// dispatch: dot_product  threadgroups=(1)  threads=(128)
#include <metal_stdlib>
using namespace metal;

kernel void dot_product(device const float* a, device const float* b, device float* y,
                        constant uint& n, uint t [[thread_position_in_threadgroup]]) {
  threadgroup float part[128];
  float sum = 0;
  for (uint i = t; i < n; i += 128) {
    sum += a[i] * b[i];
  }
  for (uint stay = 64; stay > 0; stay /= 2) {
    if (t >= stay && t < 2 * stay) {
      part[t] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < stay) {
      sum += part[t + stay];
    }
  }
  if (t == 0) {
    y[0] = sum;
  }
}
