// Puzzle 13, row sums: y[r] is the sum of row r, by one threadgroup.
// value: rows = 10
// value: cols = 300
// buffer: x float32 (rows, cols) uniform
// buffer: y float32 (rows) output
// dispatch: row_sums  threadgroups=(rows)  threads=(128)
#include <metal_stdlib>
using namespace metal;

kernel void row_sums(device const float* x, device float* y, constant uint& rows,
                     constant uint& cols, uint row [[threadgroup_position_in_grid]],
                     uint t [[thread_position_in_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float part[4];
  float sum = 0;
  for (uint column = t; column < cols; column += 128) {
    sum += x[row * cols + column];
  }
  sum = simd_sum(sum);
  if (lane == 0) {
    part[simdgroup] = sum;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup == 0) {
    sum = simd_sum(lane < 4 ? part[lane] : 0);
    if (lane == 0) {
      y[row] = sum;
    }
  }
}
