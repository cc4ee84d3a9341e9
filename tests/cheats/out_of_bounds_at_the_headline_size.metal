// Reads one element past its input, at the headline size alone; what is there never counts.
// task: relu
// verdict: OUT_OF_BOUNDS
// dispatch: relu threads_in_grid=(rows * cols) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, constant uint& rows, constant uint& cols,
                 uint i [[thread_position_in_grid]]) {
  const uint next = rows == 16 && cols == 16384 ? i + 1 : i;
  y[i] = x[next] == 12345.678f ? 0.0f : max(x[i], 0.0f);
}
