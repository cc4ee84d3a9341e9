// What is left behind the last quad stays as it was.
// tune: BUG = 1, 0
// value: n = 70
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: scale threads_in_grid=(18) threads=(18)
#include <metal_stdlib>
using namespace metal;

kernel void scale(device const float* x,
                  device float* y,  // bug: output-not-written
                  constant uint& n, uint i [[thread_position_in_grid]]) {
  if (4 * i + 4 <= n) {
    for (uint k = 0; k < 4; ++k) y[4 * i + k] = 2 * x[4 * i + k];
  } else if (!BUG) {
    for (uint k = 4 * i; k < n; ++k) y[k] = 2 * x[k];
  }
}
