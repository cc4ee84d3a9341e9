// The four largest of a thread's values by insertion, which moves the last one out of the array.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x float32 (n, 16) normal
// buffer: y float32 (n, 4) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  float best[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  for (uint c = 0; c < 16; ++c) {
    float value = x[i * 16 + c];
    int slot = 4;
    while (slot > 0 && value > best[slot - 1]) --slot;
    for (int j = BUG ? 4 : 3; j > slot; --j)
      best[j] = best[j - 1];  // bug: out-of-bounds
    if (slot < 4) best[slot] = value;
  }
  for (uint j = 0; j < 4; ++j) y[i * 4 + j] = best[j];
}
