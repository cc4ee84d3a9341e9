#include <metal_stdlib>
using namespace metal;

kernel void gelu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  const float v = x[i];
  y[i] = 0.5f * v * (1.0f + tanh(0.797884561f * (v + 0.044715f * v * v * v)));
}
