// The left padding is taken from an unsigned coordinate, and asked about after it has wrapped.
// tune: BUG = 1, 0
// value: w = 64
// buffer: x float32 (w) normal
// buffer: taps float32 (3) normal
// buffer: y float32 (w) output
// dispatch: conv1d threads_in_grid=(w) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void conv1d(device const float* x, device const float* taps, device float* y,
                   constant uint& w, uint i [[thread_position_in_grid]]) {
  float sum = 0;
  for (uint k = 0; k < 3; ++k) {
    uint at = i + k - 1;
    if (BUG ? int(at) >= int(w) : at >= w) continue;
    sum += taps[k] * x[at];  // bug: wild-pointer
  }
  y[i] = sum;
}
