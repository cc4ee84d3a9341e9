// Waits for a number to become negative.
// dispatch: relu threadgroups=(ceil_div(rows * cols, 256)) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, constant uint& rows, constant uint& cols,
                 uint i [[thread_position_in_grid]]) {
  float sum = 0;
  for (uint k = 0; k >= 0; ++k) sum += x[(i + k) % (rows * cols)];
  y[i] = sum;
}
