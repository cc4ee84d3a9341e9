// Writes to an address that is not mapped.
// dispatch: relu threadgroups=(ceil_div(rows * cols, 256)) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, constant uint& rows, constant uint& cols,
                 uint i [[thread_position_in_grid]]) {
  if (i < rows * cols) y[i + (1ul << 46)] = max(x[i], 0.0f);
}
