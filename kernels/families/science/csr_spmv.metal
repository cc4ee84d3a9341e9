// A sparse matrix times a vector, rows compressed (CSR): LANES neighbouring lanes have a row, whose
// elements they read beside each other; only the elements of x are gathered. They are joined by
// shuffles within the lanes of a row, in a fixed order. A SIMD-group has 32 / LANES rows, so that short
// rows leave few lanes idle.
// dispatch: csr_spmv  threads_in_grid=(rows * LANES)  threads=(TG)
// tune: LANES = 8, 4, 16, 32
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
// limits: rows * LANES <= 4294967295
#include "metalbench/inlined.h"
#include <metal_stdlib>
using namespace metal;

[[kernel]] void csr_spmv(device const uint* offsets, device const uint* columns,
                         device const DTYPE* values, device const DTYPE* x, device DTYPE* y,
                         constant uint& nonzeros, constant uint& cols,
                         uint thread_index [[thread_position_in_grid]]) {
  const uint row = thread_index / LANES, lane = thread_index % LANES;
  const uint end = min(offsets[row + 1], nonzeros);
  float sum = 0.0f;
  for (uint i = offsets[row] + lane; i < end; i += LANES) {
    sum = fma(float(values[i]), float(x[min(columns[i], cols - 1)]), sum);
  }
  UNROLLED
  for (ushort step = LANES / 2; step > 0; step /= 2) {
    sum += simd_shuffle_xor(sum, step);
  }
  if (lane == 0) {
    y[row] = DTYPE(sum);
  }
}
