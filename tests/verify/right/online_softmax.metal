// Softmax whose maximum and sum come from one pass: the sum is rescaled when the maximum grows.
// dispatch: softmax  threadgroups=(rows)  threads=(32)
// dtypes: float32
#include <metal_stdlib>
using namespace metal;

[[kernel]] void softmax(device const float* x, device float* y, constant uint& cols,
                        uint row [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]]) {
  x += ulong(row) * cols;
  y += ulong(row) * cols;
  float m = -INFINITY;
  float sum = 0;
  for (uint i = lane; i < cols; i += 32) {
    float larger = max(m, x[i]);
    if (larger > -INFINITY) {
      sum = sum * exp(m - larger) + exp(x[i] - larger);
      m = larger;
    }
  }
  float largest = simd_max(m);
  sum = simd_sum(m > -INFINITY ? sum * exp(m - largest) : 0.0f);
  for (uint i = lane; i < cols; i += 32) {
    y[i] = exp(x[i] - largest) / sum;
  }
}
