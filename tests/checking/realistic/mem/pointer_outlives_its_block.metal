// A pointer to the better of two values, of which one has gone out of scope.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  float kept[2] = {x[i], 0};
  thread float* best = kept;
  {
    float other[2] = {x[63 - i], 1};
    if (!BUG) kept[1] = other[0];
    if (BUG && other[0] > kept[0]) best = other;
  }
  y[i] = best[0] + kept[1];  // bug: out-of-bounds
}
