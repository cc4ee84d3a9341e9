// Index of the largest element of each row, the first of equal ones, one thread for each row.
// dispatch: argmax  threads_in_grid=(rows)  threads=(64)
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void argmax(device const DTYPE* x, device uint* y, constant uint& cols,
                       uint row [[thread_position_in_grid]]) {
  float best = -INFINITY;
  uint index = 0;
  for (uint c = 0; c < cols; ++c) {
    const float v = float(x[row * cols + c]);
    if (v > best) {
      best = v;
      index = c;
    }
  }
  y[row] = index;
}
