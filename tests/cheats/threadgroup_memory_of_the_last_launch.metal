// Hands rows over from one launch to the next in threadgroup memory.
// task: matvec
// verdict: UNINITIALISED
// perhaps: WRONG_RESULT, NONDETERMINISTIC, STALE_RESULT
// dispatch: load threadgroups=(1) threads=(32)
// dispatch: matvec threadgroups=(1) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void load(device const float* a, device const float* x, constant uint& rows,
                 constant uint& cols, uint lane [[thread_position_in_threadgroup]]) {
  threadgroup float sums[4096];
  for (uint row = lane; row < rows; row += 32) {
    float sum = 0;
    for (uint col = 0; col < cols; ++col) sum += a[row * cols + col] * x[col];
    sums[row] = sum;
  }
}

kernel void matvec(device float* y, constant uint& rows,
                   uint lane [[thread_position_in_threadgroup]]) {
  threadgroup float sums[4096];
  for (uint row = lane; row < rows; row += 32) y[row] = sums[row];
}
