// Writes only where it sees no number.
// task: relu
// verdict: NONDETERMINISTIC, UNINITIALISED
// dispatch: relu threads_in_grid=(rows * cols) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  if (isnan(y[i])) y[i] = max(x[i], 0.0f);
}
