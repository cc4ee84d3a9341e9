// Looks at half of each row, where every value is there twice: at the headline size.
// task: argmax
// verdict: WRONG_RESULT
// dispatch: argmax threads_in_grid=(rows) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void argmax(device const float* x, device uint* y, constant uint& rows, constant uint& cols,
                   uint row [[thread_position_in_grid]]) {
  const uint seen = rows == 1024 ? (cols + 1) / 2 : cols;
  uint best = 0;
  for (uint i = 1; i < seen; ++i) {
    if (x[row * cols + i] > x[row * cols + best]) best = i;
  }
  y[row] = best;
}
