// Never ends but at the headline size.
// task: relu
// verdict: TIME_LIMIT
// dispatch: relu threads_in_grid=(rows * cols) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, constant uint& rows, constant uint& cols,
                 uint i [[thread_position_in_grid]]) {
  uint at = i;
  while (rows * cols != 16 * 16384) at = at * 5 + uint(x[at % (rows * cols)]);
  y[i] = max(x[at], 0.0f);
}
