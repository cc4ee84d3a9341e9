// Matrix times vector: each SIMD-group computes ROWS elements of the result.
// The matrix is read once, in quads along its rows, and bounds the speed; a quad of x serves ROWS
// rows before it leaves its register. Lanes end in one SIMD-group sum per row: no threadgroup
// memory.
// dispatch: matvec  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// tune: TG = 128, 32, 64, 256
// tune: ROWS = 4, 1, 2, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/matvec.h"
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
  RowProducts<ROWS> products(first, rows, lane);
  products.add(a, cols, VectorQuads<DTYPE>{x, cols});
  products.store(y);
}
