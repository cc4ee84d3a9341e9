// Puzzle 4, map in two dimensions: y = 1 - x, of an image of rows x cols.
// value: rows = 5
// value: cols = 33
// buffer: x float32 (rows, cols) uniform
// buffer: y float32 (rows, cols) output
// dispatch: map_2d  threadgroups=(ceil_div(cols, 16), ceil_div(rows, 8))  threads=(16, 8)
#include <metal_stdlib>
using namespace metal;

kernel void map_2d(device const float* x, device float* y, constant uint& rows, constant uint& cols,
                   uint2 at [[thread_position_in_grid]]) {
  if (at.x < cols && at.y < rows) {
    uint i = at.y * cols + at.x;
    y[i] = 1 - x[i];
  }
}
