// Takes the exponential in half precision: no single element is far off where values are small.
// task: softmax
// verdict: WRONG_RESULT
// dispatch: softmax threads_in_grid=(rows) threads=(1)
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device const float* x, device float* y, constant uint& cols,
                    uint row [[thread_position_in_grid]]) {
  device const float* from = x + row * cols;
  float largest = -INFINITY, sum = 0;
  for (uint i = 0; i < cols; ++i) largest = max(largest, from[i]);
  for (uint i = 0; i < cols; ++i) sum += float(exp(half(from[i] - largest)));
  for (uint i = 0; i < cols; ++i) {
    y[row * cols + i] = float(exp(half(from[i] - largest))) / sum;
  }
}
