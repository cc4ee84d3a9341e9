// Cross entropy of each row against the index of its class, one thread for each row.
// dispatch: cross_entropy_loss  threads_in_grid=(rows)  threads=(64)
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void cross_entropy_loss(device const DTYPE* logits, device const uint* target,
                                   device DTYPE* loss, constant uint& cols,
                                   uint row [[thread_position_in_grid]]) {
  float largest = -INFINITY;
  for (uint c = 0; c < cols; ++c) {
    largest = max(largest, float(logits[row * cols + c]));
  }
  float sum = 0.0f;
  for (uint c = 0; c < cols; ++c) {
    sum += exp(float(logits[row * cols + c]) - largest);
  }
  const float chosen = float(logits[row * cols + target[row]]);
  loss[row] = DTYPE(log(sum) + largest - chosen);
}
