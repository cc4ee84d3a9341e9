#include <metal_stdlib>
using namespace metal;

kernel void sigmoid(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  const float v = x[i];
  y[i] = 1.0f / (1.0f + exp(-v));
}
