// Adds to threadgroup memory that was not set to zero.
// dispatch: matvec  threads_in_grid=(rows)  threads=(1)
#include <metal_stdlib>
using namespace metal;

kernel void matvec(device const float* a, device const float* x, device float* y,
                   constant uint& cols, uint row [[thread_position_in_grid]]) {
  threadgroup float total[2];
  float sum = 0;
  for (uint col = 0; col < cols; ++col) sum += a[row * cols + col] * x[col];
  y[row] = total[row & 1] + sum;
}
