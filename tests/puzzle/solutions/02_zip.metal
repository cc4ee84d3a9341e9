// Puzzle 2, zip: y[i] = |a[i] - b[i]|.
// value: n = 77
// buffer: a float32 (n) normal
// buffer: b float32 (n) normal
// buffer: y float32 (n) output
// dispatch: zip  threads_in_grid=(n)  threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void zip(device const float* a, device const float* b, device float* y, constant uint& n,
                uint i [[thread_position_in_grid]]) {
  y[i] = abs(a[i] - b[i]);
}
