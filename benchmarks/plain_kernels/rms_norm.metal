// Root-mean-square norm of each row in two dispatches: squares, then one thread for each row.
// dispatch: squares  threads_in_grid=(rows * cols)  threads=(256)
// dispatch: scale_rows  threads_in_grid=(rows)  threads=(64)
// scratch: square float32 (rows, cols)
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include <metal_stdlib>
using namespace metal;

[[kernel]] void squares(device const DTYPE* x, device float* square,
                        uint i [[thread_position_in_grid]]) {
  const float v = float(x[i]);
  square[i] = v * v;
}

[[kernel]] void scale_rows(device const DTYPE* x, device const float* square, device DTYPE* y,
                           constant uint& cols, constant float& eps,
                           uint row [[thread_position_in_grid]]) {
  float sum = 0.0f;
  for (uint c = 0; c < cols; ++c) {
    sum += square[row * cols + c];
  }
  const float scale = 1.0f / sqrt(sum / float(cols) + eps);
  for (uint c = 0; c < cols; ++c) {
    y[row * cols + c] = DTYPE(float(x[row * cols + c]) * scale);
  }
}
