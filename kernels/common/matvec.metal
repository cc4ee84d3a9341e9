// Matrix times vector: each SIMD-group computes ROWS elements of the result.
// The matrix is read once, in quads along its rows, and bounds the speed; a quad of x serves ROWS
// rows before it leaves its register. Lanes end in one SIMD-group sum per row: no threadgroup
// memory.
// dispatch: matvec  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// tune: TG = 128, 32, 64, 256
// tune: ROWS = 4, 1, 2, 8
#include <metal_stdlib>
using namespace metal;

// Four columns; zero beyond the row. Rows are aligned for vector loads only if cols is a multiple
// of four.
static float4 load(device const float* row, uint column, uint cols) {
  if (column + 4 <= cols) {
    if (cols % 4 == 0) {
      return *(device const float4*)(row + column);
    }
    return float4(row[column], row[column + 1], row[column + 2], row[column + 3]);
  }
  float4 v = 0.0f;
  for (uint i = 0; i < 3; ++i) {
    if (column + i < cols) {
      v[i] = row[column + i];
    }
  }
  return v;
}

[[kernel]] void matvec(device const float* a, device const float* x, device float* y,
                       constant uint& rows, constant uint& cols,
                       uint group [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint first = (group * (TG / 32) + simdgroup) * ROWS;
  if (first >= rows) {
    return;
  }
  // Rows past the last one repeat it, so that the loop needs no test; they are not stored.
  device const float* row[ROWS];
  float4 sums[ROWS];
  for (uint r = 0; r < ROWS; ++r) {
    row[r] = a + ulong(min(first + r, rows - 1)) * cols;
    sums[r] = 0.0f;
  }
  for (uint column = 4 * lane; column < cols; column += 4 * 32) {
    const float4 v = load(x, column, cols);
    for (uint r = 0; r < ROWS; ++r) {
      sums[r] = fma(load(row[r], column, cols), v, sums[r]);
    }
  }
  for (uint r = 0; r < ROWS; ++r) {
    const float4 s = sums[r];
    const float sum = simd_sum((s.x + s.y) + (s.z + s.w));
    if (lane == 0 && first + r < rows) {
      y[first + r] = sum;
    }
  }
}
