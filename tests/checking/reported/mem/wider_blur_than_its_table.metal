// A table of five Gaussian weights, and a radius that comes with the call.
// tune: BUG = 1, 0
// value: n = 128
// value: radius = 3
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: blur threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

constant float gauss[5] = {0.06f, 0.24f, 0.4f, 0.24f, 0.06f};

kernel void blur(device const float* x, device float* y, constant uint& n, constant int& radius,
                 uint i [[thread_position_in_grid]]) {
  int reach = BUG ? radius : 2;
  float sum = 0;
  for (int k = -reach; k <= reach; ++k) {
    int at = clamp(int(i) + k, 0, int(n) - 1);
    sum += gauss[k + reach] * x[at];  // bug: out-of-bounds
  }
  y[i] = sum;
}
