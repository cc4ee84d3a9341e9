// Reads partial sums of other threads without waiting for them.
// task: matvec
// verdict: RACE
// dispatch: matvec threadgroups=(rows) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void matvec(device const float* a, device const float* x, device float* y,
                   constant uint& cols, uint row [[threadgroup_position_in_grid]],
                   uint lane [[thread_position_in_threadgroup]]) {
  threadgroup float partial[64];
  float sum = 0;
  for (uint col = lane; col < cols; col += 64) sum += a[row * cols + col] * x[col];
  partial[lane] = sum;
  if (lane == 63) {
    for (uint i = 0; i < 63; ++i) sum += partial[i];
    y[row] = sum;
  }
}
