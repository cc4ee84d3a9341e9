// A sliding window's array is filled as values come, and read as a whole from the first.
// tune: BUG = 1, 0
// value: n = 8
// value: steps = 12
// buffer: x float32 (n, steps) normal
// buffer: y float32 (n, steps) output
// dispatch: smooth threads_in_grid=(n) threads=(8)
#include <metal_stdlib>
using namespace metal;

kernel void smooth(device const float* x, device float* y, constant uint& steps,
                   uint i [[thread_position_in_grid]]) {
  float window[4];
  if (!BUG) for (uint k = 0; k < 4; ++k) window[k] = 0;
  for (uint s = 0; s < steps; ++s) {
    window[s % 4] = x[i * steps + s];
    float sum = 0;
    for (uint k = 0; k < 4; ++k) sum += window[k];
    y[i * steps + s] = sum / 4;  // bug: uninitialised
  }
}
