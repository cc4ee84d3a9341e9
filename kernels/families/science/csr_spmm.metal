// A sparse matrix, rows compressed (CSR), times a dense one. A thread has four columns of a row of the
// result: neighbouring lanes read the rows of the dense matrix beside each other, and all of them the
// same element of the sparse one, which is one access.
// dispatch: csr_spmm  threads_in_grid=(ceil_div(width, 4), rows)  threads=(ACROSS, TG / ACROSS)
// tune: ACROSS = 16, 32, 8
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
// limits: width <= 4294967292
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void csr_spmm(device const uint* offsets, device const uint* columns,
                         device const DTYPE* values, device const DTYPE* x, device DTYPE* y,
                         constant uint& nonzeros, constant uint& cols, constant uint& width,
                         uint2 at [[thread_position_in_grid]]) {
  const uint column = 4 * at.x;
  const uint end = min(offsets[at.y + 1], nonzeros);
  float4 sum = 0.0f;
  for (uint i = offsets[at.y]; i < end; ++i) {
    device const DTYPE* row = x + ulong(min(columns[i], cols - 1)) * width;
    sum = fma(float4(float(values[i])), load_quad(row, column, width), sum);
  }
  store_quad(y + ulong(at.y) * width, column, width, sum);
}
