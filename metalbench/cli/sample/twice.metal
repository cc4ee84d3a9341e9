// Twice the input.
// dispatch: twice threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = 2 * x[i];
}
