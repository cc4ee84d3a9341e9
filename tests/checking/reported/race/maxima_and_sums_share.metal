// Row maxima and sums of exponentials go through the same slots, as reported of ml-explore/mlx-lm#1700.
// tune: BUG = 1, 0
// value: rows = 4
// value: cols = 512
// buffer: logits float32 (rows, cols) normal
// buffer: lse float32 (rows) output
// dispatch: log_sum_exp threadgroups=(rows) threads=(128)
#include <metal_stdlib>
using namespace metal;

kernel void log_sum_exp(device const float* logits, device float* lse, constant uint& cols,
                        uint row [[threadgroup_position_in_grid]],
                        uint t [[thread_position_in_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float shared[4];
  device const float* own = logits + row * cols;
  float most = -INFINITY;
  for (uint k = t; k < cols; k += 128) most = max(most, own[k]);
  most = simd_max(most);
  if (lane == 0) shared[simd] = most;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  most = max(max(shared[0], shared[1]), max(shared[2], shared[3]));
  if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint k = t; k < cols; k += 128) sum += exp(own[k] - most);
  sum = simd_sum(sum);
  if (lane == 0) shared[simd] = sum;  // bug: race
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0) lse[row] = most + log(shared[0] + shared[1] + shared[2] + shared[3]);
}
