// Takes everything below a millionth for zero.
// task: relu
// verdict: WRONG_RESULT
// dispatch: relu threads_in_grid=(rows * cols) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i] > 1e-6f ? x[i] : 0.0f;
}
