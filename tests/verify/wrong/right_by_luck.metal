// By luck of the order: sums a row in threadgroup memory, but does not wait for the partial sums.
// dispatch: matvec  threadgroups=(rows)  threads=(128)
#include <metal_stdlib>
using namespace metal;

kernel void matvec(device const float* a, device const float* x, device float* y,
                   constant uint& cols, uint row [[threadgroup_position_in_grid]],
                   uint lane [[thread_position_in_threadgroup]]) {
  threadgroup float partial[128];
  float sum = 0;
  for (uint col = lane; col < cols; col += 128) sum += a[row * cols + col] * x[col];
  partial[lane] = sum;
  if (lane == 127) {
    for (uint i = 0; i < 127; ++i) sum += partial[i];
    y[row] = sum;
  }
}
