// ReLU: y = max(x, 0), and NaN stays NaN.
// Bandwidth is all that matters, so a thread moves four elements with one load and one store; the
// last thread does what is left element by element. No synchronisation, no threadgroup memory.
// dispatch: relu  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

using quad = vec<DTYPE, 4>;

[[kernel]] void relu(device const DTYPE* x, device DTYPE* y, constant uint& rows,
                     constant uint& cols, uint i [[thread_position_in_grid]]) {
  const uint count = rows * cols;
  if (4 * i + 4 <= count) {
    const float4 v = float4(((device const quad*)x)[i]);
    ((device quad*)y)[i] = quad(select(v, float4(0.0f), v < 0.0f));
    return;
  }
  for (uint j = 4 * i; j < count; ++j) {
    const float v = float(x[j]);
    y[j] = DTYPE(v < 0.0f ? 0.0f : v);
  }
}
