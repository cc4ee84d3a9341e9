// A loop goes one too far in a private array.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// buffer: at uint32 (n) integers 0 4
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device const uint* at, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  float p[8];
  for (uint k = 0; k < 8; ++k) p[k] = x[i] * k;
  float sum = 0;
  for (uint k = 0; k < 8 + BUG * (at[i] + 1); ++k) {
    sum += p[k];  // bug: out-of-bounds
  }
  y[i] = sum;
}
