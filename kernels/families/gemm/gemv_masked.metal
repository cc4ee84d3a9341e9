// Matrix times a masked vector: one SIMD-group has ROWS rows, and a quad of the vector, zero where
// the mask is, meets all of them. Columns that do not count are read with their neighbours: single
// elements would not make fewer cache lines.
// dispatch: gemv_masked  threadgroups=(ceil_div(rows, ROWS * TG / 32))  threads=(TG)
// tune: TG = 64, 32, 128, 256
// tune: ROWS = 4, 2, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/matvec.h"
using namespace metal;
using namespace metalbench;

struct MaskedQuads {
  device const DTYPE* x;
  device const uint* mask;
  uint cols;
  INLINED float4 operator()(uint column) const {
    float4 v = load_quad(x, column, cols);
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      v[i] = mask[min(column + i, cols - 1)] ? v[i] : 0.0f;
    }
    return v;
  }
};

[[kernel]] void gemv_masked(device const DTYPE* a, device const DTYPE* x, device const uint* mask,
                            device DTYPE* y, constant uint& rows, constant uint& cols,
                            uint group [[threadgroup_position_in_grid]],
                            uint lane [[thread_index_in_simdgroup]],
                            uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint first = (group * (TG / 32) + simdgroup) * ROWS;
  if (first >= rows) {
    return;
  }
  RowProducts<ROWS> products(first, rows, lane);
  products.add(a, cols, MaskedQuads{x, mask, cols});
  products.store(y);
}
