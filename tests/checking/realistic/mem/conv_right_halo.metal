// A convolution of a signal whose right halo is loaded beyond the signal's end.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: w float32 (5) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

constant int R = 2;

static float sample(device const float* x, int i, int n) {
  if (i < 0 || (!BUG && i >= n)) return 0;
  return x[i];  // bug: out-of-bounds
}

kernel void k(device const float* x, constant float* w, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup float s[64 + 2 * R];
  s[t + R] = x[i];
  if (t < uint(R)) s[t] = sample(x, int(i) - R, n);
  if (t >= 64 - uint(R)) s[t + 2 * R] = sample(x, int(i) + R, n);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (int j = 0; j < 2 * R + 1; ++j) sum += w[j] * s[t + j];
  y[i] = sum;
}
