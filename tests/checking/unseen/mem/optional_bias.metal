// A layer without a bias has a null pointer for it.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: dense threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

static float with_bias(float v, device const float* bias, uint i) {
  if (!BUG && bias == nullptr) return v;
  return v + bias[i];  // bug: wild-pointer
}

kernel void dense(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = with_bias(x[i], nullptr, i);
}
