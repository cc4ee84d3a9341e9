#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  const float v = x[i];
  y[i] = max(v, 0.0f);
}
