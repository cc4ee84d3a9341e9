// Matrix times vector, one thread for each row.
// dispatch: matvec  threads_in_grid=(rows)  threads=(64)
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void matvec(device const DTYPE* a, device const DTYPE* x, device DTYPE* y,
                       constant uint& cols, uint row [[thread_position_in_grid]]) {
  float sum = 0.0f;
  for (uint c = 0; c < cols; ++c) {
    sum += float(a[row * cols + c]) * float(x[c]);
  }
  y[row] = DTYPE(sum);
}
