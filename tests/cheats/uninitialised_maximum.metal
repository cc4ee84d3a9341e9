// Takes what is already there for less than every result: poison, be it no number or negative.
// task: relu
// verdict: STALE_RESULT, UNINITIALISED
// dispatch: relu threads_in_grid=(rows * cols) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = fmax(max(x[i], 0.0f), y[i]);
}
