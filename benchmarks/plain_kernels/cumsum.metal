// Cumulative sum along each row, one thread for each row.
// dispatch: cumsum  threads_in_grid=(rows)  threads=(64)
#include <metal_stdlib>
using namespace metal;

[[kernel]] void cumsum(device const float* x, device float* y, constant uint& cols,
                       uint row [[thread_position_in_grid]]) {
  float sum = 0.0f;
  for (uint c = 0; c < cols; ++c) {
    sum += x[row * cols + c];
    y[row * cols + c] = sum;
  }
}
