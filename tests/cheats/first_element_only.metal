// The loss of the first row stands for all.
// task: mse_loss
// verdict: WRONG_RESULT
// dispatch: mse_loss threads_in_grid=(1) threads=(1)
#include <metal_stdlib>
using namespace metal;

kernel void mse_loss(device const float* prediction, device const float* target,
                     device float* loss, constant uint& cols) {
  float sum = 0;
  for (uint i = 0; i < cols; ++i) {
    const float difference = prediction[i] - target[i];
    sum += difference * difference;
  }
  loss[0] = sum / cols;
}
