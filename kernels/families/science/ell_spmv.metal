// A sparse matrix times a vector, every row with the same number of places (ELLPACK): place k of all
// rows lies beside each other, so that a thread has a row and a SIMD-group reads whole cache lines.
// Places that a row does not need name a column beyond the matrix.
// dispatch: ell_spmv  threads_in_grid=(rows)  threads=(TG)
// tune: TG = 64, 128, 256
// dtypes: float32, float16, bfloat16
// limits: places * rows <= 4294967295
#include <metal_stdlib>
using namespace metal;

[[kernel]] void ell_spmv(device const uint* columns, device const DTYPE* values,
                         device const DTYPE* x, device DTYPE* y, constant uint& rows,
                         constant uint& cols, constant uint& places,
                         uint row [[thread_position_in_grid]]) {
  float sum = 0.0f;
  for (uint i = row; i < places * rows; i += rows) {
    const uint column = columns[i];
    const float factor = column < cols ? float(values[i]) : 0.0f;
    sum = fma(factor, float(x[min(column, cols - 1)]), sum);
  }
  y[row] = DTYPE(sum);
}
