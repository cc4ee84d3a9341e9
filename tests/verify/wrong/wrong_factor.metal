// Takes twice the root mean square.
// dispatch: rms_norm  threads_in_grid=(rows)  threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void rms_norm(device const float* x, device float* y, constant uint& cols,
                     constant float& eps, uint row [[thread_position_in_grid]]) {
  float square = 0;
  for (uint i = 0; i < cols; ++i) square += x[row * cols + i] * x[row * cols + i];
  const float scale = rsqrt(4 * square / cols + eps);
  for (uint i = 0; i < cols; ++i) y[row * cols + i] = x[row * cols + i] * scale;
}
