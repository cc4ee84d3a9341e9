// Softmax by powers of two, as attention kernels write it.
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
  for (uint i = lane; i < cols; i += 32) {
    m = max(m, x[i]);
  }
  m = simd_max(m);
  float sum = 0;
  for (uint i = lane; i < cols; i += 32) {
    sum += exp2((x[i] - m) * M_LOG2E_F);
  }
  sum = simd_sum(sum);
  for (uint i = lane; i < cols; i += 32) {
    y[i] = exp2((x[i] - m) * M_LOG2E_F) / sum;
  }
}
