// A table of 16 steps, looked up at 0 to 16.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x float32 (n) uniform 0.0 1.0
// buffer: y float32 (n) output
// dispatch: correct threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

constant float kGamma[16] = {0.0,  0.07, 0.13, 0.2,  0.27, 0.33, 0.4,  0.47,
                             0.53, 0.6,  0.67, 0.73, 0.8,  0.87, 0.93, 1.0};

inline float corrected(float value) {
  const int step = clamp(int(ceil(value * 16.0f)), 0, BUG ? 16 : 15);
  return kGamma[step];  // bug: out-of-bounds
}

kernel void correct(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = corrected(x[i]);
}
