// Transpose of a matrix, one thread for each element.
// dispatch: transpose_2d  threads_in_grid=(cols, rows)  threads=(16, 16)
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void transpose_2d(device const DTYPE* x, device DTYPE* y, constant uint& rows,
                             constant uint& cols, uint2 p [[thread_position_in_grid]]) {
  y[p.x * rows + p.y] = x[p.y * cols + p.x];
}
