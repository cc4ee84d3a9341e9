// Matrix times vector: each SIMD-group computes ROWS elements of the result.
// The matrix is read once, in quads along its rows, and bounds the speed; a quad of x serves ROWS
// rows before it leaves its register. Lanes end in one SIMD-group sum per row: no threadgroup
// memory.
// dispatch: matvec  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// tune: TG = 128, 32, 64, 256
// tune: ROWS = 4, 1, 2, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metalbench;

[[kernel]] void matvec(device const DTYPE* a, device const DTYPE* x, device DTYPE* y,
                       constant uint& rows, constant uint& cols,
                       uint group [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint first = (group * (TG / 32) + simdgroup) * ROWS;
  if (first >= rows) {
    return;
  }
  // Rows past the last one repeat it, so that the loop needs no test; they are not stored.
  device const DTYPE* row[ROWS];
  float4 sums[ROWS];
  UNROLLED
  for (uint r = 0; r < ROWS; ++r) {
    row[r] = a + ulong(min(first + r, rows - 1)) * cols;
    sums[r] = 0.0f;
  }
  for (uint column = 4 * lane; column < cols; column += 4 * 32) {
    const float4 v = load_quad(x, column, cols);
    UNROLLED
    for (uint r = 0; r < ROWS; ++r) {
      sums[r] = fma(load_quad(row[r], column, cols), v, sums[r]);
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
