// Variance as mean of squares minus square of mean: cancels where the mean is large.
// dispatch: layer_norm  threads_in_grid=(rows)  threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void layer_norm(device const float* x, device float* y, constant uint& cols,
                       constant float& eps, uint row [[thread_position_in_grid]]) {
  float sum = 0, square = 0;
  for (uint i = 0; i < cols; ++i) {
    sum += x[row * cols + i];
    square += x[row * cols + i] * x[row * cols + i];
  }
  const float mean = sum / cols;
  const float scale = rsqrt(square / cols - mean * mean + eps);
  for (uint i = 0; i < cols; ++i) y[row * cols + i] = (x[row * cols + i] - mean) * scale;
}
