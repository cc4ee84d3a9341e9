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
  // Your code: four SIMD-groups of 32 lanes share a row.
}
