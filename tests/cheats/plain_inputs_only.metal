// Right for plain inputs only: large differences are clamped away.
// task: mse_loss
// verdict: WRONG_RESULT
// dispatch: mse_loss threadgroups=(1) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void mse_loss(device const float* prediction, device const float* target,
                     device float* loss, constant uint& rows, constant uint& cols,
                     uint lane [[thread_position_in_threadgroup]]) {
  threadgroup float partial[256];
  float sum = 0;
  for (uint i = lane; i < rows * cols; i += 256) {
    const float difference = clamp(prediction[i] - target[i], -32.0f, 32.0f);
    sum += difference * difference;
  }
  partial[lane] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lane == 0) {
    float total = 0;
    for (uint i = 0; i < 256; ++i) total += partial[i];
    loss[0] = total / (rows * cols);
  }
}
