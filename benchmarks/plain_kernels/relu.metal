// ReLU, one thread for each element.
// dispatch: relu  threads_in_grid=(rows * cols)  threads=(256)
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include <metal_stdlib>
using namespace metal;

[[kernel]] void relu(device const DTYPE* x, device DTYPE* y,
                     uint i [[thread_position_in_grid]]) {
  const float v = float(x[i]);
  y[i] = DTYPE(v > 0.0f ? v : 0.0f);
}
