// A maximum that starts at an infinity, with fast math.
// math: fast
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  float best = BUG ? -INFINITY : -FLT_MAX;
  for (uint j = 0; j < 4; ++j) {
    best = max(best, x[(i + j) % n]);  // bug: special-value
  }
  y[i] = best;
}
