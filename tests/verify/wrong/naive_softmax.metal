// Does not subtract the largest element: overflows as soon as one is above 88.
// dispatch: softmax  threads_in_grid=(rows)  threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device const float* x, device float* y, constant uint& cols,
                    uint row [[thread_position_in_grid]]) {
  float sum = 0;
  for (uint i = 0; i < cols; ++i) sum += exp(x[row * cols + i]);
  for (uint i = 0; i < cols; ++i) y[row * cols + i] = exp(x[row * cols + i]) / sum;
}
