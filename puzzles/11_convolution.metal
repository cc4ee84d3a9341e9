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
  // Your code: y has n - 8 elements.
}
