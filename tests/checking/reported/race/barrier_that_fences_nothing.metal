// A barrier of mem_none between a store and the neighbours' loads, as reported of ml-explore/mlx-lm#1714.
// tune: BUG = 1, 0
// value: rows = 4
// value: cols = 256
// buffer: p float32 (rows, cols) uniform
// buffer: total float32 (rows) output
// dispatch: row_total threadgroups=(rows) threads=(128)
#include <metal_stdlib>
using namespace metal;

kernel void row_total(device const float* p, device float* total, constant uint& cols,
                      uint row [[threadgroup_position_in_grid]],
                      uint t [[thread_position_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float parts[4];
  float sum = 0;
  for (uint k = t; k < cols; k += 128) sum += p[row * cols + k];
  sum = simd_sum(sum);
  if (lane == 0) parts[simd] = sum;
  threadgroup_barrier(BUG ? mem_flags::mem_none : mem_flags::mem_threadgroup);
  if (t == 0) {
    float all = 0;
    for (uint s = 0; s < 4; ++s) all += parts[s];  // bug: race
    total[row] = all;
  }
}
