// Puzzle 7, blocks: each block of 8 x 8 elements with left and right exchanged.
// value: rows = 9
// value: cols = 20
// buffer: x float32 (rows, cols) normal
// buffer: y float32 (rows, cols) output
// dispatch: blocks  threadgroups=(ceil_div(cols, 8), ceil_div(rows, 8))  threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void blocks(device const float* x, device float* y, constant uint& rows, constant uint& cols,
                   uint2 block [[threadgroup_position_in_grid]],
                   uint2 in_block [[thread_position_in_threadgroup]]) {
  uint width = min(8u, cols - 8 * block.x);
  uint row = 8 * block.y + in_block.y;
  if (in_block.x < width && row < rows) {
    uint start = row * cols + 8 * block.x;
    y[start + in_block.x] = x[start + width - 1 - in_block.x];
  }
}
