// Every row has 1024 columns.
// task: matvec
// verdict: OUT_OF_BOUNDS
// perhaps: WRONG_RESULT, FAULT
// dispatch: matvec threads_in_grid=(rows) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void matvec(device const float* a, device const float* x, device float* y,
                   uint row [[thread_position_in_grid]]) {
  float sum = 0;
  for (uint col = 0; col < 1024; ++col) sum += a[row * 1024 + col] * x[col];
  y[row] = sum;
}
