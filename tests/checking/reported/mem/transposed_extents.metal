// A transpose that takes the rows' length for the columns', of a matrix that is not square.
// tune: BUG = 1, 0
// value: rows = 24
// value: cols = 40
// buffer: x float32 (rows, cols) normal
// buffer: y float32 (cols, rows) zeros inout
// dispatch: transpose threads_in_grid=(cols, rows) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void transpose(device const float* x, device float* y, constant uint& rows,
                      constant uint& cols, uint2 at [[thread_position_in_grid]]) {
  uint stride = BUG ? cols : rows;
  y[at.x * stride + at.y] = x[at.y * cols + at.x];  // bug: out-of-bounds
}
