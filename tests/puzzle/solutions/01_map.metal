// Puzzle 1, map: y[i] = x[i] * (1 - x[i]).
// value: n = 100
// buffer: x float32 (n) uniform
// buffer: y float32 (n) output
// dispatch: map  threads_in_grid=(n)  threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void map(device const float* x, device float* y, constant uint& n,
                uint i [[thread_position_in_grid]]) {
  float v = x[i];
  y[i] = v * (1 - v);
}
