// Threads of one threadgroup add to device memory without atomics, which is right where they run in order.
// task: matvec
// verdict: RACE
// dispatch: matvec threadgroups=(rows) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void matvec(device const float* a, device const float* x, device float* y,
                   constant uint& cols, uint row [[threadgroup_position_in_grid]],
                   uint lane [[thread_position_in_threadgroup]]) {
  float sum = 0;
  for (uint col = lane; col < cols; col += 32) sum += a[row * cols + col] * x[col];
  if (lane == 0) y[row] = 0;
  y[row] += sum;
}
