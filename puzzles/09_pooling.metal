// Puzzle 9, pooling: y[i] is the largest of x[i - 2] to x[i + 2], as far as there are such.
// value: n = 100
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: pooling  threadgroups=(ceil_div(n, 64))  threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void pooling(device const float* x, device float* y, constant uint& n,
                    uint i [[thread_position_in_grid]],
                    uint t [[thread_position_in_threadgroup]]) {
  // Your code. -INFINITY is less than any number.
}
