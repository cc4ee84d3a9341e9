// Matrix times a masked vector: one SIMD-group has ROWS rows, and a quad of the vector, zero where
// the mask is, meets all of them. Columns that do not count are read with their neighbours: single
// elements would not make fewer cache lines.
// dispatch: gemv_masked  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// tune: TG = 64, 32, 128, 256
// tune: ROWS = 4, 2, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void gemv_masked(device const DTYPE* a, device const DTYPE* x, device const uint* mask,
                            device DTYPE* y, constant uint& rows, constant uint& cols,
                            uint group [[threadgroup_position_in_grid]],
                            uint lane [[thread_index_in_simdgroup]],
                            uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint first = (group * (TG / 32) + simdgroup) * ROWS;
  if (first >= rows) {
    return;
  }
  float4 sums[ROWS];
  UNROLLED
  for (uint r = 0; r < ROWS; ++r) {
    sums[r] = 0.0f;
  }
  for (uint column = 4 * lane; column < cols; column += 4 * 32) {
    float4 v = load_quad(x, column, cols);
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      v[i] = mask[min(column + i, cols - 1)] ? v[i] : 0.0f;
    }
    UNROLLED
    for (uint r = 0; r < ROWS; ++r) {
      const ulong row = min(first + r, rows - 1);
      sums[r] = fma(load_quad(a + row * cols, column, cols), v, sums[r]);
    }
  }
  UNROLLED
  for (uint r = 0; r < ROWS; ++r) {
    const float sum = simd_sum(total(sums[r]));
    if (lane == 0 && first + r < rows) {
      y[first + r] = DTYPE(sum);
    }
  }
}
