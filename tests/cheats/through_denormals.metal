// Multiplies into the denormals and back, where most of the digits are lost.
// task: relu
// verdict: WRONG_RESULT
// dispatch: relu threads_in_grid=(rows * cols) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  const float small = max(x[i], 0.0f) * 1e-38f;
  y[i] = small * 1e19f * 1e19f;
}
