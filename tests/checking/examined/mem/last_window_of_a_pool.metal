// A pool whose last window reaches beyond the last row.
// tune: BUG = 1, 0
// value: h = 9
// value: w = 8
// buffer: x float32 (h, w) normal
// buffer: y float32 (5, 4) output
// dispatch: pool threads_in_grid=(4, 5) threads=(4, 5)
#include <metal_stdlib>
using namespace metal;

kernel void pool(device const float* x, device float* y, constant uint& h, constant uint& w,
                 uint2 p [[thread_position_in_grid]]) {
  float best = -INFINITY;
  for (uint dy = 0; dy < 2; ++dy) {
    const uint row = 2 * p.y + dy;
    if (!BUG && row >= h) break;
    device const float* line = x + row * w;
    for (uint dx = 0; dx < 2; ++dx) {
      best = max(best, line[2 * p.x + dx]);  // bug: out-of-bounds
    }
  }
  y[p.y * 4 + p.x] = best;
}
