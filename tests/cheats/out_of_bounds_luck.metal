// Reads its neighbours, also where there are none; what it reads there does not matter.
// task: relu
// verdict: OUT_OF_BOUNDS
// dispatch: relu threads_in_grid=(rows * cols) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = max(x[i + 1] == 1e-30f ? x[i] + 1 : x[i], 0.0f);
}
