// Puzzle 5, broadcast: y[r, c] = a[r] * b[c].
// value: rows = 9
// value: cols = 33
// buffer: a float32 (rows) normal
// buffer: b float32 (cols) normal
// buffer: y float32 (rows, cols) output
// dispatch: broadcast  threadgroups=(ceil_div(cols, 16), ceil_div(rows, 8))  threads=(16, 8)
#include <metal_stdlib>
using namespace metal;

kernel void broadcast(device const float* a, device const float* b, device float* y,
                      constant uint& rows, constant uint& cols,
                      uint2 at [[thread_position_in_grid]]) {
  if (at.x < cols && at.y < rows) {
    y[at.y * cols + at.x] = a[at.y] * b[at.x];
  }
}
