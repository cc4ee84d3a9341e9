// Gradients that are clipped in place, though they are only lent.
// tune: BUG = 1, 0
// value: n = 64
// buffer: g float32 (n) normal
// buffer: w float32 (n) normal inout
// dispatch: update threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void update(device float* g, device float* w, uint i [[thread_position_in_grid]]) {
  float slope = clamp(g[i], -1.0f, 1.0f);
  if (BUG) {
    g[i] = slope;  // bug: write-to-input
  }
  w[i] -= 0.1f * slope;
}
