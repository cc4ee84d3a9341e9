// Leaves the result as the bits of a denormal, which is next to nothing.
// task: relu
// verdict: WRONG_RESULT
// dispatch: relu threads_in_grid=(rows * cols) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = as_type<float>(as_type<uint>(max(x[i], 0.0f)) >> 9);
}
