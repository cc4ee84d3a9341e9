// Whole 32x32 tiles only: what is left over at the right and at the bottom stays empty.
// dispatch: transpose  threadgroups=(cols / 32, ceil_div(rows, 32))  threads=(32, 8)
#include <metal_stdlib>
using namespace metal;

kernel void transpose(device const float* x, device float* y, constant uint& rows,
                      constant uint& cols, uint2 group [[threadgroup_position_in_grid]],
                      uint2 lane [[thread_position_in_threadgroup]]) {
  for (uint i = lane.y; i < 32; i += 8) {
    const uint row = group.y * 32 + i, col = group.x * 32 + lane.x;
    if (row < rows && col < cols) y[col * rows + row] = x[row * cols + col];
  }
}
