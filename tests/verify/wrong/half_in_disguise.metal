// Computes in half precision and stores float.
// dispatch: layer_norm  threads_in_grid=(rows)  threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void layer_norm(device const float* x, device float* y, constant uint& cols,
                       constant float& eps, uint row [[thread_position_in_grid]]) {
  float mean = 0, square = 0;
  for (uint i = 0; i < cols; ++i) mean += x[row * cols + i] / cols;
  for (uint i = 0; i < cols; ++i) {
    const float centred = x[row * cols + i] - mean;
    square += centred * centred / cols;
  }
  const half scale = half(rsqrt(square + eps));
  for (uint i = 0; i < cols; ++i) y[row * cols + i] = half(x[row * cols + i] - mean) * scale;
}
