// Multiplies in half precision; sums, loads and stores in single precision.
// task: matvec
// verdict: WRONG_RESULT
// dispatch: matvec threads_in_grid=(rows) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void matvec(device const float* a, device const float* x, device float* y,
                   constant uint& cols, uint row [[thread_position_in_grid]]) {
  float sum = 0;
  for (uint col = 0; col < cols; ++col) sum += half(a[row * cols + col]) * half(x[col]);
  y[row] = sum;
}
