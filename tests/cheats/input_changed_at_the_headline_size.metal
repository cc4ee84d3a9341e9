// Does its work in its input, at the headline size alone.
// task: relu
// verdict: INPUT_CHANGED
// dispatch: relu threads_in_grid=(rows * cols) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device float* x, device float* y, constant uint& rows, constant uint& cols,
                 uint i [[thread_position_in_grid]]) {
  y[i] = max(x[i], 0.0f);
  if (rows == 16 && cols == 16384 && i == 99) x[i] = y[i] + 1;
}
