// Softmax of each row, one threadgroup for each row: two trees in threadgroup memory.
// dispatch: softmax  threadgroups=(rows)  threads=(256)
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void softmax(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                        uint row [[threadgroup_position_in_grid]],
                        uint t [[thread_position_in_threadgroup]]) {
  threadgroup float shared[256];
  float largest = -INFINITY;
  for (uint c = t; c < cols; c += 256) {
    largest = max(largest, float(x[row * cols + c]));
  }
  shared[t] = largest;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint s = 128; s > 0; s /= 2) {
    if (t < s) {
      shared[t] = max(shared[t], shared[t + s]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  const float top = shared[0];
  threadgroup_barrier(mem_flags::mem_threadgroup);

  float sum = 0.0f;
  for (uint c = t; c < cols; c += 256) {
    sum += exp(float(x[row * cols + c]) - top);
  }
  shared[t] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint s = 128; s > 0; s /= 2) {
    if (t < s) {
      shared[t] += shared[t + s];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  const float total = shared[0];
  for (uint c = t; c < cols; c += 256) {
    y[row * cols + c] = DTYPE(exp(float(x[row * cols + c]) - top) / total);
  }
}
