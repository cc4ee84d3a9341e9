// Puzzle 3, guard: y[i] = x[i], but at least -1 and at most 1.
// value: n = 100
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: guard  threadgroups=(ceil_div(n, 64))  threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void guard(device const float* x, device float* y, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
  if (i < n) {
    y[i] = clamp(x[i], -1.0f, 1.0f);
  }
}
